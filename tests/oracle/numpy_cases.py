"""Calls of `np`, `np.linalg` and `npx` whose answers by MXNet 1.9.1 are kept; see `calls.py`."""

from __future__ import annotations

from typing import Any

import numpy as onp
from case import Cases, Input
from case import given as _v
from case import random as _x

__all__ = ["CASES"]

CASES = Cases("numpy")
_words = str.split
_SHAPES: list[tuple[int, ...]] = [(2, 3), (), (0, 3), (1,), (2, 1, 2), (4,)]
_PAIRS = [((2, 3), (3,)), ((), (2,)), ((2, 1), (1, 3)), ((0, 2), (1, 2)), ((3,), (3,)), ((), ())]


def _add(path: str, *inputs: Input, listed: bool = False, **attrs: Any) -> None:
    """Adds a call; with `listed` its arrays are one argument, a list."""
    grads = attrs.pop("grads", None)
    CASES.add(path, *inputs, grads=grads, listed=listed, **attrs)


def _elementwise(name: str, low: float = -1.4, high: float = 1.3, grads: Any = None) -> None:
    for shape in _SHAPES:
        _add(f"np.{name}", _x(*shape, low=low, high=high), grads=grads)
    if name != "degrees":  # MXNet's factor has the precision of float32
        _add(f"np.{name}", _x(3, low=low, high=high, dtype="float64"), grads=grads)
    _add(f"np.{name}", _x(2, 2, low=low, high=high, dtype="float16"), grads=())
    for dtype in ("int32", "int64", "int8"):
        if name in ("arcsin", "arccos", "arctanh"):
            low, high = 0, 1 / 3  # whole numbers at which they are defined
        _add(f"np.{name}", _x(3, low=max(low, -4) * 3, high=high * 3, dtype=dtype), grads=())


for _name in _words(
    "negative abs absolute fabs sign ceil floor trunc fix rint square cbrt exp expm1 sin "
    "cos tan arctan sinh cosh tanh arcsinh degrees rad2deg radians around round round_ "
    "nan_to_num copy"
):
    if _name != "rad2deg":  # not to be called in MXNet: its operator does not exist
        _elementwise(_name, grads=() if _name in ("around", "round", "round_") else None)
for _name in _words("sqrt log log10 log2 log1p reciprocal"):
    _elementwise(_name, low=0.35, high=2.6)
for _name in ["arcsin", "arccos", "arctanh"]:
    _elementwise(_name, low=-0.9, high=0.9)
_elementwise("arccosh", low=1.2, high=3.0)
for _name in _words("isnan isinf isfinite isposinf isneginf logical_not"):
    _elementwise(_name, grads=())
    _add(f"np.{_name}", _v(float("nan"), float("inf"), -float("inf"), 0.0, 1.5), grads=())
for _name in ["invert", "bitwise_not"]:
    for _shape in [*_SHAPES, (2, 2), (1, 1), (5,)]:
        _add(f"np.{_name}", _x(*_shape, low=-9, high=9, dtype="int32"))
    _add(f"np.{_name}", _v(True, False, dtype="bool"))

for _name in _words("add subtract multiply true_divide divide maximum minimum"):
    for _a, _b in _PAIRS:
        _add(f"np.{_name}", _x(*_a, low=0.4, high=2.0), _x(*_b, low=0.5, high=2.1))
    _add(f"np.{_name}", _x(3, dtype="float64"), _x(2, 3, low=0.4, dtype="float64"))
    _add(f"np.{_name}", _x(3, low=-9, high=9, dtype="int32"), _x(3, low=1, high=9, dtype="int32"))
    _add(f"np.{_name}", _x(3), x2=1.5)
    _add(f"np.{_name}", _x(3, low=-9, high=9, dtype="int32"), x2=2)
    if _name not in ("maximum", "minimum"):
        _add(f"np.{_name}", _x(3), _x(3, low=1, high=9, dtype="int32"), grads=())
for _name in _words("power mod remainder hypot arctan2 copysign ldexp"):
    for _a, _b in _PAIRS:
        _add(f"np.{_name}", _x(*_a, low=0.4, high=2.0), _x(*_b, low=0.5, high=2.1))
    _wide = () if _name == "ldexp" else None  # MXNet's log(2) has the precision of float32
    _add(f"np.{_name}", _x(3, low=0.4, high=2.0, dtype="float64"), _x(3, low=1, dtype="float64"),
         grads=_wide)  # fmt: skip
    _add(f"np.{_name}", _x(3, low=0.4, high=2.0), x2=1.5)
    _add(f"np.{_name}", _x(2, 2, low=0.4, high=2.0), x2=2)
    _add(f"np.{_name}", _x(2, 1, low=0.4, high=2.0), _x(1, low=0.4, high=2.0))
for _name in _words("equal not_equal greater greater_equal less less_equal"):
    for _a, _b in [*_PAIRS, ((2, 2), (2, 2))]:
        _add(f"np.{_name}", _x(*_a, low=0, high=3, dtype="int32"),
             _x(*_b, low=0, high=3, dtype="int32"))  # fmt: skip
    _add(f"np.{_name}", _x(3), _x(2, 3), grads=())
    _add(f"np.{_name}", _x(3, low=-2, high=2, dtype="int32"), x2=0)
    _add(f"np.{_name}", _x(3), x2=0.1, grads=())
for _name in ["bitwise_and", "bitwise_or", "bitwise_xor", "lcm"]:
    for _a, _b in [*_PAIRS, ((2, 2), (2, 2))]:
        _add(f"np.{_name}", _x(*_a, low=1, high=9, dtype="int32"),
             _x(*_b, low=1, high=9, dtype="int32"))  # fmt: skip
    for _dtype in ("int64", "int8", "uint8"):
        _add(f"np.{_name}", _x(4, low=1, high=9, dtype=_dtype), _x(4, low=1, high=9, dtype=_dtype))

for _name in _words("sum prod mean max min amax amin product std var"):
    _grads = () if _name in ("std", "var") else None  # MXNet's are not the derivatives
    for _axis in (None, 0, -1, (0, 2), (0, 1, 2)):
        _add(f"np.{_name}", _x(2, 3, 2, low=0.3, high=2.0), axis=_axis, grads=_grads)
    _add(f"np.{_name}", _x(2, 3), axis=1, keepdims=True, grads=_grads)
    _add(f"np.{_name}", _x(), grads=_grads)
    _add(f"np.{_name}", _x(1, 1), axis=0, grads=_grads)
    _add(f"np.{_name}", _x(2, 2, dtype="float64"), keepdims=True, grads=_grads)
    if _name not in ("std", "var"):
        _add(f"np.{_name}", _x(4, low=-4, high=5, dtype="int32"))
        _add(f"np.{_name}", _x(2, 2, low=-4, high=5, dtype="int64"), axis=0)
    else:
        _add(f"np.{_name}", _x(2, 3), ddof=1, grads=_grads)
        _add(f"np.{_name}", _x(2, 3), axis=-1, ddof=2, grads=_grads)
    if _name in ("sum", "prod", "mean"):  # not of nothing: MXNet divides by zero and ends
        _add(f"np.{_name}", _x(2, 2), dtype="float64", grads=())
        _add(f"np.{_name}", _x(1, 2), axis=1, dtype="float64", grads=())
for _name in ["any", "all", "sometrue"]:
    for _axis in (None, 0, -1, (0, 2), (1, 2)):
        _add(f"np.{_name}", _x(2, 3, 2, low=-2, high=2, dtype="int32"), axis=_axis)
    for _shape in _SHAPES[:2] + _SHAPES[3:5]:
        _add(f"np.{_name}", _x(*_shape, low=-2, high=2, dtype="int32"), keepdims=True)
    _add(f"np.{_name}", _v(True, False, True, dtype="bool"))
for _name in ["argmax", "argmin"]:
    for _axis in (None, 0, -1, 1):
        _add(f"np.{_name}", _x(2, 3, 2), axis=_axis, grads=())
        _add(f"np.{_name}", _x(3, 4, low=0, high=3, dtype="int32"), axis=_axis)
    _add(f"np.{_name}", _x(1), grads=())
    _add(f"np.{_name}", _x(), grads=())
for _axis in (None, 0, 1, -1):
    _add("np.cumsum", _x(2, 3), axis=_axis)
    _add("np.cumsum", _x(2, 1, 2, low=-4, high=4, dtype="int32"), axis=_axis)
    _add("np.cumsum", _x(2, 2), axis=_axis, dtype="float64", grads=())
for _n, _axis in ((1, -1), (2, 0), (1, 1), (3, 0), (2, -2)):
    _add("np.diff", _x(4, 3), n=_n, axis=_axis, grads=())
    _add("np.diff", _x(5, 4, low=-9, high=9, dtype="int32"), n=_n, axis=_axis)
for _q in (0, 25, 50.0, 90, 100):
    _add("np.percentile", _x(2, 5), q=_q, grads=())
    _add("np.percentile", _x(3, 4), q=_q, axis=1, interpolation="midpoint", grads=())
    _add("np.quantile", _x(2, 5), q=_q / 100, axis=0, keepdims=True, grads=())
    _add("np.quantile", _x(6), q=_q / 100, interpolation="lower", grads=())
for _axis in (None, 0, 1, -1):
    _add("np.average", _x(2, 3), axis=_axis)
    _add("np.average", _x(2, 2), _x(2, 2, low=0.5, high=2.0), axis=_axis, names=("a", "weights"))
    _add("np.average", _x(3, 3), _x(3, low=0.5, high=2.0), axis=0, names=("a", "weights"))
for _shape in [(4,), (6,), (1,), (9,), (5,)]:
    _add("np.bincount", _x(*_shape, low=0, high=5, dtype="int32"))
    _add("np.bincount", _x(*_shape, low=0, high=3, dtype="int64"), minlength=6)
for _bins in (1, 2, 3, 5, 8):
    _add("np.histogram", _x(4, 3), bins=_bins, range=(-1.0, 1.0), grads=())
    _add("np.histogram", _x(9), bins=_bins, range=(-0.5, 0.7), grads=())

for _newshape in [(3, 4), (-1,), (2, -1, 3), (1, 12), (4, 3), (2, 6), (12,), (-1, 1), (6, -1)]:
    _add("np.reshape", _x(2, 6), newshape=_newshape)
_add("np.reshape", _x(0, 3), newshape=(3, 0))
for _newshape in [(-2, -1), (-5, -2), (-4,), (-2, -6, 1, -1, -2), (6, -3, 2), (-1,), (2, -5, -3),
                  (-2, -2, -2, -3), (-2, 3, 2), (-6, 2, 1, -4)]:  # fmt: skip
    _shape = (2, 3, 1, 2) if -3 in _newshape or _newshape == (-4,) else (2, 3, 2)
    if _newshape == (2, -5, -3):
        _newshape, _shape = (-2, -5), (2, 3, 2)
    elif _newshape == (-2, -2, -2, -3):
        _shape = (2, 3, 2, 1)
    elif _newshape == (6, -3, 2):
        _newshape, _shape = (-5, -3, -2), (2, 3, 1, 2)
    _add("npx.reshape", _x(*_shape), newshape=_newshape)
for _axes in (None, (1, 0, 2), (2, 1, 0), (0, 2, 1), (1, 2, 0)):
    _add("np.transpose", _x(2, 3, 2), axes=_axes)
    _add("np.transpose", _x(1, 2, 0), axes=_axes)
for _axis in (None, 0, 2, -1, (0, 2)):
    _add("np.squeeze", _x(1, 3, 1), axis=_axis)
    _add("np.squeeze", _x(1, 2, 1, low=0, high=9, dtype="int32"), axis=_axis)
for _axis in (0, 1, 2, -1, -3):
    _add("np.expand_dims", _x(2, 3), axis=_axis)
    _add("np.expand_dims", _x(2, 2, low=0, high=9, dtype="int32"), axis=_axis)
for _pair in ((0, 1), (0, -1), (1, 2), (-1, -2), (2, 0)):
    _add("np.swapaxes", _x(2, 3, 2), axis1=_pair[0], axis2=_pair[1])
    _add("np.swapaxes", _x(1, 0, 2), axis1=_pair[0], axis2=_pair[1])
    _add("np.moveaxis", _x(2, 3, 2), source=_pair[0], destination=_pair[1])
    _add("np.moveaxis", _x(2, 1, 4), source=_pair, destination=_pair[::-1])
for _shape in [(2, 3), (4, 2, 3), (1, 2, 3), (5, 1, 2, 3), (2, 2, 3)]:
    _add("np.broadcast_to", _x(2, 3), shape=_shape)
    _add("np.broadcast_to", _x(1, 3), shape=_shape)
for _axis in (0, 1, -1, 2, -2):
    _add("np.concatenate", _x(2, 3, 2), _x(2, 3, 2), listed=True, axis=_axis)
    _add("np.concatenate", _x(1, 1, 1), _x(1, 1, 1), _x(1, 1, 1), listed=True, axis=_axis)
    _add("np.stack", _x(2, 3), _x(2, 3), listed=True, axis=_axis)
    _add("np.stack", _x(1, 0), _x(1, 0), _x(1, 0), listed=True, axis=_axis)
_add("np.concatenate", _x(0, 2), _x(3, 2), listed=True, axis=0)
for _shape in [
    (2, 3),
    (3,),
    (1, 2, 2),
    (2, 2, 2, 2),
    (1,),
    (2, 1),
    (2, 0),
    (3, 3, 1),
    (4,),
    (5, 2),
]:
    for _name in ["vstack", "hstack", "dstack", "column_stack", "row_stack"]:
        if _name != "column_stack" or len(_shape) < 3:
            _add(f"np.{_name}", _x(*_shape), _x(*_shape), listed=True)
for _cuts in (2, 4, (1,), (1, 3), (2, 3)):
    _parts = _cuts if isinstance(_cuts, int) else len(_cuts) + 1
    for _name in ["split", "array_split"]:
        _add(f"np.{_name}", _x(4, 2), indices_or_sections=_cuts, outputs=_parts)
        _add(f"np.{_name}", _x(2, 4), indices_or_sections=_cuts, axis=-1, outputs=_parts)
    _add("np.vsplit", _x(4, 2), indices_or_sections=_cuts)
    _add("np.vsplit", _x(4, 1, 2), indices_or_sections=_cuts)
    _add("np.hsplit", _x(2, 4), indices_or_sections=_cuts)
    _add("np.hsplit", _x(4), indices_or_sections=_cuts)
    _add("np.dsplit", _x(1, 2, 4), indices_or_sections=_cuts)
    _add("np.dsplit", _x(2, 1, 4), indices_or_sections=_cuts)
for _axis in (None, 0, 1, -1, (0, 1)):
    _add("np.flip", _x(2, 3), axis=_axis)
    _add("np.flip", _x(2, 2, 2), axis=_axis)
for _name in ["flipud", "fliplr"]:
    for _shape in [
        (2, 3),
        (3, 1),
        (1, 2),
        (2, 2, 2),
        (3, 3),
        (0, 2),
        (4, 2),
        (1, 1),
        (2, 4),
        (5, 2),
    ]:
        _add(f"np.{_name}", _x(*_shape))
for _shift, _axis in ((1, None), (-2, None), (1, 0), (3, 1), (-1, -1)):
    _add("np.roll", _x(2, 3), shift=_shift, axis=_axis)
    _add("np.roll", _x(3, 2, 2), shift=_shift, axis=_axis)
for _k in (0, 1, 2, 3, -1):
    # MXNet's gradients turn the wrong way.
    _add("np.rot90", _x(2, 3), k=_k, grads=())
    _add("np.rot90", _x(2, 3, 2), k=_k, axes=(1, 2), grads=())
for _reps in (1, 2, (2,), (2, 1), (1, 2, 2)):
    _add("np.tile", _x(2, 3), reps=_reps)
    _add("np.tile", _x(2), reps=_reps)
for _axis in (None, 0, 1, -1, -2):
    _add("np.repeat", _x(2, 3), repeats=2, axis=_axis)
    _add("np.repeat", _x(2, 1), repeats=3, axis=_axis)
for _mode in _words("constant edge reflect symmetric maximum minimum"):
    for _width in (((1, 1), (0, 2)), ((0, 0), (1, 2))):
        _add("np.pad", _x(3, 4), pad_width=_width, mode=_mode, grads=())
for _axis in (None, 0, 1, -1, -2):
    _add("np.append", _x(2, 3), _x(2, 3), names=("arr", "values"), axis=_axis)
    _add("np.append", _x(1, 1), _x(1, 1), names=("arr", "values"), axis=_axis)
for _obj in (0, 1, -1, slice(0, 2), 2):
    for _axis in (0, 1):
        _add("np.delete", _x(3, 4), obj=_obj, axis=_axis, grads=())
for _name in ["atleast_1d", "atleast_2d", "atleast_3d"]:
    for _shape in [*_SHAPES, (2, 2, 2, 2), (1, 1), (3, 1, 1), (2,)]:
        _add(f"np.{_name}", _x(*_shape), grads=())  # MXNet's gradients are 0
for _name in ["zeros_like", "ones_like"]:
    for _shape in _SHAPES:
        _add(f"np.{_name}", _x(*_shape), grads=())
    for _dtype in ("float64", "int32", "int8", "uint8"):
        _add(f"np.{_name}", _x(2, 2), dtype=_dtype, grads=())
for _value in (0, 2, 1.5, -3, 7):
    _add("np.full_like", _x(2, 3), fill_value=_value, grads=())
    _add("np.full_like", _x(2, low=0, high=5, dtype="int32"), fill_value=_value)
for _name, _argument in (("zeros", "shape"), ("ones", "shape")):
    for _shape in [*_SHAPES, 3, (2, 2)]:
        _add(f"np.{_name}", **{_argument: _shape})
    for _dtype in ("float64", "int32"):
        _add(f"np.{_name}", shape=(2,), dtype=_dtype)
for _value in (2, 1.5, -1, 0, 7):
    _add("np.full", shape=(2, 2), fill_value=_value)
    _add("np.full", shape=(), fill_value=_value, dtype="int32")
for _start, _stop, _step in ((5, None, 1), (1, 4, 1), (0, 2, 0.5), (3, 0, -1), (2, 2, 1)):
    _add("np.arange", start=_start, stop=_stop, step=_step)
    _add("np.arange", start=_start, stop=_stop, step=_step, dtype="float64")
for _num in (1, 2, 5, 8, 50):
    _add("np.linspace", start=-1, stop=2, num=_num)
    _add("np.linspace", start=0, stop=3, num=_num, endpoint=False)
    _add("np.logspace", start=0, stop=2, num=_num)
    _add("np.logspace", start=0, stop=3, num=_num, endpoint=False, base=2.0)
for _N, _M, _k in ((2, None, 0), (2, 3, 1), (3, 2, -1), (1, 1, 0), (3, 3, 2)):
    _add("np.eye", N=_N, M=_M, k=_k)
    _add("np.eye", N=_N, M=_M, k=_k, dtype="int32")
for _n in (1, 2, 3, 4, 5):
    _add("np.identity", n=_n)
    _add("np.identity", n=_n, dtype="int32")
    _add("np.indices", dimensions=(_n, 2))
    _add("np.indices", dimensions=(_n,), dtype="int64")
    for _name in ["hanning", "hamming", "blackman"]:
        _add(f"np.{_name}", M=_n)
        _add(f"np.{_name}", M=_n + 6)

for _a, _b in [((2, 3), (3, 2)), ((3,), (3,)), ((2, 3), (3,)), ((2, 2, 3), (3,)), ((1, 3), (3, 1)),
               ((4, 1), (1, 4)), ((2, 2), (2, 2)), ((2, 3), (3, 4)), ((1,), (1,)),
               ((5,), (5,))]:  # fmt: skip
    _add("np.dot", _x(*_a), _x(*_b))
    _add("np.matmul", _x(*_a), _x(*_b))
    _add("np.inner", _x(*_a), _x(*(*_b[::-1],)) if len(_a) == len(_b) == 2 else _x(*_b))
    _add("np.outer", _x(*_a), _x(*_b))
    _add("np.vdot", _x(*_a), _x(*_a))
    _add("np.tensordot", _x(*_a), _x(*_b), axes=1)
for _subscripts, *_shapes in [
    ("ij,jk->ik", (2, 3), (3, 2)), ("ii", (3, 3)), ("ij->ji", (2, 3)), ("ij->", (2, 3)),
    ("i,j->ij", (2,), (3,)), ("bij,bjk->bik", (2, 2, 3), (2, 3, 1)), ("ii->i", (3, 3)),
    ("ij,ij->i", (2, 3), (2, 3)), ("ijk->kj", (2, 3, 2)), ("i,i", (4,), (4,)),
]:  # fmt: skip
    CASES.add("np.einsum", *(_x(*one) for one in _shapes), first=_subscripts, listed=False)
for _k in (-2, -1, 0, 1, 2):
    _add("np.diag", _x(3, 4), k=_k)
    _add("np.diag", _x(3), k=_k)
    _add("np.diagflat", _x(2, 2), k=_k)
    _add("np.diagflat", _x(3), k=_k)
    _add("np.tril", _x(3, 4), k=_k)
    _add("np.tril", _x(2, 3, 3), k=_k)
    _add("np.trace", _x(3, 4), offset=_k)
    _add("np.trace", _x(3, 4, 4), offset=_k, axis1=1, axis2=2)
    _add("np.diagonal", _x(3, 4), offset=_k)
    _add("np.diagonal", _x(3, 4, 4), offset=_k, axis1=1, axis2=2)
for _size in (1, 2, 3, 4, 5):
    _add("np.polyval", _x(_size), _x(2, 2))
    _add("np.polyval", _x(_size), _x(3, dtype="float32"), grads=())
for _mode in ("clip", "wrap"):
    for _axis in (None, 0, 1, -1, -2):
        _add("np.take", _x(3, 4), _x(2, 2, low=0, high=5, dtype="int32"), mode=_mode, axis=_axis)
for _a, _b in _PAIRS[:3] + _PAIRS[4:]:
    _add("np.where", _x(*_a, low=0, high=2, dtype="int32"), _x(*_a), _x(*_b))
    _add(
        "np.where",
        _x(*_b, low=0, high=2, dtype="int32"),
        _x(*_a),
        y=0.5,
        names=("condition", "x"),
        grads=(),
    )  # MXNet's gradient is that of the other side
for _axis in (None, 0, 1, -1, -2):
    _add("np.sort", _x(3, 4), axis=_axis, grads=())
    _add("np.argsort", _x(3, 4), axis=_axis, grads=())
    _add("np.sort", _x(2, 5, low=0, high=9, dtype="int32"), axis=_axis)
    _add("np.argsort", _x(5, 2), axis=_axis, grads=())
for _options in ({}, {"return_index": True}, {"return_inverse": True}, {"return_counts": True},
                 {"return_index": True, "return_inverse": True,
                  "return_counts": True}):  # fmt: skip
    _add("np.unique", _x(6, low=0, high=4, dtype="int32"), grads=(), **_options)
    _add("np.unique", _x(2, 4, low=0, high=3, dtype="int64"), grads=(), **_options)
for _name in ("np.nonzero", "npx.nonzero"):
    for _shape in [(2, 3), (4,), (1,), (2, 2, 2), (3, 1), (1, 5), (6,), (2, 2), (3, 3), (5,)]:
        _add(_name, _x(*_shape, low=0, high=2, dtype="int32"))
for _low, _high in ((-0.5, 0.5), (0, 1), (-1, 0), (0.1, 0.2), (-2, 2)):
    _add("np.clip", _x(2, 3), a_min=_low, a_max=_high)
    _add("np.clip", _x(4, low=-4, high=4, dtype="int32"), a_min=-1, a_max=2)
for _shape in [(2, 2), (3, 3), (1, 1), (2, 2, 2), (4, 4), (1, 3, 3), (2, 1, 1), (5, 5), (3, 2, 2),
               (2, 3, 3)]:  # fmt: skip
    _size = _shape[-1]
    _draw = onp.random.RandomState(sum(_shape))
    _matrix = onp.round(_draw.uniform(-1, 1, _shape), 3) + 2 * onp.eye(_size)
    _spd = onp.round(_matrix @ onp.swapaxes(_matrix, -1, -2) + onp.eye(_size), 3)
    for _name in ("det", "inv", "slogdet"):
        _add(f"np.linalg.{_name}", _v(*_matrix.tolist()))
    _add("np.linalg.cholesky", _v(*_spd.tolist()))
    _add("np.linalg.eigvalsh", _v(*_spd.tolist()), grads=())
    _add("np.linalg.solve", _v(*_matrix.tolist()), _x(*_shape))
    _add("np.linalg.pinv", _v(*_matrix.tolist()), grads=())
for _axis in (None, 0, 1, -1, (0, 1)):
    _add("np.linalg.norm", _x(2, 3), axis=_axis)
    _add("np.linalg.norm", _x(2, 3), axis=_axis, keepdims=True)
for _order, _axis in ((1, 0), (2, 1), (3, -1), (1, (0, 1)), ("fro", (0, 1)), ("nuc", (0, 1))):
    _add("np.linalg.norm", _x(3, 3), ord=_order, axis=_axis, grads=())


# Not by the rules above ---------------------------------------------------------------------------

for _shape in [(3,), (2, 3), (1,), (0, 2), (), (2, 1, 2)]:
    _add("np.ravel", _x(*_shape))
    _add("np.shape", _x(*_shape), grads=())
for _dtype in ("float64", "int32", "int8", "float16"):
    _add("np.ravel", _x(2, 2, low=-9, high=9, dtype=_dtype), grads=())
    _add("np.shape", _x(1, 4, dtype=_dtype), grads=())
for _object in (3, [1, 2], [[1.5, -2], [0, 1]], [], [[]], [True, False], -0.5, (1, (2)), [[[7]]],
                onp.arange(3), onp.float64(2.5), onp.eye(2), onp.array([1, 2], "int8"),
                onp.array([0.1], "float16"), onp.array(True),
                onp.zeros((0, 2), "int32")):  # fmt: skip
    _add("np.array", object=_object)
for _dtype in ("float64", "int32", "int8", "uint8", "bool", "float16"):
    _add("np.array", object=[0, 1, 2], dtype=_dtype)
    _add("np.array", _x(2, 2, low=0, high=5), dtype=_dtype, grads=())
    _add("np.array", _x(3, low=0, high=5, dtype=_dtype), grads=())
for _a, _b in [*_PAIRS, ((2, 2), (2, 2)), ((1, 2), (2,)), ((3,), (4,)), ((0,), (0,)), ((1,), (1,))]:
    _add("np.array_equal", _x(*_a, low=0, high=2, dtype="int32"),
         _x(*_b, low=0, high=2, dtype="int32"))  # fmt: skip
_add("np.array_equal", _v(1.0, float("nan")), _v(1.0, float("nan")), grads=())
_add("np.array_equal", _v(1.0, float("nan")), _v(1.0, float("nan")), equal_nan=True, grads=())
_add("np.array_equal", _v(1.0, 2.0), _v(1, 2, dtype="int32"), grads=())
for _shapes in [((2, 3), (3,)), ((1,), (2,)), ((2, 1), (1, 3)), ((2,),), ((), (2,)),
                ((0, 2), (1, 2)), ((2, 1, 2), (3, 1)), ((3,), (3,), (1,)), ((1, 1), (1,)),
                ((4, 1), (1,), (1, 2))]:  # fmt: skip
    _add("np.broadcast_arrays", *(_x(*one) for one in _shapes), outputs=len(_shapes))
for _shapes in [((2,), (3,)), ((1,), (2,)), ((2,), (3,), (2,)), ((4,),), ((1,), (1,))]:
    for _options in ({}, {"indexing": "ij"}, {"sparse": True}):
        _add("np.meshgrid", *(_x(*one) for one in _shapes), outputs=len(_shapes), **_options)
for _shape in [(2, 2), (3, 3), (1, 1), (2, 2, 2), (5, 5), (4, 4), (3, 3, 3), (0, 0), (6, 6),
               (2, 2, 2, 2), (7, 7)]:  # fmt: skip
    _add("np.diag_indices_from", _x(*_shape), grads=())
for _shape in [(4,), (2, 3), (1,), (2, 2, 2), (5,)]:
    _add("np.ediff1d", _x(*_shape))
    _add("np.ediff1d", _x(*_shape, low=-9, high=9, dtype="int32"))
    _add("np.ediff1d", _x(*_shape), to_end=1.5, to_begin=-2.0, grads=())
    _add("np.ediff1d", _x(*_shape), _x(2), _x(3), names=("ary", "to_end", "to_begin"), grads=())
for _obj in (0, 2, -1, slice(0, 2), slice(None, None, 2)):
    for _axis in (None, 0, 1):
        _add("np.insert", _x(3, 4), obj=_obj, values=0.5, axis=_axis, grads=())
    _add("np.insert", _x(5), obj=_obj, values=2, grads=())
    _add("np.insert", _x(3, 4), _x(4), names=("arr", "values"), obj=_obj, axis=0, grads=())
    _add("np.insert", _x(3, 4), _x(1, 4), names=("arr", "values"), obj=_obj, axis=0, grads=())
    _add("np.insert", _x(5), _x(1), names=("arr", "values"), obj=_obj, axis=0, grads=())
_add("np.insert", _x(5), _v(1, 3, dtype="int64"), _x(2), names=("arr", "obj", "values"), grads=())
for _new in [(4,), (2, 2), (3, 3), (1,), (0,), 5, (2, 1, 2), (7,), (1, 5), (2, 3)]:
    _add("np.resize", _x(2, 2), new_shape=_new, grads=())
    _add("np.resize", _x(3, low=0, high=9, dtype="int32"), new_shape=_new)
for _dims in [(2, 3), (6,), (4, 2, 3), (1, 7), (3, 3)]:
    for _size in [(2,), (2, 2), (), (1,)]:
        _add("np.unravel_index", _x(*_size, low=0, high=6, dtype="int64"), shape=_dims)
    _add("np.unravel_index", _x(3, low=0, high=6, dtype="int32"), shape=_dims)
for _shape in [(3,), (2, 2), (1, 3), (0, 2), (2, 1, 2)]:
    _add("np.shape", _x(*_shape, low=0, high=5, dtype="uint8"))
    _add("np.column_stack", *(_x(2, low=-9, high=9, dtype="int32") for _ in _shape), listed=True)
    _add("np.cumsum", _x(*_shape), axis=len(_shape) - 1)
    _add("np.flip", _x(*_shape), axis=len(_shape) - 1)
    _add("np.flip", _x(*_shape, low=-9, high=9, dtype="int32"), axis=0)
    _add("np.copysign", _x(*_shape, dtype="float64"), _x(*_shape, dtype="float64"))
for _text in (["1 2 3", "4 5 6"], ["7"], ["1.5 nan", "-2 3e2"], ["# only", "1 2"]):
    _add("np.genfromtxt", fname=_text)
    _add("np.genfromtxt", fname=_text, dtype="float32")
    _add("np.genfromtxt", fname=[one.replace(" ", ",") for one in _text], delimiter=",")
_add("np.genfromtxt", fname=["a b", "1 2"], skip_header=1, usecols=(1,))
_add("np.genfromtxt", fname=["1,,3"], delimiter=",", filling_values=-1)
for _shape in [(2, 2), (3, 3), (1, 1), (2, 2, 2), (4, 4), (1, 3, 3), (2, 1, 1), (5, 5), (3, 2, 2),
               (2, 3, 3)]:  # fmt: skip
    _draw = onp.random.RandomState(100 + sum(_shape))
    _matrix = onp.round(_draw.uniform(-1, 1, _shape), 3)
    _spd = onp.round(_matrix @ onp.swapaxes(_matrix, -1, -2) + onp.eye(_shape[-1]), 3)
    # Of a product of a positive definite and a symmetric matrix the eigenvalues are real.
    _real = onp.round(_spd @ (_matrix + onp.swapaxes(_matrix, -1, -2)), 3)
    _add("np.linalg.eigh", _v(*_spd.tolist()), grads=())
    _add("np.linalg.eigh", _v(*_spd.tolist()), UPLO="U", grads=())
    _add("np.linalg.eig", _v(*_real.tolist()), grads=())
    _add("np.linalg.eigvals", _v(*_real.tolist()), grads=())
    _add("np.linalg.svd", _v(*_matrix.tolist()), grads=())
for _shape in [(2, 3), (1, 4), (2, 2, 3)]:  # at least as many columns as rows
    _add("np.linalg.svd", _x(*_shape), grads=())
for _shape, _ind in [((2, 2, 2, 2), 2), ((4, 2, 2), 1), ((2, 2, 4), 2), ((3, 3), 1), ((1, 1), 1),
                     ((6, 3, 2), 1), ((2, 1, 2), 2), ((2, 3, 6), 2), ((2, 2), 1),
                     ((4, 4), 1)]:  # fmt: skip
    _size = int(onp.prod(_shape[:_ind]))
    _draw = onp.random.RandomState(sum(_shape) + _ind)
    _square = 2 * onp.eye(_size) + onp.round(_draw.uniform(-0.5, 0.5, (_size, _size)), 3)
    _add("np.linalg.tensorinv", _v(*_square.reshape(_shape).tolist()), ind=_ind)
    _add("np.linalg.tensorsolve", _v(*_square.reshape(_shape).tolist()), _x(*_shape[:_ind]))
_add("np.linalg.tensorsolve", _v(*(2.0 * onp.eye(6) + 0.1).reshape(2, 6, 3).tolist()), _x(6),
     axes=(0,))  # fmt: skip
for _shape in [(2, 3), (1,), (4,), (2, 1), (1, 1, 2), (3,), (2, 2), (5,), (1, 4), (2, 2, 2)]:
    _add("npx.constraint_check", Input(values=onp.ones(_shape, bool).tolist(), dtype="bool"))
    _add("npx.constraint_check", Input(values=onp.ones(_shape, bool).tolist(), dtype="bool"),
         msg="must hold")  # fmt: skip
