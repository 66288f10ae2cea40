"""The routes of gradients in a traced function: along its tape, as in an eager program.

The graph of a trace says what is computed from what. Where the function paused recording, detached
an array, or overwrote one outside recording, its tape says something else of gradients. What the
tape says is written into the graph, with operators that stop a gradient or send it elsewhere, so
that the gradient of the graph is that of the tape, at every order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import final

from hybridnet import tape
from hybridnet.graph import MIRRORING, REROUTED, Edge, Node
from hybridnet.ops.core import Call, registry
from hybridnet.runtime.recording import Value
from hybridnet.runtime.traces import GraphBuilder, Trace


@final
class GradientRoutes:
    """The gradient's routes in one trace.

    Args:
        leaves: places on the tape of what comes from outside -> the Value that stands for it.
        ends: places on the tape of what the function gives to its caller.

    Attributes:
        tracked: those of `ends` from which a gradient can be asked for.
    """

    def __init__(
        self, trace: Trace, leaves: Mapping[tape.Edge, Value], ends: Sequence[tape.Edge]
    ) -> None:
        self._trace = trace
        self._leaves = leaves
        self._live: dict[Node, bool] = {}
        self._taped: dict[int, tape.TapeNode] = {}
        self.tracked = frozenset(edge for edge in ends if self._walk(edge))

    @property
    def nodes(self) -> list[tape.TapeNode]:
        """The nodes of the tape that a gradient asked for outside comes through, latest first."""
        found = dict.fromkeys(self._taped.values())
        return sorted(found, key=lambda node: node.order, reverse=True)

    def _walk(self, end: tape.Edge) -> bool:
        """Notes the tape from one end on; returns whether a gradient can be asked for there."""
        nodes = []
        arrives = False
        seen = {end}
        stack = [end]
        while stack:
            edge = stack.pop()
            if edge in self._leaves:
                arrives = True
                continue
            node = edge.node
            if type(node) is not tape.TapeNode or node.order < self._trace.began:
                continue
            if node.outputs is None:
                return False  # used up by a backward() inside the function
            nodes.append(node)
            sources = {source for source in node.edges if source is not None} - seen
            seen.update(sources)
            stack.extend(sources)
        if arrives:
            for node in nodes:
                first = node.outputs[0] if node.outputs else None
                if first is not None:  # else it has no gradient
                    self._taped[first.index] = node
        return arrives

    def connect(
        self, builder: GraphBuilder, call: Call, number: int, inputs: list[Edge]
    ) -> Sequence[Edge]:
        """Returns an instruction's inputs, through which gradients flow as on the tape."""
        if not self._live:
            for value in self._leaves.values():
                self._live[builder.edge(value).node] = True
        for edge in inputs:
            self._is_live(edge)
        node = self._taped.get(number)
        if node is None:
            return inputs
        places = [*node.edges, *[None] * (len(inputs) - len(node.edges))]
        return [self.joined(builder, *pair) for pair in zip(inputs, places, strict=True)]

    def joined(self, builder: GraphBuilder, edge: Edge, place: tape.Edge | None) -> Edge:
        """Returns a value whose gradient flows to a place on the tape; None for nowhere."""
        source = self._source(builder, place)
        if source == edge:
            return edge
        if source is None:
            if not self._is_live(edge):
                return edge
            block, _ = registry.get("BlockGrad").bind({})
            return _beside(edge, block, (edge,), "stop")
        return _beside(edge, REROUTED, (edge, source), "rerouted")

    def _source(self, builder: GraphBuilder, place: tape.Edge | None) -> Edge | None:
        """Returns where a place on the tape is in the graph; None if no gradient goes there."""
        if place is None:
            return None
        value = self._leaves.get(place)
        if value is None and type(place.node) is tape.TapeNode and place.node.outputs:
            made = place.node.outputs[place.index]
            value = made if made is not None and made.segment is self._trace.segment else None
        return None if value is None else builder.edge(value)

    def _is_live(self, edge: Edge) -> bool:
        """Whether the graph would take a gradient from here on to something outside.

        Asked of each instruction's inputs in turn, so that it never goes deep.
        """
        node = edge.node
        found = self._live.get(node)
        if found is None:
            blocks = node.call is None or bool(node.call.no_gradient)
            found = not blocks and any(self._is_live(x) for x in node.inputs)
            self._live[node] = found
        return found


def _beside(edge: Edge, call: Call, inputs: tuple[Edge, ...], verb: str) -> Edge:
    """Returns the result of a new node, which is computed again where what it passes on is."""
    attrs = {name: text for name, text in edge.node.attrs.items() if name in MIRRORING}
    return Edge(Node(call, inputs, f"{verb}_{edge.node.name}", attrs=attrs), 0)
