"""Sums of what workers pushed, in the order of the calls: rank order, so the same bit for bit."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from hybridnet.kvstore.storage.dtypes import Array


@final
class DenseSum:
    """The sum of arrays of one shape.

    Args:
        shape: theirs.
        dtype: theirs.
    """

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._sum: Array = np.empty(shape, dtype)
        self._only: Array | None = None

    def fold(self, value: Array, *, first: bool) -> None:
        """Adds an array, or begins with it; it must stay as it is until `total`."""
        if first:
            self._only = value
        elif self._only is not None:
            np.add(self._only, value, out=self._sum)
            self._only = None
        else:
            np.add(self._sum, value, out=self._sum)

    def total(self) -> Array:
        """Returns the sum, an array that the caller may write."""
        if self._only is not None:
            np.copyto(self._sum, self._only)
            self._only = None
        return self._sum


@final
class RowSum:
    """The sum of arrays that have some rows each.

    Args:
        row: the shape of a row.
        dtype: of the elements.
    """

    def __init__(self, row: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self._rows: list[Array] = []
        self._values: list[Array] = []
        self._row = row
        self._dtype = dtype

    def fold(self, rows: Array, values: Array, *, first: bool) -> None:
        """Adds rows; the arrays must stay as they are until `total`.

        Args:
            rows: (n,) int64, each once.
            values: (n, ...).
            first: whether to forget the sum and begin with these.
        """
        if first:
            self._rows, self._values = [], []
        self._rows.append(rows)
        self._values.append(values)

    def total(self) -> tuple[Array, Array]:
        """Returns the rows that any of them has, ascending, and their sums."""
        if not self._rows:
            return np.zeros(0, np.int64), np.zeros((0, *self._row), self._dtype)
        rows = np.unique(np.concatenate(self._rows))
        total = np.zeros((len(rows), *self._row), self._dtype)
        for own, values in zip(self._rows, self._values, strict=True):
            # Each row comes once in `own`, so that no addition is lost.
            total[np.searchsorted(rows, own)] += values
        self._rows, self._values = [rows], [total]
        return rows, total
