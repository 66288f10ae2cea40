"""Rows of a sparse matrix in host memory, as iterators take them."""

from __future__ import annotations

from typing import Any, Final, final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.dtype import as_dtype
from hybridnet.ndarray import NDArray

__all__ = ["CSRRows", "is_csr"]


_SCIPY: Final = "scipy.sparse"


def is_csr(value: object) -> bool:
    """Whether this is a matrix in compressed sparse rows: ours, or SciPy's."""
    if isinstance(value, NDArray):
        return value.stype == "csr"
    return type(value).__module__.startswith(_SCIPY) and getattr(value, "format", "") == "csr"


@final
class CSRRows:
    """The rows of a matrix in compressed sparse rows.

    Args:
        matrix: one for which `is_csr` holds; its values are copied.
    """

    def __init__(self, matrix: Any) -> None:
        data, indices, indptr = (
            one.asnumpy() if isinstance(one, NDArray) else np.array(one)
            for one in (matrix.data, matrix.indices, matrix.indptr)
        )
        self.shape: tuple[int, ...] = tuple(matrix.shape)
        self.dtype = as_dtype(data.dtype)
        self._data, self._indices, self._indptr = data, indices, indptr.astype(np.int64)

    def __len__(self) -> int:
        return self.shape[0]

    def take(self, rows: NumpyArray, axis: int = 0) -> NumpyArray:
        """Returns these rows with all their zeros, as a new array; `axis`: 0."""
        begins, ends = self._indptr[rows], self._indptr[rows + 1]
        lengths = ends - begins
        first = np.cumsum(lengths) - lengths
        # Where each element was: counted from the beginning of its row.
        places = np.arange(lengths.sum()) + np.repeat(begins - first, lengths)
        taken = np.zeros((len(rows), *self.shape[1:]), self.dtype)
        taken[np.repeat(np.arange(len(rows)), lengths), self._indices[places]] = self._data[places]
        return taken
