"""The C library's allocator: keep the memory of one step for the next.

XLA allocates the temporary memory of a program at each run, as one block. glibc maps every block
above 32 MiB anew and unmaps it when it is freed, and M_MMAP_THRESHOLD cannot be set higher
(mallopt(3)); so a step that needs 40 MB has the kernel clear ten thousand pages each time. LeNet's
training step spends 21 of 37 ms in that on a virtual machine. Blocks of the heap keep their pages.

Threads other than the first have heaps of their own, of 64 MiB each; so have XLA's, which ask for
that memory. A heap that is empty is unmapped, unless M_TOP_PAD is as much as two of them. Blocks
that fit into none are mapped anew in spite of all this, so programs ask for smaller ones
(`hybridnet.runtime.programs.compile_options`). Together that saves ResNet-18 36,000 page faults a
training step, some 40 of 650 ms. One heap for all threads (M_ARENA_MAX) would do as well, but
threads wait for its lock: a step of three small dense layers then takes 0.22 ms, and 0.12 with
several.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from functools import cache
from typing import Any, Final

from . import config

# Parameters of mallopt, from malloc.h.
_M_TRIM_THRESHOLD: Final = -1
_M_TOP_PAD: Final = -2
_M_MMAP_MAX: Final = -4
# The most that mallopt takes.
_LARGEST: Final = (1 << 31) - 1
# Of the heap of a thread other than the first, on 64 bits.
_HEAP: Final = 64 << 20


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
    """Keeps freed memory in the process, up to HYBRIDNET_KEEP_MEMORY bytes.

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
    library.mallopt(_M_TOP_PAD, min(limit, 2 * _HEAP))
    return bool(trim and library.mallopt(_M_MMAP_MAX, 0))


def release_memory() -> None:
    """Gives memory that is free to the system."""
    library = _glibc()
    if library is not None:
        library.malloc_trim(0)


# Of the ten numbers of mallinfo2(3), the one that says the bytes of free blocks.
_FREE: Final = 8


class _MallocInfo(ctypes.Structure):
    _fields_ = (("numbers", ctypes.c_size_t * 10),)


def free_memory() -> int:
    """Returns the bytes that are free and stay with the process; 0 where it cannot be told."""
    library = _glibc()
    try:
        told = library.mallinfo2 if library is not None else None
    except AttributeError:  # glibc before 2.33
        return 0
    if told is None:
        return 0
    told.restype = _MallocInfo
    return int(told().numbers[_FREE])


@cache
def _malloc() -> tuple[Any, Any] | None:
    """Returns the C library's `malloc` and `free`, if they can be called."""
    try:
        library = ctypes.CDLL(None)
        malloc, free = library.malloc, library.free
    except (TypeError, AttributeError, OSError):  # Windows
        return None
    malloc.restype, malloc.argtypes = ctypes.c_void_p, (ctypes.c_size_t,)
    free.restype, free.argtypes = None, (ctypes.c_void_p,)
    return malloc, free


def has_room(size: int) -> bool:
    """Whether that many bytes can be allocated now; True where it cannot be told.

    The system may promise more than it has, and end the process when all of it is used: see
    `memory_limits`.
    """
    functions = _malloc()
    if functions is None:
        return True
    malloc, free = functions
    block = malloc(size)
    free(block)
    return block is not None


def can_map(size: int) -> bool:
    """Whether that many bytes of addresses can be had beside the heap, as threads need them."""
    try:
        mmap.mmap(-1, size).close()
    except (OSError, ValueError):
        return False
    return True


def largest_block(size: int) -> int:
    """Returns how many bytes can be allocated in one block, within a hundredth; at most `size`.

    What the C library keeps of freed memory is given back: blocks that are tried here would stay.
    """
    low, high = 0, size
    if has_room(size):
        return size
    while high - low > max(size // 100, 1):
        middle = (low + high) // 2
        low, high = (middle, high) if has_room(middle) else (low, middle)
    release_memory()
    return low
