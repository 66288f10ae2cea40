"""`debug`: what is wrong with a program, at the line of the program where it is wrong.

The first operator that makes NaN or infinity, and the index that does not exist:

    with hn.debug.nans(), hn.debug.indices():
        train()

A step that went wrong, to be looked at elsewhere (``hybridnet replay step.hn``):

    hn.debug.save_step("step.hn")

Where the memory is: a table of the arrays that are alive, by the lines that made them, with the
names of parameters; what grew between two moments; and a page of both, on which one can click.

    print(hn.debug.memory())
    with hn.debug.tracking_memory() as seen:
        train()
    print(seen.growth())
    seen.save("memory.html")

See docs/debugging.md.
"""

from .memory.growth import MemoryGrowth as MemoryGrowth
from .memory.snapshot import MemorySnapshot as MemorySnapshot
from .memory.tracking import MemoryTrack as MemoryTrack
from .memory.tracking import memory as memory
from .memory.tracking import tracking_memory as tracking_memory
from .scopes import allow_nans as allow_nans
from .scopes import indices as indices
from .scopes import nans as nans
from .steps import ReplayedStep as ReplayedStep
from .steps import replay as replay
from .steps import save_step as save_step

__all__ = [
    "MemoryGrowth",
    "MemorySnapshot",
    "MemoryTrack",
    "ReplayedStep",
    "allow_nans",
    "indices",
    "memory",
    "nans",
    "replay",
    "save_step",
    "tracking_memory",
]
