"""Puts a part in the place of the library's partition: `hybridnet.passes.partition`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, final

from hybridnet.graph import Edge, Graph, Node
from hybridnet.ops.core import Types
from hybridnet.passes import DevicePart, FlowCall, Partition, SendCall, partition

from .share import (
    Share,
    check_nodes,
    check_pairs,
    check_reads,
    check_run,
    check_transfers,
    shares_of,
)


@final
class Cutting:
    """A part as the function that `partition` can be replaced by.

    Graphs with loops or branches across devices are cut by the library.

    Attributes:
        asked: how many graphs the part has cut.
        nodes: how many nodes that compute these had.
        sent: how many Sends it has made.
        cuts: of each graph what was cut, and how.
    """

    def __init__(self, part: Any) -> None:
        self._part: Final = part
        self.asked = self.nodes = self.sent = 0
        self.cuts: Final[list[tuple[Graph, Partition]]] = []

    def __call__(
        self,
        graph: Graph,
        devices: Mapping[Node, str],
        types: Mapping[Node, Types],
        wanted: Sequence[str | None] = (),
        scopes: Any = None,
    ) -> Partition:
        """See `hybridnet.passes.partition`."""
        if scopes is None or any(isinstance(node.call, FlowCall) for node in graph.nodes):
            return partition.own(graph, devices, types, wanted, scopes)
        there = [*wanted, *[None] * (len(graph.outputs) - len(wanted))]
        places = [
            place or devices[edge.node] for edge, place in zip(graph.outputs, there, strict=True)
        ]
        own = {node: devices[node] for node in dict.fromkeys((*graph.inputs, *graph.nodes))}
        shares = shares_of(self._part, graph, own, types, places)
        check_nodes(graph, own, shares)
        check_reads(own, shares)
        check_pairs(shares)
        sends = check_transfers(graph, own, places, shares)
        check_run(graph, own, places, shares, seed=0)
        # In this order our own cut has them: so programs are the same, and round alike.
        order = list(sends.values())
        found = _as_partition(graph, own, shares, order, scopes)
        self.asked += 1
        self.nodes += sum(len(share.nodes) for share in shares.values())
        self.sent += len(order)
        self.cuts.append((graph, found))
        return found


def _as_partition(
    graph: Graph,
    devices: Mapping[Node, str],
    shares: Mapping[str, Share],
    sends: Sequence[Node],
    scopes: Any,
) -> Partition:
    """Returns shares that were checked as what the framework takes."""
    number_of = {node: number for number, node in enumerate(graph.inputs)}
    inputs: dict[str, list[int]] = {}
    for node in graph.nodes:
        found = inputs.setdefault(devices[node], [])
        if node.is_variable:
            found.append(number_of[node])
    parts: dict[str, DevicePart] = {}
    for device in dict.fromkeys([*inputs, *shares]):
        share = shares.get(device, Share())
        if device not in inputs and not share.results:
            continue
        own = [node for node in sends if node in set(share.sends)]
        results = tuple(sorted(share.results))
        outputs = [share.results[number] for number in results] + [Edge(one, 0) for one in own]
        targets = [share.nodes[node] for node in graph.targets if node in share.nodes]
        numbers = tuple(sorted(inputs.get(device, ())))
        variables = tuple(graph.inputs[number] for number in numbers)
        made = {made: whole for whole, made in share.nodes.items()}
        parts[device] = DevicePart(
            device,
            Graph(variables, tuple(outputs), tuple(targets)),
            numbers,
            results,
            tuple(own),
            tuple(share.receives),
            made,
            {node: scopes.levels[whole] for node, whole in made.items()},
            {node: scopes.regions[whole] for node, whole in made.items()},
            dict.fromkeys([*variables, *made, *own, *share.receives]),
        )
    transfers = [node.call.transfer for node in sends if isinstance(node.call, SendCall)]
    return Partition(parts, tuple(transfers))
