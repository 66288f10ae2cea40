"""The gradient of a graph, as a graph.

The rules are those of the eager tape, run on handles that add nodes instead of computing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from hybridnet.base.errors import GraphError
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.call import Backward, Call, Types
from hybridnet.ops.methods import FluentMethods
from hybridnet.ops.operator import Operator

from .node import Edge, Graph, Node, variable

__all__ = ["EdgeHandle", "GradientGraph", "differentiate", "gradients"]


@final
class EdgeHandle(FluentMethods):
    """An edge that operators can be applied to; `types` grows with each node that is added."""

    __slots__ = ("_types", "edge")

    def __init__(self, edge: Edge, types: dict[Node, Types] | None) -> None:
        self.edge = edge
        self._types = types

    @classmethod
    def apply_operator(
        cls,
        op: Operator,
        inputs: Sequence[Any],
        attrs: Mapping[str, Any],
        *,
        name: str | None = None,
        out: Any = None,
    ) -> Any:
        """Adds a node."""
        call, scalars = op.bind(attrs, True)
        outputs = cls.apply_call(call, inputs, scalars)[: call.num_visible]
        return outputs[0] if len(outputs) == 1 else outputs

    @classmethod
    def apply_call(cls, call: Call, inputs: Sequence[Any], scalars: tuple[Any, ...]) -> list[Any]:
        """Adds a node; returns handles on all its outputs."""
        node = Node(call, tuple(x.edge for x in inputs), call.name, scalars)
        types = inputs[0]._types
        if types is not None:
            types[node] = call.infer(tuple(types[e.node][e.index] for e in node.inputs))
        return [cls(Edge(node, index), types) for index in range(call.num_outputs)]

    @property
    def type(self) -> TensorType | None:
        """Shape and dtype, where the types of the graph's inputs are known."""
        return None if self._types is None else self._types[self.edge.node][self.edge.index]

    @property
    def inferred_dtype(self) -> np.dtype[Any] | None:
        """The dtype, where it is known."""
        return None if self.type is None else self.type.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions.

        Raises:
            GraphError: they are not known.
        """
        if self.type is None:
            raise GraphError(f"the shape of {self.edge.node.name!r} is not known yet")
        return self.type.shape

    @property
    def context(self) -> None:
        """Not placed yet."""
        return


def gradients(
    graph: Graph,
    wanted: Sequence[Node],
    head_grads: Mapping[int, Edge],
    types: dict[Node, Types] | None = None,
) -> list[Edge | None]:
    """Returns the gradients of a graph's outputs with respect to variables, as edges.

    Args:
        graph: what to differentiate.
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
        _accumulate(grads, graph.outputs[index], EdgeHandle(edge, types))
    for node in reversed(graph.nodes):
        if node.call is None or node not in needed or node.call.no_gradient:
            continue
        outs = [grads.pop(Edge(node, index), None) for index in range(node.num_outputs)]
        if all(one is None for one in outs):
            continue
        back = Backward(
            node.call,
            [EdgeHandle(edge, types) for edge in node.inputs],
            [EdgeHandle(Edge(node, index), types) for index in range(node.num_outputs)],
            outs,
            node.scalars,
            [edge.node in needed for edge in node.inputs],
        )
        for edge, grad in zip(node.inputs, node.call.gradient(back), strict=False):
            if grad is not None and edge.node in needed:
                _accumulate(grads, edge, grad)
    return [grads[Edge(node, 0)].edge if Edge(node, 0) in grads else None for node in wanted]


def _accumulate(grads: dict[Edge, EdgeHandle], edge: Edge, grad: EdgeHandle) -> None:
    before = grads.get(edge)
    grads[edge] = grad if before is None else before + grad


def _needed(graph: Graph, wanted: Sequence[Node]) -> set[Node]:
    """Returns the nodes that depend on a wanted variable."""
    needed = set(wanted)
    for node in graph.nodes:
        if any(edge.node in needed for edge in node.inputs):
            needed.add(node)
    return needed


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
    """

    forward: Graph
    backward: Graph
    num_residuals: int
    uses: tuple[int, ...]
    given: tuple[int, ...]
    positions: tuple[int, ...]
    wanted: tuple[int | None, ...]


def differentiate(
    graph: Graph,
    wanted: Sequence[int],
    given: Sequence[int],
    types: dict[Node, Types] | None = None,
) -> GradientGraph:
    """Splits a graph into forward and backward.

    Args:
        graph: what to differentiate.
        wanted: the inputs whose gradients are asked for, by number.
        given: the outputs whose gradients will be given, by number.
        types: of the graph's nodes, where known.
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
    forward_nodes = set(graph.nodes) | set(graph.inputs)
    backward, residuals, used = _cut(outputs, forward_nodes)
    inputs = {node: index for index, node in enumerate(graph.inputs)}
    uses = sorted(inputs[node] for node in used)
    numbers = iter(range(len(outputs)))
    return GradientGraph(
        forward=Graph(graph.inputs, (*graph.outputs, *residuals)),
        backward=Graph(
            (*residuals.values(), *(graph.inputs[i] for i in uses), *heads.values()), backward
        ),
        num_residuals=len(residuals),
        uses=tuple(uses),
        given=tuple(given),
        positions=tuple(wanted),
        wanted=tuple(None if edge is None else next(numbers) for edge in found),
    )


def _cut(
    outputs: Sequence[Edge], forward: set[Node]
) -> tuple[tuple[Edge, ...], dict[Edge, Node], set[Node]]:
    """Separates new nodes from the forward ones they read.

    Returns:
        The outputs over new variables, the residuals (forward edge -> the variable that stands for
        it), and the forward variables that are read as they are.
    """
    residuals: dict[Edge, Node] = {}
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
    return tuple(moved(edge) for edge in outputs), residuals, used
