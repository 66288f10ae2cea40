"""One or more sample calls of every registered operator.

`tests/ops/test_rules.py` holds each of them to the rules that all operators obey; an operator
without a sample fails there. Gradients are compared with numeric ones, so inputs keep away from
points where a function has none (kinks, ties, poles).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import op_samples_contrib
import op_samples_core
import op_samples_graphs
import op_samples_image
import op_samples_linalg
import op_samples_nn
import op_samples_numpy
import op_samples_rnn
import op_samples_sparse
from op_sample import Sample, random, sample, words

__all__ = ["NOT_THE_DERIVATIVE", "SAMPLES", "Sample"]

_X: Final = random(2, 3, low=-1.37, high=1.21)
_Y: Final = random(2, 3, low=-0.93, high=1.11, seed=1)
_POSITIVE: Final = random(2, 3, low=0.35, high=2.3)
_POSITIVE2: Final = random(2, 3, low=0.45, high=2.1, seed=1)
_INSIDE: Final = random(2, 3, low=-0.9, high=0.9)  # where arcsin, arctanh and erfinv are defined
_ROW: Final = random(1, 3, low=0.45, high=1.9, seed=2)
_CUBE: Final = random(2, 3, 4)
_IMAGE: Final = random(2, 4, 4, 6)

_ANYWHERE: Final = words(
    "abs sign rint ceil floor trunc fix round negative square relu cbrt exp expm1 sin cos tan "
    "arctan sinh cosh tanh arcsinh degrees radians erf sigmoid softsign logical_not "
    "zeros_like ones_like _copy BlockGrad make_loss MakeLoss hard_sigmoid smooth_l1"
)
_OF_POSITIVE: Final = words("sqrt rsqrt rcbrt reciprocal log log10 log2 log1p gamma gammaln")
_OF_INSIDE: Final = words("arcsin arccos arctanh erfinv")
_OF_TWO: Final = words(
    "add sub mul div mod power maximum minimum hypot equal not_equal greater greater_equal "
    "lesser lesser_equal logical_and logical_or logical_xor"
)
_OF_SCALAR: Final = words(
    "plus minus rminus mul div rdiv mod rmod power rpower maximum minimum hypot equal "
    "not_equal greater greater_equal lesser lesser_equal logical_and logical_or logical_xor"
)
_REDUCTIONS: Final = words("sum nansum prod nanprod mean max min")
_BASIC: Final = {"add", "sub", "mul", "div"}

SAMPLES: Final[dict[str, list[Sample]]] = {
    **op_samples_contrib.SAMPLES,
    **op_samples_nn.SAMPLES,
    **op_samples_core.SAMPLES,
    **op_samples_graphs.SAMPLES,
    **op_samples_image.SAMPLES,
    **op_samples_numpy.SAMPLES,
    **op_samples_rnn.SAMPLES,
    **op_samples_sparse.SAMPLES,
    **op_samples_linalg.SAMPLES,
    **{name: [sample(_X)] for name in _ANYWHERE},
    **{name: [sample(_POSITIVE)] for name in _OF_POSITIVE},
    **{name: [sample(_INSIDE)] for name in _OF_INSIDE},
    "arccosh": [sample(_POSITIVE + 1)],
    **{
        f"elemwise_{name}" if name in _BASIC else f"_{name}": [sample(_POSITIVE, _POSITIVE2)]
        for name in _OF_TWO
    },
    **{
        f"broadcast_{name}": [sample(_POSITIVE, _ROW), sample(_POSITIVE[0], _POSITIVE2)]
        for name in _OF_TWO
    },
    **{
        f"_{name}_scalar": [
            sample(_POSITIVE, scalar=1.7),
            sample(_POSITIVE, scalar=2, is_int=False),
        ]
        for name in _OF_SCALAR
    },
    "_grad_add": [sample(_X, _Y)],
    "_npi_arctan2": [sample(_X, _ROW)],
    "_npi_arctan2_scalar": [sample(_X, scalar=0.7)],
    "_npi_rarctan2_scalar": [sample(_X, scalar=0.7)],
    "add_n": [sample(_X, _Y, _POSITIVE), sample(_X)],
    "clip": [sample(_X, a_min=-0.61, a_max=0.53)],
    "Cast": [sample(_X, dtype="float64"), sample(_X, dtype="int32")],
    "amp_cast": [sample(_X, dtype="float64")],
    **{
        name: [sample(_CUBE), sample(_CUBE, axis=(0, -1)), sample(_CUBE, axis=1, keepdims=True)]
        for name in _REDUCTIONS
    },
    "norm": [sample(_CUBE, axis=1), sample(_CUBE, ord=1), sample(_X, axis=(0, 1), keepdims=True)],
    "moments": [Sample((_CUBE,), {"axes": (0, 2)}, outputs=2)],
    **{
        name: [sample(_CUBE), sample(_CUBE, axis=-1, keepdims=True)]
        for name in ("argmax", "argmin")
    },
    "argmax_channel": [sample(_X)],
    "_np_cumsum": [sample(_CUBE, axis=1), sample(_CUBE)],
    "broadcast_to": [sample(_ROW, shape=(4, 0))],
    "broadcast_axis": [sample(_CUBE[:1, :, :1], axis=(0, -1), size=(2, 5))],
    "broadcast_like": [
        sample(_ROW, _X, skip=[1]),
        sample(_ROW, _CUBE, skip=[1], lhs_axes=0, rhs_axes=2),
    ],
    "_zeros": [sample(shape=(2, 3)), sample(shape=(2,), dtype="int32")],
    "_ones": [sample(shape=(2, 3)), sample(shape=(2,), dtype="bool")],
    "_full": [sample(shape=(2, 3), value=2.5), sample(shape=(2,), value=2.5, dtype="uint8")],
    "_literal": [
        sample(value="1.5 -0.0 nan 2 inf 3", shape=(2, 3)),
        sample(value="7", shape=(2,), dtype="int64"),
        sample(value="0.5"),
    ],
    "_arange": [sample(start=5), sample(start=1, stop=9, step=2.5, repeat=2, dtype="float16")],
    "_linspace": [sample(start=1, stop=2, num=5), sample(start=1, stop=2, num=5, endpoint=False)],
    "_eye": [sample(N=3), sample(N=2, M=4, k=1, dtype="int64")],
    "Reshape": [sample(_CUBE, shape=(-3, 0)), sample(_CUBE, shape=(0, -1), reverse=True)],
    "Flatten": [sample(_CUBE)],
    "expand_dims": [sample(_X, axis=-1), sample(_X, axis=1)],
    "squeeze": [sample(_CUBE[:1]), sample(_CUBE[:, :1, :1], axis=1)],
    "reshape_like": [
        sample(_X, _X.T, skip=[1]),
        sample(_CUBE, _X.T, skip=[1], lhs_end=2, rhs_end=2),
    ],
    "shape_array": [sample(_CUBE)],
    "size_array": [sample(_CUBE)],
    "slice": [
        sample(_CUBE, begin=(0, None, -1), end=(1, None, None), step=(1, -1, -2)),
        sample(_CUBE, begin=(1,), end=(2,)),
    ],
    "slice_axis": [sample(_CUBE, axis=-1, begin=-3, end=None)],
    "slice_like": [sample(_CUBE, _X, skip=[1], axes=(0, 1))],
    "SliceChannel": [Sample((_CUBE,), {"num_outputs": 3, "squeeze_axis": True}, outputs=3)],
    "_split_v2": [Sample((_CUBE,), {"indices": (0, 1, 3), "axis": 2}, outputs=3)],
    "_slice_assign": [sample(_CUBE, _CUBE[:1, 1:] * 2, begin=(1, 1), end=(2, 3))],
    "_slice_assign_scalar": [sample(_CUBE, begin=(None, 1), end=(None, 3), step=(-1, 2), scalar=4)],
    "transpose": [sample(_CUBE), sample(_CUBE, axes=(1, 2, 0)), sample(_CUBE, axes=(-1, 0, 1))],
    "SwapAxis": [sample(_CUBE, dim1=0, dim2=-1)],
    "reverse": [sample(_CUBE, axis=(0, -1))],
    "diag": [sample(_X, k=1), sample(_CUBE, axis1=0, axis2=-1), sample(_X[0], k=-1)],
    "depth_to_space": [sample(_IMAGE, block_size=2)],
    "space_to_depth": [sample(_IMAGE, block_size=2)],
    "Concat": [sample(_CUBE, _CUBE[:, :2] * 2, dim=1), sample(_X, _Y, dim=-2)],
    "stack": [sample(_X, _Y, axis=-1)],
    "tile": [sample(_X, reps=(2, 1, 2)), sample(_CUBE, reps=(2,))],
    "_npi_tile": [sample(_X, reps=(2, 1, 2)), sample(_CUBE, reps=(2,))],
    "repeat": [sample(_X, repeats=2), sample(_X, repeats=3, axis=-1)],
    "Pad": [
        sample(_X, mode=mode, pad_width=(0, 1, 2, 1), constant_value=0.5)
        for mode in ("constant", "edge", "reflect")
        if mode != "reflect"
    ]
    + [sample(_IMAGE, mode="reflect", pad_width=(0, 0, 0, 0, 1, 2, 3, 0))],
    "take": [
        sample(_CUBE, np.array([[0, 2], [5, -1]]), axis=1),
        sample(_CUBE, np.array([0, 2, 5, -1]), axis=-1, mode="wrap"),
        sample(_CUBE, np.array([0, 1]), mode="raise"),
    ],
    "batch_take": [sample(_X, np.array([2, 0]))],
    "pick": [sample(_X, np.array([2.0, 0.0]), skip=[1]), sample(_X, np.array([[1, 0, 4]]), axis=0)],
    "one_hot": [sample(np.array([[0.0, 3.0], [-1.0, 1.0]]), depth=3, on_value=2.0)],
    "where": [
        sample(np.array([[1, 0, 1], [0, 0, 2]]), _X, _Y),
        sample(np.array([0.0, 1.0]), _X, _Y, skip=[0]),
    ],
    "gather_nd": [sample(_CUBE, np.array([[0, 1, 1], [2, -1, 0]]))],
    "scatter_nd": [sample(_X, np.array([[2, 0]]), shape=(3, 3))],
    "Embedding": [
        sample(np.array([[0.0, 2.0], [2.0, 7.0]]), _CUBE[0], skip=[0], input_dim=3, output_dim=4)
    ],
    "_ravel_multi_index": [sample(np.array([[0.0, 1.0], [2.0, 3.0]]), shape=(2, 4))],
    "_unravel_index": [sample(np.array([2.0, 7.0]), shape=(2, 4))],
    "sort": [sample(_CUBE), sample(_CUBE, axis=None, is_ascend=False)],
    "argsort": [sample(_CUBE, axis=1, dtype="int32")],
    "topk": [
        sample(_CUBE, k=2, ret_typ="value"),
        sample(_CUBE, k=3, axis=None, ret_typ="both", is_ascend=True),
        sample(_CUBE, axis=0),
        sample(_CUBE, k=2, ret_typ="mask"),
    ],
    "dot": [
        sample(_X, _CUBE[0]),
        sample(_X[0], _Y[0]),
        sample(_CUBE, random(5, 4, seed=3), transpose_b=True),
        sample(_X, _CUBE, transpose_a=True),
    ],
    "batch_dot": [
        sample(_CUBE, random(2, 4, 2, seed=3)),
        sample(_CUBE, random(2, 2, 3, seed=3), transpose_a=True, transpose_b=True),
    ],
}

#: Operators whose gradient rule is not the derivative of their result, and what it is instead.
NOT_THE_DERIVATIVE: Final[dict[str, str]] = {
    **op_samples_contrib.NOT_THE_DERIVATIVE,
    **op_samples_nn.NOT_THE_DERIVATIVE,
    **op_samples_core.NOT_THE_DERIVATIVE,
    "make_loss": "ones, whatever arrives",
    "MakeLoss": "grad_scale, whatever arrives",
}
