"""Random numbers: the state they come from, distributions and their densities, choices."""

from . import candidates as candidates
from . import choice as choice
from . import densities as densities
from . import distributions as distributions
from . import state as state
from . import unique as unique
from .candidates import log_uniform_candidates as log_uniform_candidates
from .draws import DISTRIBUTIONS as DISTRIBUTIONS
from .draws import drawing_function as drawing_function
from .state import STATE_SHAPE as STATE_SHAPE
from .state import initial_state as initial_state
