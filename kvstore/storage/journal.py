"""A journal of one entry, for arrays that change in place by rows.

An update of a table touches few rows, so a second copy of the table would be a waste. Instead the
new rows are written here first; from the moment the entry is whole the update is committed, and
whoever opens the table afterwards writes them again if the process died while doing so. Writing
them twice does no harm. One entry is enough: the next begins when the last one is in the table.
Until then it also tells what the table was before: the old rows are in it, too.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

import numpy as np

from hybridnet.kvstore.mapped_file import MappedFile
from hybridnet.kvstore.protocol.words import PartRecord
from hybridnet.kvstore.storage.dtypes import Array
from hybridnet.kvstore.storage.records import body_size, pack_body, unpack_body

_HEAD: Final = struct.Struct("<4sIQQ40x")  # magic, crc, rows, their complement: 64 bytes
_MAGIC: Final = b"HNjl"
_ALL_BITS: Final = 2**64 - 1
_MIN_BYTES: Final = 1 << 16  # bytes of a new journal


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """New rows that are committed.

    Attributes:
        record: what is committed with them.
        rows: (n,) int64, which.
        arrays: of each array of the table its new rows, (n, ...).
        before: the same, its old rows.
    """

    record: PartRecord
    rows: Array
    arrays: Sequence[Array]
    before: Sequence[Array]


@final
class Journal:
    """The journal beside a table.

    Args:
        path: of its file, made when it is missing; None: in memory only.
        tables: the arrays that entries are about: shapes and dtypes are looked at.
        ranks: how many workers there are.
    """

    def __init__(self, path: Path | None, tables: Sequence[Array], ranks: int) -> None:
        self._path = path
        self._shapes = [(one.shape[1:], one.dtype) for one in tables]
        self._ranks = ranks
        if path is not None and path.exists() and path.stat().st_size >= _MIN_BYTES:
            self._file = MappedFile.open(path, least=_MIN_BYTES)
        else:
            if path is not None:
                path.unlink(missing_ok=True)  # its process died while making it
            self._file = MappedFile.create(path, _MIN_BYTES)

    def write(self, entry: JournalEntry) -> None:
        """Puts down an entry in the place of the last one; when this returns it is committed."""
        body = pack_body(entry.record)
        pieces = [body, entry.rows.astype(np.int64).tobytes()]
        pieces += [one.tobytes() for one in (*entry.arrays, *entry.before)]
        size = _HEAD.size + sum(len(one) for one in pieces)
        self._room(size)
        memory = self._file.memory
        memory[: _HEAD.size] = bytes(_HEAD.size)  # the last entry is void from here on
        at = _HEAD.size
        for piece in pieces:
            memory[at : at + len(piece)] = piece
            at += len(piece)
        memory[: _HEAD.size] = _head(len(entry.rows), body)

    def read(self) -> JournalEntry | None:
        """Returns the entry; None if there is none, or its process died while writing it."""
        memory = self._file.memory
        magic, _, count, complement = _HEAD.unpack_from(memory)
        if magic != _MAGIC or count ^ complement != _ALL_BITS:
            return None
        at = _HEAD.size + body_size(self._ranks)
        body = memory[_HEAD.size : at]
        if memory[: _HEAD.size] != _head(count, body):
            return None
        record = unpack_body(body)
        rows = np.frombuffer(memory, np.int64, count, at).copy()
        at += rows.nbytes
        arrays = []
        for shape, dtype in (*self._shapes, *self._shapes):
            flat = np.frombuffer(memory, dtype, count * int(np.prod(shape, dtype=np.int64)), at)
            arrays.append(flat.reshape(count, *shape).copy())
            at += flat.nbytes
        tables = len(self._shapes)
        return JournalEntry(record, rows, arrays[:tables], arrays[tables:])

    def remove(self) -> None:
        """Removes the file."""
        self._file.remove()

    def _room(self, size: int) -> None:
        """Makes the file larger if an entry needs it; the entry that was there is in the table."""
        if size <= self._file.size:
            return
        self._file.remove()
        self._file = MappedFile.create(self._path, max(size, 2 * self._file.size))


def _head(rows: int, body: bytes) -> bytes:
    """Returns the head; its checksum is of itself and the record.

    Not of the rows: they are written before it, and a process that dies has written in order.
    """
    fields = (rows, rows ^ _ALL_BITS)
    crc = zlib.crc32(_HEAD.pack(_MAGIC, 0, *fields) + body)
    return _HEAD.pack(_MAGIC, crc, *fields)
