"""A graph and its gradient as two graphs that can run apart, or as one.

The gradient reads values of the forward pass. Run apart, these are the forward graph's residuals:
further outputs of it, and inputs of the backward graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hybridnet.ops.core import Types

from .evaluate import infer_types
from .gradient import gradients
from .node import Edge, Graph, Node, variable


@dataclass(frozen=True, eq=False)
class GradientGraph:
    """A graph split for training: forward with what backward needs, and backward.

    Attributes:
        forward: the graph with the residuals as further outputs.
        backward: its inputs are the residuals, then the forward inputs it uses, then the head
            gradients; its outputs the gradients of the wanted inputs.
        num_residuals: how many there are.
        uses: which of the forward inputs backward uses, by number.
        given: which outputs have a head gradient, by number.
        positions: the wanted inputs, by number.
        wanted: for each of them the number of the output of `backward`, or None.
        whole: the split that keeps everything, where this one computes parts of forward again.
        segments: which parts (see `hybridnet.graph.recompute`).
    """

    forward: Graph
    backward: Graph
    num_residuals: int
    uses: tuple[int, ...]
    given: tuple[int, ...]
    positions: tuple[int, ...]
    wanted: tuple[int | None, ...]
    whole: GradientGraph | None = None
    segments: Mapping[Node, int] = field(default_factory=dict)

    @property
    def heads(self) -> tuple[Edge, ...]:
        """The outputs of the graph that was split."""
        return self.forward.outputs[: len(self.forward.outputs) - self.num_residuals]

    @property
    def residuals(self) -> tuple[Edge, ...]:
        """The further outputs of `forward`, which backward needs."""
        return self.forward.outputs[len(self.forward.outputs) - self.num_residuals :]


def differentiate(
    graph: Graph,
    wanted: Sequence[int],
    given: Sequence[int],
    types: dict[Node, Types] | None = None,
) -> GradientGraph:
    """Splits a graph into forward and backward.

    Args:
        wanted: the inputs whose gradients are asked for, by number.
        given: the outputs whose gradients will be given, by number.
        types: of the graph's nodes, where known.
    """
    graph, types = _keeping(graph, types)
    heads, numbers, outputs = _input_gradients(graph, wanted, given, types)
    residuals: dict[Edge, Node] = {}
    backward, uses = _cut(graph, outputs, residuals)
    return GradientGraph(
        forward=Graph(graph.inputs, (*graph.outputs, *residuals)),
        backward=Graph(
            (*residuals.values(), *(graph.inputs[i] for i in uses), *heads.values()), backward
        ),
        num_residuals=len(residuals),
        uses=uses,
        given=tuple(given),
        positions=tuple(wanted),
        wanted=numbers,
    )


def narrowed(
    split: GradientGraph, given: Sequence[int], types: dict[Node, Types] | None = None
) -> GradientGraph | None:
    """Returns a split with the same forward graph, where fewer outputs have a gradient.

    A gradient that is not there is not the same as zeros: what is computed from it need not be,
    and zero times infinity is not zero.

    Args:
        split: what `differentiate` returned.
        given: the outputs whose gradients will be given, by number.
        types: of the nodes of the forward graph, where known.

    Returns:
        None if the gradient needs more of the forward graph than it keeps.
    """
    graph = split.forward
    heads, numbers, outputs = _input_gradients(graph, split.positions, given, types)
    residuals = {edge: variable(f"residual{i}") for i, edge in enumerate(split.residuals)}
    backward, uses = _cut(graph, outputs, residuals)
    if len(residuals) > split.num_residuals:
        return None
    inputs = (*residuals.values(), *(graph.inputs[i] for i in uses), *heads.values())
    return replace(
        split, backward=Graph(inputs, backward), uses=uses, given=tuple(given), wanted=numbers
    )


def joined(split: GradientGraph) -> Graph:
    """Returns a split as one graph, in which backward reads what forward computes.

    Returns:
        A graph of the inputs and then the head gradients, to the outputs and then the gradients.
    """
    forward, backward, count = split.forward, split.backward, split.num_residuals
    pairs = zip(backward.inputs, split.residuals, strict=False)
    kept = {Edge(node, 0): edge for node, edge in pairs}

    def change(node: Node, inputs: tuple[Edge, ...]) -> Node:
        return node.with_inputs(tuple(kept.get(edge, edge) for edge in inputs))

    moved = backward.map(change)
    return Graph(
        (*forward.inputs, *backward.inputs[count + len(split.uses) :]),
        (*split.heads, *(kept.get(edge, edge) for edge in moved.outputs)),
    )


def joint_gradient(
    graph: Graph,
    wanted: Sequence[int],
    given: Sequence[int],
    types: dict[Node, Types] | None = None,
) -> tuple[Graph, tuple[int | None, ...]]:
    """Returns a graph from inputs and head gradients to gradients; it computes forward again.

    Args:
        wanted: the inputs whose gradients are asked for, by number.
        given: the outputs whose gradients will be given, by number.
        types: of the graph's nodes, where known.

    Returns:
        The graph, whose inputs are those of `graph` and then the head gradients; and for each
        wanted input the number of the output that is its gradient, or None.
    """
    graph, types = _keeping(graph, types)
    heads, numbers, outputs = _input_gradients(graph, wanted, given, types)
    return Graph((*graph.inputs, *heads.values()), tuple(outputs)), numbers


def _keeping(
    graph: Graph, types: dict[Node, Types] | None
) -> tuple[Graph, dict[Node, Types] | None]:
    """Makes loops keep what their gradients need; returns the graph and the types of its nodes."""
    if types is None or not any(n.call is not None and n.call.may_keep for n in graph.nodes):
        return graph, types

    def change(node: Node, inputs: tuple[Edge, ...]) -> Node:
        assert node.call is not None
        call = node.call.keeping(tuple(types[e.node][e.index] for e in node.inputs))
        return replace(node, call=call, inputs=inputs)

    changed = graph.map(change)
    return changed, infer_types(changed, [types[node][0] for node in graph.inputs])


def _input_gradients(
    graph: Graph,
    wanted: Sequence[int],
    given: Sequence[int],
    types: dict[Node, Types] | None,
) -> tuple[dict[int, Node], tuple[int | None, ...], list[Edge]]:
    """Differentiates with respect to inputs by number, from new variables as head gradients.

    Returns:
        The variables by output; for each wanted input the number of its gradient among the edges,
        or None; and the edges.
    """
    heads = {index: variable(f"head_grad{index}") for index in given}
    if types is not None:
        for index, node in heads.items():
            edge = graph.outputs[index]
            types[node] = (types[edge.node][edge.index],)
    found = gradients(
        graph,
        [graph.inputs[i] for i in wanted],
        {index: Edge(node, 0) for index, node in heads.items()},
        types,
    )
    outputs = [edge for edge in found if edge is not None]
    count = iter(range(len(outputs)))
    return heads, tuple(None if edge is None else next(count) for edge in found), outputs


def _cut(
    graph: Graph, outputs: Sequence[Edge], residuals: dict[Edge, Node]
) -> tuple[tuple[Edge, ...], tuple[int, ...]]:
    """Separates new nodes from those of a graph, which they read.

    Args:
        graph: the forward graph.
        outputs: edges of new nodes.
        residuals: forward edge -> the variable that stands for it; those that are missing are
            added.

    Returns:
        The outputs over the residuals' variables, and the numbers of the graph's inputs that are
        read as they are.
    """
    forward = {*graph.nodes, *graph.inputs}
    used: set[Node] = set()
    place: dict[Edge, Edge] = {}

    def moved(edge: Edge) -> Edge:
        if edge.node not in forward:
            return place.get(edge, edge)
        if edge.node.is_variable:
            used.add(edge.node)
            return edge
        if edge not in residuals:
            residuals[edge] = variable(f"{edge.node.name}_output{edge.index}")
        return Edge(residuals[edge], 0)

    for node in Graph((), tuple(outputs)).nodes:
        if node in forward or node.is_variable:
            continue
        made = node.with_inputs(tuple(moved(edge) for edge in node.inputs))
        for index in range(node.num_outputs):
            place[Edge(node, index)] = Edge(made, index)
    cut = tuple(moved(edge) for edge in outputs)
    return cut, tuple(i for i, node in enumerate(graph.inputs) if node in used)
