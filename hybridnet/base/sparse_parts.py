"""`SparseParts`: a sparse array on the host, as files hold it."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from hybridnet.base.array_types import NumpyArray

#: Storage type -> how many arrays of positions there are: the rows; where rows end, and columns.
AUXILIARY: Final = {"row_sparse": 1, "csr": 2}


class SparseParts(NamedTuple):
    """A sparse array: the values that are stored, and where they belong.

    Attributes:
        stype: 'row_sparse' or 'csr'.
        shape: of the array.
        data: the values: (n, ...) rows, or (n,) elements.
        aux: int64 positions: [rows (n,)], or [indptr (rows + 1,), indices (n,)].
    """

    stype: str
    shape: tuple[int, ...]
    data: NumpyArray
    aux: list[NumpyArray]

    @property
    def nbytes(self) -> int:
        """The bytes that its arrays take."""
        return self.data.nbytes + sum(array.nbytes for array in self.aux)

    def fault(self) -> str:
        """Returns what is wrong with the parts; empty if they make an array."""
        if self.stype == "csr":
            return self._csr_fault()
        (rows,) = self.aux
        if not self.shape or self.data.shape != (len(rows), *self.shape[1:]):
            return f"rows of shape {self.data.shape[1:]}, one for each of {len(rows)} positions"
        return _order_fault(rows, self.shape[0], "rows")

    def _csr_fault(self) -> str:
        indptr, indices = self.aux
        if len(self.shape) != 2 or indptr.shape != (self.shape[0] + 1,):
            return f"2 dimensions and a row end more than rows, got {indptr.shape} row ends"
        if self.data.shape != indices.shape or indices.ndim != 1:
            return f"a column for each value, got {indices.shape} and {self.data.shape}"
        if indptr[0] != 0 or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
            return f"row ends that begin with 0, ascend, and end with {len(indices)}"
        row = np.repeat(np.arange(self.shape[0]), np.diff(indptr))
        if len(indices) and not 0 <= indices.min() <= indices.max() < self.shape[1]:
            return f"columns from 0 to {self.shape[1] - 1}"
        later = np.diff(row) > 0
        return "" if (later | (np.diff(indices) > 0)).all() else "columns that ascend in each row"


def _order_fault(positions: NumpyArray, size: int, what: str) -> str:
    inside = not len(positions) or (positions.min() >= 0 and positions.max() < size)
    ascending = (np.diff(positions) > 0).all()
    return "" if inside and ascending else f"{what} that ascend from 0 to at most {size - 1}"
