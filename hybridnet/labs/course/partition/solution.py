"""Lab 6: nodes are taken to their devices one after the other; what they miss is sent there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hybridnet.base.tensor_type import TensorType
from hybridnet.graph import Edge, Graph, Node
from hybridnet.labs.course.partition.share import Share, receive, send
from hybridnet.passes import Transfer


class Cutter:
    """The shares while they are made."""

    def __init__(
        self, devices: Mapping[Node, str], types: Mapping[Node, tuple[TensorType, ...]]
    ) -> None:
        self.devices = devices
        self.types = types
        self.shares: dict[str, Share] = {}
        #: Where each tensor of the whole graph is in the shares, by device.
        self.edges: dict[tuple[Edge, str], Edge] = {}
        #: What runs in the shares when a node of the whole graph has run, by device.
        self.ends: dict[tuple[Node, str], Node] = {}
        self.count = 0

    def share(self, device: str) -> Share:
        """Returns the share of a device."""
        return self.shares.setdefault(device, Share())

    def add(self, node: Node) -> None:
        """Takes a node, whose inputs were taken before, to its device."""
        device = self.devices[node]
        made = node
        if not node.is_variable:
            made = node.with_inputs(tuple(self.edge(edge, device) for edge in node.inputs))
            made = made.with_controls(tuple(self.end(one, device) for one in node.controls))
            self.share(device).nodes[node] = made
            self.ends[node, device] = made
        for index in range(node.num_outputs):
            self.edges[Edge(node, index), device] = Edge(made, index)

    def edge(self, edge: Edge, device: str) -> Edge:
        """Returns where a tensor is on a device; the first time it is sent there."""
        if (edge, device) not in self.edges:
            kind = self.types[edge.node][edge.index]
            transfer = self.transfer(edge.node, f"{edge.node.name}:{edge.index}", device)
            here = self.edges[edge, transfer.source]
            self.share(transfer.source).sends.append(send(transfer, here, kind))
            self.edges[edge, device] = Edge(self.recv(transfer, kind), 0)
        return self.edges[edge, device]

    def end(self, node: Node, device: str) -> Node:
        """Returns what has run on a device only when a node has, on whatever device."""
        if (node, device) not in self.ends:
            transfer = self.transfer(node, node.name, device)
            here = self.ends[node, transfer.source]
            self.share(transfer.source).sends.append(send(transfer, here))
            self.ends[node, device] = self.recv(transfer)
        return self.ends[node, device]

    def transfer(self, node: Node, name: str, device: str) -> Transfer:
        """Returns a transfer with a name that no other has: two nodes may have the same name."""
        self.count += 1
        return Transfer(self.devices[node], device, f"{name}#{self.count}")

    def recv(self, transfer: Transfer, *kind: TensorType) -> Node:
        """Returns a new Recv of the device that a transfer goes to."""
        made = receive(transfer, *kind)
        self.share(transfer.destination).receives.append(made)
        return made


def partition(
    graph: Graph,
    devices: Mapping[Node, str],
    types: Mapping[Node, tuple[TensorType, ...]],
    wanted: Sequence[str],
) -> dict[str, Share]:
    """Cuts a graph into a share for each device."""
    cutter = Cutter(devices, types)
    for node in graph.nodes:
        cutter.add(node)
    for number, (edge, device) in enumerate(zip(graph.outputs, wanted, strict=True)):
        cutter.share(device).results[number] = cutter.edge(edge, device)
    return cutter.shares
