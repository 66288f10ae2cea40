"""The gradient of a graph, as a graph.

The rules are those of the eager tape, run on handles that add nodes instead of computing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final, final

from hybridnet.ops.core import Arrays, Backward, Call, Operand, Types

from .edge_handle import EdgeHandle, fitted
from .node import Edge, Graph, Node


@final
class _Rerouted(Call):
    """Its first input, with the gradient of its second, which has the same type.

    On the tape an array's value and where its gradient goes are two things, which part when the
    array is overwritten outside recording. In a graph this is how they part.
    """

    __slots__ = ()
    name = "_rerouted"

    def facts(self) -> Sequence[object]:
        """There is one."""
        return ()

    def infer(self, types: Types) -> Types:
        """The type of the first input."""
        return types[:1]

    def lower(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """The first input."""
        return (operands[0],)

    def evaluate(self, operands: Arrays, scalars: Arrays) -> Arrays:
        """The first input."""
        return (operands[0],)

    def gradient(self, back: Backward) -> Sequence[Operand | None]:
        """All of it goes to the second input."""
        return [None, back.grads[0]]


#: See `_Rerouted`; a single one will do.
REROUTED: Final = _Rerouted()


def gradients(
    graph: Graph,
    wanted: Sequence[Node],
    head_grads: Mapping[int, Edge],
    types: dict[Node, Types] | None = None,
) -> list[Edge | None]:
    """Returns the gradients of a graph's outputs with respect to variables, as edges.

    Args:
        wanted: variables of it.
        head_grads: output number -> the edge that is its gradient; outputs without one do not
            count.
        types: of the graph's nodes, where known; types of the new nodes are added.

    Returns:
        One edge for each wanted variable; None where no output depends on it.
    """
    needed = _needed(graph, wanted)
    grads: dict[Edge, EdgeHandle] = {}
    for index, edge in head_grads.items():
        of = graph.outputs[index].node
        _accumulate(grads, graph.outputs[index], EdgeHandle(edge, types, of))
    reached = _reached(graph, head_grads)
    for node in reversed(graph.nodes):
        if node.call is None or node not in needed or node.call.no_gradient:
            continue
        outs = [grads.pop(Edge(node, index), None) for index in range(node.num_outputs)]
        for index in node.call.own_gradients:
            edge = Edge(node, index)
            if outs[index] is None and edge in reached:
                outs[index] = EdgeHandle(edge, types, node).zeros_like()
        if all(grad is None for grad in outs):
            continue
        back = Backward(
            node.call,
            [EdgeHandle(edge, types, node) for edge in node.inputs],
            [EdgeHandle(Edge(node, index), types, node) for index in range(node.num_outputs)],
            [None if grad is None else EdgeHandle(grad.edge, types, node) for grad in outs],
            node.scalars,
            [edge.node in needed for edge in node.inputs],
        )
        found = zip(node.inputs, back.inputs, node.call.gradient(back), strict=False)
        for edge, x, grad in found:
            if grad is not None and edge.node in needed:
                _accumulate(grads, edge, fitted(node, grad, x))
    return [grads[Edge(node, 0)].edge if Edge(node, 0) in grads else None for node in wanted]


def _accumulate(grads: dict[Edge, EdgeHandle], edge: Edge, grad: EdgeHandle) -> None:
    before = grads.get(edge)
    if before is not None:
        grad = EdgeHandle(before.edge, before._types, edge.node) + grad
    grads[edge] = grad


def with_own_gradients(graph: Graph, count: int) -> frozenset[int]:
    """Returns which of the first outputs depend on a node that brings a gradient of its own."""
    found: set[Edge] = set()
    for node in graph.nodes:
        if node.call is not None:
            if any(edge in found for edge in node.inputs):
                found.update(Edge(node, index) for index in range(node.num_outputs))
            else:
                found.update(Edge(node, index) for index in node.call.own_gradients)
    return frozenset(i for i, edge in enumerate(graph.outputs[:count]) if edge in found)


def _reached(graph: Graph, heads: Collection[int]) -> set[Edge]:
    """Returns the edges that some of the outputs depend on; none where nobody would ask."""
    if not any(node.call is not None and node.call.own_gradients for node in graph.nodes):
        return set()
    reached = {graph.outputs[index] for index in heads}
    for node in reversed(graph.nodes):
        if any(Edge(node, index) in reached for index in range(node.num_outputs)):
            reached.update(node.inputs)
    return reached


def _needed(graph: Graph, wanted: Sequence[Node]) -> set[Node]:
    """Returns the nodes that depend on a wanted variable."""
    needed = set(wanted)
    for node in graph.nodes:
        if any(edge.node in needed for edge in node.inputs):
            needed.add(node)
    return needed
