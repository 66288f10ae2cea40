"""Partition: a placed graph becomes one graph for each device, which talk by Send and Recv.

As in TensorFlow (Abadi et al., "TensorFlow: Large-Scale Machine Learning on Heterogeneous
Distributed Systems", 2015, section 3.2.2): an edge from device x to device y becomes a Send node in
x's graph and a Recv node in y's; all readers of a tensor on one device share one Recv, so that it
is sent once and held once. What travels, and when, is then a matter of these two nodes alone, and
every device can be scheduled by itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

from hybridnet.base.device_name import DEVICE
from hybridnet.base.errors import GraphError, InternalError
from hybridnet.base.tensor_type import TensorType
from hybridnet.graph.node import Edge, Graph, Node
from hybridnet.ops.call import Backward, Call, Types

__all__ = ["Part", "Partition", "RecvCall", "SendCall", "Transfer", "partition"]


class Transfer(NamedTuple):
    """A tensor that goes from one device to another.

    Attributes:
        source: the name of the device that makes it.
        destination: the name of the device that it is for.
        tensor: its name, which no other tensor of the graph has.
    """

    source: str
    destination: str
    tensor: str


class _TransferCall(Call):
    """What Send and Recv have in common: they do not compute."""

    __slots__ = ("transfer", "type")

    def __init__(self, transfer: Transfer, kind: TensorType) -> None:
        self.transfer = transfer
        self.type = kind
        self.num_outputs = self.num_visible = 1
        self.num_scalars = 0
        self.takes_state = False

    def infer(self, types: Types) -> Types:
        """The tensor's type."""
        return (self.type,)

    def lower(
        self, platform: str, operands: Sequence[Any], scalars: Sequence[Any]
    ) -> Sequence[Any]:
        """Not part of a program: the executor sends and receives between programs."""
        raise InternalError(f"{self.name} of {self.transfer.tensor} in a program")

    def gradient(self, back: Backward) -> Sequence[Any]:
        """Graphs are differentiated before they are partitioned."""
        raise InternalError(f"the gradient of {self.name} of {self.transfer.tensor}")

    def __repr__(self) -> str:
        source, destination, tensor = self.transfer
        return f"{self.name}({tensor!r}, {source} -> {destination})"


@final
class SendCall(_TransferCall):
    """Hands its input to the rendezvous; its output is that input."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """As TensorFlow names it."""
        return "_Send"


@final
class RecvCall(_TransferCall):
    """Its output comes from the rendezvous; it has no input."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """As TensorFlow names it."""
        return "_Recv"


@final
@dataclass(frozen=True, eq=False)
class Part:
    """What one device does.

    Attributes:
        device: its name.
        graph: its inputs are those of the whole graph whose values are on this device; its outputs
            the results that are wanted here, and then the Send nodes'.
        inputs: which of the whole graph's inputs they are, by number.
        results: which of the whole graph's outputs they are, by number.
        sends: the Send nodes.
        receives: the Recv nodes.
        originals: for each node that computes, which of the whole graph's nodes it is.
        levels: and how often, at most, a path to it goes from one device to another.
    """

    device: str
    graph: Graph
    inputs: tuple[int, ...]
    results: tuple[int, ...]
    sends: tuple[Node, ...]
    receives: tuple[Node, ...]
    originals: Mapping[Node, Node]
    levels: Mapping[Node, int]


@final
@dataclass(frozen=True, eq=False)
class Partition:
    """A graph cut into one for each device.

    Attributes:
        parts: by device, in the order of their first nodes.
        transfers: one for each pair of Send and Recv.
    """

    parts: Mapping[str, Part]
    transfers: tuple[Transfer, ...]


class _Building:
    """The part of one device while it is made."""

    def __init__(self) -> None:
        self.place: dict[Edge, Edge] = {}
        self.originals: dict[Node, Node] = {}
        self.levels: dict[Node, int] = {}
        self.inputs: list[int] = []
        self.results: list[tuple[int, Edge]] = []
        self.sends: list[Node] = []
        self.receives: list[Node] = []


class _Cutter:
    """Takes nodes in order to the parts of their devices."""

    def __init__(self, graph: Graph, devices: Mapping[Node, str], types: Mapping[Node, Types]):
        self.devices = devices
        self.types = types
        self.parts: dict[str, _Building] = {}
        self.transfers: list[Transfer] = []
        self._names: dict[Edge, str] = {}
        self._taken: dict[str, int] = {}
        self._levels: dict[Node, int] = {}
        self._numbers = {node: number for number, node in enumerate(graph.inputs)}

    def part(self, device: str) -> _Building:
        return self.parts.setdefault(device, _Building())

    def add(self, node: Node) -> None:
        """Puts a node, whose inputs were put before, in the part of its device."""
        device = self.devices[node]
        part = self.part(device)
        self._levels[node] = max(
            (self._levels[edge.node] + (self.devices[edge.node] != device) for edge in node.inputs),
            default=0,
        )
        if node.is_variable:
            part.inputs.append(self._numbers[node])
            part.place[Edge(node, 0)] = Edge(node, 0)
            return
        made = node.with_inputs(tuple(self.on(edge, device) for edge in node.inputs))
        part.originals[made] = node
        part.levels[made] = self._levels[node]
        for index in range(node.num_outputs):
            part.place[Edge(node, index)] = Edge(made, index)

    def on(self, edge: Edge, device: str) -> Edge:
        """Returns a tensor in the part of a device, sending it there if need be."""
        part = self.part(device)
        found = part.place.get(edge)
        if found is None:
            found = part.place[edge] = self._send(edge, device)
        return found

    def _send(self, edge: Edge, device: str) -> Edge:
        source = self.devices[edge.node]
        transfer = Transfer(source, device, self._name(edge))
        kind = self.types[edge.node][edge.index]
        origin, tensor = edge.node.origin, {"__tensor__": transfer.tensor}
        local = self.parts[source].place[edge]
        attrs = {**tensor, "__to__": device, DEVICE: source}
        name = f"{edge.node.name}/send"
        send = Node(SendCall(transfer, kind), (local,), name, (), attrs, origin)
        self.parts[source].sends.append(send)
        attrs = {**tensor, "__from__": source, DEVICE: device}
        name = f"{edge.node.name}/recv"
        receive = Node(RecvCall(transfer, kind), (), name, (), attrs, origin)
        self.part(device).receives.append(receive)
        self.transfers.append(transfer)
        return Edge(receive, 0)

    def _name(self, edge: Edge) -> str:
        """Returns a tensor's name; nodes of one name are numbered, since names may come twice."""
        if edge not in self._names:
            name = f"{edge.node.name}:{edge.index}"
            number = self._taken.get(name, 0)
            self._taken[name] = number + 1
            self._names[edge] = f"{name}#{number}" if number else name
        return self._names[edge]


def partition(
    graph: Graph,
    devices: Mapping[Node, str],
    types: Mapping[Node, Types],
    wanted: Sequence[str | None] = (),
) -> Partition:
    """Cuts a graph into one for each device.

    Args:
        graph: what is cut.
        devices: the name of each node's device, variables included.
        types: of all nodes.
        wanted: for each output the device on which it is wanted; None, or no entry, leaves it
            where it is made.

    Returns:
        The parts. There are as many transfers as there are pairs of a tensor and another device
        on which it is read or wanted.

    Raises:
        GraphError: a node has no device.
    """
    for node in (*graph.inputs, *graph.nodes):
        if node not in devices:
            raise GraphError(f"partition: node {node.title} has no device")
    cutter = _Cutter(graph, devices, types)
    for node in graph.nodes:
        cutter.add(node)
    places = [*wanted, *[None] * (len(graph.outputs) - len(wanted))]
    for number, (edge, place) in enumerate(zip(graph.outputs, places, strict=True)):
        device = place or devices[edge.node]
        found = cutter.on(edge, device)
        cutter.part(device).results.append((number, found))
    parts = {device: _finished(graph, device, one) for device, one in cutter.parts.items()}
    return Partition(parts, tuple(cutter.transfers))


def _finished(graph: Graph, device: str, part: _Building) -> Part:
    inputs = sorted(part.inputs)
    outputs = [edge for _, edge in part.results] + [Edge(send, 0) for send in part.sends]
    return Part(
        device,
        Graph(tuple(graph.inputs[i] for i in inputs), tuple(outputs)),
        tuple(inputs),
        tuple(number for number, _ in part.results),
        tuple(part.sends),
        tuple(part.receives),
        part.originals,
        part.levels,
    )
