"""Graphs that also tell which positions in them are outside of arrays; see `ops.core.bounds`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from hybridnet.base.origins import CallSite
from hybridnet.graph import (
    CondCall,
    ControlCall,
    Edge,
    ForeachCall,
    Graph,
    Node,
    Subgraph,
    WhileCall,
    infer_types,
)
from hybridnet.ops.core import JOINED_ROWS, Call, IndexBound, OpCall, Types, bounds_call
from hybridnet.ops.core.registry import get

__all__ = ["PositionRow", "may_hold_positions", "positions_in"]


class PositionRow(NamedTuple):
    """The subject of a row of numbers about positions: an operator's input, and its call's place.

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
        if isinstance(call, ControlCall) and not call.is_open and may_hold_positions(call):
            found = _in_control(made, call, kinds, everything)
            if found is not None:
                made, inner = found
                count = made.num_outputs - len(inner)
                outputs.extend(Edge(made, count + number) for number in range(len(inner)))
                tables.extend(inner)
        return made

    changed = graph.map(change)
    if rows:
        call = bounds_call(tuple(row.bound for row in rows))
        outputs.append(Edge(Node(call, tuple(edges), "outside"), 0))
        tables.append(rows)
    if not tables:
        return None
    return replace(changed, outputs=(*changed.outputs, *outputs)), tables


#: A node that gives tables as its last outputs, and what their rows are about.
_Found = tuple[Node, list[list[PositionRow]]]


def _in_control(node: Node, call: ControlCall, types: Types, everything: bool) -> _Found | None:
    """Returns a loop or a branch that gives tables as well; None where it cannot."""
    if isinstance(call, ForeachCall):
        found = _in_part(call.parts[0], call.row_types(types), everything)
        if found is not None:
            return replace(node, call=call.with_table(found[0])), [found[1]]
    elif isinstance(call, WhileCall) and not call.draws:
        found = _in_part(call.parts[1], types, everything)
        if found is not None:
            none = _no_rows(len(found[1]))
            looping = call.with_table(found[0])
            return replace(node, call=looping, inputs=(*node.inputs, none)), [found[1]]
    elif isinstance(call, CondCall):
        return _in_branches(node, call, types[1:], everything)
    return None


def _in_branches(node: Node, call: CondCall, types: Types, everything: bool) -> _Found | None:
    """Returns a branch that gives the tables of both graphs; that of the other has no entries."""
    found = [_in_part(part, types, everything) for part in call.parts]
    tables = [one[1] for one in found if one is not None]
    if not tables:
        return None
    graphs = []
    for part, own in zip(call.parts, found, strict=True):
        graph = part.graph if own is None else own[0]
        heads = graph.outputs if own is None else graph.outputs[:-1]
        given = [
            graph.outputs[-1] if one is own else _no_rows(len(one[1]))
            for one in found
            if one is not None
        ]
        graphs.append(replace(graph, outputs=(*heads, *given)))
    return replace(node, call=call.with_tables(graphs, len(tables))), tables


def _in_part(
    part: Subgraph, types: Types, everything: bool
) -> tuple[Graph, list[PositionRow]] | None:
    """Returns the graph of a part with one table as its last output, and what that is about."""
    found = positions_in(part.graph, infer_types(part.graph, types), everything)
    if found is None:
        return None
    graph, tables = found
    count = len(graph.outputs) - len(tables)
    joined = Node(JOINED_ROWS, tuple(graph.outputs[count:]), "outside")
    outputs = (*graph.outputs[:count], Edge(joined, 0))
    return replace(graph, outputs=outputs), [row for table in tables for row in table]


def _no_rows(count: int) -> Edge:
    """Returns a table that tells of nothing."""
    zeros = get("_zeros").bind({"shape": (count, 2), "dtype": "int64"})[0]
    return Edge(Node(zeros, (), "zeros"), 0)
