"""`GradientRules`: the gradients of single nodes of a graph, as edges."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeGuard, final

from hybridnet.base.errors import GraphError
from hybridnet.ops.core import Backward, Call, Types

from .edge_handle import EdgeHandle, fitted
from .node import Edge, Graph, Node


@final
class GradientRules:
    """The gradient rules of a walk back through a graph. Each call adds nodes, and returns edges.

    Args:
        graph: the graph that is walked through.
        heads: the numbers of its outputs that have a gradient.
        types: of its nodes, where known; types of new nodes are added.
    """

    def __init__(
        self, graph: Graph, heads: Collection[int], types: dict[Node, Types] | None = None
    ) -> None:
        self._types = types
        self._reached = _reached(graph, heads)

    def backward(
        self, node: Node, grads: Sequence[Edge | None], asked: Sequence[bool]
    ) -> list[Edge | None]:
        """Adds what computes the gradients of a node's inputs from those of its outputs.

        Args:
            node: not a variable, and its call has a gradient (``node.call.no_gradient`` is empty).
            grads: the gradient of each output; None where nothing depends on it.
            asked: for each input, whether its gradient is wanted.

        Returns:
            For each input its gradient, of its shape and dtype. None where it is not wanted, or
            there is none.

        Raises:
            GraphError: the arguments are not of this form.
            ShapeError: the rule of the operator returned a gradient of another shape.
        """
        call = _call_with_gradient(node, grads, asked)
        outs = list(grads)
        for index in call.own_gradients:
            edge = Edge(node, index)
            if outs[index] is None and edge in self._reached:
                outs[index] = self._handle(edge, node).zeros_like().edge
        if all(grad is None for grad in outs):
            return [None] * len(node.inputs)
        back = Backward(
            call,
            [self._handle(edge, node) for edge in node.inputs],
            [self._handle(Edge(node, index), node) for index in range(node.num_outputs)],
            [None if grad is None else self._handle(grad, node) for grad in outs],
            node.scalars,
            list(asked),
        )
        found: list[Edge | None] = [None] * len(node.inputs)
        pairs = zip(back.inputs, call.gradient(back), strict=False)
        for number, (x, grad) in enumerate(pairs):
            if grad is not None and asked[number]:
                found[number] = fitted(node, grad, x).edge
        return found

    def add(self, of: Edge, first: Edge, second: Edge) -> Edge:
        """Adds the node that adds two gradients of an edge up.

        Args:
            of: what they are gradients of.
            first, second: edges of its type.
        """
        for given in (of, first, second):
            if not is_edge(given):
                raise GraphError(f"add: needs edges, got {given!r}")
        total = self._handle(first, of.node) + self._handle(second, of.node)
        made: Edge = total.edge
        return made

    def begins(self, node: Node) -> bool:
        """Whether a node is a loss where gradients begin, though none comes to it.

        The rules of losses do without the gradient of their outputs, as those of ``make_loss`` and
        ``SoftmaxOutput``. So `backward` is to be asked for one that an output with a gradient
        depends on, were it through operators without a gradient.
        """
        call = node.call
        return call is not None and any(Edge(node, i) in self._reached for i in call.own_gradients)

    def _handle(self, edge: Edge, of: Node) -> EdgeHandle:
        return EdgeHandle(edge, self._types, of)


def is_edge(value: object) -> TypeGuard[Edge]:
    """Whether a value is an output of a node that there is."""
    if not isinstance(value, Edge) or not isinstance(value.node, Node):
        return False
    return isinstance(value.index, int) and 0 <= value.index < value.node.num_outputs


def _call_with_gradient(node: Node, grads: Sequence[Edge | None], asked: Sequence[bool]) -> Call:
    """Returns the call of a node whose gradient is asked for.

    Raises:
        GraphError: it has none, or what was given does not fit.
    """
    if not isinstance(node, Node) or node.call is None:
        what = node.title if isinstance(node, Node) else repr(node)
        raise GraphError(f"backward: needs a node that computes something, got {what}")
    if node.call.no_gradient:
        raise GraphError(f"backward: {node.title} has no gradient: {node.call.no_gradient}")
    if len(grads) != node.num_outputs:
        raise GraphError(
            f"backward: {node.title} has {node.num_outputs} outputs and needs a gradient or None "
            f"for each, got {len(grads)}"
        )
    for grad in grads:
        if grad is not None and not is_edge(grad):
            raise GraphError(f"backward: gradients must be edges or None, got {grad!r}")
    if len(asked) != len(node.inputs):
        raise GraphError(
            f"backward: {node.title} has {len(node.inputs)} inputs and needs True or False for "
            f"each, got {len(asked)}"
        )
    return node.call


def _reached(graph: Graph, heads: Collection[int]) -> set[Edge]:
    """Returns the edges that some of the outputs depend on; none where nobody would ask."""
    if not any(node.call is not None and node.call.own_gradients for node in graph.nodes):
        return set()
    reached = {graph.outputs[index] for index in heads}
    for node in reversed(graph.nodes):
        if any(Edge(node, index) in reached for index in range(node.num_outputs)):
            reached.update(node.inputs)
    return reached
