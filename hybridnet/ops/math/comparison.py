"""Comparisons and logic. Results are 0 and 1 in the dtype of the operands, as in MXNet.

So ``(x > 0) * x`` needs no conversion. Of bool arrays the result is bool.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.families import broadcast, elemwise, scalar_form

__all__: list[str] = []

_TRUTH = "its result is a truth value"


def _compare(name: str, function: Callable[[Any, Any], Any], doc: str) -> None:
    """Registers the three forms of one comparison, under MXNet's older names too."""
    old, meaning = name.title(), f"1 where {doc}, otherwise 0."
    alias = f"_{old.replace('_', '')}Scalar"
    elemwise(f"_{name}", function, meaning, aliases=(f"_{old}",), booleans=True, no_gradient=_TRUTH)
    broadcast(f"broadcast_{name}", function, meaning, booleans=True, no_gradient=_TRUTH)
    scalar_form(
        f"_{name}_scalar", function, f"1 where {doc.replace('rhs', 'scalar')}, otherwise 0.",
        aliases=(alias,), no_gradient=_TRUTH,
    )  # fmt: skip


_compare("equal", lambda a, b: a == b, "lhs equals rhs")
_compare("not_equal", lambda a, b: a != b, "lhs differs from rhs")
_compare("greater", lambda a, b: a > b, "lhs is greater than rhs")
_compare("greater_equal", lambda a, b: a >= b, "lhs is at least rhs")
_compare("lesser", lambda a, b: a < b, "lhs is less than rhs")
_compare("lesser_equal", lambda a, b: a <= b, "lhs is at most rhs")
_compare("logical_and", lambda a, b: (a != 0) & (b != 0), "neither lhs nor rhs is zero")
_compare("logical_or", lambda a, b: (a != 0) | (b != 0), "lhs or rhs is not zero")
_compare("logical_xor", lambda a, b: (a != 0) ^ (b != 0), "just one of lhs and rhs is zero")
