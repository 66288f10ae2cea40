"""The functions of `nd` that are no single operator: arithmetic that also takes plain numbers."""

from __future__ import annotations

from numbers import Number
from typing import Any

from hybridnet.ops import registry
from hybridnet.ops.handle import operator_function
from hybridnet.runtime import recorder

from .ndarray import NDArray

__all__ = [
    "add",
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


def _either(lhs: Any, rhs: Any, array: str, scalar: str, reverse: str) -> Any:
    """Applies the operator on two arrays, or the scalar form when one of them is a number."""
    if isinstance(rhs, Number) and isinstance(lhs, NDArray):
        return NDArray.apply_operator(registry.get(scalar), (lhs,), {"scalar": rhs})
    if isinstance(lhs, Number) and isinstance(rhs, NDArray):
        return NDArray.apply_operator(registry.get(reverse), (rhs,), {"scalar": lhs})
    return NDArray.apply_operator(registry.get(array), (lhs, rhs), {})


def add(lhs: Any, rhs: Any) -> Any:
    """Returns lhs + rhs, broadcasting; either may be a number."""
    return _either(lhs, rhs, "broadcast_add", "_plus_scalar", "_plus_scalar")


def subtract(lhs: Any, rhs: Any) -> Any:
    """Returns lhs - rhs, broadcasting; either may be a number."""
    return _either(lhs, rhs, "broadcast_sub", "_minus_scalar", "_rminus_scalar")


def multiply(lhs: Any, rhs: Any) -> Any:
    """Returns lhs * rhs, broadcasting; either may be a number."""
    return _either(lhs, rhs, "broadcast_mul", "_mul_scalar", "_mul_scalar")


def divide(lhs: Any, rhs: Any) -> Any:
    """Returns lhs / rhs, broadcasting; either may be a number."""
    return _either(lhs, rhs, "broadcast_div", "_div_scalar", "_rdiv_scalar")


true_divide = divide


def modulo(lhs: Any, rhs: Any) -> Any:
    """Returns lhs mod rhs with the sign of rhs, broadcasting; either may be a number."""
    return _either(lhs, rhs, "broadcast_mod", "_mod_scalar", "_rmod_scalar")


def power(base: Any, exp: Any) -> Any:
    """Returns base to the power of exp, broadcasting; either may be a number."""
    return _either(base, exp, "broadcast_power", "_power_scalar", "_rpower_scalar")


def maximum(lhs: Any, rhs: Any) -> Any:
    """Returns the larger of each pair, broadcasting; either may be a number."""
    return _either(lhs, rhs, "broadcast_maximum", "_maximum_scalar", "_maximum_scalar")


def minimum(lhs: Any, rhs: Any) -> Any:
    """Returns the smaller of each pair, broadcasting; either may be a number."""
    return _either(lhs, rhs, "broadcast_minimum", "_minimum_scalar", "_minimum_scalar")


def equal(lhs: Any, rhs: Any) -> Any:
    """Returns 1 where lhs equals rhs, else 0, broadcasting; either may be a number."""
    return _either(lhs, rhs, "broadcast_equal", "_equal_scalar", "_equal_scalar")


def not_equal(lhs: Any, rhs: Any) -> Any:
    """Returns 1 where lhs differs from rhs, else 0, broadcasting; either may be a number."""
    return _either(lhs, rhs, "broadcast_not_equal", "_not_equal_scalar", "_not_equal_scalar")


def greater(lhs: Any, rhs: Any) -> Any:
    """Returns 1 where lhs > rhs, else 0, broadcasting; either may be a number."""
    return _either(lhs, rhs, "broadcast_greater", "_greater_scalar", "_lesser_scalar")


def greater_equal(lhs: Any, rhs: Any) -> Any:
    """Returns 1 where lhs >= rhs, else 0, broadcasting; either may be a number."""
    return _either(
        lhs, rhs, "broadcast_greater_equal", "_greater_equal_scalar", "_lesser_equal_scalar"
    )


def lesser(lhs: Any, rhs: Any) -> Any:
    """Returns 1 where lhs < rhs, else 0, broadcasting; either may be a number."""
    return _either(lhs, rhs, "broadcast_lesser", "_lesser_scalar", "_greater_scalar")


def lesser_equal(lhs: Any, rhs: Any) -> Any:
    """Returns 1 where lhs <= rhs, else 0, broadcasting; either may be a number."""
    return _either(
        lhs, rhs, "broadcast_lesser_equal", "_lesser_equal_scalar", "_greater_equal_scalar"
    )


def logical_and(lhs: Any, rhs: Any) -> Any:
    """Returns 1 where both are non-zero, else 0, broadcasting; either may be a number."""
    return _either(
        lhs, rhs, "broadcast_logical_and", "_logical_and_scalar", "_logical_and_scalar"
    )


def logical_or(lhs: Any, rhs: Any) -> Any:
    """Returns 1 where either is non-zero, else 0, broadcasting; either may be a number."""
    return _either(lhs, rhs, "broadcast_logical_or", "_logical_or_scalar", "_logical_or_scalar")


def logical_xor(lhs: Any, rhs: Any) -> Any:
    """Returns 1 where exactly one is non-zero, else 0, broadcasting; either may be a number."""
    return _either(
        lhs, rhs, "broadcast_logical_xor", "_logical_xor_scalar", "_logical_xor_scalar"
    )


def waitall() -> None:
    """Waits until everything recorded and every task has run.

    Raises:
        OpError: something failed that nobody has waited for.
    """
    recorder.wait_all()


def operator_functions() -> dict[str, Any]:
    """Returns a function for each public operator name, bound to arrays."""
    return {
        name: operator_function(op, NDArray, name)
        for name, op in registry.REGISTRY.items()
        if not name.startswith("_")
    }
