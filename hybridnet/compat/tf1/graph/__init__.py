"""Graphs, tensors and Operations: how they are made, named, ordered, typed and differentiated.

What its modules list in `__all__` is here, for the folders above; `gradients` is in the module of
its name.
"""

# ruff: noqa: F403

from .adding import *
from .arguments import *
from .building import *
from .by_value import *
from .control import *
from .device_spec import *
from .graph import *
from .graph_def import *
from .host_call import *
from .infer import *
from .operators import *
from .scopes import *
from .shapes import *
from .tensor import *
from .values import *
