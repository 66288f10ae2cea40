"""The pass `duplicates`: of nodes that compute the same, keeps only the first."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, Final

from hybridnet.base.attrs import HostScalar
from hybridnet.graph import Edge, Graph, Node
from hybridnet.ops.core.registry import get

from .context import PassContext
from .pattern import COMMUTATIVE
from .rewrite import is_pure, op_name
from .rule import Rule

_DUPLICATE: Final = Rule(
    "duplicate",
    "g(f(x), f(x))",
    "y = f(x); g(y, y)",
    where="f draws no random numbers, overwrites nothing, and runs on the device; "
    "names that must be kept stay as copies",
    written=True,
)
RULES: Final = (_DUPLICATE,)


def run(graph: Graph, context: PassContext) -> Graph:
    """Merges nodes with equal operators, operands and attributes."""
    first: dict[Hashable, Node] = {}
    numbers: dict[Node, int] = {}
    found = False

    def change(node: Node, inputs: tuple[Edge, ...]) -> Node | Sequence[Edge]:
        nonlocal found
        call = node.call
        assert call is not None
        made = node.with_inputs(inputs)
        if not is_pure(call):
            return made
        operands = [(numbers.setdefault(edge.node, len(numbers)), edge.index) for edge in inputs]
        if op_name(node) in COMMUTATIVE:
            operands.sort()
        scalars = tuple(map(_exactly, node.scalars))
        attrs = tuple(node.attrs.items()) if node.attrs else ()
        before = first.setdefault((call, *operands, scalars, attrs), made)
        if before is made:
            return made
        if node.name in context.keep and node.name != before.name:
            if call.num_outputs > 1 or op_name(node) == "_copy":
                return made
            copy = get("_copy").bind({})[0]
            before = replace(node, call=copy, inputs=(Edge(before, 0),), scalars=())
        found = True
        context.fired[_DUPLICATE.name] += 1
        return before

    made = graph.map(change)
    return made if found else graph


def _exactly(scalar: Any) -> Hashable:
    """Returns a key that is equal for two scalars that are the same.

    Two numbers are if they have the same bits (so 0.0 and -0.0 differ), and two `HostScalar`s if
    they are one object.
    """
    return scalar if type(scalar) is HostScalar else float(scalar).hex()
