"""Sample calls of operators that other systems' graphs need: padded windows, tuples, segments."""

from __future__ import annotations

from typing import Final

import numpy as np
from op_sample import Sample, random, sample

__all__ = ["NOT_THE_DERIVATIVE", "SAMPLES"]

_IMAGE: Final = random(2, 5, 4, 2)
_FIRST: Final = random(2, 2, 5, 4, seed=4)
_FILTERS: Final = random(3, 2, 2, 3, seed=1)
_MATRIX: Final = random(4, 3)
_POSITIVE: Final = random(2, 3, low=0.4, high=2.7)
_ROWS: Final = np.array([[0.25, 0.5, 0.25], [0.125, 0.125, 0.75]])
_TUPLES: Final = np.array([[1], [3], [1]])

SAMPLES: Final[dict[str, list[Sample]]] = {
    "_padded_convolution": [
        sample(_IMAGE, _FILTERS, strides=(1, 1), dilations=(1, 1)),
        sample(_IMAGE, _FILTERS, strides=(2, 1), dilations=(1, 2), padding="VALID"),
        sample(_FIRST, _FILTERS, strides=(2, 2), dilations=(1, 1), layout="NCHW"),
        sample(_IMAGE, _FILTERS, strides=(1, 1), dilations=(1, 1), pads=(2, 0, 0, 1)),
        sample(
            _IMAGE, random(3, 3, 1, 4, seed=2), strides=(1, 1), dilations=(1, 1), num_group=2
        ),
        sample(
            random(1, 6, 2), random(3, 2, 2, seed=3), strides=(2,), dilations=(1,), layout="NWC"
        ),
    ],
    "_padded_deconvolution": [
        sample(
            _IMAGE, random(2, 3, 3, 2, seed=2), shape=(2, 9, 7, 3), strides=(2, 2), dilations=(1, 1)
        ),
        sample(
            _FIRST, random(3, 2, 3, 2, seed=2), shape=(2, 3, 7, 5), strides=(1, 1),
            dilations=(1, 1), padding="VALID", layout="NCHW",
        ),
    ],
    "_padded_pooling": [
        *(
            sample(_IMAGE, kernel=(3, 2), strides=(2, 1), padding=padding, pool_type=kind)
            for padding in ("SAME", "VALID")
            for kind in ("avg", "max")
        ),
        sample(_FIRST, kernel=(2, 2), strides=(2, 2), layout="NCHW"),
        sample(_IMAGE, kernel=(3, 3), strides=(1, 2), pads=(1, 0, 2, 1), pool_type="avg"),
    ],
    "_gather_tuples": [
        sample(_MATRIX, np.array([[0, 1], [3, 2], [0, 1]])),
        sample(_MATRIX, np.array([[[1]], [[9]]])),
    ],
    "_dynamic_slice": [sample(_MATRIX, np.array([1, 0]), size=(2, -1))],
    "_scatter_tuples": [
        sample(_TUPLES, _MATRIX[:3], shape=(4, 3)),
        sample(np.array([[0, 1], [2, 0], [5, 0]]), _MATRIX[0], shape=(3, 2)),
    ],
    "_update_tuples": [
        sample(_MATRIX, _TUPLES, random(3, 3, low=2, high=3, seed=5), how=how)
        for how in ("add", "sub", "max")
    ]
    + [sample(_MATRIX, _TUPLES[:2], random(2, 3, seed=5), how="set")],
    "_write_row": [sample(_MATRIX, np.array(one), random(3, seed=5)) for one in (0, 2, -1, 7)],
    "_segment_reduce": [
        sample(_MATRIX, np.array([2, 0, 2, -1]), num_segments=4),
        sample(_MATRIX, np.array([[0, 1, 1]] * 4), num_segments=2),
        *(sample(_MATRIX, np.array([1, 0, 1, -1]), num_segments=2, how=h) for h in ("max", "min")),
    ],
    "_running": [
        sample(_MATRIX, axis=axis, how=how, exclusive=exclusive, reverse=reverse)
        for axis, how, exclusive, reverse in (
            (0, "sum", False, False), (-1, "sum", True, True), (1, "prod", True, False),
            (0, "prod", False, True),
        )
    ],
    "_softmax_entropy": [Sample((_ROWS * 3, _ROWS))],
    "_digamma": [sample(_POSITIVE)],
    "_erfc": [sample(_POSITIVE)],
    "_standard_samples": [
        sample(shape=(3,), distribution=kind) for kind in ("normal", "truncated_normal", "uniform")
    ]
    + [sample(dtype="float64")],
}  # fmt: skip

#: Operators whose gradient rule is not the derivative of their result, and what it is instead.
NOT_THE_DERIVATIVE: Final[dict[str, str]] = {}
