"""Sample calls of the operators of `nd.contrib` and of computer vision; see `op_samples`."""

from __future__ import annotations

from typing import Final

import numpy as np
from op_sample import Sample, random, sample

__all__ = ["NOT_THE_DERIVATIVE", "SAMPLES"]

_X: Final = random(2, 3, low=-1.37, high=1.21)
_CUBE: Final = random(2, 3, 4)

SAMPLES: Final[dict[str, list[Sample]]] = {
    "_contrib_boolean_mask": [
        sample(_CUBE, np.array([1, 0, 1]), axis=1, size=2),
        sample(_X, np.array([0.0, 3.0]), skip=[1], size=2),
    ],
    "_contrib_index_array": [sample(_CUBE), sample(_CUBE, axes=(2, -2))],
    "_contrib_arange_like": [sample(_CUBE, step=0.5), sample(_CUBE, axis=-1, repeat=2)],
    "_contrib_getnnz": [sample(_CUBE), sample(_CUBE, axis=1)],
    "_contrib_index_copy": [sample(_CUBE, np.array([1]), _CUBE[:1] * 2)],
    "_contrib_allclose": [sample(_X, _X + 1e-9)],
    "_contrib_quadratic": [sample(_X, a=0.5, b=-2, c=3)],
    "_contrib_gradientmultiplier": [sample(_X, scalar=-0.5)],
    # In float32, which is not compared with numeric gradients: theirs is that of the identity.
    "_contrib_round_ste": [sample(_X.astype("float32"))],
    "_contrib_sign_ste": [sample(_X.astype("float32"))],
}

NOT_THE_DERIVATIVE: Final[dict[str, str]] = {
    "_contrib_gradientmultiplier": "the derivative times a number",
}
