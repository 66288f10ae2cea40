"""Tensors between processes of one host: in memory that both have mapped, only its place is sent.

The network would have it copied into the kernel, out of it and together, in pieces. Here the
sender copies it once, and the receiver computes with it where it is. The memory is an unnamed file
of the sender's (`memfd`), so it is gone with the last process that has it mapped, however that
ends. Before the tensor are two numbers: its stamp, and the stamp of the last tensor that its reader
has let go of. While they differ the memory is not lent again: the sender drops it sooner, and the
reader keeps what it has.
"""

from __future__ import annotations

import mmap
import os
import stat
import struct
import weakref
from collections import OrderedDict
from pathlib import Path
from typing import Final, NamedTuple, final

import numpy as np

from hybridnet.base.errors import FormatError
from hybridnet.engine import RLock
from hybridnet.kvstore.transport.wire import SMALL, Buffer

#: Bytes of a tensor from which on it goes this way: what is shorter is part of a short message.
LEAST: Final = SMALL
#: Bytes of lent memory, that is kept for the next tensor, at most; and of others', kept mapped.
_KEPT_BYTES: Final = 1 << 29
#: Pieces of memory of others that are kept mapped.
_MAPPED: Final = 64
_NAME: Final = "hybridnet-lane"
_STAMP: Final = struct.Struct("<Q")
#: Where among the bytes before a tensor its reader says that it has let go of it.
_RETURNED: Final = _STAMP.size
#: Bytes before a tensor, and to which XLA has its arrays aligned.
_LINE: Final = 64


class GoneError(FormatError):
    """The memory of a tensor is not there any more: what it was for is over, or it came twice."""


class LentAt(NamedTuple):
    """The place of a tensor in memory that processes share.

    Attributes:
        process: whose memory.
        handle: its number of the file.
        file: what tells the file from others that had that number.
        stamp: what is before the tensor while it is there.
        size: of the tensor.
    """

    process: int
    handle: int
    file: int
    stamp: int
    size: int


@final
class Lent:
    """A piece of this process's memory that others read."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.handle = -1
        self.handle = os.memfd_create(_NAME, os.MFD_CLOEXEC)
        os.posix_fallocate(self.handle, 0, room + _LINE)
        self.memory = mmap.mmap(self.handle, room + _LINE)
        self.file = os.fstat(self.handle).st_ino
        self._stamp = 0

    def fill(self, stamp: int, payload: Buffer) -> LentAt:
        """Puts a tensor in."""
        self._stamp = stamp
        _STAMP.pack_into(self.memory, 0, 0)
        size = len(payload)
        target = np.frombuffer(self.memory, np.uint8, size, _LINE)
        np.copyto(target, np.frombuffer(payload, np.uint8))
        _STAMP.pack_into(self.memory, 0, stamp)
        return LentAt(os.getpid(), self.handle, self.file, stamp, size)

    @property
    def is_returned(self) -> bool:
        """Whether its reader has let go of the tensor."""
        return bool(_STAMP.unpack_from(self.memory, _RETURNED)[0] == self._stamp)

    def __del__(self) -> None:
        if self.handle >= 0:
            os.close(self.handle)  # the mapping goes by itself


@final
class OutLanes:
    """The memory that this process lends; safe from many threads."""

    def __init__(self) -> None:
        # What was taken back, the oldest first; readers may still have some of it.
        self._back: list[Lent] = []
        self._kept = 0
        self._stamp = 0
        self._lock = RLock()

    def lend(self, payload: Buffer) -> tuple[Lent, LentAt]:
        """Puts a tensor where others can read it.

        Raises:
            OSError: there is no memory for it, or no such thing on this system.
        """
        room = 1 << max(len(payload) - 1, LEAST - 1).bit_length()
        with self._lock:
            self._stamp += 1
            stamp = self._stamp
            found = next((one for one in self._back if one.room == room and one.is_returned), None)
            if found is not None:
                self._back.remove(found)
                self._kept -= room
        if found is None:
            found = Lent(room)
        return found, found.fill(stamp, payload)

    def take_back(self, lent: Lent) -> None:
        """Says that nobody need begin to read a tensor any more; who has begun may go on."""
        with self._lock:
            self._back.append(lent)
            self._kept += lent.room
            self._forget_oldest()

    def _forget_oldest(self) -> None:
        while self._kept > _KEPT_BYTES:
            self._kept -= self._back.pop(0).room


class _Mapped(NamedTuple):
    """Memory of another process.

    Attributes:
        whole: all of it, to be read.
        head: its beginning, to be written, too.
    """

    whole: mmap.mmap
    head: mmap.mmap


@final
class InLanes:
    """The memory of others, mapped when it is needed first. For one thread."""

    def __init__(self) -> None:
        self._mapped: OrderedDict[tuple[int, int, int], _Mapped] = OrderedDict()
        self._size = 0

    def read(self, place: LentAt) -> memoryview:
        """Returns a tensor, not to be written; it is its sender's again when nothing refers to it.

        Raises:
            FormatError: it is not there, or not any more.
        """
        key = place[:3]
        memory = self._mapped.get(key)
        if memory is None:
            memory = self._mapped[key] = _open(place)
            self._size += len(memory.whole)
            # What is mapped is not free, though its sender keeps it no longer.
            while len(self._mapped) > _MAPPED or self._size > _KEPT_BYTES:
                _, least = self._mapped.popitem(last=False)
                self._size -= len(least.whole)
        else:
            self._mapped.move_to_end(key)
        if not 0 <= place.size <= len(memory.whole) - _LINE or place.stamp <= 0:
            raise FormatError(f"a tensor of {place.size} bytes is not where it should be")
        if _STAMP.unpack_from(memory.whole, 0)[0] != place.stamp:
            raise GoneError("a tensor came too late: its memory is another's by now")
        found = np.frombuffer(memory.whole, np.uint8, place.size, _LINE)
        give_back = weakref.finalize(found, _give_back, memory.head, place.stamp, os.getpid())
        give_back.atexit = False
        return found.data


def _give_back(head: mmap.mmap, stamp: int, process: int) -> None:
    """Says that a tensor is not needed any more; a forked child's copies say nothing."""
    if os.getpid() == process:
        _STAMP.pack_into(head, _RETURNED, stamp)


def _open(place: LentAt) -> _Mapped:
    """Maps a file that another process of this user has open.

    Raises:
        GoneError: there is none, or it is another thing.
        FormatError: it may not be read.
    """
    path = Path(f"/proc/{place.process}/fd/{place.handle}")
    try:
        if not os.readlink(path).startswith(f"/memfd:{_NAME}"):
            raise GoneError(f"{path} is no memory that is lent")
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError as error:
        raise GoneError(f"{path} is closed") from error
    except OSError as error:
        raise FormatError(f"{path} cannot be read: {error.strerror}") from error
    try:
        found = os.fstat(handle)
        is_it = stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid()
        if not is_it or found.st_ino != place.file or found.st_size < _LINE:
            raise GoneError(f"{path} is another's memory")
        whole = mmap.mmap(handle, found.st_size, access=mmap.ACCESS_READ)
        return _Mapped(whole, mmap.mmap(handle, _LINE))
    finally:
        os.close(handle)
