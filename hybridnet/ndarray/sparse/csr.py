"""`CSRNDArray`: matrices of which each row stores its elements that are not 0."""

from __future__ import annotations

import importlib
from typing import Any, final

import numpy as np

from hybridnet.base.array_types import ArrayLike, Index
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.runtime.recording import recorder

from ..ndarray import NDArray
from .base import BaseSparseNDArray, apply, upload

__all__ = ["CSRNDArray"]


@final
class CSRNDArray(BaseSparseNDArray):
    """A matrix in compressed sparse rows.

    The elements of row i are ``data[indptr[i]:indptr[i + 1]]``, and their columns the same part of
    `indices`, ascending. Made by `csr_matrix`.
    """

    __slots__ = ()

    @property
    def stype(self) -> str:
        """The storage type."""
        return "csr"

    @property
    def indices(self) -> NDArray:
        """A copy of the columns of the elements, (nnz,) int64; waits for how many there are."""
        return self.trimmed()._aux[0].copy()

    @property
    def indptr(self) -> NDArray:
        """A copy of where each row begins and the last one ends, (rows + 1,) int64."""
        return self._aux[1].copy()

    def to_dense(self) -> NDArray:
        """Returns the dense matrix."""
        made: NDArray = apply("_csr_dense", self._data, *self._aux, columns=self.shape[1])
        return made

    def roomy_parts(self) -> tuple[NDArray, NDArray, NDArray]:
        """Returns values, columns and row ends with room for a power of two of elements.

        So matrices of about as many elements run by the same program. Waits for the values, but
        not in a traced function, which has its sizes for good.
        """
        parts = (self._data, self._aux[0], self._aux[1])
        count = self._data.shape[0]
        room = 1 << max(count - 1, 0).bit_length()
        if room == count or recorder.current_trace() is not None:
            return parts
        data, indices = (
            upload(np.pad(part.asnumpy(), (0, room - count)), self.context) for part in parts[:2]
        )
        return data, indices, parts[2]

    def stored(self) -> int:
        """Returns how many elements are stored; waits for it."""
        return int(self._aux[1].asnumpy()[-1])

    def asscipy(self) -> Any:
        """Returns a copy as ``scipy.sparse.csr_matrix``; waits for it.

        Raises:
            ImportError: SciPy is not installed.
        """
        try:
            sparse = importlib.import_module("scipy.sparse")
        except ImportError:
            raise ImportError("asscipy: requires SciPy; install the package scipy") from None
        self.trimmed()
        indices, indptr = (array.asnumpy() for array in self._aux)
        parts = (self._data.asnumpy(), indices, indptr)
        return sparse.csr_matrix(parts, shape=self.shape, dtype=self.dtype)

    def rows(self, begin: int, end: int) -> CSRNDArray:
        """Returns the rows from `begin` up to `end`; waits for where they begin."""
        end = max(begin, end)
        indptr = self._aux[1].asnumpy()[begin : end + 1]
        if not len(indptr):
            indptr = np.zeros(1, np.int64)
        first, last = int(indptr[0]), int(indptr[-1])
        aux = (self._aux[0][first:last].copy(), upload(indptr - first, self.context))
        return self.of(self._data[first:last].copy(), aux, (end - begin, self.shape[1]))

    def columns(self, begin: int, end: int) -> CSRNDArray:
        """Returns the columns from `begin` up to `end`; waits for how many elements they have."""
        self.trimmed()
        width = self.shape[1]
        keys = apply("_csr_keys", *self._aux, columns=width)
        kept = (self._aux[0] >= begin) * (self._aux[0] < end)
        size = int(np.count_nonzero(kept.asnumpy()))
        data, keys = (
            apply("_contrib_boolean_mask", array, kept, size=size) for array in (self._data, keys)
        )
        indices, indptr = apply("_keys_csr", keys, rows=self.shape[0], columns=width)
        shape = (self.shape[0], max(end - begin, 0))
        return self.of(data, (indices - begin, indptr), shape)

    def __getitem__(self, key: Index) -> CSRNDArray:
        """Returns a copy of some rows: ``x[i]``, of shape (1, columns), or ``x[i:j]``."""
        count = self.shape[0]
        if isinstance(key, (int, np.integer)) and not isinstance(key, bool):
            if not -count <= key < count:
                raise IndexError(f"CSRNDArray: index {key} is out of range for {count} rows")
            begin = int(key) % count
            return self.rows(begin, begin + 1)
        if isinstance(key, slice) and key.step in (None, 1):
            if key == slice(None):
                return self
            begin, end, _ = key.indices(count)
            return self.rows(begin, end)
        raise ParameterError(
            "CSRNDArray: an index must be one row, or a slice of rows without a step, got "
            f"{key!r}; for others make it dense with tostype('default')"
        )

    def _as_array(self, value: ArrayLike) -> NDArray:
        if np.ndim(value) == 0 and not isinstance(value, NDArray):
            raise ParameterError(
                f"CSRNDArray: x[:] = value needs an array, got the number {value!r}, which would "
                "fill every element; for zeros use nd.sparse.zeros('csr', shape)"
            )
        return super()._as_array(value)

    def check_format(self, full_check: bool = True) -> None:
        """Checks the positions; waits for them.

        Args:
            full_check: whether to check the columns, and not only the row ends.

        Raises:
            MXNetError: `indptr` must begin with 0, not decrease, and end with the number of
                elements; the columns of a row must ascend and be less than the shape says.
        """
        self.trimmed()
        indices, indptr = (array.asnumpy() for array in self._aux)
        ends = len(indptr) == self.shape[0] + 1 and indptr[0] == 0 and indptr[-1] == len(indices)
        if not ends or (np.diff(indptr) < 0).any() or len(indices) != self._data.size:
            raise MXNetError(
                "check_format: indptr of a csr array must begin with 0, not decrease, and end with "
                f"the number of elements, {self._data.size}, got {indptr.tolist()[:20]}"
            )
        if not full_check or not len(indices):
            return
        starts = np.zeros(len(indices) + 1, bool)
        starts[indptr] = True
        ascending = (np.diff(indices) > 0) | starts[1:-1]
        if indices.min() < 0 or indices.max() >= self.shape[1] or not ascending.all():
            raise MXNetError(
                "check_format: indices of a csr array must ascend in each row and be from 0 to "
                f"{self.shape[1] - 1}, got {indices.tolist()[:20]}"
            )
