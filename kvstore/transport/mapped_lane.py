"""Payloads between processes of one host: in files that both have mapped, only a place is sent.

A worker puts what it pushes into a file of its own (`OutLane`), and the server adds it up from
there. A server's values are in mapped files already (`slots.py`), which the worker reads itself.
What travels is a span: where the bytes are in which file. The receiver knows the names of the
files from who sends: no path comes from outside.
"""

from __future__ import annotations

import mmap
import struct
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, final

import numpy as np

from hybridnet.kvstore.mapped_file import MappedFile
from hybridnet.kvstore.protocol.words import PartId, Peer
from hybridnet.kvstore.transport.json_words import WireError

Bytes = np.ndarray[Any, Any]
Buffer = bytes | bytearray | memoryview

#: Bytes from which on a payload goes this way: below, one message is quicker than two memories.
LEAST: Final = 1 << 12
_SPAN: Final = struct.Struct("<QQ")
_FILE: Final = 16 << 20  # bytes of a lane's file at least
_ALIGNED: Final = 4096
#: Mapped files of others that are kept open.
_OPEN: Final = 4096


def pack_span(offset: int, size: int) -> bytes:
    """Returns what is sent of bytes in a file."""
    return _SPAN.pack(offset, size)


def span_size(span: Buffer) -> int:
    """Returns how many bytes a span is about."""
    size: int = _SPAN.unpack(span)[1]
    return size


def lane_path(folder: Path, peer: Peer, generation: int, lane: int) -> Path:
    """Returns the file with this number of a worker's process."""
    return folder / f"lane-{peer.role}{peer.rank}.{generation}.{lane}"


def server_folder(folder: Path, rank: int) -> Path:
    """Returns where a server of the run keeps its files."""
    return folder / f"server-{rank}"


def value_path(folder: Path, rank: int, part: PartId, serial: int) -> Path:
    """Returns the file of a server's part."""
    return server_folder(folder, rank) / f"{part[0]}-{part[1]}.{serial}.slots"


@final
class LanePlace:
    """A place in one of a worker's files.

    Attributes:
        lane: the file's number, from 1.
        span: of the bytes that were put there last, as it is sent.
        room: how many bytes it has.
    """

    __slots__ = ("_bytes", "_offset", "lane", "room", "span")

    def __init__(self, lane: int, memory: mmap.mmap, offset: int, room: int) -> None:
        self.lane = lane
        self.room = room
        self.span = b""
        self._offset = offset
        self._bytes = np.frombuffer(memory, np.uint8, room, offset)

    def put(self, data: Bytes) -> None:
        """Copies (n,) uint8 there."""
        size = data.nbytes
        np.copyto(self._bytes[:size], data)
        self.span = _SPAN.pack(self._offset, size)


@final
class OutLane:
    """The files that a worker's payloads are put into.

    Args:
        folder: of the run.
        peer: this worker.
        generation: of this process.
    """

    def __init__(self, folder: Path, peer: Peer, generation: int) -> None:
        self._folder, self._peer, self._generation = folder, peer, generation
        self._files: list[MappedFile] = []
        self._end = 0  # of what is taken of the last file
        self._free: dict[int, list[LanePlace]] = defaultdict(list)

    def put(self, data: Bytes) -> LanePlace:
        """Copies (n,) uint8 into a file; the place is the caller's until `release`.

        Raises:
            KVStoreError: there is no room.
        """
        room = -(-data.nbytes // _ALIGNED) * _ALIGNED
        spare = self._free[room]
        place = spare.pop() if spare else self._take(room)
        place.put(data)
        return place

    def release(self, place: LanePlace) -> None:
        """Says that nobody needs these bytes any more."""
        self._free[place.room].append(place)

    def _take(self, room: int) -> LanePlace:
        if not self._files or self._end + room > self._files[-1].size:
            lane = len(self._files) + 1
            path = lane_path(self._folder, self._peer, self._generation, lane)
            path.unlink(missing_ok=True)
            self._files.append(MappedFile.create(path, max(room, _FILE)))
            self._end = 0
        offset = self._end
        self._end += room
        return LanePlace(len(self._files), self._files[-1].memory, offset, room)

    def close(self) -> None:
        """Removes the files; who has them mapped keeps their content."""
        for file in self._files:
            file.remove()
        self._files.clear()
        self._free.clear()


@final
class FileCache:
    """Files of others, mapped when their first bytes are asked for.

    Args:
        find: where the file is that a key names.
    """

    def __init__(self, find: Callable[[Any], Path]) -> None:
        self._find = find
        self._files: dict[Any, memoryview] = {}

    def view(self, key: Any, span: Buffer) -> memoryview:
        """Returns bytes of a file, not to be written.

        Args:
            key: names the file.
            span: as it was sent.

        Raises:
            WireError: there are no such bytes.
        """
        memory = self._files.get(key)
        if memory is None:
            memory = self._map(key)
        if len(span) != _SPAN.size:
            raise WireError(f"a span has {_SPAN.size} bytes, got {len(span)}")
        offset, size = _SPAN.unpack(span)
        if offset + size > memory.nbytes:
            name = self._find(key).name
            raise WireError(f"{name} has {memory.nbytes} bytes, asked for {size} from {offset}")
        return memory[offset : offset + size]

    def _map(self, key: Any) -> memoryview:
        try:
            file = MappedFile.open(self._find(key), write=False)
        except (OSError, RuntimeError) as error:
            raise WireError(f"a payload's file cannot be mapped: {error}") from None
        if len(self._files) >= _OPEN:
            del self._files[next(iter(self._files))]
        memory = self._files[key] = memoryview(file.memory)
        return memory

    def forget(self, wanted: Callable[[Any], bool]) -> None:
        """Lets go of the files with such keys."""
        for key in [one for one in self._files if wanted(one)]:
            del self._files[key]
