"""Graphs that also tell which positions in them are outside of arrays; see `ops.core.bounds`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from hybridnet.base.origins import CallSite
from hybridnet.graph import ControlCall, Edge, ForeachCall, Graph, Node, infer_types
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
) -> tuple[Graph, list[list[PositionRow]]] | None:
    """Returns a graph with further outputs, tables, and what the rows of each are about.

    Args:
        graph: the graph.
        types: of its nodes.
        everything: see `Call.bounded`.

    Returns:
        None where no operator in it takes positions that it looks at.
    """
    rows: list[PositionRow] = []
    edges: list[Edge] = []
    tables: list[list[PositionRow]] = []
    outputs: list[Edge] = []

    def change(node: Node, inputs: tuple[Edge, ...]) -> Node:
        made = node.with_inputs(inputs)
        call = node.call
        assert call is not None
        kinds = tuple(types[edge.node][edge.index] for edge in node.inputs)
        for bound in call.bounds(kinds, everything=everything):
            edges.append(inputs[bound.input])
            site = CallSite(node.origin, None, node.name)
            rows.append(PositionRow(call.name, bound, kinds[bound.input].shape, site))
        if isinstance(call, ForeachCall):
            found = _in_rows(call, kinds, everything)
            if found is not None:
                made = replace(made, call=found[0])
                outputs.append(Edge(made, found[0].num_outputs - 1))
                tables.append(found[1])
        return made

    changed = graph.map(change)
    if rows:
        call = bounds_call(tuple(row.bound for row in rows))
        outputs.append(Edge(Node(call, tuple(edges), "outside"), 0))
        tables.append(rows)
    if not tables:
        return None
    return replace(changed, outputs=(*changed.outputs, *outputs)), tables


def _in_rows(
    loop: ForeachCall, types: Types, everything: bool
) -> tuple[ForeachCall, list[PositionRow]] | None:
    """Returns a loop that gives a table for each turn as its last output.

    Returns:
        None where its body takes no positions, or has a loop inside that does.
    """
    body = loop.parts[0]
    if loop.is_open or not may_hold_positions(loop):
        return None
    found = positions_in(body.graph, infer_types(body.graph, loop.row_types(types)), everything)
    if found is None or len(found[1]) > 1:
        return None
    graph, (rows,) = found
    return loop.with_table(graph), rows
