"""Sample calls of operators on sequences, patches, densities and more."""

from __future__ import annotations

from typing import Final

import numpy as np
from op_sample import Sample, random, sample

__all__ = ["NOT_THE_DERIVATIVE", "SAMPLES"]

_X: Final = random(4, 3, 2)
_IMAGE: Final = random(2, 2, 4, 3)
_MATRIX: Final = random(2, 3, low=0.4, high=1.7)
_OTHER: Final = random(2, 3, low=0.3, high=0.9, seed=1)
_COUNTS: Final = np.array([[0.0, 2.0, 5.0], [1.0, 3.0, 0.0]])
_PAIR: Final = random(2, low=0.5, high=1.9, seed=2)
_PAIR2: Final = random(2, low=0.3, high=0.8, seed=3)
_LENGTHS: Final = np.array([1, 4, 3])

SAMPLES: Final[dict[str, list[Sample]]] = {
    **{
        name: [
            sample(_X),
            sample(_X, _LENGTHS, use_sequence_length=True, skip=[1]),
            sample(_X, _LENGTHS[[0, 1, 1, 2]], use_sequence_length=True, axis=1, skip=[1]),
        ]
        for name in ("SequenceMask", "SequenceLast", "SequenceReverse")
    },
    "_read_variable": [sample(_MATRIX)],
    "_assign": [sample(_MATRIX, _OTHER, skip=[0])],
    "_no_op": [Sample((), outputs=0)],
    "im2col": [
        sample(_IMAGE, kernel=(2, 2), stride=(2, 1), pad=(1, 0)),
        sample(random(2, 3, 5), kernel=(2,), dilate=(2,)),
    ],
    "col2im": [sample(random(2, 8, 6), kernel=(2, 2), output_size=(3, 4))],
    "khatri_rao": [sample(_MATRIX, _OTHER), sample(_MATRIX)],
    "IdentityAttachKLSparseReg": [
        Sample((abs(_MATRIX) / 8, np.full(_MATRIX.shape[1], 0.25)), {}, train=train, skip=(1,))
        for train in (True, False)
    ],
    "SVMOutput": [sample(_MATRIX, np.array([0.0, 2.0]), skip=[1])],
    **{
        f"_random_pdf_{name}": [
            Sample((*inputs,), {"is_log": is_log}, skip=skip) for is_log in (False, True)
        ]
        for name, inputs, skip in (
            ("uniform", (_MATRIX, -_PAIR, _PAIR), ()),
            ("normal", (_MATRIX, _PAIR2, _PAIR), ()),
            ("gamma", (_MATRIX, _PAIR, _PAIR2), ()),
            ("exponential", (_MATRIX, _PAIR), ()),
            ("poisson", (_COUNTS, _PAIR), (0,)),
            ("negative_binomial", (_COUNTS, _PAIR, _PAIR2), (0,)),
            ("generalized_negative_binomial", (_COUNTS, _PAIR, _PAIR2), (0,)),
            ("dirichlet", (_MATRIX, random(3, low=0.4, high=2.1)), ()),
        )
    },
    "all_finite": [sample(_X)],
    "Crop": [
        sample(_IMAGE, offset=(1, 0), h_w=(2, 3)),
        sample(_IMAGE, random(1, 1, 2, 1), center_crop=True, skip=[1]),
    ],
    "fill_element_0index": [sample(_MATRIX, _PAIR, np.array([0.0, 2.0]), skip=[2])],
    "reset_arrays": [sample(_X, _MATRIX, num_arrays=2)],
    "multi_all_finite": [sample(_X, _MATRIX, num_arrays=2)],
    "multi_sum_sq": [sample(_X, _MATRIX, num_arrays=2)],
    "multi_lars": [sample(_PAIR, _PAIR, _PAIR2, _PAIR2, eta=0.1, eps=0.01)],
    "amp_multicast": [Sample((_X, _MATRIX), {"num_outputs": 2}, outputs=2)],
    "mp_lamb_update_phase1": [sample(*[_MATRIX] * 5, t=2, wd=0.1)],
    "mp_lamb_update_phase2": [
        sample(_MATRIX, _MATRIX, np.array([1.5]), np.array([0.5]), _MATRIX, lr=0.1)
    ],
    "_histogram": [sample(_X, bin_cnt=4, range=(-1, 1)), sample(_X, np.array([-1.0, 0.0, 0.5]))],
    "_identity_with_attr_like_rhs": [sample(_X, _X)],
    "_to_placement": [sample(_X, splits="data:0")],
    "_scatter_set_nd": [sample(_X, _X[1:3, 0] * 2, np.array([[0, 3], [1, 2]]), shape=(4, 3, 2))],
}

#: Operators whose gradient rule is not the derivative of their result, and what it is instead.
NOT_THE_DERIVATIVE: Final[dict[str, str]] = {
    "IdentityAttachKLSparseReg": "it adds that of a penalty",
    "SVMOutput": "that of the hinge loss",
}
