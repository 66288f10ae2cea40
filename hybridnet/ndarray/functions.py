"""The functions of `nd` that are no single operator: arithmetic that also takes plain numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from numbers import Number
from typing import Any

from hybridnet.ops.core import registry
from hybridnet.ops.core.handle import Arithmetic, binary, operator_function
from hybridnet.runtime.record import recorder

from .ndarray import NDArray

__all__ = [
    "add",
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
    "operator_functions",
    "power",
    "subtract",
    "true_divide",
    "waitall",
]


def _either(
    lhs: Any, rhs: Any, name: str, scalar: str, reverse: str, plain: Callable[[Any, Any], Any]
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


def _with_number(data: Any, number: Any, name: str, scalar: str, swap: bool = False) -> Any:
    if isinstance(data, NDArray):
        return binary(data, number, Arithmetic(name, scalar, swap))
    return NDArray.apply_operator(registry.get(scalar), (data,), {"scalar": number})  # raises


def add(lhs: Any, rhs: Any) -> Any:
    """Returns lhs + rhs, broadcasting; either may be a number."""
    return _either(lhs, rhs, "broadcast_add", "_plus_scalar", "_plus_scalar", operator.add)


def subtract(lhs: Any, rhs: Any) -> Any:
    """Returns lhs - rhs, broadcasting; either may be a number."""
    return _either(lhs, rhs, "broadcast_sub", "_minus_scalar", "_rminus_scalar", operator.sub)


def multiply(lhs: Any, rhs: Any) -> Any:
    """Returns lhs * rhs, broadcasting; either may be a number."""
    return _either(lhs, rhs, "broadcast_mul", "_mul_scalar", "_mul_scalar", operator.mul)


def divide(lhs: Any, rhs: Any) -> Any:
    """Returns lhs / rhs, broadcasting; either may be a number."""
    return _either(lhs, rhs, "broadcast_div", "_div_scalar", "_rdiv_scalar", operator.truediv)


true_divide = divide


def modulo(lhs: Any, rhs: Any) -> Any:
    """Returns lhs mod rhs with the sign of rhs, broadcasting; either may be a number."""
    return _either(lhs, rhs, "broadcast_mod", "_mod_scalar", "_rmod_scalar", operator.mod)


def power(base: Any, exp: Any) -> Any:
    """Returns base to the power of exp, broadcasting; either may be a number."""
    return _either(base, exp, "broadcast_power", "_power_scalar", "_rpower_scalar", operator.pow)


def maximum(lhs: Any, rhs: Any) -> Any:
    """Returns the larger of each pair, broadcasting; either may be a number."""
    return _either(lhs, rhs, "broadcast_maximum", "_maximum_scalar", "_maximum_scalar", max)


def minimum(lhs: Any, rhs: Any) -> Any:
    """Returns the smaller of each pair, broadcasting; either may be a number."""
    return _either(lhs, rhs, "broadcast_minimum", "_minimum_scalar", "_minimum_scalar", min)


def equal(lhs: Any, rhs: Any) -> Any:
    """Returns 1 where lhs equals rhs, else 0, broadcasting; either may be a number."""
    return _either(
        lhs, rhs, "broadcast_equal", "_equal_scalar", "_equal_scalar", _truth(operator.eq)
    )


def not_equal(lhs: Any, rhs: Any) -> Any:
    """Returns 1 where lhs differs from rhs, else 0, broadcasting; either may be a number."""
    scalar = "_not_equal_scalar"
    return _either(lhs, rhs, "broadcast_not_equal", scalar, scalar, _truth(operator.ne))


def greater(lhs: Any, rhs: Any) -> Any:
    """Returns 1 where lhs > rhs, else 0, broadcasting; either may be a number."""
    forms = ("broadcast_greater", "_greater_scalar", "_lesser_scalar")
    return _either(lhs, rhs, *forms, _truth(operator.gt))


def greater_equal(lhs: Any, rhs: Any) -> Any:
    """Returns 1 where lhs >= rhs, else 0, broadcasting; either may be a number."""
    forms = ("broadcast_greater_equal", "_greater_equal_scalar", "_lesser_equal_scalar")
    return _either(lhs, rhs, *forms, _truth(operator.ge))


def lesser(lhs: Any, rhs: Any) -> Any:
    """Returns 1 where lhs < rhs, else 0, broadcasting; either may be a number."""
    forms = ("broadcast_lesser", "_lesser_scalar", "_greater_scalar")
    return _either(lhs, rhs, *forms, _truth(operator.lt))


def lesser_equal(lhs: Any, rhs: Any) -> Any:
    """Returns 1 where lhs <= rhs, else 0, broadcasting; either may be a number."""
    forms = ("broadcast_lesser_equal", "_lesser_equal_scalar", "_greater_equal_scalar")
    return _either(lhs, rhs, *forms, _truth(operator.le))


def logical_and(lhs: Any, rhs: Any) -> Any:
    """Returns 1 where both are non-zero, else 0, broadcasting; either may be a number."""
    forms = ("broadcast_logical_and", "_logical_and_scalar", "_logical_and_scalar")
    return _either(lhs, rhs, *forms, _truth(lambda a, b: bool(a) and bool(b)))


def logical_or(lhs: Any, rhs: Any) -> Any:
    """Returns 1 where either is non-zero, else 0, broadcasting; either may be a number."""
    forms = ("broadcast_logical_or", "_logical_or_scalar", "_logical_or_scalar")
    return _either(lhs, rhs, *forms, _truth(lambda a, b: bool(a) or bool(b)))


def logical_xor(lhs: Any, rhs: Any) -> Any:
    """Returns 1 where exactly one is non-zero, else 0, broadcasting; either may be a number."""
    forms = ("broadcast_logical_xor", "_logical_xor_scalar", "_logical_xor_scalar")
    return _either(lhs, rhs, *forms, _truth(lambda a, b: bool(a) != bool(b)))


def _truth(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], int]:
    return lambda a, b: int(compare(a, b))


def cast_storage(data: NDArray, stype: str, out: Any = None, name: str | None = None) -> NDArray:
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

    Raises:
        OpError: something failed that nobody has waited for.
    """
    recorder.wait_all()


def operator_functions(prefix: str = "") -> dict[str, Any]:
    """Returns a function, bound to arrays, for each operator of a namespace.

    Args:
        prefix: see `hybridnet.ops.core.registry.public_operators`.
    """
    operators = registry.public_operators(prefix)
    return {name: operator_function(op, NDArray, name) for name, op in operators.items()}
