"""NumPy's elementwise functions, where they differ from the older operators of the same meaning.

Comparisons give bool, ``/`` of integers gives float32, and two bool arrays can be combined. What
does not differ (``_npi_exp`` is ``exp``) is another name of that operator: see `names`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hybridnet.base.attrs import Scalar
from hybridnet.base.dtype import BOOL, FLOAT32, FLOAT64, is_float
from hybridnet.base.errors import DTypeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp

from ..core.families import STEP, broadcast, convert, operands_of_scalar_form, promoted, scalar_form
from ..core.operator import describe
from ..core.registry import operator
from ..core.rules import broadcast_shape, promote_types, same_type
from ..math import arithmetic

_TRUTH: Final = "its result is a truth value"
_SIDES: Final = ("x1", "x2")


# fmt: off
broadcast("_npi_add", lambda a, b: a + b, "Sum of two arrays; of bool, logical or.",
          booleans=True, gradient=arithmetic.add_gradient)
broadcast("_npi_subtract", lambda a, b: a - b, "Difference of two arrays.",
          gradient=arithmetic.subtract_gradient)
broadcast("_npi_multiply", lambda a, b: a * b, "Product of two arrays; of bool, logical and.",
          booleans=True, gradient=arithmetic.multiply_gradient)
broadcast("_npi_copysign", lambda a, b: jnp.copysign(a, b).astype(a.dtype),
          "The size of lhs with the sign of rhs.")
scalar_form("_npi_copysign_scalar", lambda x, s: jnp.copysign(x, s).astype(x.dtype),
            "The size of each element with the sign of a number.")
scalar_form("_npi_rcopysign_scalar", lambda x, s: jnp.copysign(s, x).astype(x.dtype),
            "The size of a number with the sign of each element.")
# fmt: on


def _times_power(a: Any, b: Any) -> Any:
    return convert(a * jnp.exp2(b.astype(a.dtype if is_float(a.dtype) else FLOAT64)), a.dtype)


broadcast("_npi_ldexp", _times_power, "lhs times 2 to the power of rhs.")
scalar_form("_npi_ldexp_scalar", _times_power, "Each element times 2 to the power of a number.")
scalar_form(
    "_npi_rldexp_scalar",
    lambda x, s: _times_power(s, x),
    "A number times 2 to the power of each element.",
)


def quotient_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Returns the dtype of a true quotient: integers give float32, as in MXNet."""
    return dtype if is_float(dtype) else FLOAT32


def _quotient_type(*types: TensorType) -> tuple[TensorType]:
    shape = broadcast_shape("_npi_true_divide", _SIDES, types)
    return (tensor_type(shape, quotient_dtype(promote_types(types))),)


@operator("_npi_true_divide", infer=_quotient_type)
def _true_divide(x1: Any, x2: Any) -> Any:
    """Quotient of two arrays, which broadcast; of integers, in float32."""
    dtype = quotient_dtype(promote_types([x1, x2]))
    return x1.astype(dtype) / x2.astype(dtype)


def _quotient_by_number(name: str, function: Callable[[Any, Any], Any], doc: str) -> None:
    def lowering(data: Any, *, scalar: Scalar = 1.0, is_int: bool = True) -> Any:
        dtype = quotient_dtype(np.dtype(data.dtype))
        return function(data.astype(dtype), jnp.asarray(scalar).astype(dtype))

    def infer(data: TensorType, *, is_int: bool, **_: Any) -> tuple[TensorType]:
        return (tensor_type(data.shape, quotient_dtype(data.dtype)),)

    operator(name, infer=infer, doc=doc)(lowering)


_quotient_by_number(
    "_npi_true_divide_scalar",
    lambda x, s: x / s,
    "Array divided by a number; integers give float32.",
)
_quotient_by_number(
    "_npi_rtrue_divide_scalar",
    lambda x, s: s / x,
    "Number divided by an array; integers give float32.",
)


def _truth_type(data: TensorType, **_: Any) -> tuple[TensorType]:
    return (tensor_type(data.shape, BOOL),)


def _comparison(name: str, function: Callable[[Any, Any], Any], doc: str) -> None:
    """Registers a comparison of two arrays and of an array with a number; results are bool."""

    def of_two(x1: Any, x2: Any) -> Any:
        return function(*promoted(x1, x2))

    def of_number(data: Any, *, scalar: Scalar = 1.0, is_int: bool = True) -> Any:
        # Beside integers the number keeps its fraction: 1 > 0.5 is True.
        if is_float(np.dtype(data.dtype)):
            return function(*operands_of_scalar_form(data, scalar, is_int))
        return function(data.astype(FLOAT64), jnp.asarray(scalar).astype(FLOAT64))

    def type_of_two(*types: TensorType) -> tuple[TensorType]:
        return (tensor_type(broadcast_shape(name, _SIDES, types), BOOL),)

    operator(
        name, infer=type_of_two, no_gradient=_TRUTH, doc=f"Whether x1 {doc} x2; they broadcast."
    )(of_two)
    operator(
        f"{name}_scalar",
        infer=_truth_type,
        no_gradient=_TRUTH,
        doc=f"Whether each element {doc} a number.",
    )(of_number)


_comparison("_npi_equal", lambda a, b: a == b, "equals")
_comparison("_npi_not_equal", lambda a, b: a != b, "differs from")
_comparison("_npi_greater", lambda a, b: a > b, "is greater than")
_comparison("_npi_greater_equal", lambda a, b: a >= b, "is at least")
_comparison("_npi_less", lambda a, b: a < b, "is less than")
_comparison("_npi_less_equal", lambda a, b: a <= b, "is at most")


def _test(name: str, function: Callable[[Any], Any], doc: str) -> None:
    """Registers a test of each element."""
    operator(name, infer=_truth_type, no_gradient=_TRUTH, doc=doc)(function)


_test("_npi_isnan", lambda x: jnp.isnan(x), "Whether each element is not a number.")
_test("_npi_isinf", lambda x: jnp.isinf(x), "Whether each element is infinite.")
_test("_npi_isfinite", lambda x: jnp.isfinite(x), "Whether each element is a finite number.")
_test("_npi_isposinf", lambda x: x == np.inf, "Whether each element is positive infinity.")
_test("_npi_isneginf", lambda x: x == -np.inf, "Whether each element is negative infinity.")
_test("_npi_logical_not", lambda x: x == 0, "Whether each element is zero.")


def _whole(name: str) -> Callable[..., None]:
    """Returns a check that no input is floating point."""

    def check(*types: TensorType, **_: Any) -> None:
        if any(is_float(given.dtype) for given in types):
            raise DTypeError(
                f"{name}: needs integers or bool, got {describe(_SIDES, types)}; cast with "
                "astype('int32')"
            )

    return check


def _bits(name: str, function: Callable[[Any, Any], Any], doc: str) -> None:
    """Registers a function of whole numbers, and its form with a number."""

    def infer(*types: TensorType) -> tuple[TensorType]:
        return (tensor_type(broadcast_shape(name, _SIDES, types), promote_types(types)),)

    def of_two(x1: Any, x2: Any) -> Any:
        return function(*promoted(x1, x2))

    def of_number(data: Any, *, scalar: Scalar = 1.0, is_int: bool = True) -> Any:
        return function(data, jnp.asarray(scalar).astype(data.dtype))

    operator(name, check=_whole(name), infer=infer, no_gradient=STEP, doc=doc)(of_two)
    scalar_name = f"{name}_scalar"
    operator(scalar_name, check=_whole(scalar_name), infer=same_type, no_gradient=STEP, doc=doc)(
        of_number
    )


def _lcm(a: Any, b: Any) -> Any:
    if a.dtype == BOOL:
        return a & b
    # Of sizes, which the unsigned dtype holds: the least whole number has none in its own, and
    # Euclid's algorithm would never end on it.
    unsigned = np.dtype(f"uint{8 * a.dtype.itemsize}")
    return jnp.lcm(_size(a, unsigned), _size(b, unsigned)).astype(a.dtype)


def _size(x: Any, unsigned: np.dtype[Any]) -> Any:
    return jnp.where(x < 0, -x, x).astype(unsigned)


_bits("_npi_bitwise_and", lambda a, b: a & b, "Bits that are set in both; of bool, logical and.")
_bits("_npi_bitwise_or", lambda a, b: a | b, "Bits that are set in either; of bool, logical or.")
_bits("_npi_bitwise_xor", lambda a, b: a ^ b, "Bits that are set in just one of the two.")
_bits("_npi_lcm", _lcm, "Least common multiple of whole numbers.")


@operator("_npi_bitwise_not", check=_whole("_npi_bitwise_not"), infer=same_type, no_gradient=STEP)
def _bitwise_not(x: Any) -> Any:
    """Every bit turned over; of bool, logical not."""
    return ~x


@operator("_npi_around", infer=same_type, no_gradient=STEP)
def _around(x: Any, *, decimals: int = 0) -> Any:
    """Rounds to a number of decimals; halves go to the even neighbor."""
    if not is_float(np.dtype(x.dtype)) and (decimals >= 0 or x.dtype == BOOL):
        return x
    wide = x if is_float(np.dtype(x.dtype)) else x.astype(FLOAT64)
    return jnp.round(wide, decimals).astype(x.dtype)


@operator("_npi_nan_to_num", infer=same_type)
def _nan_to_num(
    data: Any,
    *,
    copy: bool = True,
    nan: float = 0.0,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Any:
    """Replaces what is no finite number.

    Args:
        copy: accepted; the result is always a new array.
        nan: in the place of NaN.
        posinf: of positive infinity; None for the largest number of the dtype.
        neginf: of negative infinity; None for the smallest.
    """
    if not is_float(np.dtype(data.dtype)):
        return data
    return jnp.nan_to_num(data, nan=nan, posinf=posinf, neginf=neginf)
