"""Lab 4: operators as the part sees them, and the pass that asks it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hybridnet.graph import Graph, Node
from hybridnet.ops.core import ELEMENTWISE
from hybridnet.passes import Pass, PassContext, fused

ELEMENT_WISE: Final = "element-wise"
HEAVY: Final = "heavy"
OTHER: Final = "other"

_BACKWARD: Final = "_backward_"
#: Beside the families of functions of each element.
_FURTHER: Final = frozenset({"Activation", "Cast", "LeakyReLU", "clip", "where"})
_PRODUCTS: Final = frozenset({"Convolution", "Deconvolution", "FullyConnected", "dot", "batch_dot"})


@dataclass(frozen=True, eq=False)
class Operator:
    """An operator of a graph as the part sees it, in the place of a node.

    Attributes:
        name: of the node.
        kind: 'element-wise', 'heavy' or 'other'.
        shape: of its (first) result.
        inputs: the operators that it reads, each once; variables are left out.
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    inputs: tuple[Operator, ...]

    def __repr__(self) -> str:
        return f"<operator {self.name}>"

    def __str__(self) -> str:
        reads = f", reads {', '.join(one.name for one in self.inputs)}" if self.inputs else ""
        return f"{self.name}: {self.kind}, {'x'.join(map(str, self.shape))}{reads}"


def kind_of(node: Node) -> str:
    """Returns the kind of a node that computes."""
    call = node.call
    assert call is not None
    name = call.name.removeprefix(_BACKWARD)
    # A loss without a gradient from above is let alone, and so is what has states.
    if call.own_gradients or call.takes_state or call.mutates or call.on_host:
        return OTHER
    if name in _PRODUCTS:
        return HEAVY
    return ELEMENT_WISE if name in ELEMENTWISE or name in _FURTHER else OTHER


def seen(graph: Graph, context: PassContext) -> dict[Operator, Node]:
    """Returns the operators of a graph, each after those that it reads, and their nodes."""
    types = context.types(graph)
    made: dict[Node, Operator] = {}
    for node in graph.nodes:
        if node.call is not None:
            inputs = dict.fromkeys(made[edge.node] for edge in node.inputs if edge.node in made)
            shape = tuple(types[node][0].shape)
            made[node] = Operator(node.name, kind_of(node), shape, tuple(inputs))
    return {operator: node for node, operator in made.items()}


def fusion(choose: Callable[[Sequence[Operator]], Any], name: str = "fusion") -> Pass:
    """Returns a pass that makes one call of each group that a function chooses."""

    def run(graph: Graph, context: PassContext) -> Graph:
        nodes = seen(graph, context)
        groups = choose(tuple(nodes))
        return fused(graph, [[nodes[operator] for operator in group] for group in groups])

    return Pass(name, run)
