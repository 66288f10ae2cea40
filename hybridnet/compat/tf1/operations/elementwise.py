"""Functions of numbers, element by element: ``tf.sqrt``, ``tf.add``, ``tf.less``, ``tf.cast``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import dtypes
from ..dtypes import DType, as_dtype
from ..graph import (
    as_floats,
    convert_to_tensor,
    identity,
    is_number,
    operators,
    require_kind,
    require_same,
)
from ..graph.adding import EdgeHandle, Tensor, described, fused, name_scope, op
from ..graph.operators import cast_to, floor_div, handle, is_zero, ones_where, true_div

__all__ = [
    "abs", "accumulate_n", "acos", "acosh", "add", "add_n", "asin", "asinh", "atan", "atan2",
    "atanh", "cast", "ceil", "cos", "cosh", "digamma", "div", "div_no_nan", "divide", "equal",
    "erf", "erfc", "exp", "expm1", "floor", "floor_div", "floordiv", "floormod", "greater",
    "greater_equal", "is_finite", "is_inf", "is_nan", "less", "less_equal", "lgamma", "log",
    "log1p", "log_sigmoid", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum",
    "minimum", "mod", "multiply", "negative", "not_equal", "pow", "realdiv", "reciprocal", "rint",
    "round", "rsqrt", "saturate_cast", "scalar_mul", "sigmoid", "sign", "sin", "sinh", "sqrt",
    "square", "squared_difference", "subtract", "tan", "tanh", "to_double", "to_float", "to_int32",
    "to_int64", "truediv", "truncatediv", "truncatemod", "xlogy",
]  # fmt: skip

Function = Callable[..., Tensor]


def _of_floats(kind: str, operator: str, doc: str) -> Function:
    def function(x: Any, name: str | None = None) -> Tensor:
        return op(kind, operator, [as_floats(kind, x)], name=name)

    function.__doc__ = f"Returns {doc} of each element, which must be floating point."
    return function


def _of_numbers(kind: str, operator: str, doc: str) -> Function:
    def function(x: Any, name: str | None = None) -> Tensor:
        tensor = require_kind(kind, "x", convert_to_tensor(x, name="x"), is_number)
        return op(kind, operator, [tensor], name=name)

    function.__doc__ = f"Returns {doc} of each element."
    return function


acos = _of_floats("Acos", "arccos", "the arc cosine")
acosh = _of_floats("Acosh", "arccosh", "the inverse hyperbolic cosine")
asin = _of_floats("Asin", "arcsin", "the arc sine")
asinh = _of_floats("Asinh", "arcsinh", "the inverse hyperbolic sine")
atan = _of_floats("Atan", "arctan", "the arc tangent")
atanh = _of_floats("Atanh", "arctanh", "the inverse hyperbolic tangent")
ceil = _of_floats("Ceil", "ceil", "the least whole number not below that")
cos = _of_floats("Cos", "cos", "the cosine")
cosh = _of_floats("Cosh", "cosh", "the hyperbolic cosine")
digamma = _of_floats("Digamma", "_digamma", "the derivative of log |gamma(x)|")
erf = _of_floats("Erf", "erf", "the error function")
erfc = _of_floats("Erfc", "_erfc", "1 - erf(x)")
exp = _of_floats("Exp", "exp", "e to the power")
expm1 = _of_floats("Expm1", "expm1", "exp(x) - 1")
floor = _of_floats("Floor", "floor", "the greatest whole number not above that")
is_finite = _of_floats("IsFinite", "_npi_isfinite", "whether it is finite")
is_inf = _of_floats("IsInf", "_npi_isinf", "whether it is infinite")
is_nan = _of_floats("IsNan", "_npi_isnan", "whether it is not a number")
lgamma = _of_floats("Lgamma", "gammaln", "log |gamma(x)|")
log = _of_floats("Log", "log", "the natural logarithm")
log1p = _of_floats("Log1p", "log1p", "log(1 + x)")
reciprocal = _of_floats("Reciprocal", "reciprocal", "1 / x")
rint = _of_floats("Rint", "rint", "the nearest whole number (halves to the even one)")
round = _of_floats("Round", "rint", "the nearest whole number (halves to the even one)")
rsqrt = _of_floats("Rsqrt", "rsqrt", "1 / sqrt(x)")
sigmoid = _of_floats("Sigmoid", "sigmoid", "1 / (1 + exp(-x))")
sin = _of_floats("Sin", "sin", "the sine")
sinh = _of_floats("Sinh", "sinh", "the hyperbolic sine")
sqrt = _of_floats("Sqrt", "sqrt", "the square root")
tan = _of_floats("Tan", "tan", "the tangent")
tanh = _of_floats("Tanh", "tanh", "the hyperbolic tangent")

abs = _of_numbers("Abs", "abs", "the size")
negative = _of_numbers("Neg", "negative", "the negative")
sign = _of_numbers("Sign", "sign", "-1, 0 or 1, the sign")
square = _of_numbers("Square", "square", "the square")


def _of_two(kind: str, doc: str, default: str | None = None) -> Function:
    def function(x: Any, y: Any, name: str | None = None) -> Tensor:
        return operators.binary(kind, x, y, name or default)

    function.__doc__ = f"Returns {doc}, of two values of one dtype that broadcast."
    return function


add = _of_two("AddV2", "x + y", "Add")
equal = _of_two("Equal", "whether elements are equal")
floormod = mod = _of_two("FloorMod", "the remainder with the sign of the divisor")
greater = _of_two("Greater", "x > y")
greater_equal = _of_two("GreaterEqual", "x >= y")
less = _of_two("Less", "x < y")
less_equal = _of_two("LessEqual", "x <= y")
maximum = _of_two("Maximum", "the greater of two elements")
minimum = _of_two("Minimum", "the lesser of two elements")
multiply = _of_two("Mul", "x * y")
not_equal = _of_two("NotEqual", "whether elements differ")
pow = _of_two("Pow", "x to the power y")
realdiv = _of_two("RealDiv", "x / y")
subtract = _of_two("Sub", "x - y")

logical_and = operators.logical_and
logical_not = operators.logical_not
logical_or = operators.logical_or
logical_xor = operators.logical_xor


def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns the quotient with its fraction; of whole numbers, in float32 or float64."""
    with name_scope(name, "truediv", [x]) as scope:
        return true_div(x, y, scope)


def divide(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns the quotient, as Python's ``x / y``."""
    if name is None:
        made: Tensor = convert_to_tensor(x) / y
        return made
    return true_div(x, y, name)


def div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns the quotient as Python 2's ``x / y``: of whole numbers, rounded down."""
    with name_scope(name, "div", [x]) as scope:
        first, second = require_same("Div", "xy", (x, y))
        return (floor_div if first.dtype.is_integer else true_div)(first, second, scope)


def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns the quotient, rounded down."""
    with name_scope(name, "floordiv", [x]) as scope:
        return floor_div(x, y, scope)


def truncatemod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns the rest of a division rounded towards 0, which has the sign of `x`."""
    pair = require_same("TruncateMod", "xy", (x, y))
    return fused("TruncateMod", _truncated_rest, pair, name=name)


def truncatediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns the quotient, rounded towards 0."""

    def quotient(x: EdgeHandle, y: EdgeHandle) -> EdgeHandle:
        # What is divided is a multiple of y, so that no digit of a large whole number is lost.
        return ((x - _truncated_rest(x, y)) / y).fix()

    pair = require_same("TruncateDiv", "xy", (x, y))
    return fused("TruncateDiv", quotient, pair, name=name)


def _truncated_rest(x: EdgeHandle, y: EdgeHandle) -> EdgeHandle:
    """Returns the rest of the sizes, with the sign of `x`."""
    return x.sign() * handle("_npi_mod", x.abs(), y.abs())


def div_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns the quotient, and 0 where the divisor is 0."""

    def quotient(x: EdgeHandle, y: EdgeHandle) -> EdgeHandle:
        found = x / ones_where(is_zero(y), y)
        return handle("_npi_where", is_zero(y), found.zeros_like(), found)

    with name_scope(name, "div_no_nan", [x]) as scope:
        pair = require_same("DivNoNan", "xy", (x, y))
        return fused("DivNoNan", quotient, pair, name=scope)


def atan2(y: Any, x: Any, name: str | None = None) -> Tensor:
    """Returns the angle of the point (x, y)."""
    return op("Atan2", "_npi_arctan2", require_same("Atan2", "yx", (y, x)), name=name)


def squared_difference(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns (x - y)^2."""
    pair = require_same("SquaredDifference", "xy", (x, y))
    return fused("SquaredDifference", lambda x, y: (x - y).square(), pair, name=name)


def xlogy(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns x * log(y), and 0 where x is 0."""
    pair = require_same("Xlogy", "xy", (x, y))
    return fused("Xlogy", lambda x, y: x * ones_where(is_zero(x), y).log(), pair, name=name)


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Tensor:
    """Returns a tensor times a number."""
    tensor = convert_to_tensor(x)
    return multiply(convert_to_tensor(scalar, tensor.dtype.base_dtype), tensor, name)


def add_n(inputs: Sequence[Any], name: str | None = None) -> Tensor:
    """Returns the sum of tensors of one shape and dtype.

    Raises:
        ValueError: there is none.
    """
    if not isinstance(inputs, (list, tuple)) or not inputs:
        raise ValueError("inputs must be an iterable of at least one Tensor/IndexedSlices")
    tensors = require_same("AddN", [f"inputs_{i}" for i in range(len(inputs))], inputs)
    if len(tensors) == 1:
        return tensors[0] if name is None else identity(tensors[0], name=name)
    shape = tensors[0].shape
    for one in tensors:
        shape = shape.merge_with(one.shape)
    made = op("AddN", "add_n", tensors, name=name)
    made.set_shape(shape)
    return made


def accumulate_n(
    inputs: Sequence[Any], shape: Any = None, tensor_dtype: Any = None, name: str | None = None
) -> Tensor:
    """Returns the sum of tensors; the same as `add_n` here."""
    return add_n(inputs, name)


def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """Returns log(1 / (1 + exp(-x)))."""

    def logarithm(x: EdgeHandle) -> EdgeHandle:
        return -handle("Activation", -x, act_type="softrelu")

    with name_scope(name, "LogSigmoid", [x]) as scope:
        return fused("Neg", logarithm, [as_floats("Softplus", x)], name=scope)


# Conversion ---------------------------------------------------------------------------------------


def cast(x: Any, dtype: Any, name: str | None = None) -> Any:
    """Returns a tensor in another dtype; itself if that is its own.

    Args:
        x: a tensor or numbers, or a `SparseTensor`.
        dtype: which; fractions are cut off on the way to whole numbers.
    """
    wanted = as_dtype(dtype).base_dtype
    if hasattr(x, "with_values"):
        return x.with_values(cast(x.values, wanted, name))
    if isinstance(x, Tensor) and x.dtype.base_dtype is wanted:
        return x
    with name_scope(name, "Cast", [x] if isinstance(x, Tensor) else None) as scope:
        tensor = convert_to_tensor(x, name="x")
        if tensor.dtype.base_dtype is wanted:
            return tensor
        return cast_to(tensor, wanted, name=scope)


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """Returns a tensor in another dtype, after what that cannot hold was moved to its limits."""
    wanted = as_dtype(dtype).base_dtype

    def limited(x: EdgeHandle) -> EdgeHandle:
        clipped = x.clip(a_min=float(wanted.min), a_max=float(wanted.max))
        return handle("Cast", clipped, dtype=wanted.numpy.name)

    with name_scope(name, "saturate_cast", [value]) as scope:
        tensor = convert_to_tensor(value, name="value")
        return fused("Cast", limited, [tensor], name=scope)


def _to(name: str, default: str, dtype: DType) -> Function:
    def function(x: Any, name: str = default) -> Any:
        return cast(x, dtype, name)

    return described(function, name, f"Returns a tensor in {dtype.name}.")


to_float = _to("to_float", "ToFloat", dtypes.float32)
to_double = _to("to_double", "ToDouble", dtypes.float64)
to_int32 = _to("to_int32", "ToInt32", dtypes.int32)
to_int64 = _to("to_int64", "ToInt64", dtypes.int64)
