"""Fold: what is known when the graph is made: shapes, constants, neutral elements."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Final

import numpy as np

from hybridnet.base.dtype import INT64
from hybridnet.graph import Edge, Graph, Node
from hybridnet.ops.core import OpCall

from .constants import Constants
from .context import PassContext
from .fold_rules import CONSTANT_OPERANDS, NEUTRAL, SHAPES
from .numpy_rules import NUMPY
from .pattern import FAMILIES, compiled
from .rewrite import Rewriter, RewriteStep, indexed, op_name
from .rule import Rule

_SHAPE: Final = Rule("shape", "shape_array(x)", "the shape as a constant", written=True)
_SIZE: Final = Rule("size", "size_array(x)", "the number of elements as a constant", written=True)
_CONSTANT: Final = Rule(
    "constant",
    "f(c1, c2, ...)",
    "its value",
    where="constants; f is arithmetic, a comparison, or moves elements",
    written=True,
)
_FUNCTION: Final = Rule(
    "constant_function",
    "f(c1, c2, ...)",
    "its value",
    exact=False,
    tolerance=1e-6,
    where="constants; f is any other operator",
    written=True,
)
_JOIN: Final = Rule(
    "join_constants",
    "Concat(t1, c1, c2, t2)",
    "Concat(t1, Concat(c1, c2), t2)",
    where="c1, c2 are constants",
    written=True,
)
RULES: Final = (
    *SHAPES,
    _SHAPE,
    _SIZE,
    *NEUTRAL,
    *CONSTANT_OPERANDS,
    _JOIN,
    _CONSTANT,
    _FUNCTION,
)
#: The operators that make constants of what is none.
_SOURCES: Final = frozenset(
    {
        "shape_array",
        "size_array",
        "zeros_like",
        "ones_like",
        "_npi_full_like",
        *FAMILIES["sub"],
        *FAMILIES["div"],
    }
)


def run(graph: Graph, context: PassContext) -> Graph:
    """Replaces nodes by constants, and removes operations that change nothing, such as ``x * 1``.

    A node becomes a constant if it depends on nothing but shapes and other constants.
    """
    steps = _steps()
    if any(not node.inputs or op_name(node) in _SOURCES for node in _calls(graph)):
        rewriter = Rewriter(graph, context, {})
        constants = Constants(rewriter)
        own = [
            RewriteStep(_SHAPE, ("shape_array",), partial(_shape, constants)),
            RewriteStep(_SIZE, ("size_array",), partial(_size, constants)),
            RewriteStep(_JOIN, ("Concat",), partial(_joined, constants)),
            RewriteStep(_CONSTANT, ("*",), partial(_folded, constants)),
            RewriteStep(_FUNCTION, ("*",), partial(_computed, constants)),
        ]
        rewriter.add_steps(steps)
        rewriter.add_steps(indexed(own))
        return rewriter.run()
    return Rewriter(graph, context, steps).run()


def _calls(graph: Graph) -> list[Node]:
    return [node for node in graph.nodes if node.call is not None]


def _shape(constants: Constants, rewriter: Rewriter, node: Node) -> Edge | None:
    return constants.literal(np.array(rewriter.type(node.inputs[0]).shape, INT64), node)


def _size(constants: Constants, rewriter: Rewriter, node: Node) -> Edge | None:
    return constants.literal(np.array([rewriter.type(node.inputs[0]).size], INT64), node)


def _folded(constants: Constants, rewriter: Rewriter, node: Node) -> Edge | None:
    """Writes a constant down, where all its bits are known."""
    if not node.inputs or node not in rewriter.constants:
        return None
    value = constants.value(node)
    return None if value is None else constants.literal(value, node)


def _computed(constants: Constants, rewriter: Rewriter, node: Node) -> Edge | None:
    """Computes a function of constants."""
    if not node.inputs or node not in rewriter.constants or op_name(node) in NUMPY:
        return None
    value = constants.by_function(node)
    return None if value is None else constants.literal(value, node)


def _joined(constants: Constants, rewriter: Rewriter, node: Node) -> Edge | None:
    """Joins constants that stand side by side first."""
    call = node.call
    assert type(call) is OpCall
    groups: list[list[Edge]] = []
    for edge in node.inputs:
        known = edge.node in rewriter.constants
        if groups and known and groups[-1][-1].node in rewriter.constants:
            groups[-1].append(edge)
        else:
            groups.append([edge])
    if len(groups) in (1, len(node.inputs)):
        return None
    attrs = {"dim": call.attrs["dim"]}
    inputs = [
        group[0] if len(group) == 1 else rewriter.make("Concat", group, attrs, of=node)
        for group in groups
    ]
    return rewriter.make("Concat", inputs, attrs, of=node, whole=True)


@cache
def _steps() -> Mapping[str, tuple[RewriteStep, ...]]:
    return indexed(map(compiled, (*SHAPES, *NEUTRAL, *CONSTANT_OPERANDS)))
