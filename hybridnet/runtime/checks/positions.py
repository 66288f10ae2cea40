"""Graphs that also tell which positions in them are outside of arrays; see `ops.core.bounds`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from hybridnet.base.origins import CallSite
from hybridnet.graph import ControlCall, Edge, Graph, Node
from hybridnet.ops.core import Call, IndexBound, OpCall, Types, bounds_call

__all__ = ["PositionRow", "may_hold_positions", "positions_in"]


class PositionRow(NamedTuple):
    """What a row of numbers about positions is about.

    Attributes:
        operator: the name of the operator.
        bound: what the positions may be.
        shape: of the input that holds them.
        place: where the operator was called.
    """

    operator: str
    bound: IndexBound
    shape: tuple[int, ...]
    place: CallSite


def may_hold_positions(call: Call | None) -> bool:
    """Whether a call is, or has inside, one that takes positions."""
    if isinstance(call, OpCall):
        return call.operator.bounds is not None
    if call is not None and type(call).bounds is not Call.bounds:
        return True
    graph = getattr(call, "graph", None)
    graphs = [part.graph for part in call.parts] if isinstance(call, ControlCall) else []
    graphs += [] if graph is None else [graph]
    return any(may_hold_positions(node.call) for graph in graphs for node in graph.nodes)


def positions_in(
    graph: Graph, types: Mapping[Node, Types], everything: bool
) -> tuple[Graph, list[PositionRow]] | None:
    """Returns a graph with one output more, and what each row of that is about.

    Args:
        graph: the graph.
        types: of its nodes.
        everything: see `Call.bounded`.

    Returns:
        None where no operator in it takes positions that it looks at.
    """
    bounds: list[IndexBound] = []
    edges: list[Edge] = []
    places: list[PositionRow] = []
    for node in graph.nodes:
        if node.call is None:
            continue
        kinds = tuple(types[edge.node][edge.index] for edge in node.inputs)
        for bound in node.call.bounds(kinds, everything=everything):
            bounds.append(bound)
            edges.append(node.inputs[bound.input])
            place = CallSite(node.origin, None, node.name)
            places.append(PositionRow(node.call.name, bound, kinds[bound.input].shape, place))
    if not bounds:
        return None
    row = Node(bounds_call(tuple(bounds)), tuple(edges), "outside")
    return replace(graph, outputs=(*graph.outputs, Edge(row, 0))), places
