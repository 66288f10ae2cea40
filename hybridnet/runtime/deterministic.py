"""`deterministic`: the same bits each time, whatever else the machine does."""

from __future__ import annotations

from hybridnet import engine
from hybridnet.base import config


def deterministic(mode: bool = True) -> None:
    """Fixes the order of additions: a program gives the same bits each time it is run.

    By default NumPy runs what is new, and a compiled program takes over when it is ready: at a step
    that depends on the machine and its load. The two round differently, and so do programs that are
    specialized or tuned later. With this, a program is compiled before it runs for the first time
    and is not replaced, so that no clock decides; with ``HYBRIDNET_HOST=only`` nothing is compiled
    and nothing changes. The variable ``HYBRIDNET_DETERMINISTIC=1`` does the same from the start.

    It holds for one machine, one set of versions and one number of threads, and for random numbers
    that are seeded. What it costs is waiting for the compiler at each new structure: once, as
    programs are kept on disk (docs/performance.md has figures). Call it before the first
    computation: programs that were compiled or tuned before stay as they are.

    Args:
        mode: whether to; False: as by default from now on.
    """
    engine.wait_for_all()
    config.fix_order(bool(mode))
