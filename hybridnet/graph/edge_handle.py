"""`EdgeHandle`: an edge that operators can be applied to, as to an array; so nodes are added."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

from hybridnet.base.array_types import DType
from hybridnet.base.attrs import Number
from hybridnet.base.device_name import DEVICE
from hybridnet.base.errors import GraphError, ShapeError
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.core import Call, FluentMethods, Operator, Types
from hybridnet.ops.core.registry import get

from .node import Edge, Node


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
