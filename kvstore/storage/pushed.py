"""A server's door: it checks what workers and primaries send of a part against the part.

Whatever does not fit is refused before anything is done with it: more or fewer bytes than the part
has, rows that lie outside of it or come twice, keys that no server could hold.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, final

import numpy as np

from hybridnet.kvstore.protocol.words import (
    Copy,
    InitPart,
    KeySpec,
    Name,
    Part,
    PartId,
    Peer,
    PullPart,
    PushPart,
    PutStates,
)
from hybridnet.kvstore.storage.dtypes import DTYPES, Array, dtype_of
from hybridnet.kvstore.storage.slots import ArrayLayout
from hybridnet.kvstore.storage.two_bit import compressed_size, dequantize
from hybridnet.kvstore.storage.updates import PartOf
from hybridnet.kvstore.transport.mapped_lane import FileCache, lane_path
from hybridnet.kvstore.transport.wire import (
    LARGEST_FRAME,
    LARGEST_PART,
    Buffer,
    Payload,
    WireError,
)

_MOST_KEYS: Final = 1_000_000
_MOST_DIMENSIONS: Final = 32
#: Places in mapped files of which a part remembers what is there.
_MOST_PLACES: Final = 64


@final
@dataclass(slots=True, eq=False)
class Rows:
    """Row numbers of a table.

    Attributes:
        numbers: (n,) int64, ascending, each once, all in the part.
    """

    numbers: Array


@final
@dataclass(slots=True, eq=False)
class Given:
    """Values that came with a message.

    Attributes:
        array: them, in the part's shape (of rows: those that came); None if they are packed.
        packed: 2-bit compressed; None if they are not.
        frames: as they came; of a full copy one for each array.
        count: how many values.
    """

    array: Array | None
    packed: Array | None
    frames: Sequence[Buffer]
    count: int

    def values(self, threshold: float) -> Array:
        """Returns the values, decompressed."""
        if self.array is not None:
            return self.array
        assert self.packed is not None
        out = np.empty(self.count, np.float32)
        dequantize(self.packed, out, threshold)
        return out

    def full(self, layout: Sequence[ArrayLayout]) -> list[Array]:
        """Returns the arrays of a full copy.

        Raises:
            WireError: they are others than the layout's.
        """
        return self._arrays(layout)

    def now(self, layout: Sequence[ArrayLayout]) -> list[Array]:
        """The same of a full copy that has those of the round before, too."""
        return self._arrays((*layout, *layout))[: len(layout)]

    def previous(self, layout: Sequence[ArrayLayout]) -> list[Array]:
        """Returns the arrays of the round before, of a full copy that has them, too."""
        return self._arrays((*layout, *layout))[len(layout) :]

    def _arrays(self, layout: Sequence[ArrayLayout]) -> list[Array]:
        sizes = [math.prod(shape) * dtype.itemsize for shape, dtype in layout]
        found = sum(map(len, self.frames))
        if sum(sizes) != found:
            raise WireError(f"a full copy requires arrays of {sizes} bytes, got {found}")
        frames: Sequence[Buffer] = self.frames
        if list(map(len, self.frames)) != sizes:  # some came in pieces
            every, ends = memoryview(b"".join(self.frames)), list(itertools.accumulate(sizes))
            frames = [every[last - size : last] for last, size in zip(ends, sizes, strict=True)]
        pairs = zip(frames, layout, strict=True)
        return [np.frombuffer(one, dtype).reshape(shape) for one, (shape, dtype) in pairs]


def shape_of(part: Part, spec: KeySpec) -> tuple[int, ...]:
    """Returns the shape of a part's value: flat, or rows."""
    count = part.last - part.first
    if not spec.rows:
        return (count,)
    return (count, *(spec.shape[1:] or (spec.size // spec.rows,)))


def part_of(name: Name, spec: KeySpec, part: Part) -> PartOf:
    """Returns a part as `Updates` know it."""
    return PartOf(
        name, spec.shape or (spec.size,), dtype_of(spec.dtype), part.first, part.last,
        spec.rows > 0, spec.is_whole,
    )  # fmt: skip


@final
class PartChecks:
    """Checks messages about the parts of a server.

    Args:
        folder: of the run, where workers of this host put what they push.
    """

    def __init__(self, folder: Path) -> None:
        self._files = FileCache(lambda key: lane_path(folder, Peer("worker", key[0]), *key[1:]))
        self._generations: dict[int, int] = {}  # of workers whose files are mapped
        self._parts: dict[PartId, _Known] = {}

    def add(self, part: Part, spec: KeySpec) -> None:
        """Makes a part known."""
        self._parts[part.id] = _known(part, spec)

    def check(
        self,
        message: PushPart | PullPart | InitPart | Copy | PutStates,
        source: Peer,
        generation: int,
    ) -> None:
        """Puts `Given` and `Rows` in the place of a message's bytes.

        Raises:
            WireError: they do not fit the part.
        """
        known: _Known | None
        if isinstance(message, (InitPart, Copy)):
            _check_key(message.part, message.spec)
            known = _known(message.part, message.spec)
        else:
            known = self._parts.get(message.part)
            if known is None:  # the machine says so
                if not isinstance(message, PutStates):
                    message.rows = None
                if not isinstance(message, PullPart):
                    message.payload = None
                return
        rows = None
        if not isinstance(message, (InitPart, PutStates)) and message.rows is not None:
            rows = message.rows = _rows(message.rows, known.part, known.spec)
        if isinstance(message, PullPart):
            return
        payload: Payload | None = message.payload
        if payload is None:
            if not isinstance(message, InitPart):
                raise WireError(f"a {type(message).__name__} requires a payload, got none")
            return
        full = isinstance(message, PutStates) or (isinstance(message, Copy) and message.full)
        if payload.lane and rows is None and not full:
            message.payload = self._given_in_file(payload, known, source, generation)
            return
        if payload.lane:
            payload = self._from_file(payload, source, generation)
        message.payload = _full(payload) if full else _given(payload, known, rows)

    def _given_in_file(
        self, payload: Payload, known: _Known, source: Peer, generation: int
    ) -> Given:
        """Returns the values at a place in a file, where a worker puts those of a part often."""
        span = bytes(payload.frames[0])
        place = (source, generation, payload.lane, payload.codec, span)
        given = known.in_files.get(place)
        if given is None:
            given = _given(self._from_file(payload, source, generation), known, None)
            if len(known.in_files) >= _MOST_PLACES:
                known.in_files.clear()
            known.in_files[place] = given
        return given

    def _from_file(self, payload: Payload, source: Peer, generation: int) -> Payload:
        if source.role != "worker":
            raise WireError(f"a {source.role} has no files for what it sends")
        rank = source.rank
        if self._generations.get(rank) != generation:  # the files of its predecessor are done with
            self._generations[rank] = generation
            self._files.forget(lambda key: key[0] == rank and key[1] != generation)
            for one in self._parts.values():
                one.in_files.clear()
        view = self._files.view((rank, generation, payload.lane), payload.frames[0])
        return Payload((view,), payload.codec)


def _check_key(part: Part, spec: KeySpec) -> None:
    """Refuses a part or a key that cannot be."""
    items = spec.rows or spec.size
    if not (0 <= part.key < _MOST_KEYS and part.index >= 0 and part.shard >= 0):
        raise WireError(f"a server holds {_MOST_KEYS} keys at most, got {part}")
    if spec.dtype not in DTYPES or dtype_of(spec.dtype).itemsize != spec.item:
        raise WireError(f"a key's dtype must be one of {', '.join(DTYPES)}, got {spec.dtype!r}")
    if not 0 <= part.first <= part.last <= items or spec.rows < 0 or spec.size < 0:
        raise WireError(f"a part must lie within its key, got {part} of {items}")
    if len(spec.shape) > _MOST_DIMENSIONS or math.prod(spec.shape) != spec.size:
        raise WireError(f"a key of shape {spec.shape} has not {spec.size} elements")
    if spec.rows and (not spec.shape or spec.shape[0] != spec.rows):
        raise WireError(f"a table of shape {spec.shape} has not {spec.rows} rows")
    if spec.is_whole and (spec.rows or (part.first, part.last) != (0, items)):
        raise WireError(f"a key that is to stay whole has one dense part, got {part} of {items}")
    size = math.prod(shape_of(part, spec)) * spec.item
    largest = LARGEST_PART if spec.is_whole else LARGEST_FRAME
    if size > largest:
        what = "the key" if spec.is_whole else "a row of the table"
        raise WireError(f"a part may have {largest} bytes, got {size}: {what} is too large")


def _rows(data: memoryview, part: Part, spec: KeySpec) -> Rows:
    if not spec.rows:
        raise WireError("rows were sent of a key that has none: it was not initialized by rows")
    numbers = np.frombuffer(data, np.int64)
    inside = not len(numbers) or (numbers[0] >= part.first and numbers[-1] < part.last)
    if not inside or bool(np.any(np.diff(numbers) <= 0)):
        raise WireError(
            f"rows must be ascending, each once, from {part.first} to {part.last - 1}, got others"
        )
    return Rows(numbers)


@final
@dataclass(frozen=True, slots=True)
class _Known:
    """A part whose messages are checked.

    Attributes:
        part: which.
        spec: the key's.
        dtype: of the values.
        row: of a table, the shape of a row.
        count: how many values there are; of a table, in a row.
        in_files: values that came in mapped files, by where they are: the checks are done there.
    """

    part: Part
    spec: KeySpec
    dtype: np.dtype[Any]
    row: tuple[int, ...]
    count: int
    in_files: dict[tuple[Peer, int, int, int, bytes], Given] = field(default_factory=dict)


def _known(part: Part, spec: KeySpec) -> _Known:
    shape = shape_of(part, spec)
    count = math.prod(shape[1:] if spec.rows else shape)
    return _Known(part, spec, dtype_of(spec.dtype), shape[1:], count)


def _given(payload: Payload, known: _Known, rows: Rows | None) -> Given:
    spec, count = known.spec, known.count
    if spec.rows:
        part = known.part
        height = part.last - part.first if rows is None else len(rows.numbers)
        count *= height
    data = payload.joined()
    if payload.codec:
        if spec.dtype != "float32" or spec.rows or len(data) != compressed_size(count):
            raise WireError(
                f"2-bit compression requires {compressed_size(count)} bytes of a dense float32 "
                f"part, got {len(data)} of {spec.dtype}"
            )
        return Given(None, np.frombuffer(data, np.uint8), (data,), count)
    if len(data) != count * spec.item:
        raise WireError(f"a part of {count} {spec.dtype} was sent as {len(data)} bytes")
    array: Any = np.frombuffer(data, known.dtype)
    if spec.rows:
        array = array.reshape(height, *known.row)
    return Given(array, None, (data,), count)


def _full(payload: Payload) -> Given:
    return Given(None, None, payload.frames, 0)
