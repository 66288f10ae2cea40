"""Payloads between processes of one host: in files that both have mapped, only a place is sent.

A worker puts what it pushes into a file of its own (`OutLane`), and the server adds it up from
there. A server's values are in mapped files already (`slots.py`), which the worker reads itself.
What travels is a `Span`: where the bytes are in which file. The receiver knows the names of the
files from who sends: no path comes from outside.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np

from hybridnet.kvstore.mapped_file import MappedFile
from hybridnet.kvstore.protocol.words import PartId, Peer
from hybridnet.kvstore.transport.json_words import WireError

__all__ = ["LEAST", "FileCache", "OutLane", "Span", "lane_path", "server_folder", "value_path"]

Bytes = np.ndarray[Any, Any]

#: Bytes from which on a payload goes this way: below, one message is quicker than two memories.
LEAST: Final = 1 << 14
_SPAN: Final = struct.Struct("<QQ")
_FILE: Final = 16 << 20  # bytes of a lane's file at least
_ALIGNED: Final = 4096
#: Mapped files of others that are kept open.
_OPEN: Final = 4096


@dataclass(frozen=True, slots=True)
class Span:
    """Where bytes are in a file.

    Attributes:
        offset: of the first.
        size: how many.
    """

    offset: int
    size: int

    def pack(self) -> bytes:
        """Returns what is sent."""
        return _SPAN.pack(self.offset, self.size)

    @classmethod
    def unpack(cls, data: bytes | bytearray | memoryview) -> Span:
        """Reads what `pack` gave.

        Raises:
            WireError: it is something else.
        """
        if memoryview(data).nbytes != _SPAN.size:
            raise WireError(f"a span has {_SPAN.size} bytes, got {memoryview(data).nbytes}")
        return cls(*_SPAN.unpack(data))


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
        self._free: dict[int, list[tuple[int, int]]] = defaultdict(list)

    def put(self, data: Bytes) -> tuple[int, Span]:
        """Copies bytes into a file.

        Args:
            data: (n,) uint8.

        Returns:
            The file's number, from 1, and where in it.

        Raises:
            KVStoreError: there is no room.
        """
        size = -(-data.nbytes // _ALIGNED) * _ALIGNED
        spare = self._free[size]
        lane, offset = spare.pop() if spare else self._take(size)
        view = np.frombuffer(self._files[lane - 1].memory, np.uint8, data.nbytes, offset)
        np.copyto(view, data)
        return lane, Span(offset, data.nbytes)

    def release(self, lane: int, span: Span) -> None:
        """Says that nobody needs these bytes any more."""
        size = -(-span.size // _ALIGNED) * _ALIGNED
        self._free[size].append((lane, span.offset))

    def _take(self, size: int) -> tuple[int, int]:
        if not self._files or self._end + size > self._files[-1].size:
            lane = len(self._files) + 1
            path = lane_path(self._folder, self._peer, self._generation, lane)
            path.unlink(missing_ok=True)
            self._files.append(MappedFile.create(path, max(size, _FILE)))
            self._end = 0
        offset = self._end
        self._end += size
        return len(self._files), offset

    def close(self) -> None:
        """Removes the files; who has them mapped keeps their content."""
        for file in self._files:
            file.remove()
        self._files.clear()
        self._free.clear()


@final
class FileCache:
    """Files of others, mapped when their first bytes are asked for."""

    def __init__(self) -> None:
        self._files: dict[Path, MappedFile] = {}

    def view(self, path: Path, span: Span) -> Bytes:
        """Returns bytes of a file, as (n,) uint8, not to be written.

        Raises:
            WireError: there are no such bytes.
        """
        file = self._files.get(path)
        if file is None:
            try:
                file = MappedFile.open(path, write=False)
            except (OSError, RuntimeError) as error:
                raise WireError(f"a payload's file cannot be mapped: {error}") from None
            if len(self._files) >= _OPEN:
                del self._files[next(iter(self._files))]
            self._files[path] = file
        if span.offset + span.size > file.size:
            raise WireError(f"{path.name} has {file.size} bytes, asked for {span}")
        return np.frombuffer(file.memory, np.uint8, span.size, span.offset)

    def forget(self, prefix: str) -> None:
        """Lets go of the files whose names begin so."""
        for path in [one for one in self._files if one.name.startswith(prefix)]:
            del self._files[path]
