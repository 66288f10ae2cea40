"""The rules of fold that are operator expressions.

Floating-point zeros have a sign: x - 0 is x for every x, but -0.0 + 0.0 is 0.0, and 0.0 - 0.0 is
not -0.0. So there are two rules where whole numbers are exact and others are not.
"""

from __future__ import annotations

from typing import Final

from .rule import Rule

_ZEROS: Final = "_zeros(shape=result.shape, dtype=result.dtype)"
_ONES: Final = "_ones(shape=result.shape, dtype=result.dtype)"


def _whole_or_unsafe(name: str, before: str, after: str, where: str = "") -> tuple[Rule, Rule]:
    """Returns two rules: exact for whole numbers, and unsafe for floating-point numbers."""
    joined = f" and {where}" if where else ""
    return (
        Rule(name, before, after, where=f"result.integer{joined}"),
        Rule(f"{name}_float", before, after, exact=False, where=f"result.floating{joined}"),
    )


#: What depends on the shapes of operands only.
SHAPES: Final = (
    Rule("zeros_like", "zeros_like(x)", _ZEROS),
    Rule("ones_like", "ones_like(x)", _ONES),
    Rule(
        "full_like",
        "_npi_full_like(x, fill_value=v, dtype=t)",
        "_npi_full(shape=result.shape, dtype=result.dtype, value=v)",
    ),
    Rule(
        "reshape_like",
        "reshape_like(x, y, lhs_begin=a, lhs_end=b, rhs_begin=c, rhs_end=d)",
        "Reshape(x, shape=result.shape)",
        where="result.size > 0 and result.rank > 0",
    ),
    Rule(
        "broadcast_like",
        "broadcast_like(x, y, lhs_axes=a, rhs_axes=b)",
        "broadcast_to(x, shape=result.shape)",
        where="result.size > 0 and result.rank == x.rank",
    ),
    Rule(
        "slice_like",
        "slice_like(x, y, axes=a)",
        "slice(x, begin=zeros(x.rank), end=result.shape)",
        where="result.size > 0",
    ),
)

#: Operands that change nothing, or are all that counts.
NEUTRAL: Final = (
    Rule("times_one", "_mul_scalar(x, 1.0)", "x"),
    Rule("over_one", "_div_scalar(x, 1.0)", "x"),
    Rule("minus_zero", "_minus_scalar(x, 0.0)", "x"),
    Rule("to_the_one", "_power_scalar(x, 1.0)", "x", where="x.floating and platform == 'cpu'"),
    Rule("times_minus_one", "_mul_scalar(x, -1.0)", "negative(x)"),
    *_whole_or_unsafe("plus_zero", "_plus_scalar(x, 0.0)", "x"),
    *_whole_or_unsafe("zero_minus", "_rminus_scalar(x, 0.0)", "negative(x)"),
    *_whole_or_unsafe("times_zero", "_mul_scalar(x, 0.0)", _ZEROS),
    Rule("times_ones", "mul(x, c)", "x", where="c.fill == 1"),
    Rule("over_ones", "div(x, c)", "x", where="c.fill == 1"),
    Rule("minus_zeros", "sub(x, c)", "x", where="positive_zero(c.fill)"),
    *_whole_or_unsafe("plus_zeros", "add(x, c)", "x", "c.fill == 0"),
    *_whole_or_unsafe("zeros_minus", "sub(c, x)", "negative(x)", "c.fill == 0"),
    *_whole_or_unsafe("times_zeros", "mul(x, c)", _ZEROS, "c.fill == 0"),
    *_whole_or_unsafe("minus_itself", "sub(x, x)", _ZEROS),
    Rule("over_itself", "div(x, x)", _ONES, exact=False, where="x.floating"),
    Rule(
        "squared",
        "_power_scalar(x, 2.0)",
        "square(x)",
        where="x.floating and platform == 'cpu'",
    ),
    Rule(
        "to_the_half",
        "_power_scalar(x, 0.5)",
        "sqrt(x)",
        where="x.floating and platform == 'cpu'",
    ),
    Rule(
        "to_the_minus_one",
        "_power_scalar(x, -1.0)",
        "reciprocal(x)",
        exact=False,
        tolerance=1e-6,
        where="x.floating",
    ),
)

_FILLED: Final = "number(c.fill, x) and c.dtype == x.dtype and result.type is x.type"

#: Constants among the operands.
CONSTANT_OPERANDS: Final = (
    Rule("times_filled", "mul(x, c)", "_mul_scalar(x, c.fill)", where=_FILLED),
    Rule("plus_filled", "add(x, c)", "_plus_scalar(x, c.fill)", where=_FILLED),
    Rule("minus_filled", "sub(x, c)", "_minus_scalar(x, c.fill)", where=_FILLED),
    Rule("filled_minus", "sub(c, x)", "_rminus_scalar(x, c.fill)", where=_FILLED),
    # XLA divides by a number by multiplying with its reciprocal.
    Rule(
        "over_filled",
        "div(x, c)",
        "_div_scalar(x, c.fill)",
        exact=False,
        tolerance=1e-6,
        where=_FILLED,
    ),
    Rule("filled_over", "div(c, x)", "_rdiv_scalar(x, c.fill)", where=_FILLED),
    *_whole_or_unsafe(
        "constants_of_product",
        "mul(c, mul(x, d))",
        "mul(x, mul(c, d))",
        "c.constant and d.constant and not x.constant",
    ),
    *_whole_or_unsafe(
        "constants_of_sum",
        "add(c, add(x, d))",
        "add(x, add(c, d))",
        "c.constant and d.constant and not x.constant",
    ),
    *_whole_or_unsafe(
        "constant_of_scaled",
        "mul(c, _mul_scalar(x, a))",
        "mul(x, _mul_scalar(c, a))",
        "c.constant and not x.constant",
    ),
)
