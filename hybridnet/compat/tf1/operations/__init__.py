"""The functions that compute with tensors: each adds Operations to the graph.

The argument `name` of a function is the name of the Operation that it adds, or of the name scope of
several. Most of the functions can be imported from here, too, by the packages above.
"""

# ruff: noqa: F403

from .checks import *
from .clipping import *
from .creation import *
from .creation import shape_of as shape_of
from .creation import size_of as size_of
from .decompositions import *
from .elementwise import *
from .functional import *
from .gathering import *
from .joining import *
from .matrices import *
from .ordering import *
from .random import *
from .reduction import *
from .reshaping import *
from .scripts import *
from .scripts import host_call as host_call
from .scripts import host_tensor as host_tensor
from .scripts import places_where as places_where
from .slicing import *
