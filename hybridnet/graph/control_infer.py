"""Partial inference through control flow: how what is known of a node maps to its insides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .cond import CondCall
from .foreach import ForeachCall
from .node import Edge, Graph, Node
from .subgraph import ControlCall
from .while_loop import WhileCall


class Inside(NamedTuple):
    """A graph inside a node, and what stands for what.

    Attributes:
        graph: the graph.
        inputs: a variable of it, the edge whose value it stands for, and whether it stands for one
            row of that.
        outputs: an edge of it, the node's output, and how many rows of it are stacked: None where
            it is the very value, 0 where the number is that of `rows_of`.
        rows_of: an array with as many rows.
    """

    graph: Graph
    inputs: Sequence[tuple[Node, Edge, bool]]
    outputs: Sequence[tuple[Edge, Edge, int | None]]
    rows_of: Edge | None = None

    @property
    def nodes(self) -> list[Node]:
        """All nodes, the variables that nothing reads included."""
        return list(dict.fromkeys((*self.graph.inputs, *self.graph.nodes)))


def insides(node: Node) -> Iterator[Inside]:
    """Yields the graphs inside a node that a symbol holds."""
    call = node.call
    assert isinstance(call, ControlCall)
    first = 1 if isinstance(call, CondCall) else 0
    for number, part in enumerate(call.parts):
        graph = part.graph
        pairs = list(zip(graph.inputs, node.inputs[first:], strict=False))
        if isinstance(call, ForeachCall):
            rows, stacked, length = call.loop.num_data, call.loop.num_out, 0
        elif isinstance(call, WhileCall):
            rows, stacked, length = 0, call.num_out, call.max_iterations or 0
        else:
            rows = stacked = length = 0
        inputs = [(inner, edge, i < rows) for i, (inner, edge) in enumerate(pairs)]
        outputs: list[tuple[Edge, Edge, int | None]] = [
            (edge, Edge(node, i), length if i < stacked else None)
            for i, edge in enumerate(graph.outputs)
        ]
        if isinstance(call, WhileCall) and number == 0:
            outputs = []  # the condition
        yield Inside(graph, inputs, outputs, node.inputs[0] if rows else None)
