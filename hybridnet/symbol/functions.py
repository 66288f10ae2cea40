"""The functions of `sym`: one for each operator, and arithmetic that also takes plain numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any

from hybridnet.base.errors import ParameterError
from hybridnet.ops.core import (
    Operator,
    documentation,
    passed_over,
    registry,
    signature_of,
    split_arguments,
)

from .symbol import Symbol

__all__ = [
    "histogram",
    "hypot",
    "maximum",
    "minimum",
    "pow",
    "power",
    "split_v2",
    "symbol_function",
]


def _either(
    lhs: Symbol | float,
    rhs: Symbol | float,
    symbols: str,
    scalar: str,
    reverse: str,
    plain: Callable[[Any, Any], Any],
) -> Any:
    """Applies the operator on two symbols, or the scalar form when one of them is a number.

    Of two numbers it gives what the function `plain` does.
    """
    if isinstance(lhs, Symbol) and isinstance(rhs, Symbol):
        return Symbol.apply_operator(registry.get(symbols), (lhs, rhs), {})
    if isinstance(lhs, Symbol) and isinstance(rhs, Number):
        operand, number, name = lhs, rhs, scalar
    elif isinstance(lhs, Number) and isinstance(rhs, Symbol):
        operand, number, name = rhs, lhs, reverse
    elif isinstance(lhs, Number) and isinstance(rhs, Number):
        return plain(lhs, rhs)
    else:
        raise ParameterError(
            f"{symbols}: needs symbols or numbers, got {type(lhs).__name__} and "
            f"{type(rhs).__name__}"
        )
    hint = name.replace("_scalar", "scalar")
    return Symbol.apply_operator(registry.get(name), (operand,), {"scalar": number}, hint=hint)


def maximum(left: Symbol | float, right: Symbol | float) -> Any:
    """Returns the larger of each pair; each may be a number."""
    return _either(left, right, "_maximum", "_maximum_scalar", "_maximum_scalar", max)


def minimum(left: Symbol | float, right: Symbol | float) -> Any:
    """Returns the smaller of each pair; each may be a number."""
    return _either(left, right, "_minimum", "_minimum_scalar", "_minimum_scalar", min)


def hypot(left: Symbol | float, right: Symbol | float) -> Any:
    """Returns ``sqrt(left**2 + right**2)``; each may be a number."""
    return _either(left, right, "_hypot", "_hypot_scalar", "_hypot_scalar", math.hypot)


def power(base: Symbol | float, exp: Symbol | float) -> Any:
    """Returns `base` to the power of `exp`; each may be a number."""
    return _either(base, exp, "_power", "_power_scalar", "_rpower_scalar", operator.pow)


pow = power


def histogram(
    a: Symbol,
    bins: int | Symbol = 10,
    range: tuple[float, float] | None = None,
    **kwargs: Any,
) -> Symbol:
    """Counts the elements in bins; the last bin holds its right edge too.

    Args:
        a: any shape.
        bins: how many bins of equal width, which needs `range`; or their edges, (bins + 1,).
        range: the left edge of the first bin and the right edge of the last.
        kwargs: ``name`` and ``attr`` of the node.

    Returns:
        The counts, int64, and the edges.
    """
    op = registry.get("_histogram")
    if isinstance(bins, Symbol):
        return Symbol.apply_operator(op, (a, bins), {}, **kwargs)
    if range is None:
        raise ParameterError("histogram: range must be given with a number of bins, got None")
    return Symbol.apply_operator(op, (a,), {"bin_cnt": bins, "range": range}, **kwargs)


def split_v2(
    ary: Symbol,
    indices_or_sections: int | Sequence[int],
    axis: int = 0,
    squeeze_axis: bool = False,
) -> Symbol:
    """Splits along an axis.

    Args:
        ary: what to split.
        indices_or_sections: into how many equal parts, or the positions to split at.
        axis: which axis.
        squeeze_axis: drop it, where the parts have size 1 on it.
    """
    parts: Symbol = ary.split_v2(indices_or_sections, axis, squeeze_axis)
    return parts


def symbol_function(op: Operator, public: str) -> Callable[..., Symbol]:
    """Makes the function users call: ``sym.FullyConnected(x, num_hidden=3, name="fc")``.

    Args:
        op: the operator.
        public: the name it is called by, after which nodes are named.
    """

    def function(*args: Any, **kwargs: Any) -> Symbol:
        name = kwargs.pop("name", None)
        attr = kwargs.pop("attr", None)
        out = kwargs.pop("out", None)
        extra = {}
        if op.variadic and "num_args" in kwargs:
            extra["num_args"] = kwargs.pop("num_args")
        inputs, attrs = split_arguments(op, args, kwargs)
        attrs = passed_over(op, public, attrs)
        return Symbol.apply_operator(
            op, inputs, {**attrs, **extra}, name=name, out=out, attr=attr, hint=public
        )

    function.__name__ = function.__qualname__ = public
    function.__doc__ = documentation(op)
    function.__signature__ = signature_of(op, of_symbols=True)  # type: ignore[attr-defined]
    function.operator = op  # type: ignore[attr-defined]
    return function
