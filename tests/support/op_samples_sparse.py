"""Sample calls of the operators that sparse arrays are computed with; see `op_samples`.

The matrix is (3, 4) with 4 elements, and room for a fifth.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from op_sample import Sample, random, sample

__all__ = ["SAMPLES"]

_DATA: Final = random(5)
_INDICES: Final = np.array([1, 0, 2, 3, 0])
_INDPTR: Final = np.array([0, 1, 3, 4])
_CSR: Final = (_DATA, _INDICES, _INDPTR)
_ROWS: Final = np.array([1, 2, 4])
_X: Final = random(3, 4)
# In float32, which is not compared with numeric gradients: those see what is not stored, too.
_SPARSE: Final = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0], [1.5, 0.0, -1.0]], np.float32)

SAMPLES: Final[dict[str, list[Sample]]] = {
    "_csr_dense": [sample(*_CSR, columns=4)],
    "_rows_dense": [sample(_X, _ROWS, rows=4)],
    "_dense_csr": [sample(_SPARSE, size=3)],
    "_dense_rows": [sample(_SPARSE, size=2)],
    "_distinct": [sample(np.array([[2, 0], [2, -1]]), bound=4)],
    "_csr_keys": [sample(_INDICES, _INDPTR, columns=4)],
    "_keys_csr": [sample(np.array([1, 4, 6, 11, 12]), rows=3, columns=4)],
    "_lookup": [
        sample(_X, _ROWS, np.array([4, 1, 3])),
        sample(_X[:0], _ROWS[:0], np.array([4, 1, 3])),
    ],
    "_take_rows": [sample(_X, np.array([2, 0, 3]))],
    "_put_rows": [sample(random(4, 2), _ROWS, random(3, 2, seed=1))],
    "_rows_sum": [sample(_X, np.array([2, 0, 2]), rows=4)],
    "_csr_pick": [sample(_X, _INDICES, _INDPTR), sample(_X[:1], _INDICES, _INDPTR)],
    "_csr_dot": [
        sample(*_CSR, random(4, 2, seed=1), columns=4),
        sample(*_CSR, random(3, 2, seed=1), columns=4, transpose_a=True),
    ],
    "_csr_dot_rows": [sample(*_CSR, random(3, 2, seed=1), columns=4)],
    "_csr_sum": [sample(*_CSR, columns=4, axis=axis) for axis in (None, 0, 1)],
    "cast_storage": [sample(_X, stype="default")],
    "_sparse_retain": [sample(_X, np.array([2.0, 0.0]), skip=[1])],
    "_embedding_rows": [
        sample(np.array([[0.0, 2.0], [2.0, 7.0]]), random(2, 2, 3), skip=[0], input_dim=3),
        sample(np.array([2.0, 0.0]), random(2, 3), skip=[0], input_dim=5),
    ],
    "_square_sum": [sample(_X, axis=1, keepdims=True), sample(_X)],
}
