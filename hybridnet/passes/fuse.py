"""`fused`: groups of nodes as one call each, for passes that decide what is launched together.

XLA fuses the operators of a program by itself. A group tells what is one thing to whoever runs,
counts or draws a graph call by call; MXNet's subgraph API is the model.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, final
from weakref import WeakValueDictionary

from hybridnet.base.device_name import DEVICE
from hybridnet.base.dtype import is_float
from hybridnet.base.errors import GraphError
from hybridnet.graph import (
    ControlCall,
    Edge,
    Graph,
    Moves,
    Node,
    Subgraph,
    call_with_train,
    infer_types,
    joint_gradient,
    opened,
)
from hybridnet.ops.core import MAKING, Arrays, Backward, Call, Types

from .pieces import piece_of

#: How many operators stand in the name of a group.
_NAMED: Final = 4


@final
class FusedCall(Call):
    """Several operators as one call.

    Its inputs are what they read of other nodes; its outputs what other nodes read of them.

    Attributes:
        part: the operators.
        weight: how many there are.
    """

    __slots__ = ("_gradients", "part", "weight")

    def __init__(self, part: Subgraph, num_scalars: int) -> None:
        super().__init__(len(part.graph.outputs), num_scalars=num_scalars)
        self.part = part
        self.weight = sum(call.weight for call in self.calls)
        self._gradients: dict[Hashable, tuple[FusedCall, tuple[int | None, ...]]] = {}

    @property
    def calls(self) -> list[Call]:
        """The operators, in order."""
        return [node.call for node in self.part.graph.nodes if node.call is not None]

    @property
    def name(self) -> str:
        """The operators' names."""
        names = [call.name for call in self.calls]
        return "+".join([*names[:_NAMED], "..."] if len(names) > _NAMED + 1 else names)

    def facts(self) -> Sequence[object] | None:
        """The operators."""
        facts = self.part.facts()
        return None if facts is None else (facts, self.num_scalars)

    def with_train(self, train: bool) -> Call:
        """Returns the same group in, or out of, a training pass."""

        def change(node: Node, inputs: tuple[Edge, ...]) -> Node:
            assert node.call is not None
            call = call_with_train(node.call, train)
            return node.with_inputs(inputs) if call is node.call else replace(
                node, call=call, inputs=inputs
            )  # fmt: skip

        graph = self.part.graph.map(change)
        if graph.outputs == self.part.graph.outputs:
            return self
        return _shared(Subgraph(graph, self.part.places), self.num_scalars)

    def infer(self, types: Types) -> Types:
        """Returns the types of the outputs."""
        return self.part.infer(types)

    def lower(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """Computes the operators with JAX."""
        return self.part.run(platform, operands, scalars)

    def evaluate(self, operands: Arrays, scalars: Arrays) -> Arrays:
        """Computes the operators with NumPy."""
        return self.part.run("host", operands, scalars)

    def gradient(self, back: Backward) -> Sequence[Any]:
        """Computes the operators again, and their gradients, in one call."""
        types = tuple(handle.type for handle in back.inputs)
        if any(kind is None for kind in types):
            raise GraphError(f"{self.name}: its gradient needs the shapes of its inputs")
        outputs = self.infer(types)
        given = tuple(number for number in back.given if is_float(outputs[number].dtype))
        wanted = tuple(
            number
            for number, kind in enumerate(types)
            if back.wanted[number] and is_float(kind.dtype)
        )
        if not given or not wanted:
            return [None] * len(back.inputs)
        key = (types, given, wanted)
        if key not in self._gradients:
            known = infer_types(self.part.graph, types)
            graph, numbers = joint_gradient(self.part.graph, wanted, given, known)
            made = _shared(Subgraph(graph, self.part.places), self.num_scalars)
            self._gradients[key] = made, numbers
        call, numbers = self._gradients[key]
        operands = [*back.inputs, *(back.grads[number] for number in given)]
        grads = back.apply(call, operands, back.scalars)
        found: list[Any] = [None] * len(back.inputs)
        for place, number in zip(wanted, numbers, strict=True):
            found[place] = None if number is None else grads[number]
        return found

    def __repr__(self) -> str:
        return f"<{self.name}>"


_made: Final[WeakValueDictionary[Any, FusedCall]] = WeakValueDictionary()


def _shared(part: Subgraph, num_scalars: int) -> FusedCall:
    """Returns the one call that does this: programs are found by the identity of their calls."""
    with MAKING:  # `setdefault` of a weak dictionary is not one step
        return _made.setdefault((part.key, num_scalars), FusedCall(part, num_scalars))


def fused(graph: Graph, groups: Sequence[Collection[Node]]) -> Graph:
    """Returns a graph in which each group of nodes is one call.

    Args:
        graph: the graph; it is left as it is.
        groups: which nodes are one call. A group of a single node changes nothing.

    Returns:
        A graph of the same inputs and outputs. The node of a group has the name of its last one.

    Raises:
        GraphError: a node is in two groups or is none of the graph's, may be in no group (a
            variable, a loop or branch, what draws random numbers, overwrites arrays, has a gradient
            of its own, runs on the host or waits for others), or a group is on several devices, or
            groups would wait for each other in a circle.

    Examples:
        >>> y = hn.sym.exp(hn.sym.var("x")) + 1
        >>> nodes = [node for node in y.graph.nodes if not node.is_variable]
        >>> print(hn.passes.fused(y.graph, [nodes]).outputs[0].node.call)
        <exp+_plus_scalar>
    """
    home = _homes(graph, [tuple(dict.fromkeys(group)) for group in groups])
    moves = Moves()
    for nodes in _in_order(graph, home):
        if len(nodes) == 1:
            moves.note(nodes[0], moves.moved(nodes[0]))
            continue
        own = set(nodes)
        outside = (node for node in graph.nodes if node not in own)
        read = {edge for node in outside for edge in node.inputs}.union(graph.outputs)
        makes = tuple(
            Edge(node, index)
            for node in nodes
            for index in range(node.num_outputs)
            if Edge(node, index) in read
        )
        piece = piece_of(nodes, makes, (), set())
        (part,), numbers = opened(piece.graph)
        last = nodes[-1]
        made = Node(
            _shared(part, len(numbers)), moves.edges(piece.reads), last.name, numbers, last.attrs,
            last.origin,
        )  # fmt: skip
        place = {edge: Edge(made, index) for index, edge in enumerate(makes)}
        for node in nodes:
            edges = [Edge(node, index) for index in range(node.num_outputs)]
            moves.note(node, [place.get(edge, edge) for edge in edges])
    return Graph(graph.inputs, moves.edges(graph.outputs), moves.nodes(graph.targets))


def _homes(graph: Graph, groups: Sequence[tuple[Node, ...]]) -> Mapping[Node, int]:
    """Returns the number of each node's group.

    Raises:
        GraphError: a group is none that can be one call.
    """
    known = set(graph.nodes)
    waited = {control for node in graph.nodes for control in node.controls}.union(graph.targets)
    home: dict[Node, int] = {}
    for number, group in enumerate(groups):
        for node in group:
            if node not in known:
                raise GraphError(f"fused: {node!r} of a group is no node of the graph")
            if node in home:
                raise GraphError(f"fused: {node.title} is in two groups")
            if len(group) > 1 and (node in waited or node.controls or not _may_be_inside(node)):
                raise GraphError(f"fused: {node.title} cannot be part of a group")
            home[node] = number
        devices = {node.attrs.get(DEVICE) for node in group}
        if len(devices) > 1:
            raise GraphError(f"fused: a group is on several devices: {sorted(map(str, devices))}")
    return home


def _may_be_inside(node: Node) -> bool:
    call = node.call
    return call is not None and not (
        isinstance(call, ControlCall)
        or call.takes_state
        or call.mutates
        or call.averages is not None
        or call.reads_now
        or call.own_gradients
        or call.on_host
        or call.in_order
    )


def _in_order(graph: Graph, home: Mapping[Node, int]) -> list[list[Node]]:
    """Returns the nodes that compute, those of a group in one list, each after what it reads.

    Raises:
        GraphError: groups wait for each other.
    """
    units: dict[Any, list[Node]] = {}
    for node in graph.nodes:
        if node.call is not None:
            units.setdefault(home.get(node, node), []).append(node)
    done: set[Node] = set()
    order: list[list[Node]] = []
    while units:
        ready = [
            key
            for key, nodes in units.items()
            if all(
                source.is_variable or source in done or home.get(source, source) == key
                for node in nodes
                for source in (*(edge.node for edge in node.inputs), *node.controls)
            )
        ]
        if not ready:
            names = ", ".join("+".join(node.name for node in nodes) for nodes in units.values())
            raise GraphError(f"fused: these would wait for each other in a circle: {names}")
        for key in ready:
            order.append(units.pop(key))
            done.update(order[-1])
    return order
