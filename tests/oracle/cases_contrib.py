"""Cases of the operators of `nd.contrib` about elements, masks and attention; see `case.py`."""

from __future__ import annotations

from case import Cases
from case import given as _v
from case import random as _x

CASES = Cases("contrib")
_case = CASES.add

# Masks: any dtype of the mask, no row, all rows, rows of several shapes.
_case("_contrib_boolean_mask", _x(4, 3), _v(1, 0, 1, 1), grads=[0])
_case("_contrib_boolean_mask", _x(4), _v(0, 0, 2, -1, dtype="int32"), grads=[0])
_case("_contrib_boolean_mask", _x(2, 1, 3), _v(1, 1), grads=[0])
_case("_contrib_boolean_mask", _x(1, 2, 2, 2), _v(0.5), grads=[0])
_case("_contrib_boolean_mask", _x(3, 2, dtype="float64"), _v(0, 1, 0, dtype="int64"), grads=[0])
_case("_contrib_boolean_mask", _x(3, 2, dtype="float16"), _v(1, 1, 0), grads=[0])
_case("_contrib_boolean_mask", _x(5, 2, low=-9, high=9, dtype="int32"), _v(0, 1, 0, 1, 1))
_case("_contrib_boolean_mask", _x(3, 4), _v(-1, 0, 3), axis=0, grads=[0])
_case("_contrib_boolean_mask", _x(3, 1), _v(0.1, -0.0, 0.0), grads=[0])
_case("_contrib_boolean_mask", _x(6, 2), _v(1, 1, 1, 1, 1, 1), grads=[0])

for _shape in ((3,), (2, 3), (1, 2, 1), (2, 3, 2)):
    _case("_contrib_index_array", _x(*_shape))
for _axes in ((0,), (-1,), (1, 0), (0, 0), (-2, 2)):
    _case("_contrib_index_array", _x(2, 3, 2), axes=_axes)
_case("_contrib_index_array", _x(2, 1, dtype="float16"), axes=(1,))

_case("_contrib_arange_like", _x(2, 3))
_case("_contrib_arange_like", _x(2, 3), start=2.5, step=-0.5)
for _axis in (0, 1, -1, 2):
    _case("_contrib_arange_like", _x(2, 1, 3), axis=_axis)
_case("_contrib_arange_like", _x(2, 3), repeat=2)
_case("_contrib_arange_like", _x(4, 3), axis=0, repeat=2, start=1)
_case("_contrib_arange_like", _x(5, dtype="float64"), step=0.1)
_case("_contrib_arange_like", _x(3, 2, dtype="float64"), start=-1, axis=-2)
_case("_contrib_arange_like", _x(7), repeat=3, step=2)

_case("_contrib_index_copy", _x(4, 3), _v(1, 3, dtype="int32"), _x(2, 3))
_case("_contrib_index_copy", _x(4), _v(2, dtype="int32"), _x(1))
_case("_contrib_index_copy", _x(4, 1, 2), _v(3, 0, 1, 2, dtype="int64"), _x(4, 1, 2))
_case("_contrib_index_copy", _x(1, 2), _v(0, dtype="int64"), _x(1, 2))
_case(
    "_contrib_index_copy",
    _x(3, 2, dtype="float64"),
    _v(2, 0, dtype="int32"),
    _x(2, 2, dtype="float64"),
)
_case("_contrib_index_copy", _x(3, 2), _v(2, 0, dtype="int32"), _x(2, 2), grads=[2])
_case("_contrib_index_copy", _x(5, 2, 1), _v(4, 3, 0, dtype="int64"), _x(3, 2, 1))
_case("_contrib_index_copy", _x(2, 3, 2, 2), _v(1, dtype="int32"), _x(1, 3, 2, 2))
_case("_contrib_index_copy", _x(6), _v(5, 4, 3, dtype="int32"), _x(3), grads=[0])
_case("_contrib_index_copy", _x(3, dtype="float16"), _v(1, dtype="int64"), _x(1, dtype="float16"))

for _close in (1.0, 1.000001, 1.1, float("nan")):
    _case("_contrib_allclose", _v(1.0, 2.0), _v(_close, 2.0), grads=[])
_nan = _v(float("nan"), 1.0)
_case("_contrib_allclose", _nan, _nan, grads=[])
_case("_contrib_allclose", _nan, _nan, grads=[], equal_nan=False)
_case("_contrib_allclose", _v(1.0, 2.0), _v(1.05, 2.0), grads=[], rtol=0.1)
_case("_contrib_allclose", _v(1.0, 2.0), _v(1.05, 2.0), grads=[], atol=0.1, rtol=0)
_case("_contrib_allclose", _x(2, 1, 2, dtype="float64"), _x(2, 1, 2, dtype="float64"), grads=[])
_case("_contrib_allclose", _v([0.0], [1e-9]), _v([1e-9], [0.0]), grads=[])

_case("_contrib_quadratic", _x(2, 3), a=0.5, b=-2.0, c=3.0)
_case("_contrib_quadratic", _x(3, 1, dtype="float64"), a=2.0)
_case("_contrib_quadratic", _x(3), b=2.0)
for _scalar in (-1.0, 0.5, 0.0, 2):
    _case("_contrib_gradientmultiplier", _x(2, 3), scalar=_scalar)
_case("_contrib_gradientmultiplier", _x(3))
_case("_contrib_gradientmultiplier", _x(2, 1, dtype="float16"), scalar=3.0)
_case("_contrib_gradientmultiplier", _x(2, dtype="float64"), scalar=0.1)
for _op in ("_contrib_round_ste", "_contrib_sign_ste"):
    _case(_op, _v(-2.5, -1.5, -0.4, 0.0, 0.5, 1.5, 2.6))
    _case(_op, _x(2, 3, low=-3, high=3))
