"""`RowSparseNDArray`: arrays of which some rows are stored, as gradients of embeddings are."""

from __future__ import annotations

from typing import Final, final

import numpy as np

from hybridnet.base.array_types import Index
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.ops.core import registry

from ..ndarray import NDArray
from .base import BaseSparseNDArray, apply

__all__ = ["RowSparseNDArray"]

_RETAIN: Final = registry.get("_sparse_retain")


@final
class RowSparseNDArray(BaseSparseNDArray):
    """An array of which some rows (slices along the first axis) are stored.

    Row ``indices[i]`` is ``data[i]``; `indices` ascends. Made by `row_sparse_array`.
    """

    __slots__ = ()

    @classmethod
    def rows_of(cls, source: NDArray, indices: NDArray) -> RowSparseNDArray:
        """Returns some rows of a dense array.

        Args:
            source: (rows, ...).
            indices: which rows, any numbers in any order; those out of range are left out.
        """
        count = source.shape[0]
        rows = apply("_distinct", indices.as_in_context(source.context), bound=count)
        return cls.of(apply("_take_rows", source, rows), [rows], source.shape, exact=False)

    @property
    def stype(self) -> str:
        """The storage type."""
        return "row_sparse"

    @property
    def indices(self) -> NDArray:
        """A copy of where the rows stand, (n,) int64; waits for how many there are."""
        return self.trimmed()._aux[0].copy()

    def to_dense(self) -> NDArray:
        """Returns the dense array."""
        made: NDArray = apply("_rows_dense", self._data, self._aux[0], rows=self.shape[0])
        return made

    def stored(self) -> int:
        """Returns how many rows are stored; waits for it."""
        return int(np.count_nonzero(self._aux[0].asnumpy() < self.shape[0]))

    def retain(self, indices: NDArray) -> RowSparseNDArray:
        """Returns an array with some of the rows; see ``nd.sparse.retain``."""
        made: RowSparseNDArray = type(self).apply_operator(_RETAIN, (self, indices), {})
        return made

    def __getitem__(self, key: Index) -> RowSparseNDArray:
        """Returns this array for ``x[:]``, which is all that can be asked for."""
        if isinstance(key, slice) and key == slice(None):
            return self
        raise ParameterError(
            f"RowSparseNDArray: the only index is [:], got {key!r}; take rows with retain(), or "
            "make it dense with tostype('default')"
        )

    def check_format(self, full_check: bool = True) -> None:
        """Checks the positions; waits for them.

        Args:
            full_check: whether to check anything.

        Raises:
            MXNetError: they must ascend, and be from 0 to less than the number of rows.
        """
        if not full_check:
            return
        self.trimmed()
        rows = self._aux[0].asnumpy()
        inside = not len(rows) or (rows.min() >= 0 and rows.max() < self.shape[0])
        if not inside or (np.diff(rows) <= 0).any() or len(rows) != len(self._data):
            raise MXNetError(
                "check_format: indices of a row_sparse array must ascend, and be from 0 to "
                f"{self.shape[0] - 1}, one for each of {len(self._data)} rows, got "
                f"{rows.tolist()[:20]}"
            )
