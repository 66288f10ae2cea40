"""Comparisons and logic. Results are 0 and 1 in the dtype of the operands, as in MXNet.

So ``(x > 0) * x`` needs no conversion. Of bool arrays the result is bool.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.families import broadcast, elemwise, scalar_form

__all__: list[str] = []

_TRUTH = "its result is a truth value"


def _compare(
    elementwise: tuple[str, str],
    broadcasting: str,
    scalar: tuple[str, str],
    function: Callable[[Any, Any], Any],
    doc: str,
) -> None:
    """Registers the three forms of one comparison; the names are (name, alias)."""
    elemwise(
        elementwise[0], function, f"1 where {doc}, otherwise 0.",
        aliases=elementwise[1:], booleans=True, no_gradient=_TRUTH,
    )  # fmt: skip
    broadcast(
        broadcasting, function, f"1 where {doc}, otherwise 0.", booleans=True, no_gradient=_TRUTH
    )
    scalar_form(
        scalar[0], function, f"1 where {doc.replace('rhs', 'scalar')}, otherwise 0.",
        aliases=scalar[1:], no_gradient=_TRUTH,
    )  # fmt: skip


# fmt: off
_compare(("_equal", "_Equal"), "broadcast_equal", ("_equal_scalar", "_EqualScalar"),
         lambda a, b: a == b, "lhs equals rhs")
_compare(("_not_equal", "_Not_Equal"), "broadcast_not_equal",
         ("_not_equal_scalar", "_NotEqualScalar"), lambda a, b: a != b, "lhs differs from rhs")
_compare(("_greater", "_Greater"), "broadcast_greater", ("_greater_scalar", "_GreaterScalar"),
         lambda a, b: a > b, "lhs is greater than rhs")
_compare(("_greater_equal", "_Greater_Equal"), "broadcast_greater_equal",
         ("_greater_equal_scalar", "_GreaterEqualScalar"),
         lambda a, b: a >= b, "lhs is at least rhs")
_compare(("_lesser", "_Lesser"), "broadcast_lesser", ("_lesser_scalar", "_LesserScalar"),
         lambda a, b: a < b, "lhs is less than rhs")
_compare(("_lesser_equal", "_Lesser_Equal"), "broadcast_lesser_equal",
         ("_lesser_equal_scalar", "_LesserEqualScalar"),
         lambda a, b: a <= b, "lhs is at most rhs")
_compare(("_logical_and", "_Logical_And"), "broadcast_logical_and",
         ("_logical_and_scalar", "_LogicalAndScalar"),
         lambda a, b: (a != 0) & (b != 0), "neither lhs nor rhs is zero")
_compare(("_logical_or", "_Logical_Or"), "broadcast_logical_or",
         ("_logical_or_scalar", "_LogicalOrScalar"),
         lambda a, b: (a != 0) | (b != 0), "lhs or rhs is not zero")
_compare(("_logical_xor", "_Logical_Xor"), "broadcast_logical_xor",
         ("_logical_xor_scalar", "_LogicalXorScalar"),
         lambda a, b: (a != 0) ^ (b != 0), "just one of lhs and rhs is zero")
# fmt: on
