"""Puts a part in the place of the library's placer: `hybridnet.passes.earliest_finish`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final, NamedTuple, final

from hybridnet.graph import Graph, Node
from hybridnet.ops.core import Types
from hybridnet.passes import CostModel, Plan

from .simulated import Speeds, Work, length_of, placed_by

#: For each node that is free its key, which nodes that must be together share, and its devices.
Choices = Mapping[Node, tuple[Hashable, tuple[str, ...]]]


class Placed(NamedTuple):
    """A question to a part, and its answer."""

    nodes: Sequence[Work]
    speeds: Speeds
    places: Mapping[Work, str]


@final
class Placer:
    """A part as the function that `earliest_finish` can be replaced by.

    The part is not asked of variables that are free: their values are where they are read first.

    Attributes:
        asked: what it was asked so far.
    """

    def __init__(self, part: Any) -> None:
        self._part: Final = part
        self.asked: Final[list[Placed]] = []

    def __call__(
        self,
        graph: Graph,
        placed: Mapping[Node, str],
        choices: Choices,
        types: Mapping[Node, Types],
        costs: CostModel,
    ) -> Plan:
        """See `hybridnet.passes.earliest_finish`."""
        works = works_of(graph, placed, choices, types)
        nodes, speeds = list(works.values()), speeds_of(works, placed, choices, types, costs)
        places = placed_by(self._part, nodes, speeds)
        self.asked.append(Placed(nodes, speeds, places))
        devices = {node: places[work] for node, work in works.items() if node in choices}
        seconds = length_of(nodes, places, speeds)
        return Plan(_with_variables(graph, devices, placed, choices), seconds)


def works_of(
    graph: Graph, placed: Mapping[Node, str], choices: Choices, types: Mapping[Node, Types]
) -> dict[Node, Work]:
    """Returns what a placer is asked of: the nodes that compute, and variables that are fixed."""
    nodes = [node for node in graph.nodes if not (node.is_variable and node in choices)]
    shared = Counter(choices[node][0] for node in nodes if node in choices)
    works: dict[Node, Work] = {}
    for node in nodes:
        key, devices = choices.get(node, (None, ()))
        edges = [edge for edge in dict.fromkeys(node.inputs) if edge.node in works]
        reads = [(works[edge.node], types[edge.node][edge.index].nbytes) for edge in edges]
        together = f"{key}" if shared[key] > 1 else ""
        works[node] = Work(node.name, tuple(reads), devices or (placed[node],), together)
    return works


def speeds_of(
    works: Mapping[Node, Work],
    placed: Mapping[Node, str],
    choices: Choices,
    types: Mapping[Node, Types],
    costs: CostModel,
) -> Speeds:
    """Returns how long these nodes take by a cost model."""
    nodes = {work: node for node, work in works.items()}

    def seconds(device: str, work: Work) -> float:
        node = nodes[work]
        if node.call is None:
            return 0.0
        inputs = tuple(types[edge.node][edge.index] for edge in node.inputs)
        return costs.compute(device, node.call, inputs, types[node])

    def link(source: str, device: str, nbytes: int) -> float:
        cost = costs.links.get((source, device), costs.other_links)
        return cost.latency + nbytes / cost.bandwidth

    all_devices = dict.fromkeys(placed.values())
    all_devices |= dict.fromkeys(name for _, devices in choices.values() for name in devices)
    return Speeds(list(all_devices), seconds, link)


def _with_variables(
    graph: Graph, devices: dict[Node, str], placed: Mapping[Node, str], choices: Choices
) -> dict[Node, str]:
    """Adds the variables: where those are that they must be with, or else their first readers."""
    together = {choices[node][0]: device for node, device in devices.items()}
    first: dict[Node, str] = {}
    for node in graph.nodes:
        for edge in node.inputs:
            first.setdefault(edge.node, devices.get(node) or placed.get(node, ""))
    for node, (key, can) in choices.items():
        if node.is_variable:
            device = together.get(key) or first.get(node)
            devices[node] = together.setdefault(key, device if device in can else can[0])
    return devices
