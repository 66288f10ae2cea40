"""Lab 2: a walk from the outputs back to the variables, which adds up what comes to each edge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hybridnet.graph import Edge, GradientRules, Graph, Node


def gradients(
    graph: Graph, wanted: Sequence[Node], head_grads: Mapping[int, Edge], rules: GradientRules
) -> list[Edge | None]:
    """Adds the nodes that compute gradients of variables.

    Args:
        graph: its nodes come each after its inputs.
        wanted: variables of it.
        head_grads: output number -> the edge that is its gradient.
        rules: the gradients of single nodes.

    Returns:
        For each wanted variable an edge; None where no output depends on it.
    """
    total: dict[Edge, Edge] = {}

    def give(edge: Edge, grad: Edge) -> None:
        total[edge] = rules.add(edge, total[edge], grad) if edge in total else grad

    for number, grad in head_grads.items():
        give(graph.outputs[number], grad)
    depends = _that_depend(graph, wanted)
    # Backwards, so that all that read a result have been visited before the node that computes it.
    for node in reversed(graph.nodes):
        if node.call is None or node not in depends or node.call.no_gradient:
            continue
        grads = [total.get(Edge(node, index)) for index in range(node.num_outputs)]
        if all(grad is None for grad in grads) and not rules.begins(node):
            continue
        asked = [edge.node in depends for edge in node.inputs]
        for edge, found in zip(node.inputs, rules.backward(node, grads, asked), strict=True):
            if found is not None:
                give(edge, found)
    return [total.get(Edge(node, 0)) for node in wanted]


def _that_depend(graph: Graph, wanted: Sequence[Node]) -> set[Node]:
    """Returns the wanted variables and all nodes that are computed from them."""
    depends = set(wanted)
    for node in graph.nodes:
        if any(edge.node in depends for edge in node.inputs):
            depends.add(node)
    return depends
