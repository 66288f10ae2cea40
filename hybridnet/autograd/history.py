"""`get_symbol`: the recording of an array as a symbol."""

from __future__ import annotations

from typing import Any

from hybridnet.base.errors import MXNetError
from hybridnet.graph import Edge, Node, variable
from hybridnet.ndarray import NDArray
from hybridnet.ops.core import OpCall
from hybridnet.symbol import Symbol
from hybridnet.tape import TapeNode

__all__ = ["get_symbol"]


def get_symbol(x: NDArray) -> Symbol:
    """Returns what was recorded of an array as a symbol.

    Arrays with a gradient become variables var0, var1, ... in the order in which they are met,
    other arrays null0, null1, ...

    Args:
        x: an array that was computed inside `record`, from one with `attach_grad`; or such a one,
            which is a variable.

    Raises:
        MXNetError: nothing was recorded, it is used up by `backward`, or a call of it is no
            operator (an `autograd.Function`, a traced function).
    """
    edge = x.edge
    if edge is None:
        raise MXNetError(
            "get_symbol: the array was not computed inside `with autograd.record():` from an array "
            "with attach_grad()"
        )
    if not isinstance(edge.node, TapeNode):  # an array with a gradient
        return Symbol([Edge(variable("var0"), 0)])
    made: dict[Any, Node] = {}
    counts = {"var": 0, "null": 0, "node_": 0}

    def name(kind: str) -> str:
        counts[kind] += 1
        return f"{kind}{counts[kind] - 1}"

    for node in _in_order(edge.node):
        if not isinstance(node.call, OpCall) or node.inputs is None:
            what = "was used up by backward()" if node.inputs is None else "is no operator"
            raise MXNetError(f"get_symbol: {node.call.name} {what}, so it is in no symbol")
        inputs = []
        # The state of a random generator, which comes last, is no input of a symbol.
        count = len(node.edges) - node.call.takes_state
        for source, value in zip(node.edges[:count], node.inputs, strict=False):
            key: Any = value if source is None else source.node
            if key not in made:
                made[key] = variable(name("null" if source is None else "var"))
            inputs.append(Edge(made[key], 0 if source is None else source.index))
        params = {**node.call.attrs, **node.call.by_parameter(node.scalars)}
        call = node.call.operator.bind(params)[0]  # whether it trains is decided by who runs it
        made[node] = Node(call, tuple(inputs), name("node_"), node.scalars, {})
    return Symbol([Edge(made[edge.node], edge.index)])


def _in_order(last: TapeNode) -> list[TapeNode]:
    """Returns the tape nodes that one depends on, and itself, each after those it depends on."""
    found = {last}
    stack = [last]
    while stack:
        for edge in stack.pop().edges:
            if edge is not None and isinstance(edge.node, TapeNode) and edge.node not in found:
                found.add(edge.node)
                stack.append(edge.node)
    return sorted(found, key=lambda node: node.order)
