"""The gradient of a symbol, as a symbol."""

from __future__ import annotations

from collections.abc import Sequence

from hybridnet.base.dtype import FLOAT32
from hybridnet.base.errors import GraphError
from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph import Edge, Graph, Node, gradients, is_known, topological
from hybridnet.ops.core import Types, VjpCall
from hybridnet.ops.core.registry import get

from ._infer import inferred_dtypes, inferred_shapes


def gradient_edges(graph: Graph, wanted: Sequence[Node]) -> list[Edge]:
    """Adds the nodes that compute the gradients of the sum of a graph's outputs.

    Args:
        wanted: variables of it.

    Returns:
        For each of them an edge, of a node named ``{variable}_grad``.

    Raises:
        GraphError: an operator draws random numbers and keeps nothing of them for its gradient.
    """
    heads = {
        index: Edge(_apply("ones_like", edge, f"{edge.node.name}_head_grad"), 0)
        for index, edge in enumerate(graph.outputs)
    }
    types = _known_types(graph)
    if types is not None:
        for index, edge in enumerate(graph.outputs):
            types[heads[index].node] = (types[edge.node][edge.index],)
    found = gradients(graph, wanted, heads, types)
    for node in topological([edge for edge in found if edge is not None]):
        if isinstance(node.call, VjpCall) and node.call.of.takes_state:
            raise GraphError(
                f"gradient: {node.call.of.name} draws random numbers, and its gradient would draw "
                "others; bind the symbol and use Executor.backward instead"
            )
    return [
        Edge(
            _apply("_copy", edge, f"{node.name}_grad")
            if edge is not None
            else _apply("zeros_like", Edge(node, 0), f"{node.name}_grad"),
            0,
        )
        for node, edge in zip(wanted, found, strict=True)
    ]


def _apply(operator: str, edge: Edge, name: str) -> Node:
    call, scalars = get(operator).bind({})
    return Node(call, (edge,), name, scalars, {})


def _known_types(graph: Graph) -> dict[Node, Types] | None:
    """Returns the types of all nodes, if those that variables were made with tell them."""
    dtypes = inferred_dtypes(graph, {}, FLOAT32)
    shapes = inferred_shapes(graph, {}, dtypes)
    types: dict[Node, Types] = {}
    for node in graph.nodes:
        known = []
        for index in range(node.num_outputs):
            shape, dtype = shapes[Edge(node, index)], dtypes[Edge(node, index)]
            if shape is None or dtype is None or not is_known(shape):
                return None
            known.append(tensor_type(shape, dtype))
        types[node] = tuple(known)
    return types
