"""Arrays that are made with sizes that only the rest of the graph tells, as ``zeros((0, 20))``.

A recurrent network on symbols begins with such zeros: the size of the batch is not known yet. In
symbols 0 stands for such a size, unless shapes are NumPy's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hybridnet.base.numpy_mode import mode
from hybridnet.ops.core.call import Types
from hybridnet.ops.core.operator import OpCall

from .dtypes import infer_dtypes
from .node import Edge, Graph, Node
from .shapes import infer_shapes, is_known, open_shape

__all__ = ["has_open_shapes", "settled"]


def has_open_shapes(nodes: Sequence[Node]) -> bool:
    """Whether one of the nodes makes an array of sizes that are not known."""
    return any(open_shape(node) is not None for node in nodes)


def settled(graph: Graph, types: Types) -> Graph:
    """Returns the graph with the sizes that follow from the types of its inputs.

    What does not follow is what it says: 0 is an empty array.

    Args:
        graph: the graph.
        types: of its inputs.

    Raises:
        ShapeError, DTypeError: the inputs do not fit; the message names the node.
    """
    if mode.shape or not has_open_shapes(graph.nodes):
        return graph
    pairs = list(zip(graph.inputs, types, strict=True))
    dtypes = infer_dtypes(graph.nodes, {node: kind.dtype for node, kind in pairs})
    shapes = infer_shapes(graph.nodes, {node: kind.shape for node, kind in pairs}, dtypes)

    def change(node: Node, inputs: tuple[Edge, ...]) -> Node:
        shape = shapes.get(Edge(node, 0))
        if open_shape(node) is None or not is_known(shape):
            return node.with_inputs(inputs)
        assert isinstance(node.call, OpCall)
        return replace(node, call=node.call.with_attrs(shape=shape), inputs=inputs)

    return graph.map(change)
