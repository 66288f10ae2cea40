"""One or more sample calls of every registered operator.

`tests/test_ops_rules.py` holds each of them to the rules that all operators obey; an operator
without a sample fails there. Gradients are compared with numeric ones, so inputs keep away from
points where a function has none (kinks, ties, poles).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

__all__ = ["NOT_THE_DERIVATIVE", "SAMPLES", "Sample"]

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Sample:
    """A call: float64 inputs and parameters.

    Attributes:
        inputs: the arrays.
        attrs: the parameters.
        train: whether it is in a training pass.
        outputs: how many outputs, from the first, have a gradient.
        skip: inputs that have none.
    """

    inputs: tuple[Array, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    train: bool | None = None
    outputs: int = 1
    skip: tuple[int, ...] = ()


def _random(*shape: int, low: float = -1.0, high: float = 1.0, seed: int = 0) -> Array:
    """Distinct numbers between low and high, at least a thousandth of the range apart."""
    size = int(np.prod(shape))
    grid = np.linspace(low, high, size + 2)[1:-1]
    return np.random.default_rng(seed).permutation(grid).reshape(shape)


def _of(*inputs: Array, skip: Sequence[int] = (), **attrs: Any) -> Sample:
    return Sample(inputs, attrs, skip=tuple(skip))


_X: Final = _random(2, 3, low=-1.37, high=1.21)
_Y: Final = _random(2, 3, low=-0.93, high=1.11, seed=1)
_POSITIVE: Final = _random(2, 3, low=0.35, high=2.3)
_POSITIVE2: Final = _random(2, 3, low=0.45, high=2.1, seed=1)
_INSIDE: Final = _random(2, 3, low=-0.9, high=0.9)  # where arcsin, arctanh and erfinv are defined
_ROW: Final = _random(1, 3, low=0.45, high=1.9, seed=2)
_CUBE: Final = _random(2, 3, 4)
_IMAGE: Final = _random(2, 4, 4, 6)

_ANYWHERE: Final = (
    "abs sign rint ceil floor trunc fix round negative square relu cbrt exp expm1 sin cos tan "
    "arctan sinh cosh tanh arcsinh degrees radians erf sigmoid softsign logical_not zeros_like "
    "ones_like _copy BlockGrad make_loss MakeLoss hard_sigmoid smooth_l1"
).split()
_OF_POSITIVE: Final = "sqrt rsqrt rcbrt reciprocal log log10 log2 log1p gamma gammaln".split()
_OF_INSIDE: Final = "arcsin arccos arctanh erfinv".split()
_OF_TWO: Final = (
    "add sub mul div mod power maximum minimum hypot equal not_equal greater greater_equal lesser "
    "lesser_equal logical_and logical_or logical_xor"
).split()
_OF_SCALAR: Final = (
    "plus minus rminus mul div rdiv mod rmod power rpower maximum minimum hypot equal not_equal "
    "greater greater_equal lesser lesser_equal logical_and logical_or logical_xor"
).split()
_REDUCTIONS: Final = "sum nansum prod nanprod mean max min".split()
_BASIC: Final = {"add", "sub", "mul", "div"}

SAMPLES: Final[dict[str, list[Sample]]] = {
    **{name: [_of(_X)] for name in _ANYWHERE},
    **{name: [_of(_POSITIVE)] for name in _OF_POSITIVE},
    **{name: [_of(_INSIDE)] for name in _OF_INSIDE},
    "arccosh": [_of(_POSITIVE + 1)],
    **{
        f"elemwise_{name}" if name in _BASIC else f"_{name}": [_of(_POSITIVE, _POSITIVE2)]
        for name in _OF_TWO
    },
    **{
        f"broadcast_{name}": [_of(_POSITIVE, _ROW), _of(_POSITIVE[0], _POSITIVE2)]
        for name in _OF_TWO
    },
    **{
        f"_{name}_scalar": [_of(_POSITIVE, scalar=1.7), _of(_POSITIVE, scalar=2, is_int=False)]
        for name in _OF_SCALAR
    },
    "_grad_add": [_of(_X, _Y)],
    "_npi_arctan2": [_of(_X, _ROW)],
    "_npi_arctan2_scalar": [_of(_X, scalar=0.7)],
    "_npi_rarctan2_scalar": [_of(_X, scalar=0.7)],
    "add_n": [_of(_X, _Y, _POSITIVE), _of(_X)],
    "clip": [_of(_X, a_min=-0.61, a_max=0.53)],
    "Cast": [_of(_X, dtype="float64"), _of(_X, dtype="int32")],
    "amp_cast": [_of(_X, dtype="float64")],
    **{
        name: [_of(_CUBE), _of(_CUBE, axis=(0, -1)), _of(_CUBE, axis=1, keepdims=True)]
        for name in _REDUCTIONS
    },
    "norm": [_of(_CUBE, axis=1), _of(_CUBE, ord=1), _of(_X, axis=(0, 1), keepdims=True)],
    "moments": [Sample((_CUBE,), {"axes": (0, 2)}, outputs=2)],
    **{name: [_of(_CUBE), _of(_CUBE, axis=-1, keepdims=True)] for name in ("argmax", "argmin")},
    "argmax_channel": [_of(_X)],
    "_np_cumsum": [_of(_CUBE, axis=1), _of(_CUBE)],
    "broadcast_to": [_of(_ROW, shape=(4, 0))],
    "broadcast_axis": [_of(_CUBE[:1, :, :1], axis=(0, -1), size=(2, 5))],
    "broadcast_like": [
        _of(_ROW, _X, skip=[1]),
        _of(_ROW, _CUBE, skip=[1], lhs_axes=0, rhs_axes=2),
    ],
    "_zeros": [_of(shape=(2, 3)), _of(shape=(2,), dtype="int32")],
    "_ones": [_of(shape=(2, 3)), _of(shape=(2,), dtype="bool")],
    "_full": [_of(shape=(2, 3), value=2.5), _of(shape=(2,), value=2.5, dtype="uint8")],
    "_arange": [_of(start=5), _of(start=1, stop=9, step=2.5, repeat=2, dtype="float16")],
    "_linspace": [_of(start=1, stop=2, num=5), _of(start=1, stop=2, num=5, endpoint=False)],
    "_eye": [_of(N=3), _of(N=2, M=4, k=1, dtype="int64")],
    "Reshape": [_of(_CUBE, shape=(-3, 0)), _of(_CUBE, shape=(0, -1), reverse=True)],
    "Flatten": [_of(_CUBE)],
    "expand_dims": [_of(_X, axis=-1), _of(_X, axis=1)],
    "squeeze": [_of(_CUBE[:1]), _of(_CUBE[:, :1, :1], axis=1)],
    "reshape_like": [_of(_X, _X.T, skip=[1]), _of(_CUBE, _X.T, skip=[1], lhs_end=2, rhs_end=2)],
    "shape_array": [_of(_CUBE)],
    "size_array": [_of(_CUBE)],
    "slice": [
        _of(_CUBE, begin=(0, None, -1), end=(1, None, None), step=(1, -1, -2)),
        _of(_CUBE, begin=(1,), end=(2,)),
    ],
    "slice_axis": [_of(_CUBE, axis=-1, begin=-3, end=None)],
    "slice_like": [_of(_CUBE, _X, skip=[1], axes=(0, 1))],
    "SliceChannel": [Sample((_CUBE,), {"num_outputs": 3, "squeeze_axis": True}, outputs=3)],
    "_split_v2": [Sample((_CUBE,), {"indices": (0, 1, 3), "axis": 2}, outputs=3)],
    "_slice_assign": [_of(_CUBE, _CUBE[:1, 1:] * 2, begin=(1, 1), end=(2, 3))],
    "_slice_assign_scalar": [_of(_CUBE, begin=(None, 1), end=(None, 3), step=(-1, 2), scalar=4)],
    "transpose": [_of(_CUBE), _of(_CUBE, axes=(1, 2, 0)), _of(_CUBE, axes=(-1, 0, 1))],
    "SwapAxis": [_of(_CUBE, dim1=0, dim2=-1)],
    "reverse": [_of(_CUBE, axis=(0, -1))],
    "diag": [_of(_X, k=1), _of(_CUBE, axis1=0, axis2=-1), _of(_X[0], k=-1)],
    "depth_to_space": [_of(_IMAGE, block_size=2)],
    "space_to_depth": [_of(_IMAGE, block_size=2)],
    "Concat": [_of(_CUBE, _CUBE[:, :2] * 2, dim=1), _of(_X, _Y, dim=-2)],
    "stack": [_of(_X, _Y, axis=-1)],
    "tile": [_of(_X, reps=(2, 1, 2)), _of(_CUBE, reps=(2,))],
    "repeat": [_of(_X, repeats=2), _of(_X, repeats=3, axis=-1)],
    "Pad": [
        _of(_X, mode=mode, pad_width=(0, 1, 2, 1), constant_value=0.5)
        for mode in ("constant", "edge", "reflect")
        if mode != "reflect"
    ]
    + [_of(_IMAGE, mode="reflect", pad_width=(0, 0, 0, 0, 1, 2, 3, 0))],
    "take": [
        _of(_CUBE, np.array([[0, 2], [5, -1]]), axis=1),
        _of(_CUBE, np.array([0, 2, 5, -1]), axis=-1, mode="wrap"),
        _of(_CUBE, np.array([0, 1]), mode="raise"),
    ],
    "batch_take": [_of(_X, np.array([2, 0]))],
    "pick": [_of(_X, np.array([2.0, 0.0]), skip=[1]), _of(_X, np.array([[1, 0, 4]]), axis=0)],
    "one_hot": [_of(np.array([[0.0, 3.0], [-1.0, 1.0]]), depth=3, on_value=2.0)],
    "where": [
        _of(np.array([[1, 0, 1], [0, 0, 2]]), _X, _Y),
        _of(np.array([0.0, 1.0]), _X, _Y, skip=[0]),
    ],
    "gather_nd": [_of(_CUBE, np.array([[0, 1, 1], [2, -1, 0]]))],
    "scatter_nd": [_of(_X, np.array([[2, 0]]), shape=(3, 3))],
    "Embedding": [
        _of(np.array([[0.0, 2.0], [2.0, 7.0]]), _CUBE[0], skip=[0], input_dim=3, output_dim=4)
    ],
    "_ravel_multi_index": [_of(np.array([[0.0, 1.0], [2.0, 3.0]]), shape=(2, 4))],
    "_unravel_index": [_of(np.array([2.0, 7.0]), shape=(2, 4))],
    "sort": [_of(_CUBE), _of(_CUBE, axis=None, is_ascend=False)],
    "argsort": [_of(_CUBE, axis=1, dtype="int32")],
    "topk": [
        _of(_CUBE, k=2, ret_typ="value"),
        _of(_CUBE, k=3, axis=None, ret_typ="both", is_ascend=True),
        _of(_CUBE, axis=0),
        _of(_CUBE, k=2, ret_typ="mask"),
    ],
    "dot": [
        _of(_X, _CUBE[0]),
        _of(_X[0], _Y[0]),
        _of(_CUBE, _random(5, 4, seed=3), transpose_b=True),
        _of(_X, _CUBE, transpose_a=True),
    ],
    "batch_dot": [
        _of(_CUBE, _random(2, 4, 2, seed=3)),
        _of(_CUBE, _random(2, 2, 3, seed=3), transpose_a=True, transpose_b=True),
    ],
}

#: Operators whose gradient rule is not the derivative of their result, and what it is instead.
NOT_THE_DERIVATIVE: Final[dict[str, str]] = {
    "make_loss": "ones, whatever arrives",
    "MakeLoss": "grad_scale, whatever arrives",
}
