"""The functions of `nd` that are no single operator: arithmetic that also takes plain numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from numbers import Number
from typing import Any, Protocol, SupportsFloat, TypeAlias

from hybridnet.ops.core import Arithmetic, Operator, binary, operator_function, registry
from hybridnet.runtime.recording import recorder

from .ndarray import NDArray

__all__ = [
    "add",
    "array_function",
    "cast_storage",
    "divide",
    "equal",
    "greater",
    "greater_equal",
    "lesser",
    "lesser_equal",
    "logical_and",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "modulo",
    "multiply",
    "not_equal",
    "power",
    "subtract",
    "true_divide",
    "waitall",
]


#: One of two operands.
_Side: TypeAlias = NDArray | SupportsFloat


def _either(
    lhs: _Side,
    rhs: _Side,
    name: str,
    scalar: str,
    reverse: str,
    plain: Callable[[Any, Any], Any],
) -> Any:
    """Applies the operator on two arrays, or the scalar form when one of them is a number.

    Two numbers make a number, as in MXNet.
    """
    if not isinstance(lhs, NDArray) and isinstance(lhs, Number):
        if isinstance(rhs, Number):
            return plain(lhs, rhs)
        return _with_number(rhs, lhs, name, reverse, swap=True)
    if isinstance(rhs, Number):
        return _with_number(lhs, rhs, name, scalar)
    return NDArray.apply_operator(registry.get(name), (lhs, rhs), {})


def _with_number(data: object, number: object, name: str, scalar: str, swap: bool = False) -> Any:
    if isinstance(data, NDArray):
        return binary(data, number, Arithmetic(name, scalar, swap))
    return NDArray.apply_operator(registry.get(scalar), (data,), {"scalar": number})  # raises


class _Pairwise(Protocol):
    """A function of two arrays, or of an array and a number, as type checkers see it."""

    def __call__(self, lhs: _Side, rhs: _Side) -> Any: ...


def _truth(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], int]:
    return lambda a, b: int(compare(a, b))


def _pairwise(
    public: str,
    returns: str,
    stem: str,
    plain: Callable[[Any, Any], Any],
    reverse: str | None = None,
    scalar: str | None = None,
) -> _Pairwise:
    """Makes a function of two arrays, or of an array and a number.

    Args:
        public: its name.
        returns: the result in words.
        stem: the operator's name without ``broadcast_``.
        plain: the function of two numbers.
        reverse: the stem of the scalar form for a number in front; default that of `scalar`.
        scalar: the stem of the scalar form; default `stem`.
    """
    name, scalar = f"broadcast_{stem}", f"_{scalar or stem}_scalar"
    swapped = scalar if reverse is None else f"_{reverse}_scalar"

    def function(lhs: _Side, rhs: _Side) -> Any:
        return _either(lhs, rhs, name, scalar, swapped, plain)

    function.__name__ = function.__qualname__ = public
    function.__doc__ = f"Returns {returns}, broadcasting; either may be a number."
    return function


def _indicator(
    public: str, condition: str, compare: Callable[[Any, Any], bool], reverse: str | None = None
) -> _Pairwise:
    return _pairwise(public, f"1 where {condition}, else 0", public, _truth(compare), reverse)


add = _pairwise("add", "lhs + rhs", "add", operator.add, scalar="plus")
subtract = _pairwise("subtract", "lhs - rhs", "sub", operator.sub, "rminus", "minus")
multiply = _pairwise("multiply", "lhs * rhs", "mul", operator.mul)
divide = true_divide = _pairwise("divide", "lhs / rhs", "div", operator.truediv, "rdiv")
modulo = _pairwise("modulo", "lhs mod rhs with the sign of rhs", "mod", operator.mod, "rmod")
maximum = _pairwise("maximum", "the larger of each pair", "maximum", max)
minimum = _pairwise("minimum", "the smaller of each pair", "minimum", min)
equal = _indicator("equal", "lhs equals rhs", operator.eq)
not_equal = _indicator("not_equal", "lhs differs from rhs", operator.ne)
greater = _indicator("greater", "lhs > rhs", operator.gt, "lesser")
greater_equal = _indicator("greater_equal", "lhs >= rhs", operator.ge, "lesser_equal")
lesser = _indicator("lesser", "lhs < rhs", operator.lt, "greater")
lesser_equal = _indicator("lesser_equal", "lhs <= rhs", operator.le, "greater_equal")
logical_and = _indicator("logical_and", "both are non-zero", lambda a, b: bool(a) and bool(b))
logical_or = _indicator("logical_or", "either is non-zero", lambda a, b: bool(a) or bool(b))
logical_xor = _indicator("logical_xor", "exactly one is non-zero", lambda a, b: bool(a) != bool(b))


def power(base: _Side, exp: _Side) -> Any:
    """Returns base to the power of exp, broadcasting; either may be a number."""
    return _either(base, exp, "broadcast_power", "_power_scalar", "_rpower_scalar", operator.pow)


def cast_storage(
    data: NDArray, stype: str, out: NDArray | None = None, name: str | None = None
) -> NDArray:
    """Returns an array in another storage type: 'default' (dense), 'row_sparse' or 'csr'.

    To find what a sparse array has to store, it waits for the values.

    Args:
        data: the array; of sparse storage, it can become dense only.
        stype: the storage type.
        out: an array of this storage type to write the result to.
        name: nothing; MXNet's operators have it.

    Raises:
        ParameterError: there is no such storage type, or none that `data` can be cast to.
    """
    cast = data.tostype(stype)
    return cast if out is None else cast.copyto(out)


def waitall() -> None:
    """Waits until everything recorded and every task has run.

    Compilations in the background are not waited for; `hn.engine.wait_for_all` does.

    Raises:
        OpError: something failed that nobody has waited for.
    """
    recorder.wait_all()


def array_function(op: Operator, public: str) -> Any:
    """Makes the function users call: ``nd.exp(x, out=y)``.

    Args:
        op: the operator.
        public: the name it is called by.
    """
    return operator_function(op, NDArray, public)
