"""Arithmetic: the same values with fewer and smaller operators."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

from hybridnet.graph import Edge, Graph, Node

from . import hoist, sums
from .arithmetic_rules import ALGEBRA, MOVES, NUMBERS, SIGNS
from .context import PassContext
from .pattern import compiled
from .rewrite import Rewriter, RewriteStep, indexed, op_name
from .rule import Rule

_EXPRESSIONS: Final = (*SIGNS, *NUMBERS, *ALGEBRA, *MOVES)
#: Operators that only change the shape.
_RESHAPES: Final = ("Reshape", "Flatten", "expand_dims", "squeeze")
_RESHAPED: Final = Rule(
    "reshape_twice",
    "Reshape(Reshape(x))",
    "Reshape(x, shape=result.shape)",
    where="and of Flatten, expand_dims, squeeze",
    written=True,
)
_SAME: Final = Rule(
    "reshape_to_same",
    "Reshape(x, shape=s)",
    "x",
    where="result.shape == x.shape; and of Flatten, expand_dims, squeeze",
    written=True,
)
RULES: Final = (*_EXPRESSIONS, _RESHAPED, _SAME, *hoist.RULES, *sums.RULES)


def run(graph: Graph, context: PassContext) -> Graph:
    """Applies the rules of algebra, and those of sums of any number of terms."""
    rewriter = Rewriter(graph, context, _steps())
    rewriter.add_steps(sums.steps(graph, rewriter))
    return rewriter.run()


def _reshaped(rewriter: Rewriter, node: Node) -> Edge | None:
    """Replaces two reshapes, one after the other, by one."""
    inner, wanted = node.inputs[0].node, rewriter.type(Edge(node, 0))
    if op_name(inner) not in _RESHAPES or not rewriter.may_absorb(inner, node):
        return None
    if not wanted.size or not wanted.shape:
        return None  # 0 is no size in a reshape, and () no shape
    return rewriter.make("Reshape", inner.inputs, {"shape": wanted.shape}, of=node, whole=True)


def _same(rewriter: Rewriter, node: Node) -> Edge | None:
    return node.inputs[0]  # the rewriter sees to the types being the same


@cache
def _steps() -> Mapping[str, tuple[RewriteStep, ...]]:
    own = [RewriteStep(_SAME, _RESHAPES, _same), RewriteStep(_RESHAPED, _RESHAPES, _reshaped)]
    return indexed([*map(compiled, _EXPRESSIONS), *own, *hoist.STEPS])
