"""NumPy's functions, where they differ from the older operators, and NumPy's names of those."""

from . import creation as creation
from . import elementwise as elementwise
from . import index as index
from . import linalg as linalg
from . import mask as mask
from . import matrix as matrix
from . import names as names
from . import percentile as percentile
from . import random as random
from . import reduce as reduce
from . import shape as shape
