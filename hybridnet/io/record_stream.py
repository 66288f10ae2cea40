"""The records of a file in the order of a pass: parts for workers, and orders by chance.

Parts, orders and the numbers that augmenters are seeded with are MXNet's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple, final

from hybridnet.base.errors import FormatError, ParameterError
from hybridnet.base.remote import file_size, open_binary, require_file, size_of
from hybridnet.recordio import MXIndexedRecordIO
from hybridnet.recordio.framing import find_record, read_record

from .mersenne import MersenneTwister

__all__ = ["IndexedRecords", "Numbered", "Records"]

_MEGABYTE: Final = 1 << 20
_CHUNK: Final = 64 * _MEGABYTE  # whose records are put in an order by chance together
_BUFFER: Final = 1 << 18
#: What MXNet adds to the seeds of orders.
_MAGIC: Final = 111
_CHUNK_MAGIC: Final = 666
#: The part of the file that is cut into chunks of random order is a little larger.
_MORE: Final = 1.1


class Numbered(NamedTuple):
    """A record.

    Attributes:
        number: of its place in the pass, for the seed of its augmenter.
        data: the record.
    """

    number: int
    data: bytes


@final
class Records:
    """The records of a part of a file.

    Args:
        path: of the file.
        num_parts: how many parts its bytes are cut into. A record belongs to the part in which it
            begins.
        part_index: which part is read.
        shuffle: put the records of each 64 MB in an order by chance.
        seed: of that order.
        chunk: megabytes of the pieces that come in an order by chance; 0: they do not.
        chunk_seed: of that order.
        batch_size: rows of a batch.

    Raises:
        OSError: there is no such file.
    """

    def __init__(
        self,
        path: str,
        num_parts: int,
        part_index: int,
        shuffle: bool,
        seed: int,
        chunk: int,
        chunk_seed: int,
        batch_size: int,
    ) -> None:
        require_file(path)
        self._path = path
        self._part = num_parts, part_index
        self._shuffle = MersenneTwister(_MAGIC + seed) if shuffle else None
        self._batch_size = batch_size
        self._pieces = 1
        if chunk > 0:
            share = num_parts * chunk * _MEGABYTE
            self._pieces = max(math.ceil(file_size(path) * _MORE / share), 1)
        self._order = list(range(self._pieces))
        self._numbers = MersenneTwister(
            _CHUNK_MAGIC + part_index + num_parts + self._pieces + chunk_seed
        )
        self._reorder()
        self._first = True

    def _reorder(self) -> None:
        if self._pieces > 1:
            self._order = [self._order[one] for one in self._numbers.shuffled(self._pieces)]

    def rows(self, filled: int) -> Iterator[Numbered]:
        """Yields the records of a pass, in a batch that has so many rows already."""
        if not self._first:
            self._reorder()
        self._first = False
        rows = (row for piece in self._order for row in self._piece(piece))
        if self._shuffle is None:
            yield from (Numbered(filled + place, row) for place, row in enumerate(rows))
            return
        held: list[bytes] = []
        size = 0
        for row in rows:
            held.append(row)
            size += len(row)
            if size >= _CHUNK:
                yield from self._shuffled(held)
                held, size = [], 0
        yield from self._shuffled(held)

    def _shuffled(self, rows: list[bytes]) -> Iterator[Numbered]:
        assert self._shuffle is not None
        for place in self._shuffle.shuffled(len(rows)):
            yield Numbered(self._batch_size + place, rows[place])

    def _piece(self, piece: int) -> Iterator[bytes]:
        num_parts, part_index = self._part
        with open_binary(self._path, "rb", _BUFFER) as file:
            count = num_parts * self._pieces
            begin, end = _range(file, self._path, count, part_index * self._pieces + piece)
            file.seek(begin)
            while begin < end:
                row, begin = read_record(file, self._path, begin)
                if row is None:
                    return
                yield row


def _range(file: BinaryIO, path: str, count: int, part: int) -> tuple[int, int]:
    """Returns where the records of a part begin and end, in bytes."""
    size = size_of(file) or 0
    step = -(-size // count)
    step += -step % 4
    places = []
    for place in (min(step * part, size), min(step * (part + 1), size)):
        if 0 < place < size:
            found = find_record(file, place, 0)
            place = size if found is None else found
        places.append(place)
    return places[0], places[1]


@final
class IndexedRecords:
    """The records of a part of a file with an index, in the order of their places or by chance.

    Args:
        path: of the file.
        index: of its index.
        num_parts: how many parts the records are cut into.
        part_index: which part is read.
        shuffle: draw a new order for each pass.
        seed: of the orders.
        batch_size: rows of a batch.
    """

    def __init__(
        self,
        path: str,
        index: str,
        num_parts: int,
        part_index: int,
        shuffle: bool,
        seed: int,
        batch_size: int,
    ) -> None:
        self._file = MXIndexedRecordIO(index, path, "r")
        keys = sorted(self._file.idx, key=self._file.idx.__getitem__)
        step = -(-len(keys) // num_parts)
        self._keys = keys[step * part_index : step * (part_index + 1)]
        if not self._keys:
            raise ParameterError(
                f"{index}: part {part_index} of {num_parts} has no record, of {len(keys)}; use "
                "fewer parts"
            )
        self._numbers = MersenneTwister(_MAGIC + seed) if shuffle else None
        self._batch_size = batch_size

    def rows(self, filled: int) -> Iterator[Numbered]:
        """Yields the records of a pass, in a batch that has so many rows already."""
        count = len(self._keys)
        order = range(count) if self._numbers is None else self._numbers.shuffled(count)
        keys = [self._keys[one] for one in order]
        for place, row in enumerate(self._file.read_in_order(keys)):
            if row is None:
                raise FormatError(
                    f"{self._file.idx_path}: the place of {keys[place]} must be a record of "
                    f"{self._file.uri}, got the end of the file; the index is of another file"
                )
            yield Numbered(filled + place % self._batch_size, row)
