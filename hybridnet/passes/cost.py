"""The cost model: how long nodes and transfers take. The placer simulates a run with it.

The time of a node is that of its floating-point operations or that of moving its operands and
results through the device's memory, whichever is longer (the roofline model: Williams, Waterman,
Patterson, 2009). The time of a transfer is the latency of the link and that of the tensor's bytes.
The speeds are measured (`hybridnet.runtime.devices.calibrate`), or given by the user.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, final

from hybridnet.base.tensor_type import TensorType
from hybridnet.graph import Graph, Node
from hybridnet.ops.core import Call, OpCall, Types, VjpCall


@final
@dataclass(frozen=True, slots=True)
class DeviceCost:
    """The speed of a device.

    Attributes:
        flops: floating-point operations a second.
        bandwidth: bytes of its memory that it reads or writes a second.
        latency: seconds that every node takes beside that.
    """

    flops: float = 5e10
    bandwidth: float = 1e10
    latency: float = 1e-6

    def seconds(self, operations: float, nbytes: float) -> float:
        """Returns how long so many operations take, or to move so many bytes: the longer one."""
        return max(operations / self.flops, nbytes / self.bandwidth)


@final
@dataclass(frozen=True, slots=True)
class LinkCost:
    """The speed of tensors from one device to another.

    Attributes:
        bandwidth: bytes a second.
        latency: seconds that every tensor takes beside that; the launch of the program that waits
            for it is among them.
    """

    bandwidth: float = 5e9
    latency: float = 1e-4


_DEVICE: Final = DeviceCost()
_LINK: Final = LinkCost()


@final
@dataclass(frozen=True)
class CostModel:
    """The seconds that nodes and transfers take.

    Attributes:
        devices: by the devices' names in full.
        links: by the names of source and destination.
        other_devices: for devices that are not among them.
        other_links: for links that are not among them.
    """

    devices: Mapping[str, DeviceCost] = field(default_factory=dict)
    links: Mapping[tuple[str, str], LinkCost] = field(default_factory=dict)
    other_devices: DeviceCost = _DEVICE
    other_links: LinkCost = _LINK

    def compute(self, device: str, call: Call, inputs: Types, outputs: Types) -> float:
        """Returns the seconds that a call takes on a device."""
        cost = self.devices.get(device, self.other_devices)
        moved = sum(kind.nbytes for kind in (*inputs, *outputs))
        return cost.latency + cost.seconds(operations(call, inputs, outputs), moved)

    def transfer(self, source: str, destination: str, kind: TensorType) -> float:
        """Returns the seconds that a tensor takes from one device to another; 0 within one."""
        if source == destination:
            return 0.0
        link = self.links.get((source, destination), self.other_links)
        return link.latency + kind.nbytes / link.bandwidth


def operations(call: Call, inputs: Types, outputs: Types) -> float:
    """Returns how many floating-point operations a call takes.

    An operator that does not say so counts one for each element of its results. A gradient counts
    twice as many as its operator, as that of a product is two products.
    """
    if isinstance(call, VjpCall):
        count = len(inputs) - len(call.given)
        own = inputs[:count]
        return 2.0 * operations(call.of, own, call.of.infer(own))
    if isinstance(call, OpCall) and call.operator.cost is not None:
        shown = inputs[:-1] if call.takes_state else inputs
        return float(call.operator.cost(*shown, **call.attrs))
    return float(call.weight * sum(kind.size for kind in outputs))


def upward_ranks(
    graph: Graph,
    types: Mapping[Node, Types],
    compute: Callable[[Node], float],
    transfer: Callable[[TensorType], float],
) -> dict[Node, float]:
    """Returns for each node the least time, in seconds, from its start to the end of the graph.

    That is the longest path of nodes and transfers that begins with it (the upward rank of HEFT:
    Topcuoglu, Hariri, Wu, 2002). In the order of falling ranks each node comes after its inputs.

    Args:
        graph: the graph.
        types: the types of the results of each node.
        compute: a function from a node to the seconds it takes.
        transfer: a function from a tensor's type to the seconds it takes to the nodes that read it.
    """
    after: dict[Node, float] = dict.fromkeys(graph.nodes, 0.0)
    ranks: dict[Node, float] = {}
    for node in reversed(graph.nodes):
        rank = ranks[node] = after[node] + (0.0 if node.is_variable else compute(node))
        for edge in node.inputs:
            reached = rank + transfer(types[edge.node][edge.index])
            after[edge.node] = max(after[edge.node], reached)
    return ranks
