"""Hoisting: what is done to every part is done once, to the whole."""

from __future__ import annotations

from typing import Final

from hybridnet.graph import Edge, Node
from hybridnet.ops.core import OpCall

from .pattern import FAMILIES, binary
from .rewrite import Rewriter, RewriteStep, op_name
from .rule import Rule

_JOIN: Final = Rule(
    "hoist_of_join",
    "Concat(f(x), f(y), ...)",
    "f(Concat(x, y, ...))",
    where="f is of one array, element by element, the same in all, and used here only",
    written=True,
)
_FACTOR: Final = Rule(
    "hoist_of_factor",
    "add(mul(x, y), mul(x, z))",
    "mul(x, add(y, z))",
    exact=False,
    where="the products are used here only, and there is no more to add or multiply",
    written=True,
)
_DIVISOR: Final = Rule(
    "hoist_of_divisor",
    "add(div(x, z), div(y, z))",
    "div(add(x, y), z)",
    exact=False,
    where="as hoist_of_factor; also of _div_scalar and of negative",
    written=True,
)
RULES: Final = (_JOIN, _FACTOR, _DIVISOR)

#: Functions of one array whose elements do not depend on one another. Only those that are computed
#: alike wherever an element stands: exact arithmetic, rounding, selections.
_ELEMENTWISE: Final = frozenset(
    {
        "abs",
        "sign",
        "rint",
        "ceil",
        "floor",
        "trunc",
        "fix",
        "round",
        "negative",
        "square",
        "relu",
        "Cast",
        "clip",
        "logical_not",
        "_plus_scalar",
        "_minus_scalar",
        "_rminus_scalar",
        "_mul_scalar",
        "_div_scalar",
        "_rdiv_scalar",
        "_maximum_scalar",
        "_minimum_scalar",
    }
)


def _join(rewriter: Rewriter, node: Node) -> Edge | None:
    """Applies a function to the joined arrays, and not to each."""
    call, first = node.call, node.inputs[0].node
    assert type(call) is OpCall
    if op_name(first) not in _ELEMENTWISE or len(node.inputs) < 2:
        return None
    for edge in node.inputs:
        part = edge.node
        same = part.call is first.call and part.scalars == first.scalars
        if not same or not rewriter.is_absorbed(edge, node):
            return None
    operands = [edge.node.inputs[0] for edge in node.inputs]
    if len({rewriter.type(edge).dtype for edge in operands}) != 1:
        return None
    whole = rewriter.make("Concat", operands, {"dim": call.attrs["dim"]}, of=node)
    return rewriter.again(first, [whole], of=node)


def _factor(rewriter: Rewriter, node: Node) -> Edge | None:
    """Multiplies a sum, and not its terms."""
    left, right = (edge.node for edge in node.inputs)
    if not _absorbed(rewriter, node, FAMILIES["mul"]):
        return None
    for common in left.inputs:
        if common not in right.inputs:
            continue
        rest = [_without(left, common), _without(right, common)]
        if rewriter.type(rest[0]) is not rewriter.type(rest[1]):
            continue
        whole = rewriter.make("elemwise_add", rest, of=node)
        shapes = [rewriter.type(edge).shape for edge in (common, whole)]
        name = binary(FAMILIES["mul"], shapes)
        return rewriter.make(name, [common, whole], of=node, whole=True)
    return None


def _divisor(rewriter: Rewriter, node: Node) -> Edge | None:
    """Divides a sum, and not its terms."""
    left, right = (edge.node for edge in node.inputs)
    if not _absorbed(rewriter, node, (*FAMILIES["div"], "_div_scalar", "negative")):
        return None
    same = left.call is right.call and left.scalars == right.scalars
    if not same or left.inputs[1:] != right.inputs[1:]:
        return None
    parts = [left.inputs[0], right.inputs[0]]
    if rewriter.type(parts[0]) is not rewriter.type(parts[1]):
        return None
    whole = rewriter.make("elemwise_add", parts, of=node)
    return rewriter.again(left, [whole, *left.inputs[1:]], of=node)


def _absorbed(rewriter: Rewriter, node: Node, operators: tuple[str, ...]) -> bool:
    """Whether both operands of a sum are these operators, and are used by nothing else."""
    return node.inputs[0] != node.inputs[1] and all(
        op_name(edge.node) in operators and rewriter.is_absorbed(edge, node) for edge in node.inputs
    )


def _without(product: Node, factor: Edge) -> Edge:
    left, right = product.inputs
    return right if left == factor else left


#: What applies the rules.
STEPS: Final = (
    RewriteStep(_JOIN, ("Concat",), _join),
    RewriteStep(_FACTOR, FAMILIES["add"], _factor),
    RewriteStep(_DIVISOR, FAMILIES["add"], _divisor),
)
