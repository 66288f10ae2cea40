"""Probes: inputs of 0 that are added to what nodes read, so that their gradients can be seen.

The gradient of a probe is what the node contributes to the gradient of the value that it reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from hybridnet.ops.core.registry import get

from .node import Edge, Graph, Node, variable


@final
@dataclass(frozen=True, slots=True)
class Probe:
    """One input of 0.

    Attributes:
        name: of the gradient that it shows: ``fc1_backward_output0``; without number where the node
            reads only one value.
        edge: what it is added to, in the graph without probes; it has the same type.
    """

    name: str
    edge: Edge


def with_probes(graph: Graph, takes: Callable[[Edge], bool]) -> tuple[Graph, list[Probe]]:
    """Returns a graph with probes behind its inputs, and these, the last node's first.

    Args:
        graph: the graph.
        takes: whether a value that a node reads has a gradient.
    """
    add = get("broadcast_add").bind({})[0]
    probes: list[tuple[Node, Probe]] = []

    def change(node: Node, inputs: tuple[Edge, ...]) -> Node:
        assert node.call is not None
        reads = [i for i in range(len(inputs)) if i not in node.call.mutates]
        edges, made = list(inputs), []
        for number in reads:
            if not takes(node.inputs[number]):
                continue
            name = f"{node.name}_backward_output{number if len(reads) > 1 else ''}"
            start = variable(name)
            edges[number] = Edge(Node(add, (inputs[number], Edge(start, 0)), f"{name}_sum"), 0)
            made.append((start, Probe(name, node.inputs[number])))
        probes[:0] = made
        return node.with_inputs(tuple(edges))

    made = graph.map(change)
    starts = tuple(start for start, _ in probes)
    return Graph((*graph.inputs, *starts), made.outputs, made.targets), [one for _, one in probes]
