"""A dense part of a server that survives `kill -9`: two copies of its arrays, and who is newer.

The file: a head, the part's description in JSON, two records, and the arrays (the value, and the
optimizer's states) once or twice. A commit writes the arrays of the copy that does not count, then
the record, which makes it count: whenever the process ends, one copy is whole. Between two commits
both are: what counts, and what did before. What a process has written into a mapped file stays when
it dies; a machine that loses power keeps nothing.

With one copy only (`copies=1`) the file holds what changes in place: tables with a journal
(`journal.py`).
"""

from __future__ import annotations

import json
import math
import os
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, final

import numpy as np

from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.mapped_file import MappedFile
from hybridnet.kvstore.protocol.words import PartRecord
from hybridnet.kvstore.storage.dtypes import Array, dtype_of
from hybridnet.kvstore.storage.records import Records, record_size

#: Shape and dtype of an array.
ArrayLayout = tuple[tuple[int, ...], np.dtype[Any]]

_HEAD: Final = struct.Struct("<8sIIQIIII")  # magic, length and crc of the JSON, size, ranks, copies
_MAGIC: Final = b"HNslots1"
_PAGE: Final = 4096
_ALIGNED: Final = 64  # bytes: what XLA takes over without a copy
_LONGEST: Final = 1 << 16  # bytes of the description


class TornFileError(KVStoreError):
    """A file of a server's values that is not whole: its process died while making it."""


@final
class Slots:
    """The arrays of a part and what is committed of them.

    Attributes:
        description: what was given to `create`: JSON.
        record: what counts.
        file: where it is.
        arrays: of each copy, the value and the states.
        offsets: of each copy, where in the file they are, in bytes.
    """

    def __init__(
        self, file: MappedFile, description: Mapping[str, Any], layout: Sequence[ArrayLayout],
        ranks: int, copies: int, start: int,
    ) -> None:  # fmt: skip
        self.file = file
        self.description = description
        self.layout = tuple(layout)
        view = memoryview(file.memory)
        size = record_size(ranks)
        places = [view[start + i * size : start + (i + 1) * size] for i in (0, 1)]
        self._records = Records(places, ranks)
        self.arrays, self.offsets = [], []
        offset = _round_up(start + 2 * size, _PAGE)
        for _ in range(copies):
            made, offsets = [], []
            for shape, dtype in layout:
                count = math.prod(shape)
                flat = np.frombuffer(file.memory, dtype, count, offset)
                made.append(flat.reshape(shape))
                offsets.append(offset)
                offset = _round_up(offset + count * dtype.itemsize, _ALIGNED)
            self.arrays.append(made)
            self.offsets.append(offsets)
            offset = _round_up(offset, _PAGE)
        size = self.arrays[0][0].nbytes
        self._values = [view[one[0] : one[0] + size] for one in self.offsets]

    @classmethod
    def create(
        cls,
        path: Path | None,
        description: Mapping[str, Any],
        layout: Sequence[ArrayLayout],
        record: PartRecord,
        fill: Callable[[Sequence[Array]], None],
        *,
        copies: int = 2,
        previous: Callable[[Sequence[Array]], None] | None = None,
    ) -> Slots:
        """Makes the file of a part; it is there as a whole or not at all.

        Args:
            path: of the file, replaced if it exists; None: in memory only.
            description: what `open` gives back; JSON, 64 KB at most.
            layout: shape and dtype of the value and of each state.
            record: what counts from the start.
            fill: is called with the arrays, zeros, to write their first content.
            copies: 2, or 1 for what changes in place.
            previous: the same, of what they were a round before, where that is known and there are
                two copies.

        Raises:
            KVStoreError: there is no room.
        """
        text = json.dumps(
            {"layout": [[list(shape), dtype.name] for shape, dtype in layout], **description}
        ).encode()
        if len(text) > _LONGEST:
            raise KVStoreError(f"a part's description may have 64 KB, got {len(text)} bytes")
        ranks = len(record.pushes)
        start = _round_up(_HEAD.size + len(text), _ALIGNED)
        size = _size(start, ranks, layout, copies)
        early = None if path is None else path.with_name(f"{path.name}.new")
        if early is not None:
            early.unlink(missing_ok=True)
        file = MappedFile.create(early, size)
        head = _HEAD.pack(_MAGIC, len(text), zlib.crc32(text), size, ranks, copies, 0, 0)
        file.memory[: len(head)] = head
        file.memory[len(head) : len(head) + len(text)] = text
        slots = cls(file, description, layout, ranks, copies, start)
        fill(slots.arrays[0])
        if copies == 2:  # the first record is written at place 1
            before = record
            if previous is not None:
                previous(slots.arrays[1])
                before = replace(record, round=record.round - 1)
            slots._records.write(before)
        slots._records.write(record)
        if early is not None and path is not None:
            os.replace(early, path)
            file.path = path
        return slots

    @classmethod
    def open(cls, path: Path) -> Slots:
        """Maps a part's file as a killed process left it.

        Raises:
            TornFileError: it is not whole.
        """
        file = MappedFile.open(path)
        if file.size < _HEAD.size:
            raise TornFileError(f"{path} is shorter than the head of a server's file")
        magic, length, crc, size, ranks, copies, _, _ = _HEAD.unpack_from(file.memory)
        text = file.memory[_HEAD.size : _HEAD.size + min(length, _LONGEST)]
        if magic != _MAGIC or size != file.size or zlib.crc32(text) != crc:
            raise TornFileError(f"{path} is no whole file of a server's values")
        description = json.loads(text)
        layout = [(tuple(shape), dtype_of(name)) for shape, name in description.pop("layout")]
        start = _round_up(_HEAD.size + length, _ALIGNED)
        if _size(start, ranks, layout, copies) != size:
            raise TornFileError(f"{path} has another size than its arrays take")
        slots = cls(file, description, layout, ranks, copies, start)
        if slots._records.current is None:
            raise TornFileError(f"{path} has no whole record")
        return slots

    @property
    def record(self) -> PartRecord:
        """The record of what is committed."""
        current = self._records.current
        assert current is not None
        return current

    @property
    def current(self) -> Sequence[Array]:
        """The value and the states that count; written only by `fill`, or with a journal."""
        return self.arrays[self._records.place % len(self.arrays)]

    @property
    def has_previous(self) -> bool:
        """Whether there are two copies, and the other one is that of the round before."""
        before, number = self._records.before, self.record.round
        return len(self.arrays) == 2 and before is not None and before.round == number - 1

    @property
    def previous(self) -> Sequence[Array]:
        """The value and the states of the round before, where `has_previous`."""
        return self.arrays[1 - self._records.place]

    def begin(self) -> Sequence[Array]:
        """Begins a commit; returns the arrays to write. From here on nothing is previous."""
        self._records.void()
        return self.arrays[1 - self._records.place]

    @property
    def copy(self) -> int:
        """The number of the copy that counts."""
        return self._records.place % len(self.arrays)

    @property
    def value_bytes(self) -> memoryview:
        """The value that counts, as bytes."""
        return self._values[self._records.place % len(self.arrays)]

    @property
    def previous_bytes(self) -> memoryview:
        """The value of the round before, as bytes; see `has_previous`."""
        return self._values[1 - self._records.place]

    def commit(self, record: PartRecord) -> None:
        """Makes the spare arrays, which the caller has written, count, with their record."""
        self._records.write(record)

    def remove(self) -> None:
        """Removes the file."""
        self.file.remove()


def _size(start: int, ranks: int, layout: Sequence[ArrayLayout], copies: int) -> int:
    """Returns the size of the file, in bytes."""
    size = _round_up(start + 2 * record_size(ranks), _PAGE)
    for _ in range(copies):
        for shape, dtype in layout:
            size = _round_up(size + math.prod(shape) * dtype.itemsize, _ALIGNED)
        size = _round_up(size, _PAGE)
    return size


def _round_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple
