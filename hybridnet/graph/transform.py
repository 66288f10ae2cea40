"""From a graph as users write it to one that can run: in a mode, its side effects as outputs.

A symbol leaves three things open: whether it runs in a training pass, where random numbers come
from, and what becomes of the arrays that operators overwrite. `prepare` settles them, so that the
result is a function of its inputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops._random_state import STATE_SHAPE
from hybridnet.ops.backward import VjpCall, vjp_call
from hybridnet.ops.call import Call
from hybridnet.ops.operator import OpCall

from .node import Edge, Graph, Node, variable

__all__ = [
    "STATE",
    "Prepared",
    "call_with_train",
    "prepare",
    "updates_of",
    "with_train",
]

#: The type of a random generator's state.
STATE: Final = tensor_type(STATE_SHAPE, np.dtype(np.uint32))


def call_with_train(call: Call, train: bool) -> Call:
    """Returns the same call in, or out of, a training pass."""
    if isinstance(call, VjpCall):
        of = call_with_train(call.of, train)
        return call if of is call.of else vjp_call(of, call.wanted, call.given)
    return call.with_train(train)


def with_train(graph: Graph, train: bool) -> Graph:
    """Returns the graph with each call in, or out of, a training pass."""

    def change(node: Node, inputs: tuple[Edge, ...]) -> Node:
        assert node.call is not None
        call = call_with_train(node.call, train)
        if call is node.call:
            return node.with_inputs(inputs)
        return replace(node, call=call, inputs=inputs)

    return graph.map(change)


def updates_of(call: Call) -> Mapping[int, int]:
    """Returns which inputs a call overwrites with which outputs (input number -> output number).

    Operators that know of training change their auxiliary states only there.
    """
    if isinstance(call, OpCall) and call.operator.takes_train and call.train is False:
        return {}
    return call.mutates


@dataclass(frozen=True, eq=False)
class Prepared:
    """A graph that is a function of its inputs.

    Attributes:
        graph: its inputs are the original ones, then the state of the random generator if
            `draws`; its outputs the original ones, then the new values of the inputs in `writes`.
        num_heads: how many original outputs there are.
        writes: the inputs, by number, that are overwritten after the run.
        draws: whether random numbers are drawn.
    """

    graph: Graph
    num_heads: int
    writes: tuple[int, ...]
    draws: bool


def prepare(graph: Graph, train: bool) -> Prepared:
    """Settles mode, random state and side effects.

    Random numbers are drawn in the order of the graph's nodes, each draw from the state that the
    one before left. Several updates of one variable follow one another in that order; all other
    readers see what it held at the start.

    Args:
        graph: of calls whose mode may be open, and without random states.
        train: whether it will run in a training pass.
    """
    moved = with_train(graph, train)
    state = variable("random_state")
    drawn = start = Edge(state, 0)
    held: dict[Node, Edge] = {}
    place: dict[Edge, Edge] = {}
    for node in moved.nodes:
        call = node.call
        if call is None:
            continue
        inputs = [place.get(edge, edge) for edge in node.inputs]
        updates = {
            position: output
            for position, output in updates_of(call).items()
            if node.inputs[position].node.is_variable
        }
        for position in updates:
            inputs[position] = held.get(node.inputs[position].node, inputs[position])
        if call.takes_state:
            inputs.append(drawn)
        made = node.with_inputs(tuple(inputs))
        place.update((Edge(node, i), Edge(made, i)) for i in range(call.num_outputs))
        if call.takes_state:
            drawn = Edge(made, call.num_outputs - 1)
        for position, output in updates.items():
            held[node.inputs[position].node] = Edge(made, output)
    numbers = {node: index for index, node in enumerate(graph.inputs)}
    writes = tuple(sorted(numbers[node] for node in held))
    outputs = [place.get(edge, edge) for edge in moved.outputs]
    outputs += [held[graph.inputs[index]] for index in writes]
    draws = drawn is not start
    if draws:
        return Prepared(
            Graph((*graph.inputs, state), (*outputs, drawn)),
            len(graph.outputs),
            (*writes, len(graph.inputs)),
            True,
        )
    return Prepared(Graph(graph.inputs, tuple(outputs)), len(graph.outputs), writes, False)
