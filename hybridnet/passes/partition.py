"""Partition: a placed graph becomes one graph for each device, which talk by Send and Recv.

As in TensorFlow (Abadi et al., "TensorFlow: Large-Scale Machine Learning on Heterogeneous
Distributed Systems", 2015, section 3.2.2): an edge from device x to device y becomes a Send node in
x's graph and a Recv node in y's; all readers of a tensor on one device share one Recv, so that it
is sent once and held once. What travels, and when, is then a matter of these two nodes alone, and
every device can be scheduled by itself. A control edge between devices is cut in the same way; its
Send and Recv have no value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, final

import numpy as np

from hybridnet.base.device_name import DEVICE
from hybridnet.base.errors import GraphError
from hybridnet.base.replaceable import replaceable
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.graph import Edge, Graph, Node
from hybridnet.ops.core import Types

from .flow import ExecutorCall, FlowCall, Frame, Scopes

#: The type of what goes along a control edge.
NOTHING: Final = tensor_type((0,), np.dtype(np.bool_))


class Transfer(NamedTuple):
    """A tensor that goes from one device to another.

    Attributes:
        source: the name of the device that makes it.
        destination: the name of the device that it is for.
        tensor: its name, which no other tensor of the graph has; of a control edge ``^`` and the
            name of the node that must have run.
    """

    source: str
    destination: str
    tensor: str


class TransferCall(ExecutorCall):
    """Base of Send and Recv, which do not compute."""

    __slots__ = ("transfer", "type")

    def __init__(self, transfer: Transfer, kind: TensorType) -> None:
        self.transfer = transfer
        self.type = kind
        super().__init__()

    @property
    def is_control(self) -> bool:
        """Whether it stands for a control edge, and hands no value on."""
        return self.type is NOTHING and self.transfer.tensor.startswith("^")

    def infer(self, types: Types) -> Types:
        """The tensor's type."""
        return (self.type,)

    def __repr__(self) -> str:
        source, destination, tensor = self.transfer
        return f"{self.name}({tensor!r}, {source} -> {destination})"


@final
class SendCall(TransferCall):
    """Hands its input to the rendezvous; its output is that input."""

    __slots__ = ()
    name = "_Send"


@final
class RecvCall(TransferCall):
    """Its output comes from the rendezvous; it has no input."""

    __slots__ = ()
    name = "_Recv"


@final
@dataclass(frozen=True, eq=False)
class DevicePart:
    """The part of one device.

    Attributes:
        device: its name.
        graph: its inputs are those of the whole graph whose values are on this device; its outputs
            the results that are wanted here, and then the Send nodes'.
            Its targets are what must run here though nothing reads it.
        inputs: which of the whole graph's inputs they are, by number.
        results: which of the whole graph's outputs they are, by number.
        sends: the Send nodes.
        receives: the Recv nodes.
        originals: for each node that computes, which of the whole graph's nodes it is.
        levels: and how often, at most, a path to it goes from one device to another; in a lowered
            graph see `Scopes`.
        regions: and the number of its scope.
        frames: for each node the loop that its outputs belong to.
    """

    device: str
    graph: Graph
    inputs: tuple[int, ...]
    results: tuple[int, ...]
    sends: tuple[Node, ...]
    receives: tuple[Node, ...]
    originals: Mapping[Node, Node]
    levels: Mapping[Node, int]
    regions: Mapping[Node, int]
    frames: Mapping[Node, Frame | None]


@final
@dataclass(frozen=True, eq=False)
class Partition:
    """A graph cut into one for each device.

    Attributes:
        parts: by device, in the order of their first nodes.
        transfers: one for each pair of Send and Recv.
    """

    parts: Mapping[str, DevicePart]
    transfers: tuple[Transfer, ...]

    def verify(self, graph: Graph, devices: Mapping[Node, str]) -> None:
        """Checks that these are the parts of a graph: who else cuts it may give anything.

        Raises:
            GraphError: a node is not in the part of its device or in another as well, a part has a
                node that is none of the graph's, a Send or Recv is alone or comes twice, or an
                output is nowhere.
        """
        left = {node for node in graph.nodes if node.call is not None}
        ends: dict[type, Counter[Transfer]] = {SendCall: Counter(), RecvCall: Counter()}
        for device, part in self.parts.items():
            part.graph.verify()
            for node in part.graph.nodes:
                if isinstance(node.call, (SendCall, RecvCall)):
                    ends[type(node.call)][node.call.transfer] += 1
                elif node.call is not None and not isinstance(node.call, FlowCall):
                    whole = part.originals.get(node)
                    if whole not in left or devices[whole] != device:
                        raise GraphError(f"partition: {device} has {node.title}, which is not its")
                    left.remove(whole)
        sent, received = ends[SendCall], ends[RecvCall]
        for transfer in sent | received:
            if sent[transfer] != 1 or received[transfer] != 1:
                raise GraphError(
                    f"partition: {transfer.tensor!r} has {sent[transfer]} Sends from "
                    f"{transfer.source} and {received[transfer]} Recvs on {transfer.destination}"
                )
        for node in graph.nodes:
            if node in left and not isinstance(node.call, FlowCall):
                raise GraphError(f"partition: node {node.title} is in no part")
        results = sorted(number for part in self.parts.values() for number in part.results)
        if results != list(range(len(graph.outputs))):
            raise GraphError(f"partition: the parts have the outputs {results} of the graph")


class _Building:
    """The part of one device while it is made."""

    def __init__(self) -> None:
        self.place: dict[Edge, Edge] = {}
        self.nodes: dict[Node, Node] = {}
        self.originals: dict[Node, Node] = {}
        self.scopes = Scopes()
        self.inputs: list[int] = []
        self.results: list[tuple[int, Edge]] = []
        self.sends: list[Node] = []
        self.receives: list[Node] = []


class _Cutter:
    """Takes nodes in order to the parts of their devices."""

    def __init__(
        self,
        graph: Graph,
        devices: Mapping[Node, str],
        types: Mapping[Node, Types],
        scopes: Scopes | None,
    ) -> None:
        self.devices = devices
        self.types = types
        self.scopes = scopes or _plain_scopes(graph, devices)
        self.parts: dict[str, _Building] = {}
        self.transfers: list[Transfer] = []
        self._names: dict[Edge | Node, str] = {}
        self._taken: dict[str, int] = {}
        self._numbers = {node: number for number, node in enumerate(graph.inputs)}

    def part(self, device: str) -> _Building:
        return self.parts.setdefault(device, _Building())

    def add(self, node: Node) -> None:
        """Puts a node, whose inputs were put before, in the part of its device."""
        device = self.devices[node]
        part = self.part(device)
        if node.is_variable:
            part.inputs.append(self._numbers[node])
            part.place[Edge(node, 0)] = Edge(node, 0)
            part.scopes.frames[node] = None
            return
        made = node.with_inputs(tuple(self.on(edge, device) for edge in node.inputs))
        made = made.with_controls(tuple(self.after(control, device) for control in node.controls))
        part.nodes[node] = made
        part.scopes.frames[made] = self.scopes.frames[node]
        if not isinstance(node.call, FlowCall):
            part.originals[made] = node
            part.scopes.levels[made] = self.scopes.levels[node]
            part.scopes.regions[made] = self.scopes.regions[node]
        for index in range(node.num_outputs):
            part.place[Edge(node, index)] = Edge(made, index)

    def on(self, edge: Edge, device: str) -> Edge:
        """Returns a tensor in the part of a device, sending it there if need be."""
        part = self.part(device)
        found = part.place.get(edge)
        if found is None:
            found = Edge(self._transfer(edge.node, edge.index, device), 0)
            part.place[edge] = found
        return found

    def after(self, node: Node, device: str) -> Node:
        """Returns what runs on a device once a node has run."""
        part = self.part(device)
        found = part.nodes.get(node)
        if found is None:
            found = part.nodes[node] = self._transfer(node, None, device)
        return found

    def _transfer(self, node: Node, index: int | None, device: str) -> Node:
        """Makes Send and Recv of an output of a node, or of its having run; returns the Recv."""
        source = self.devices[node]
        edge = None if index is None else Edge(node, index)
        transfer = Transfer(source, device, self._name(node if edge is None else edge))
        kind = NOTHING if index is None else self.types[node][index]
        here, there = self.parts[source], self.part(device)
        reads = () if edge is None else (here.place[edge],)
        controls = (here.nodes[node],) if edge is None else ()
        tensor, frame = {"__tensor__": transfer.tensor}, self.scopes.frames[node]
        attrs = {**tensor, "__to__": device, DEVICE: source}
        name = f"{node.name}/send"
        send = Node(SendCall(transfer, kind), reads, name, (), attrs, node.origin, controls)
        here.sends.append(send)
        attrs = {**tensor, "__from__": source, DEVICE: device}
        name = f"{node.name}/recv"
        receive = Node(RecvCall(transfer, kind), (), name, (), attrs, node.origin)
        there.receives.append(receive)
        here.scopes.frames[send] = there.scopes.frames[receive] = frame
        self.transfers.append(transfer)
        return receive

    def _name(self, what: Edge | Node) -> str:
        """Returns a tensor's name; nodes of one name are numbered, since names may come twice."""
        if what not in self._names:
            name = f"^{what.name}" if isinstance(what, Node) else f"{what.node.name}:{what.index}"
            number = self._taken.get(name, 0)
            self._taken[name] = number + 1
            self._names[what] = f"{name}#{number}" if number else name
        return self._names[what]


def _plain_scopes(graph: Graph, devices: Mapping[Node, str]) -> Scopes:
    """Returns the scopes of a graph without primitives: there is one."""
    levels: dict[Node, int] = {}
    for node in graph.nodes:
        sources = (*(edge.node for edge in node.inputs), *node.controls)
        levels[node] = max(
            (levels[source] + (devices[source] != devices[node]) for source in sources), default=0
        )
    return Scopes(dict.fromkeys(graph.nodes), dict.fromkeys(graph.nodes, 0), levels)


@replaceable
def partition(
    graph: Graph,
    devices: Mapping[Node, str],
    types: Mapping[Node, Types],
    wanted: Sequence[str | None] = (),
    scopes: Scopes | None = None,
) -> Partition:
    """Cuts a graph into a part for each device.

    Args:
        graph: the graph.
        devices: the name of each node's device, variables included.
        types: the types of the results of each node.
        wanted: for each output the device on which it is wanted; None, or no entry, leaves it
            where it is made.
        scopes: the frames and branches of a graph in which control flow was lowered to primitives;
            None for another graph.

    Returns:
        The parts, and the transfers between them. A tensor is transferred once to each other device
        on which it is read or wanted; and for a control edge to another device there is a transfer
        without a value.

    Raises:
        GraphError: a node has no device.
    """
    for node in (*graph.inputs, *graph.nodes):
        if node not in devices:
            raise GraphError(f"partition: node {node.title} has no device")
    cutter = _Cutter(graph, devices, types, scopes)
    for node in graph.nodes:
        cutter.add(node)
    places = [*wanted, *[None] * (len(graph.outputs) - len(wanted))]
    for number, (edge, place) in enumerate(zip(graph.outputs, places, strict=True)):
        device = place or devices[edge.node]
        found = cutter.on(edge, device)
        cutter.part(device).results.append((number, found))
    parts = {device: _finished(graph, device, part) for device, part in cutter.parts.items()}
    return Partition(parts, tuple(cutter.transfers))


def _finished(graph: Graph, device: str, part: _Building) -> DevicePart:
    inputs = sorted(part.inputs)
    outputs = [edge for _, edge in part.results] + [Edge(send, 0) for send in part.sends]
    made = [part.nodes[node] for node in graph.targets if node in part.nodes]
    targets = tuple(node for node in made if not isinstance(node.call, RecvCall))
    return DevicePart(
        device,
        Graph(tuple(graph.inputs[i] for i in inputs), tuple(outputs), targets),
        tuple(inputs),
        tuple(number for number, _ in part.results),
        tuple(part.sends),
        tuple(part.receives),
        part.originals,
        part.scopes.levels,
        part.scopes.regions,
        part.scopes.frames,
    )
