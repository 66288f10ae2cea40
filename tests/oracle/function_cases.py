"""Calls of functions of `nd` and `sym` that are Python code around operators; see `calls.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
from case import Cases
from case import given as _v
from case import random as _x

__all__ = ["CASES"]

CASES = Cases("functions")
_add = CASES.add
_words = str.split
_PAIRS: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((2, 3), (2, 3)),
    ((2, 3), (1, 3)),
    ((2, 1), (1, 3)),
    ((1,), (4,)),
    ((2, 1, 2), (1, 3, 1)),
    ((0, 2), (1, 2)),
]
_FLOATS: dict[str, Any] = {"low": 0.4, "high": 2.0}
_NUMBERS: dict[str, Any] = {"low": 0, "high": 3, "dtype": "int32"}

# Two arrays, or an array and a number -------------------------------------------------------------

for _name in _words("add subtract multiply divide true_divide modulo power maximum minimum"):
    _path = f"nd.{_name}"
    _second = "exp" if _name == "power" else "rhs"
    for _a, _b in _PAIRS:
        _add(_path, _x(*_a, **_FLOATS), _x(*_b, **_FLOATS))
    _add(_path, _x(3, **_FLOATS, dtype="float64"), _x(2, 3, **_FLOATS, dtype="float64"))
    _add(_path, _x(3, **_FLOATS, dtype="float16"), _x(1, **_FLOATS, dtype="float16"), grads=())
    for _dtype in ("int32", "int64", "uint8"):
        _add(_path, _x(4, low=1, high=9, dtype=_dtype), _x(4, low=1, high=4, dtype=_dtype))
    _add(_path, _x(2, 3, **_FLOATS), **{_second: 1.5})
    _add(_path, _x(2, 3, **_FLOATS), first=2.5)
    _add(_path, _x(3, low=1, high=9, dtype="int32"), **{_second: 2})
    _add(_path, _x(3, low=1, high=5, dtype="int32"), first=3)
    _add(_path, _x(1, **_FLOATS, dtype="float64"), **{_second: 2})
for _name in _words(
    "equal not_equal greater greater_equal lesser lesser_equal logical_and logical_or logical_xor"
):
    _path = f"nd.{_name}"
    for _a, _b in _PAIRS:
        _add(_path, _x(*_a, **_NUMBERS), _x(*_b, **_NUMBERS))
    for _dtype in ("float32", "float64", "float16", "int8"):
        _add(_path, _x(4, low=0, high=2, dtype=_dtype), _x(4, low=0, high=2, dtype=_dtype),
             grads=())  # fmt: skip
    _nan = _v(float("nan"), 0.0, 1.0, float("inf"), -0.0)
    _add(_path, _nan, _v(float("nan"), 0.0, float("nan"), float("inf"), 0.0), grads=())
    _add(_path, _nan, rhs=0.0, grads=())
    _add(_path, _x(2, 3, low=-1, high=2, dtype="int32"), rhs=1)
    _add(_path, _x(2, 3, low=-1, high=2, dtype="int32"), first=1)
    _add(_path, _x(5), rhs=0.1, grads=())
    _add(_path, _x(5), first=-0.1, grads=())
for _name in _words("maximum minimum hypot pow power"):
    _path = f"sym.{_name}"
    for _shape in [(2, 3), (1,), (3, 1), (2, 2, 2), (4,)]:
        _add(_path, _x(*_shape, **_FLOATS), _x(*_shape, **_FLOATS))
    _add(_path, _x(3, **_FLOATS, dtype="float64"), _x(3, **_FLOATS, dtype="float64"))
    _add(_path, _x(0, 3, **_FLOATS), _x(0, 3, **_FLOATS))
    _second = "exp" if _name.startswith("pow") else "right"
    for _number in (1.5, 2, 0.7):
        _add(_path, _x(2, 3, **_FLOATS), **{_second: _number})
        _add(_path, _x(3, **_FLOATS), first=_number)
    _add(_path, _x(4, low=1, high=9, dtype="int32"), **{_second: 2})

# Arrays from nothing ------------------------------------------------------------------------------

for _front in ("nd", "sym"):
    for _name in ("zeros", "ones", "full"):
        _more = {"val": 2.5} if _name == "full" else {}
        for _shape in [(2, 3), (1,), (2, 1, 2), 4]:
            _add(f"{_front}.{_name}", shape=_shape, **_more)
        for _dtype in ("float64", "float16", "int32", "int64", "int8", "uint8"):
            _add(f"{_front}.{_name}", shape=(1, 2), dtype=_dtype, **_more)
    for _val in (0, -1, 7, 1e10):
        _add(f"{_front}.full", shape=(2,), val=_val)
    for _start, _stop, _step, _repeat in (
        (5, None, 1, 1), (1, 4, 1, 1), (0, 2, 0.5, 1), (3, 0, -1, 1), (0.5, 3, 0.7, 2),
        (4, None, 2, 3), (-2, 3, 2, 1), (0, 1, 0.3, 1),
    ):  # fmt: skip
        _add(f"{_front}.arange", start=_start, stop=_stop, step=_step, repeat=_repeat)
    for _dtype in ("float64", "float16", "int32", "int64"):
        _add(f"{_front}.arange", start=1, stop=9, step=3, dtype=_dtype)
    for _num in (1, 2, 5, 8, 50):
        _add(f"{_front}.linspace", start=-1, stop=2, num=_num)
        _add(f"{_front}.linspace", start=0.5, stop=3, num=_num, endpoint=False)
    for _dtype in ("float64", "float16", "int32"):
        _add(f"{_front}.linspace", start=0, stop=9, num=4, dtype=_dtype)
        _add(f"{_front}.eye", N=2, M=3, dtype=_dtype)
    for _n, _m, _k in ((2, 0, 0), (1, 0, 0), (2, 3, 1), (3, 2, -1), (3, 3, 2), (4, 1, 0),
                       (2, 2, -1), (3, 5, 4)):  # fmt: skip
        _add(f"{_front}.eye", N=_n, M=_m, k=_k)
_SOURCES: list[Any] = [
    3, [1, 2], [[1.5, -2], [0, 1]], (1, (2)), [True, False], -0.5, [[[7]]], np.arange(3),
    np.float64(2.5), np.eye(2), np.array([1, 2], "int8"), np.array([0.1], "float16"),
    np.array(True),
]  # fmt: skip
for _source in _SOURCES:
    _add("nd.array", source_array=_source)
for _dtype in ("float64", "float16", "int32", "uint8"):
    _add("nd.array", source_array=[0, 1, 2.7], dtype=_dtype)
    _add("nd.array", _x(2, 2, low=0, high=5), dtype=_dtype, grads=())
    _add("nd.array", _x(3, low=0, high=5, dtype=_dtype), grads=())

# Joining, splitting, moving -----------------------------------------------------------------------

for _shapes, _axis in [(((2, 3), (2, 3)), 0), (((2, 3), (2, 1)), 1), (((1,), (3,), (2,)), 0),
                       (((2, 1, 2), (2, 3, 2)), 1), (((2, 2), (2, 2)), 1), (((4,),), 0),
                       (((2, 1, 1), (2, 1, 3)), 2)]:  # fmt: skip
    _add("nd.concatenate", *(_x(*one) for one in _shapes), listed=True, axis=_axis, grads=())
for _dtype in ("float64", "float16", "int32", "uint8"):
    _add("nd.concatenate", *(_x(2, 2, low=0, high=9, dtype=_dtype) for _ in range(2)), listed=True,
         grads=())  # fmt: skip
_add("nd.concatenate", _x(2, 3), listed=True, always_copy=False, grads=())
for _shape, _source, _target in [
    ((2, 3, 4), 0, -1), ((2, 3, 4), 2, 0), ((2, 3, 4), -1, 1), ((2, 3, 4), (0, 1), (-1, 0)),
    ((2, 3, 4), [0, 2], [2, 0]), ((1, 2), 0, 1), ((3,), 0, 0), ((2, 1, 3, 2), (3, 0), (0, 1)),
    ((2, 1, 3, 2), 1, 3), ((0, 2, 3), 0, 2),
]:  # fmt: skip
    _add("nd.moveaxis", _x(*_shape), source=_source, destination=_target)
_add("nd.moveaxis", _x(2, 3, low=0, high=9, dtype="int32"), source=0, destination=1)
for _path in ("nd.split_v2", "nd.NDArray.split_v2", "sym.split_v2", "sym.Symbol.split_v2"):
    for _shape, _cuts, _axis in [
        ((4, 2), 2, 0), ((4, 2), (1, 3), 0), ((4, 2), (2,), 0), ((2, 6), 3, 1),
        ((2, 6), (1, 2, 5), -1), ((1, 3), 1, 0), ((2, 3, 2), (1,), 1), ((5,), (1, 4), 0),
    ]:  # fmt: skip
        _count = _cuts if isinstance(_cuts, int) else len(_cuts) + 1
        _add(_path, _x(*_shape), indices_or_sections=_cuts, axis=_axis, outputs=_count)
    _add(_path, _x(2, 3), indices_or_sections=2, squeeze_axis=True, outputs=2)
    _add(_path, _x(3, 2), indices_or_sections=2, axis=1, squeeze_axis=True, outputs=2)
    _add(_path, _x(4, low=0, high=9, dtype="int32"), indices_or_sections=(1,))

# Counting and asking ------------------------------------------------------------------------------

for _front in ("nd", "sym"):
    for _bins in (1, 3, 8):
        _add(f"{_front}.histogram", _x(4, 3), bins=_bins, range=(-1.0, 1.0), grads=())
        _add(f"{_front}.histogram", _x(9), bins=_bins, range=(-0.5, 0.7), grads=())
    for _edges in ([-1.0, 0.0, 1.0], [-0.5, 0.5], [-2.0, -0.3, -0.1, 0.4, 3.0]):
        for _shape in [(7,), (2, 3, 2)]:
            _add(f"{_front}.histogram", _x(*_shape), _v(*_edges), names=("a", "bins"), grads=())
    _add(f"{_front}.histogram", _x(1), bins=2, range=(0.0, 1.0), grads=())
for _bins in (1, 4, 10):
    _add("nd.histogram", _x(3, 4), bins=_bins, grads=())
for _name in ("isfinite", "isinf", "isnan"):
    for _shape in [(2, 3), (1,), (0, 3), (2, 1, 2), (4,)]:
        _add(f"nd.contrib.{_name}", _x(*_shape), grads=())
    for _dtype in ("float32", "float64", "float16"):
        _add(f"nd.contrib.{_name}",
             _v(float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 1.5, dtype=_dtype),
             grads=())  # fmt: skip
        _add(f"nd.contrib.{_name}", _v((float("nan"), 2.0), (-1.0, float("inf")), dtype=_dtype),
             grads=())  # fmt: skip
    _add(f"nd.contrib.{_name}", _x(3, low=-9, high=9, dtype="int32"))

# An operator whose gradient MXNet has on GPUs only ------------------------------------------------

for _options in (
    {}, {"stride": (2, 2)}, {"pad": (1, 1)}, {"dilate": (2, 2), "pad": (2, 1)}, {"no_bias": True},
    {"num_group": 2}, {"num_deformable_group": 2}, {"kernel": (2, 1), "num_filter": 4},
    {"kernel": (1, 1)},
    {"stride": (1, 2), "pad": (0, 1), "num_group": 2, "num_deformable_group": 2},
):  # fmt: skip
    _deform = {"kernel": (3, 3), "num_filter": 2, **_options}
    _tall, _wide = _deform["kernel"]
    _high, _broad = (
        (6 + 2 * pad - dilate * (kernel - 1) - 1) // stride + 1
        for kernel, stride, pad, dilate in zip(
            _deform["kernel"], _deform.get("stride", (1, 1)), _deform.get("pad", (0, 0)),
            _deform.get("dilate", (1, 1)), strict=True
        )
    )  # fmt: skip
    _taps = _tall * _wide * _deform.get("num_deformable_group", 1)
    _arrays = [
        _x(1, 2, 6, 6), _x(1, 2 * _taps, _high, _broad), _x(1, _taps, _high, _broad, low=0),
        _x(_deform["num_filter"], 2 // _deform.get("num_group", 1), _tall, _wide),
    ]  # fmt: skip
    if "no_bias" not in _options:
        _arrays.append(_x(_deform["num_filter"]))
    _add("nd.contrib.ModulatedDeformableConvolution", *_arrays, grads=(), **_deform)
