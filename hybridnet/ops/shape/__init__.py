"""The operators that make, reshape, join, cut, index, mask and sort arrays."""

from . import broadcasting as broadcasting
from . import coordinates as coordinates
from . import creation as creation
from . import indexing as indexing
from . import joining as joining
from . import masking as masking
from . import old as old
from . import ordering as ordering
from . import placement as placement
from . import reshape as reshape
from . import slicing as slicing
from . import transpose as transpose
from . import tuples as tuples
from .placement import splits_text as splits_text
from .reshape import reshaped as reshaped
