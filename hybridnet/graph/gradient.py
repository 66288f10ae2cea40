"""The gradient of a graph, as a graph.

The rules are those of the eager tape, run on handles that add nodes instead of computing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, final

from hybridnet.base.array_types import DType
from hybridnet.base.attrs import Number
from hybridnet.base.device_name import DEVICE
from hybridnet.base.errors import GraphError, ShapeError
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.core import Arrays, Backward, Call, FluentMethods, Operand, Operator, Types
from hybridnet.ops.core.registry import get

from .node import Edge, Graph, Node


@final
class EdgeHandle(FluentMethods):
    """An edge that operators can be applied to; `types` grows with each node that is added.

    Nodes are put on the device of `of`, which they are the gradient of, and have its line.
    """

    __slots__ = ("_of", "_types", "edge")

    def __init__(self, edge: Edge, types: dict[Node, Types] | None, of: Node | None = None) -> None:
        self.edge = edge
        self._types = types
        self._of = of

    @classmethod
    def apply_operator(
        cls,
        op: Operator,
        inputs: Sequence[object],
        attrs: Mapping[str, object],
        *,
        name: str | None = None,
        out: object = None,
    ) -> Any:
        """Adds a node."""
        call, scalars = op.bind(attrs, True)
        outputs = cls.apply_call(call, inputs, scalars)[: call.num_visible]
        return outputs[0] if len(outputs) == 1 else outputs

    @classmethod
    def apply_call(
        cls, call: Call, inputs: Sequence[Any], scalars: tuple[Number, ...]
    ) -> list[Any]:
        """Adds a node; returns handles on all its outputs."""
        types, of = inputs[0]._types, inputs[0]._of
        attrs: Mapping[str, str] = {}
        if of is not None and DEVICE in of.attrs:
            attrs = {DEVICE: of.attrs[DEVICE]}
        edges = tuple(x.edge for x in inputs)
        node = Node(call, edges, call.name, scalars, attrs, of and of.origin)
        if types is not None:
            types[node] = call.infer(tuple(types[e.node][e.index] for e in node.inputs))
        return [cls(Edge(node, index), types, of) for index in range(call.num_outputs)]

    @property
    def type(self) -> TensorType | None:
        """Shape and dtype, where the types of the graph's inputs are known."""
        return None if self._types is None else self._types[self.edge.node][self.edge.index]

    @property
    def inferred_dtype(self) -> DType | None:
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


def fitted(node: Node, grad: EdgeHandle, x: EdgeHandle) -> EdgeHandle:
    """Returns a gradient in the dtype of what it is the gradient of; the shape must be right."""
    if grad.type is x.type or grad.type is None or x.type is None:
        return grad
    if grad.type.shape != x.type.shape:
        raise ShapeError(
            f"at node {node.title}: the gradient rule must return a gradient of shape "
            f"{x.type.shape} for an input of this shape, got {grad.type.shape}"
        )
    cast: EdgeHandle = grad.apply_operator(get("Cast"), [grad], {"dtype": x.type.dtype.name})
    return cast


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
