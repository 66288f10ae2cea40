"""`debug`: what is wrong with a program, at the line of the program where it is wrong.

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

__all__ = ["MemoryGrowth", "MemorySnapshot", "MemoryTrack", "memory", "tracking_memory"]
