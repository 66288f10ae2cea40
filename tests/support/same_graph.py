"""Graphs compared by their nodes and edges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hybridnet.graph.node import Edge, Graph, Node, topological
from hybridnet.ops.core.backward import VjpCall
from hybridnet.ops.core.call import Call


def same_graph(left: Graph, right: Graph) -> bool:
    """Whether two graphs have equal nodes, wired alike; the nodes need not be the same objects."""
    pairs: dict[Node, Node] = {}
    ours = (*left.inputs, *topological(left.outputs, left.targets))
    theirs = (*right.inputs, *topological(right.outputs, right.targets))
    if len(left.inputs) != len(right.inputs) or len(ours) != len(theirs):
        return False
    for mine, other in zip(ours, theirs, strict=True):
        if pairs.setdefault(mine, other) is not other or _facts(mine) != _facts(other):
            return False
        if [_moved(edge, pairs) for edge in mine.inputs] != list(other.inputs):
            return False
        if [pairs[node] for node in mine.controls] != list(other.controls):
            return False
    if [pairs[node] for node in left.targets] != list(right.targets):
        return False
    return [_moved(edge, pairs) for edge in left.outputs] == list(right.outputs)


def _moved(edge: Edge, pairs: Mapping[Node, Node]) -> Edge:
    return Edge(pairs[edge.node], edge.index)


def _facts(node: Node) -> tuple[Any, ...]:
    return node.name, dict(node.attrs), repr(node.scalars), _call_facts(node.call)


def _call_facts(call: Call | None) -> Any:
    if isinstance(call, VjpCall):
        return _call_facts(call.of), call.wanted, call.given
    if call is not None and call.parameters:
        return call.name, call.parameters
    return call
