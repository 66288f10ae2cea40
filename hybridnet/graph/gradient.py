"""The gradient of a graph, as a graph.

The rules are those of the eager tape, run on handles that add nodes instead of computing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, final

from hybridnet.base.errors import GraphError
from hybridnet.base.replaceable import replaceable
from hybridnet.ops.core import Arrays, Backward, Call, Operand, Types

from .gradient_rules import GradientRules, is_edge
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

    Raises:
        GraphError: what stands in the place of `backpropagate` returned something else.
    """
    rules = GradientRules(graph, head_grads, types)
    found = backpropagate(graph, wanted, head_grads, rules)
    return _checked(found, wanted, types)


@replaceable
def backpropagate(
    graph: Graph, wanted: Sequence[Node], head_grads: Mapping[int, Edge], rules: GradientRules
) -> list[Edge | None]:
    """Walks back through a graph; all graphs of gradients are made by it.

    Another function may take its place: ``backpropagate.replaced_by(mine)``.

    Args:
        graph: its `nodes` come each after its inputs.
        wanted: variables of it; the same may come twice.
        head_grads: output number -> the edge that is its gradient; outputs without one do not
            count.
        rules: the gradients of single nodes, and sums.

    Returns:
        One edge for each wanted variable: the sum, over all ways from it to the outputs, of what
        the nodes on the way make of the gradient. None where there is no way.
    """
    needed = _needed(graph, wanted)
    grads: dict[Edge, Edge] = {}

    def accumulate(edge: Edge, grad: Edge) -> None:
        before = grads.get(edge)
        grads[edge] = grad if before is None else rules.add(edge, before, grad)

    for index, edge in head_grads.items():
        accumulate(graph.outputs[index], edge)
    for node in reversed(graph.nodes):
        if node.call is None or node not in needed or node.call.no_gradient:
            continue
        outs = [grads.pop(Edge(node, index), None) for index in range(node.num_outputs)]
        if all(grad is None for grad in outs) and not rules.begins(node):
            continue
        asked = [edge.node in needed for edge in node.inputs]
        for edge, grad in zip(node.inputs, rules.backward(node, outs, asked), strict=True):
            if grad is not None:
                accumulate(edge, grad)
    return [grads.get(Edge(node, 0)) for node in wanted]


def _checked(
    found: list[Edge | None], wanted: Sequence[Node], types: Mapping[Node, Types] | None
) -> list[Edge | None]:
    """Returns what `backpropagate` found.

    Raises:
        GraphError: it is not what was asked for.
    """
    if not isinstance(found, list) or len(found) != len(wanted):
        raise GraphError(
            f"backpropagate must return a list of {len(wanted)} edges or None, one for each wanted "
            f"variable, got {found!r}"
        )
    for edge, node in zip(found, wanted, strict=True):
        if edge is None:
            continue
        if not is_edge(edge):
            raise GraphError(f"backpropagate must return edges or None, got {edge!r}")
        if types is not None and types[edge.node][edge.index] != types[node][0]:
            raise GraphError(
                f"backpropagate must return a gradient of {node.name!r} of its type "
                f"{types[node][0]}, got {types[edge.node][edge.index]}"
            )
    return found


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


def _needed(graph: Graph, wanted: Sequence[Node]) -> set[Node]:
    """Returns the nodes that depend on a wanted variable."""
    needed = set(wanted)
    for node in graph.nodes:
        if any(edge.node in needed for edge in node.inputs):
            needed.add(node)
    return needed
