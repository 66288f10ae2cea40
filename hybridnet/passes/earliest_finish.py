"""The greedy placer: simulates a run, and puts each node on the device where it ends first.

It follows section 3.2.1 of the TensorFlow white paper (Abadi et al., 2015). The simulation begins
at the sources of the graph. For each node it computes on which of the possible devices the node
would end first, including the time that its inputs take to get there. The order of the nodes is
that of HEFT (Topcuoglu, Hariri, Wu, 2002): nodes with the longest path to the end of the graph come
first, since most of the work waits for them.

The placer is greedy: it does not see what comes after a node, so it may choose a device from which
a later transfer is slow. Therefore it also tries, for each device, to put all nodes there that can
be there, and takes the plan with the shortest run. All this takes time linear in nodes and edges.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

from hybridnet.base.errors import GraphError
from hybridnet.base.replaceable import replaceable
from hybridnet.base.tensor_type import TensorType
from hybridnet.graph import Edge, Graph, Node
from hybridnet.ops.core import Types

from .cost import CostModel, upward_ranks


class Plan(NamedTuple):
    """The result of the simulation.

    Attributes:
        devices: of the nodes that were free.
        seconds: when the last node ends.
    """

    devices: dict[Node, str]
    seconds: float


class _Run:
    """A simulated run: when each device is free, and when each tensor is on which device."""

    def __init__(self, types: Mapping[Node, Types], costs: CostModel) -> None:
        self.types = types
        self.costs = costs
        self.free: dict[str, float] = defaultdict(float)
        self.device: dict[Node, str] = {}
        self.end: dict[Node, float] = {}

    def arrival(self, edge: Edge, device: str) -> float:
        """Returns when a tensor is on a device. A variable that has no device yet is there at 0."""
        source = self.device.get(edge.node)
        if source is None:
            return 0.0
        kind = self.types[edge.node][edge.index]
        return self.end[edge.node] + self.costs.transfer(source, device, kind)

    def end_on(self, node: Node, device: str) -> float:
        """Returns when a node would end on a device."""
        start = max((self.arrival(edge, device) for edge in node.inputs), default=0.0)
        return max(start, self.free[device]) + self.time(node, device)

    def time(self, node: Node, device: str) -> float:
        """Returns how long a node takes on a device."""
        assert node.call is not None
        inputs = tuple(self.types[edge.node][edge.index] for edge in node.inputs)
        return self.costs.compute(device, node.call, inputs, self.types[node])

    def put(self, node: Node, device: str) -> None:
        """Puts a node on a device, after what was put there before."""
        if node.is_variable:
            self.end[node] = 0.0
        else:
            self.end[node] = self.free[device] = self.end_on(node, device)
            for edge in node.inputs:  # values that are nowhere yet come to who reads them first
                if edge.node.is_variable and edge.node not in self.device:
                    self.put(edge.node, device)
        self.device[node] = device


@replaceable
def earliest_finish(
    graph: Graph,
    placed: Mapping[Node, str],
    choices: Mapping[Node, tuple[Hashable, tuple[str, ...]]],
    types: Mapping[Node, Types] | None,
    costs: CostModel,
) -> Plan:
    """Places the nodes whose device is not fixed.

    Args:
        graph: the graph.
        placed: the nodes whose device is fixed.
        choices: for each other node a key, which nodes that must be on one device share, and the
            devices it can be on. If several are equally good, the first one is taken.
        types: the types of the results of each node.
        costs: how long nodes and transfers take.

    Returns:
        A device for each of `choices`.

    Raises:
        GraphError: the types are not known.
    """
    if types is None:
        raise GraphError("place: needs the types of all inputs to place nodes by their cost")
    order = _order(graph, _Run(types, costs), placed, choices)
    favorites = dict.fromkeys(device for _, devices in choices.values() for device in devices)
    plans = [
        _simulate(graph, order, placed, choices, _Run(types, costs), favorite)
        for favorite in (None, *favorites)
    ]
    return min(plans, key=lambda plan: plan.seconds)


def _simulate(
    graph: Graph,
    order: list[Node],
    placed: Mapping[Node, str],
    choices: Mapping[Node, tuple[Hashable, tuple[str, ...]]],
    run: _Run,
    favorite: str | None,
) -> Plan:
    """Simulates a run in which each node that can be on the favorite device is put there."""
    chosen: dict[Hashable, str] = {}
    for node in graph.inputs:
        if node in placed:
            run.put(node, placed[node])
    for node in order:
        if node.is_variable:
            continue
        if node in placed:
            run.put(node, placed[node])
            continue
        key, devices = choices[node]
        device = chosen.get(key)
        if device is None and favorite in devices:
            device = favorite
        if device is None:
            device = min(devices, key=lambda choice: run.end_on(node, choice))
        chosen[key] = device
        run.put(node, device)
    for node, (key, devices) in choices.items():
        # Variables follow those they must be with, or else who reads them first, where they can.
        if node.is_variable:
            there = chosen.get(key) or run.device.get(node)
            run.device[node] = chosen.setdefault(key, there if there in devices else devices[0])
    return Plan({node: run.device[node] for node in choices}, max(run.end.values(), default=0.0))


def _order(
    graph: Graph, run: _Run, placed: Mapping[Node, str], choices: Mapping[Node, Any]
) -> list[Node]:
    """Returns the nodes by falling rank, with means over the devices a node can be on."""

    def mean_time(node: Node) -> float:
        devices = choices[node][1] if node in choices else (placed[node],)
        return sum(run.time(node, device) for device in devices) / len(devices)

    def transfer(kind: TensorType) -> float:
        # Two of all devices are the same as often as not.
        return 0.5 * (run.costs.other_links.latency + kind.nbytes / run.costs.other_links.bandwidth)

    ranks = upward_ranks(graph, run.types, mean_time, transfer)
    return sorted(graph.nodes, key=lambda node: -ranks[node])
