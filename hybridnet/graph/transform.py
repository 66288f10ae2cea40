"""From a graph as users write it to one that can run: in a mode, its side effects as outputs.

A symbol leaves open whether it runs in a training pass, where random numbers come from, and what
becomes of the arrays that operators overwrite, in which order. `prepare` fixes them, so that the
result is a function of its inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.core import Averages, Call, VjpCall, vjp_call
from hybridnet.ops.random import STATE_SHAPE
from hybridnet.ops.state import ASSIGN, READ

from .node import Edge, Graph, Moves, Node, variable

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


@dataclass(frozen=True, eq=False)
class Prepared:
    """A graph that is a function of its inputs.

    Attributes:
        graph: its inputs are the original ones, then the state of the random generator if
            `draws`; its outputs the original ones, then the new values of the inputs in `writes`.
        num_heads: how many original outputs there are.
        writes: the inputs, by number, that are overwritten after the run.
        draws: whether random numbers are drawn.
        averages: the running averages that the backward pass moves, latest first: held by inputs,
            the statistics in outputs after all others; and the inputs, by number, without whose
            gradients it does not come there.
    """

    graph: Graph
    num_heads: int
    writes: tuple[int, ...]
    draws: bool
    averages: tuple[tuple[Averages, frozenset[int]], ...] = ()


def prepare(graph: Graph, train: bool, *, goes_back: bool = False) -> Prepared:
    """Fixes mode, random state and side effects.

    Everything happens in the order of the graph's nodes. Each random number is drawn from the state
    that the draw before left. Several updates of one variable follow one another; who asks for what
    it holds at that point (`READ`, `Call.reads_now`) sees the last one, and all other readers see
    what it held at the start. What remains of control edges is the order of calls on the host.

    Args:
        graph: of calls whose mode may be open, and without random states.
        train: whether it will run in a training pass.
        goes_back: whether a backward pass may follow, which moves running averages; otherwise the
            graph moves them itself.
    """
    state = variable("random_state")
    drawn = start = Edge(state, 0)
    held: dict[Node, Edge] = {}
    moves = Moves()
    host = _HostOrder(graph)
    averaged: list[tuple[Node, Node]] = []
    for node in graph.nodes:
        if node.call is None:
            continue
        call = call_with_train(node.call, train)
        inputs = list(moves.edges(node.inputs))
        for position in node.call.reads_now:
            inputs[position] = held.get(node.inputs[position].node, inputs[position])
        if call is READ:
            source = node.inputs[0].node
            made: Node | tuple[Edge, ...] = (held.get(source, inputs[0]),)
        elif call is ASSIGN:
            if node.inputs[0].node.is_variable:
                held[node.inputs[0].node] = inputs[1]
            made = (inputs[1],)
        else:
            later = goes_back and call.averages is not None
            updates = {
                position: output
                for position, output in ({} if later else call.updates).items()
                if node.inputs[position].node.is_variable
            }
            for position in updates:
                inputs[position] = held.get(node.inputs[position].node, inputs[position])
            if call.takes_state:
                inputs.append(drawn)
            made = _changed(node, call, tuple(inputs), host.before(node))
            if call.takes_state:
                drawn = Edge(made, call.num_outputs - 1)
            if later:
                averaged.append((node, made))
            for position, output in updates.items():
                held[node.inputs[position].node] = Edge(made, output)
        host.note(node, made)
        moves.note(node, made)
    numbers = {node: index for index, node in enumerate(graph.inputs)}
    writes = tuple(sorted(numbers[node] for node in held))
    outputs = list(moves.edges(graph.outputs))
    outputs += [held[graph.inputs[index]] for index in writes]
    count, inputs_of_all = len(graph.outputs), graph.inputs
    draws = drawn is not start
    if draws:
        inputs_of_all, outputs = (*inputs_of_all, state), [*outputs, drawn]
        writes = (*writes, len(graph.inputs))
    averages = _averages(graph, averaged, outputs)
    made_graph = Graph(inputs_of_all, tuple(outputs), tuple(host.calls))
    return Prepared(made_graph, count, writes, draws, averages)


def _averages(
    graph: Graph, nodes: Sequence[tuple[Node, Node]], outputs: list[Edge]
) -> tuple[tuple[Averages, frozenset[int]], ...]:
    """Returns what `Prepared.averages` holds, and adds the statistics to the outputs.

    Args:
        graph: as it was.
        nodes: those that have averages, each with the one that takes its place.
        outputs: of the new graph.
    """
    numbers = {node: number for number, node in enumerate(graph.inputs)}
    sources = _sources(graph) if nodes else {}
    found = []
    for node, made in reversed(nodes):
        assert made.call is not None and made.call.averages is not None
        call, states, statistics = made.call.averages
        held = [node.inputs[place].node for place in states]
        if all(one.is_variable for one in held):
            places = range(len(outputs), len(outputs) + len(statistics))
            outputs += [Edge(made, number) for number in statistics]
            averages = Averages(call, [numbers[one] for one in held], places)
            found.append((averages, sources[node]))
    return tuple(found)


def _sources(graph: Graph) -> dict[Node, frozenset[int]]:
    """Returns for each node the inputs of a graph, by number, that a gradient reaches from it."""
    found = {node: frozenset([number]) for number, node in enumerate(graph.inputs)}
    for node in graph.nodes:
        if node.call is not None:
            before = () if node.call.no_gradient else (found[edge.node] for edge in node.inputs)
            found[node] = frozenset().union(*before)
    return found


def _changed(node: Node, call: Call, inputs: tuple[Edge, ...], controls: tuple[Node, ...]) -> Node:
    if call is node.call:
        return node.with_inputs(inputs).with_controls(controls)
    return replace(node, call=call, inputs=inputs, controls=controls)


class _HostOrder:
    """The order of calls on the host, in a graph with control edges."""

    def __init__(self, graph: Graph) -> None:
        #: The new nodes that run on the host, in order; none where nothing is controlled.
        self.calls: list[Node] = []
        self._watches = bool(graph.targets) or any(node.controls for node in graph.nodes)
        self._last: dict[Node, tuple[Node, ...]] = {}

    def before(self, node: Node) -> tuple[Node, ...]:
        """Returns the calls on the host before a call on the host, the nearest ones."""
        assert node.call is not None
        return self._nearest(node) if self._watches and node.call.on_host else ()

    def note(self, node: Node, made: Node | tuple[Edge, ...]) -> None:
        """Notes what a node has become."""
        if not self._watches:
            return
        if isinstance(made, Node) and made.call is not None and made.call.on_host:
            self.calls.append(made)
            self._last[node] = (made,)
        elif nearest := self._nearest(node):
            self._last[node] = nearest

    def _nearest(self, node: Node) -> tuple[Node, ...]:
        sources = (*(edge.node for edge in node.inputs), *node.controls)
        return tuple(
            dict.fromkeys(call for source in sources for call in self._last.get(source, ()))
        )
