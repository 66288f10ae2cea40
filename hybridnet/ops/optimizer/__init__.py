"""An optimizer's step: updates of weights, which overwrite the optimizer's state."""

from . import adaptive as adaptive
from . import many_arrays as many_arrays
from . import mixed as mixed
from . import several as several
from . import updates as updates
