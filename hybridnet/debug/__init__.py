"""Finding faults: the first NaN, the index that does not exist, the memory that ran out.

with hn.debug.nans():
    train()            # the first operator that makes NaN or infinity is an error at its line
"""

from .scopes import allow_nans as allow_nans
from .scopes import indices as indices
from .scopes import nans as nans
from .steps import ReplayedStep as ReplayedStep
from .steps import replay as replay
from .steps import save_step as save_step

__all__ = ["ReplayedStep", "allow_nans", "indices", "nans", "replay", "save_step"]
