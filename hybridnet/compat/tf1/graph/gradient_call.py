"""`GradientCall`: the gradient of a call, whose rule is asked when the types are known.

Some rules need the shapes of what they differentiate. A graph that is differentiated before these
are known, as TensorFlow's are, holds such calls; `expanded` puts what the rules make in their
place, so that the passes see it.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, final

from hybridnet.base import MXNetError
from hybridnet.graph import (
    Edge,
    EdgeHandle,
    Graph,
    Moves,
    Node,
    at_node,
    evaluate,
    fitted,
    variable,
)
from hybridnet.ops.core import (
    Arrays,
    Backward,
    BackwardCall,
    Call,
    TensorType,
    Types,
    only,
    registry,
    tensor_type,
)

from .by_value import Unresolved

__all__ = ["GradientCall", "expanded", "gradient_call"]

_made: Final[weakref.WeakValueDictionary[Any, GradientCall]] = weakref.WeakValueDictionary()


@final
class GradientCall(BackwardCall):
    """The gradients of some inputs of a call. Made by `gradient_call`.

    Its inputs are those of the call, all outputs of the call, and the gradients of some of these.

    Attributes:
        count: how many inputs the call has.
    """

    __slots__ = ("count",)

    def __init__(
        self, of: Call, count: int, wanted: tuple[int, ...], given: tuple[int, ...]
    ) -> None:
        super().__init__(of, wanted, given)
        self.count = count

    def facts(self) -> Sequence[Any] | None:
        """Returns the call that is differentiated, and which gradients are wanted and given."""
        of = self.of.fingerprint
        return None if of is None else (of, self.count, self.wanted, self.given)

    def with_train(self, train: bool) -> Call:
        """Returns the gradient of the same call in, or out of, a training pass."""
        of = self.of.with_train(train)
        return self if of is self.of else gradient_call(of, self.count, self.wanted, self.given)

    def lower(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """Runs what the rule makes: where nobody has expanded it."""
        inputs = tuple(variable(f"input{i}") for i in range(len(operands)))
        types: dict[Node, Types] = {
            node: (tensor_type(tuple(array.shape), array.dtype),)
            for node, array in zip(inputs, operands, strict=True)
        }
        node = Node(self, tuple(Edge(source, 0) for source in inputs), self.name, tuple(scalars))
        edges = _expanded(node, self, node.inputs, types)
        return evaluate(Graph(inputs, tuple(edges)), platform, operands)

    def __repr__(self) -> str:
        return f"gradient({self.of!r})"


def gradient_call(
    of: Call, count: int, wanted: tuple[int, ...], given: tuple[int, ...]
) -> GradientCall:
    """Returns the gradient of a call, as a call; equal ones are one object."""
    made: GradientCall = only(_made, (of, count, wanted, given), GradientCall)
    return made


def expanded(graph: Graph, types: Sequence[TensorType]) -> Graph:
    """Puts what the rules make in the place of gradient calls, and looks at all types on the way.

    Loops that are differentiated keep what their gradients need.

    Args:
        graph: of which random states are inputs (see `hybridnet.graph.transform.prepare`).
        types: of its inputs.

    Raises:
        ShapeError, DTypeError: a node's inputs do not fit; the message names node and line.
    """
    known: dict[Node, Types] = {
        node: (kind,) for node, kind in zip(graph.inputs, types, strict=True)
    }
    differentiated = {
        edge.node
        for node in graph.nodes
        if isinstance(node.call, GradientCall)
        for edge in node.inputs[node.call.count : -len(node.call.given)]
    }
    moves = Moves()
    for node in graph.nodes:
        if node.call is None:
            continue
        made = moves.moved(node)
        try:
            if isinstance(node.call, GradientCall):
                moves.note(node, _expanded(made, node.call, made.inputs, known))
                continue
            operands = tuple(known[edge.node][edge.index] for edge in made.inputs)
            if node in differentiated and node.call.may_keep:
                made = replace(made, call=node.call.keeping(operands))
            assert made.call is not None
            known[made] = made.call.infer(operands)
        except MXNetError as error:
            raise at_node(node, error) from error
        moves.note(node, made)
    return Graph(graph.inputs, moves.edges(graph.outputs), moves.nodes(graph.targets))


def _expanded(
    node: Node, call: GradientCall, operands: Sequence[Edge], types: dict[Node, Types]
) -> list[Edge]:
    """Adds what the rule makes; returns an edge for each wanted input."""
    inputs, outputs = list(operands[: call.count]), list(operands[call.count : -len(call.given)])
    heads = operands[len(operands) - len(call.given) :]
    of: Call = call.of
    places = {number: number for number in range(call.count)}
    forward = _forward(call, outputs)
    if forward is not None:  # as it has become: with a random state, or without sizes
        assert forward.call is not None
        if isinstance(of, Unresolved):
            left = [number for number in range(call.count) if number not in of.at]
            places = {number: place for place, number in enumerate(left)}
        of = forward.call
        inputs = list(forward.inputs)
        outputs += [Edge(forward, i) for i in range(len(outputs), forward.num_outputs)]
        scalars = forward.scalars
    else:
        scalars = node.scalars
    grads: list[Any] = [None] * len(outputs)
    for number, edge in zip(call.given, heads, strict=True):
        grads[number] = EdgeHandle(edge, types, node)
    wanted = {places[number] for number in call.wanted}
    back = Backward(
        of,
        [EdgeHandle(edge, types, node) for edge in inputs],
        [EdgeHandle(edge, types, node) for edge in outputs],
        grads,
        scalars,
        [number in wanted for number in range(len(inputs))],
    )
    found = [None] * len(inputs) if of.no_gradient else list(of.gradient(back))
    edges = []
    for number in call.wanted:
        x, grad = back.inputs[places[number]], found[places[number]]
        if grad is None:
            edges.append(x.apply_operator(registry.get("zeros_like"), [x], {}).edge)
        else:
            edges.append(fitted(node, grad, x).edge)
    return edges


def _forward(call: GradientCall, outputs: Sequence[Edge]) -> Node | None:
    """Returns the node that made the outputs; None if others took their places."""
    node = outputs[0].node
    whole = all(edge == (node, number) for number, edge in enumerate(outputs))
    if node.call is None or not whole or isinstance(call.of, GradientCall):
        return None
    return node
