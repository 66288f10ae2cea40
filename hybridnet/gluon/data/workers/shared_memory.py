"""Memory that a worker process fills and the main process reads, without a name anywhere.

A segment is a file in memory that has no path (on Linux a ``memfd``; elsewhere a temporary file
that is removed as soon as it is open). Its descriptor goes to the main process over a socket, and
the system frees the memory with the last descriptor or mapping of it: nothing is left behind,
whoever is killed, and the size of /dev/shm is no limit. Room is asked for before it is written to,
so that too little of it is an error and not the end of the process.

Segments are used again: a worker gets one back when the last array on it is gone.
"""

from __future__ import annotations

import mmap
import os
import weakref
from collections import deque
from typing import Final, NamedTuple, final

from hybridnet.base.errors import OutOfMemoryError
from hybridnet.base.lazy import tempfile

#: Arrays begin at multiples of this in a segment: XLA takes such memory without a copy.
ALIGNMENT: Final = 64
_STEP: Final = 1 << 16  # sizes of segments are multiples of this
_WASTE: Final = 4  # a segment is not used for what would leave more than 3 of 4 parts of it empty


def new_file(size: int) -> int:
    """Returns the descriptor of a new file in memory, all of whose room is there.

    Args:
        size: bytes, > 0.

    Raises:
        OutOfMemoryError: there is not so much.
    """
    try:
        if hasattr(os, "memfd_create"):
            descriptor = os.memfd_create("hybridnet-data", os.MFD_CLOEXEC)
        else:
            with tempfile.TemporaryFile() as file:
                descriptor = os.dup(file.fileno())
    except OSError as error:
        raise _no_memory(size, error) from error
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, size)
        else:
            os.ftruncate(descriptor, size)
    except OSError as error:
        os.close(descriptor)
        raise _no_memory(size, error) from error
    return descriptor


def _no_memory(size: int, error: OSError) -> OutOfMemoryError:
    return OutOfMemoryError(
        f"DataLoader: a batch needs {size} bytes of shared memory, and there is no more: "
        f"{error.strerror}; use a smaller batch_size, fewer num_workers or a smaller prefetch"
    )


class Segment(NamedTuple):
    """A segment, in the worker that made it."""

    number: int
    descriptor: int
    memory: mmap.mmap


@final
class Arena:
    """The segments of one worker.

    Attributes:
        dropped: the numbers of segments that are gone, which the main process is to be told.
    """

    def __init__(self) -> None:
        self._free: list[Segment] = []
        self._lent: dict[int, Segment] = {}
        self._count = 0
        self.dropped: list[int] = []

    def lend(self, size: int) -> tuple[Segment, bool]:
        """Returns a segment of at least so many bytes, and whether it is new.

        Raises:
            OutOfMemoryError: there is no memory.
        """
        fits = [x for x in self._free if size <= len(x.memory) <= max(_WASTE * size, _STEP)]
        is_new = not fits
        if fits:
            segment = min(fits, key=lambda x: len(x.memory))
            self._free.remove(segment)
        else:
            self._drop_free()  # they are too small, or much too large, for what comes now
            room = -(-size // _STEP) * _STEP
            descriptor = new_file(room)
            segment = Segment(self._count, descriptor, mmap.mmap(descriptor, room))
            self._count += 1
        self._lent[segment.number] = segment
        return segment, is_new

    def take_back(self, numbers: list[int]) -> None:
        """Notes that nobody reads these segments any more."""
        self._free += [self._lent.pop(number) for number in numbers]

    def _drop_free(self) -> None:
        for segment in self._free:
            segment.memory.close()
            os.close(segment.descriptor)
            self.dropped.append(segment.number)
        self._free.clear()


@final
class Lent:
    """The segments of one worker, as the main process sees them."""

    def __init__(self) -> None:
        self._descriptors: dict[int, int] = {}
        self._mapped: set[weakref.ref[mmap.mmap]] = set()
        self._returned: deque[int] = deque()

    def add(self, number: int, descriptor: int) -> None:
        """Takes a segment that the worker has made; its descriptor is closed with this object."""
        self._descriptors[number] = descriptor

    def drop(self, numbers: list[int]) -> None:
        """Forgets segments that the worker has no use for."""
        for number in numbers:
            os.close(self._descriptors.pop(number))

    def open(self, number: int) -> mmap.mmap:
        """Maps a segment. It goes back to the worker when the mapping is gone."""
        descriptor = self._descriptors[number]
        memory = mmap.mmap(descriptor, os.fstat(descriptor).st_size)
        mapped, returned = self._mapped, self._returned

        def give_back(gone: weakref.ref[mmap.mmap]) -> None:
            # Called in whatever thread drops the last array: these two calls are atomic.
            mapped.discard(gone)
            returned.append(number)

        mapped.add(weakref.ref(memory, give_back))
        return memory

    @property
    def count(self) -> int:
        """The number of segments that arrays are on."""
        return len(self._mapped)

    def returned(self) -> list[int]:
        """Returns the numbers of segments to give back, once."""
        found = []
        while self._returned:
            found.append(self._returned.popleft())
        return found

    def close(self) -> None:
        """Closes the descriptors; arrays on segments stay as they are."""
        self.drop(list(self._descriptors))
