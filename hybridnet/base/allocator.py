"""The C library's allocator: keep the memory of one step for the next.

XLA allocates the temporary memory of a program at each run, as one block. glibc maps every block
above 32 MiB anew and unmaps it when it is freed, and M_MMAP_THRESHOLD cannot be set higher
(mallopt(3)); so a step that needs 40 MB has the kernel clear ten thousand pages each time. LeNet's
training step spends 21 of 37 ms in that on a virtual machine. Blocks of the heap keep their pages.

There is one heap, for all threads. Else XLA's threads have heaps of their own, of 64 MB each, which
are unmapped when they are empty, and blocks above 64 MB are mapped anew in spite of the above:
38,000 page faults and 20 to 50 of 560 ms a step of ResNet-18, 65,000 and 60 of 440 of AlexNet. It
has its price: threads wait for its lock. A training step of three small dense layers takes 0.22 ms
and 0.12 with heaps of their own, LeNet's 11.1 and 9.5.
"""

from __future__ import annotations

import ctypes
import os
from typing import Final

from . import config

__all__ = ["keep_memory", "release_memory"]

# Parameters of mallopt, from malloc.h.
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_MAX: Final = -4
_M_ARENA_MAX: Final = -8
# The most that mallopt takes.
_LARGEST: Final = (1 << 31) - 1


def _glibc() -> ctypes.CDLL | None:
    try:
        named = os.confstr("CS_GNU_LIBC_VERSION")
    except (AttributeError, ValueError, OSError):  # another C library, or another system
        return None
    return ctypes.CDLL(None) if named else None


def _is_configured() -> bool:
    """Whether the user tells glibc's allocator what to do."""
    if any(name.startswith("MALLOC_") for name in os.environ):
        return True
    return "glibc.malloc" in os.environ.get("GLIBC_TUNABLES", "")


def keep_memory() -> bool:
    """Has freed memory stay with the process, up to HYBRIDNET_KEEP_MEMORY bytes.

    It holds for the whole process. Nothing is changed where the limit is 0, where the environment
    configures the allocator (``MALLOC_...``, ``GLIBC_TUNABLES``), and where it is not glibc's.

    Returns:
        Whether it was done.
    """
    limit = config.keep_memory()
    library = _glibc() if limit and not _is_configured() else None
    if library is None:
        return False
    trim = library.mallopt(_M_TRIM_THRESHOLD, min(limit, _LARGEST))
    library.mallopt(_M_ARENA_MAX, 1)
    return bool(trim and library.mallopt(_M_MMAP_MAX, 0))


def release_memory() -> None:
    """Gives memory that is free to the system."""
    library = _glibc()
    if library is not None:
        library.malloc_trim(0)
