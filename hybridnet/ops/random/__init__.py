"""Random numbers: the state they come from, distributions and their densities, choices."""

from . import candidates as candidates
from . import choice as choice
from . import densities as densities
from . import distributions as distributions
from . import state as state
from . import unique as unique
