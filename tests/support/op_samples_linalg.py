"""Sample calls of the operators on matrices."""

from __future__ import annotations

from typing import Final

import numpy as np
from op_sample import Sample, random, sample

__all__ = ["SAMPLES"]

_A: Final = random(2, 3, 4)
_B: Final = random(2, 4, 2, seed=1)
_SQUARE: Final = random(2, 3, 3) + 2 * np.eye(3)
_SYMMETRIC: Final = _SQUARE + _SQUARE.swapaxes(-1, -2) + np.diag([0.0, 2.0, 5.0])
_POSITIVE: Final = np.matmul(_SQUARE, _SQUARE.swapaxes(-1, -2)) + np.eye(3)
_LOWER: Final = np.tril(_SQUARE)

SAMPLES: Final[dict[str, list[Sample]]] = {
    "_linalg_gemm2": [
        sample(_A, _B, alpha=0.7),
        sample(random(3, 2, 4), random(4, 2, 5), axis=0),
        sample(_A, random(2, 5, 3, seed=1), transpose_a=True, transpose_b=True),
    ],
    "_linalg_gemm": [sample(_A, _B, random(2, 3, 2, seed=2), alpha=0.7, beta=1.3)],
    "_linalg_syrk": [sample(_A, alpha=0.7), sample(_A, transpose=True)],
    **{
        name: [
            sample(_SQUARE, _A, alpha=0.7),
            sample(_SQUARE, _B.swapaxes(-1, -2)[..., :3], lower=False, rightside=True),
            sample(_SQUARE, _A, transpose=True),
        ]
        for name in ("_linalg_trmm", "_linalg_trsm")
    },
    "_linalg_potrf": [sample(_POSITIVE), sample(_POSITIVE[0])],
    "_linalg_potri": [sample(_LOWER)],
    "_linalg_gelqf": [Sample((random(2, 2, 3),), outputs=2)],
    "_linalg_syevd": [Sample((_SYMMETRIC,), outputs=2)],
    "_linalg_inverse": [sample(_SQUARE)],
    "_linalg_det": [sample(_SQUARE), sample(_SQUARE[0])],
    "_linalg_slogdet": [Sample((_SQUARE,), outputs=2), Sample((_SQUARE[0],), outputs=2)],
    "_linalg_sumlogdiag": [sample(_SQUARE), sample(_SQUARE[0])],
    "_linalg_extractdiag": [sample(_SQUARE), sample(_SQUARE, offset=-1)],
    "_linalg_makediag": [sample(_SQUARE, offset=2), sample(_SQUARE[0, 0])],
    "_linalg_extracttrian": [
        sample(_SQUARE, lower=False),
        sample(_SQUARE, offset=1),
        sample(_SQUARE, offset=-2),
    ],
    "_linalg_maketrian": [sample(_SQUARE), sample(_SQUARE, offset=1), sample(_SQUARE, offset=-2)],
}
