"""Arrays that are made with sizes that only the rest of the graph tells, as ``zeros((0, 20))``.

A recurrent network on symbols begins with such zeros: the size of the batch is not known yet. In
symbols 0 stands for such a size, unless shapes are NumPy's, and -1 always.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hybridnet.base.errors import ShapeError
from hybridnet.ops.core import UNKNOWN, OpCall, Types

from .dtypes import infer_dtypes
from .node import Edge, Graph, Node
from .shapes import infer_shapes, is_known, is_untold, open_shape


def has_open_shapes(nodes: Sequence[Node]) -> bool:
    """Whether one of the nodes makes an array of sizes that are not known."""
    return any(open_shape(node) is not None or is_untold(node) for node in nodes)


def settled(graph: Graph, types: Types) -> Graph:
    """Returns the graph with the sizes that follow from the types of its inputs.

    What does not follow is what it says: 0 is an empty array, and -1 an error.

    Args:
        graph: the graph.
        types: of its inputs.

    Raises:
        ShapeError, DTypeError: the inputs do not fit; the message names the node.
    """
    if not has_open_shapes(graph.nodes):
        return graph
    pairs = list(zip(graph.inputs, types, strict=True))
    dtypes = infer_dtypes(graph.nodes, {node: kind.dtype for node, kind in pairs})
    shapes = infer_shapes(graph.nodes, {node: kind.shape for node, kind in pairs}, dtypes)

    def change(node: Node, inputs: tuple[Edge, ...]) -> Node:
        shape = shapes.get(Edge(node, 0))
        if open_shape(node) is None and not is_untold(node):
            return node.with_inputs(inputs)
        assert isinstance(node.call, OpCall)
        if not is_known(shape):
            told = node.call.attrs["shape"]
            if UNKNOWN in told:
                raise ShapeError(
                    f"at node {node.title}: the sizes -1 of shape {told} do not follow from the "
                    "rest of the graph; give them"
                )
            return node.with_inputs(inputs)
        return replace(node, call=node.call.with_attrs(shape=shape), inputs=inputs)

    return graph.map(change)
