"""The sources of iterators over files: batches in host memory, made ahead by the engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.base.remote import PathLike, require_file

__all__ = [
    "HostBatch",
    "Layout",
    "RowSource",
    "Source",
    "require_batch_size",
    "require_part",
]

Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class HostBatch:
    """A batch before it is put into arrays.

    Attributes:
        data: an array (batch_size, ...) in memory of its own, or what makes one when called.
        label: likewise.
        pad: how many of the last rows only fill it up.
        index: the numbers of the rows, uint64, or None.
    """

    data: Any
    label: Any
    pad: int
    index: NumpyArray | None


class Layout(NamedTuple):
    """The shape and dtype of the data, or of the labels, of a batch."""

    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]


class Source(ABC):
    """Reads batches in order. Only one thread calls it at a time."""

    data: Layout
    label: Layout

    @abstractmethod
    def read(self) -> HostBatch | None:
        """Returns the next batch; None at the end of the pass, however often it is asked."""

    @abstractmethod
    def restart(self, carried: int) -> None:
        """Begins a new pass.

        Args:
            carried: how many rows of the new pass the last batch has filled up with already.
        """


class RowSource(Source, Generic[Row]):
    """Makes batches of rows that come one after another.

    Where the last rows do not fill a batch, it is filled with the first rows of the next pass,
    which then begins behind them; without `round_batch` with the rows that stood in their places
    in the batch before, and then they come again.

    Args:
        batch_size: rows in a batch.
        round_batch: see above.
        files: what the rows are read from; None stands for a file that is not given.

    Raises:
        OSError: there is no such file.
    """

    def __init__(
        self, batch_size: int, round_batch: bool, files: Iterable[PathLike | None] = ()
    ) -> None:
        self.batch_size = require_batch_size(batch_size, type(self).__name__)
        for path in files:
            if path is not None:
                require_file(path)
        self.round_batch = round_batch
        self._rows: Iterator[Row] | None = None
        self._before: Sequence[Row] = ()
        #: Rows of the pass that follow after those that filled the last batch.
        self._next_rows: Iterator[Row] | None = None
        self._ended = False

    @abstractmethod
    def rows(self, filled: int) -> Iterator[Row]:
        """Returns the rows of a pass, from the first on.

        Args:
            filled: how many rows the batch has already that the first of them goes to.
        """

    @abstractmethod
    def collate(self, rows: Sequence[Row], pad: int) -> HostBatch:
        """Makes a batch of its rows."""

    def read(self) -> HostBatch | None:
        """Returns the next batch; None at the end of the pass."""
        if self._ended:
            return None
        if self._rows is None:
            self._rows = self.rows(0)
        got = _take(self._rows, self.batch_size)
        missing = self.batch_size - len(got)
        if missing:
            self._ended = True
            if not got:
                return None
            got += self._fill(missing)
        self._before = got
        return self.collate(got, missing)

    def _fill(self, missing: int) -> list[Row]:
        filled = self.batch_size - missing
        if not self.round_batch:
            # Where there is no batch before, the last row again.
            before = self._before or [*self._rows_so_far(filled)]
            return list(before[filled:])
        self._next_rows = self.rows(filled)
        got = _take(self._next_rows, missing)
        if len(got) < missing:
            raise MXNetError(
                f"{type(self).__name__}: round_batch needs a batch of {self.batch_size} rows in "
                f"two passes, got {len(got)} in one; use a smaller batch_size, or round_batch=False"
            )
        return got

    def _rows_so_far(self, filled: int) -> list[Row]:
        rows = _take(self.rows(0), filled)
        return rows + [rows[-1]] * (self.batch_size - filled)

    def restart(self, carried: int) -> None:
        """Begins a new pass, behind the rows carried over."""
        self._ended = False
        self._rows = self._next_rows if carried and self.round_batch else None
        self._next_rows = None


def _take(rows: Iterator[Row], count: int) -> list[Row]:
    """Returns the next rows, fewer at the end."""
    return [row for _, row in zip(range(count), rows, strict=False)]


def require_batch_size(batch_size: int | str | float, what: str) -> int:
    """Returns a batch size as a number.

    Raises:
        ParameterError: it is less than 1.
    """
    if int(batch_size) < 1:
        raise ParameterError(f"{what}: batch_size must be at least 1, got {batch_size}")
    return int(batch_size)


def require_part(num_parts: int, part_index: int, what: str) -> None:
    """Raises a ParameterError unless there is such a part."""
    if not 0 <= part_index < num_parts:
        raise ParameterError(
            f"{what}: part_index must be from 0 to num_parts - 1 = {num_parts - 1}, got "
            f"{part_index}"
        )
