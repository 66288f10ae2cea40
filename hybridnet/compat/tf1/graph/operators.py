"""Python's operators on tensors, and the arithmetic functions that they stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hybridnet.graph import EdgeHandle
from hybridnet.ops.core import registry

from .. import dtypes
from ..dtypes import DType
from .building import apply_call, fused, op
from .coded import STRINGS
from .host_call import HostCall
from .infer import Kind, infer_kinds
from .tensor import Tensor, overload
from .values import convert_to_tensor, require_same

__all__ = [
    "binary", "cast_to", "floor_div", "handle", "is_zero", "ones_where", "true_div", "turned",
]  # fmt: skip

#: Type of Operation -> our operator on two arrays that are broadcast against one another.
_BINARY: Final = {
    "Add": "broadcast_add",
    "AddV2": "broadcast_add",
    "Equal": "_npi_equal",
    "FloorMod": "_npi_mod",
    "Greater": "_npi_greater",
    "GreaterEqual": "_npi_greater_equal",
    "Less": "_npi_less",
    "LessEqual": "_npi_less_equal",
    "Maximum": "broadcast_maximum",
    "Minimum": "broadcast_minimum",
    "Mul": "broadcast_mul",
    "NotEqual": "_npi_not_equal",
    "Pow": "broadcast_power",
    "RealDiv": "broadcast_div",
    "Sub": "broadcast_sub",
}
#: What `x / y` computes in, of whole numbers.
_QUOTIENT: Final = {
    dtypes.int8: dtypes.float32,
    dtypes.uint8: dtypes.float32,
    dtypes.int32: dtypes.float64,
    dtypes.int64: dtypes.float64,
}


def handle(operator: str, *inputs: EdgeHandle, **params: Any) -> EdgeHandle:
    """Applies one of our operators inside a function that `compose` is given."""
    made: EdgeHandle = EdgeHandle.apply_operator(registry.get(operator), inputs, params)
    return made


def is_zero(x: EdgeHandle) -> EdgeHandle:
    """Returns where elements are 0, for `ones_where`."""
    return handle("_npi_equal_scalar", x, scalar=0.0)


def ones_where(places: EdgeHandle, x: EdgeHandle) -> EdgeHandle:
    """Returns 1 at some places and `x` elsewhere, so that nothing is divided by 0 there."""
    return handle("_npi_where", places, x.ones_like(), x)


def turned(x: EdgeHandle) -> EdgeHandle:
    """Returns matrices with rows and columns swapped: the last two axes."""
    return handle("SwapAxis", x, dim1=-1, dim2=-2)


def binary(kind: str, x: Any, y: Any, name: str | None = None) -> Tensor:
    """Adds an Operation on two values of one dtype, which are broadcast against one another.

    Args:
        kind: its type: 'Add', 'Less', ...
        x: a tensor or numbers.
        y: likewise.
        name: of the Operation; default its type.

    Raises:
        TypeError: the dtypes differ.
        ValueError: the shapes do not fit.
    """
    first, second = require_same(kind, "xy", (x, y))
    if first.dtype.numpy == STRINGS and _BINARY[kind] == "broadcast_add":
        return _joined(kind, first, second, name)
    return op(kind, _BINARY[kind], (first, second), name=name)


def _joined(kind: str, x: Tensor, y: Tensor, name: str | None) -> Tensor:
    """Returns strings of which one follows the other."""
    numbers = [Kind(np.dtype(np.int32), one.shape._dims) for one in (x, y)]
    (found,) = infer_kinds(registry.get("broadcast_add").bind({})[0], numbers)
    kinds = [Kind(STRINGS, found.dims)]
    call = HostCall(kind, lambda x, y: [np.asarray(x + y, object)], [STRINGS], [found.dims])
    made: Tensor = apply_call(kind, call, (x, y), name=name, kinds=kinds)
    return made


def cast_to(x: Tensor, dtype: DType, name: str = "Cast") -> Tensor:
    """Returns a tensor in another dtype; itself if that is its own."""
    if x.dtype.base_dtype is dtype.base_dtype:
        return x
    return op("Cast", "Cast", [x], name=name, dtype=dtype.numpy.name)


def true_div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns the quotient with its fraction: of whole numbers in float32 or float64."""
    first, second = require_same("RealDiv", "xy", (x, y))
    wanted = _QUOTIENT.get(first.dtype.base_dtype)
    if wanted is not None:
        first, second = cast_to(first, wanted), cast_to(second, wanted)
    return op("RealDiv", _BINARY["RealDiv"], (first, second), name=name)


def floor_div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns the quotient, rounded down."""
    pair = require_same("FloorDiv", "xy", (x, y))
    kind = pair[0].dtype

    def quotient(x: EdgeHandle, y: EdgeHandle) -> EdgeHandle:
        if kind.is_integer:
            # What is divided is whole, so that no digit of a large number is lost.
            return (x - handle("_npi_mod", x, y)) / y
        return (x / y).floor()

    return fused("FloorDiv", quotient, pair, name=name)


def logical_not(x: Any, name: str | None = None) -> Tensor:
    """Returns whether each element is False."""
    return op("LogicalNot", "_npi_logical_not", [_truths(x)], name=name)


def logical_or(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns whether one of two elements is True."""
    pair = (_truths(x), _truths(y))
    return fused("LogicalOr", lambda x, y: handle("_npi_bitwise_or", x, y), pair, name=name)


def logical_and(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns whether both of two elements are True."""
    return op("LogicalAnd", "_npi_bitwise_and", (_truths(x), _truths(y)), name=name)


def logical_xor(x: Any, y: Any, name: str | None = "LogicalXor") -> Tensor:
    """Returns whether just one of two elements is True."""
    return op("LogicalXor", "_npi_not_equal", (_truths(x), _truths(y)), name=name)


def matmul_operator(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Returns the matrix product of two matrices, or of stacks of them."""
    pair = require_same("MatMul", "ab", (x, y))
    flat = all(one.shape.ndims == 2 for one in pair)
    kind, operator = ("MatMul", "dot") if flat else ("BatchMatMulV2", "_npi_matmul")
    return op(kind, operator, pair, name=name)


def _truths(x: Any) -> Tensor:
    made = convert_to_tensor(x) if isinstance(x, Tensor) else convert_to_tensor(x, dtypes.bool)
    if not made.dtype.is_bool:
        raise TypeError(f"logical operators need truth values, got {made!r}")
    return made


def _add_binary(method: str, name: str, function: Callable[..., Tensor]) -> None:
    """Makes a function Python's operator `method`, and what swaps its operands ``__r*__``."""

    def forward(x: Tensor, y: Any) -> Any:
        with x.graph.as_default(), x.graph.name_scope(name) as scope:
            try:
                other = convert_to_tensor(y, x.dtype.base_dtype, name="y")
            except TypeError:
                if hasattr(type(y), f"__r{method}__") and not isinstance(y, _NUMBERS):
                    return NotImplemented
                raise
            except ValueError:
                if not isinstance(y, Tensor):
                    raise
                other = y  # of another dtype: the function says so in its own words
            return function(x, other, name=scope)

    def backward(y: Tensor, x: Any) -> Any:
        with y.graph.as_default(), y.graph.name_scope(name) as scope:
            return function(convert_to_tensor(x, y.dtype.base_dtype, name="x"), y, name=scope)

    overload(f"__{method}__")(forward)
    if method not in ("lt", "le", "gt", "ge"):
        overload(f"__r{method}__")(backward)


_NUMBERS: Final = (int, float, bool, list, tuple)


def _of_kind(kind: str) -> Callable[..., Tensor]:
    return lambda x, y, name=None: binary(kind, x, y, name)


for _method, _name, _function in (
    ("add", "add", _of_kind("AddV2")),
    ("sub", "sub", _of_kind("Sub")),
    ("mul", "mul", _of_kind("Mul")),
    ("truediv", "truediv", true_div),
    ("floordiv", "floordiv", floor_div),
    ("mod", "mod", _of_kind("FloorMod")),
    ("pow", "pow", _of_kind("Pow")),
    ("matmul", "matmul", matmul_operator),
    ("and", "and", logical_and),
    ("or", "or", logical_or),
    ("xor", "xor", logical_xor),
    ("lt", "Less", _of_kind("Less")),
    ("le", "LessEqual", _of_kind("LessEqual")),
    ("gt", "Greater", _of_kind("Greater")),
    ("ge", "GreaterEqual", _of_kind("GreaterEqual")),
):
    _add_binary(_method, _name, _function)


overload("__neg__")(lambda x: op("Neg", "negative", [x]))
overload("__abs__")(lambda x: op("Abs", "abs", [x]))
overload("__invert__")(logical_not)
