"""The share of a graph that a part makes for each device, and whether all are a cut of the graph.

How a cut runs says `run_shares`, an interpreter that knows nothing of devices but a rendezvous, a
dictionary. It computes with numbers that stand for values: two are the same if they were computed
by the same nodes from the same variables.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

from hybridnet.base.device_name import DEVICE
from hybridnet.base.tensor_type import TensorType
from hybridnet.graph import Edge, Graph, Node
from hybridnet.passes import NOTHING, RecvCall, SendCall, Transfer, TransferCall

from ...checking import Wrong


@final
@dataclass(eq=False)
class Share:
    """The part of one device.

    Attributes:
        nodes: for each node of the whole graph that computes on this device, the node that stands
            for it here. (Variables are left out: they stand for themselves.)
        sends: the Sends.
        receives: the Recvs.
        results: for each output of the whole graph that is wanted here, its number, and where it
            is: an output of a node of this part.
    """

    nodes: dict[Node, Node] = field(default_factory=dict)
    sends: list[Node] = field(default_factory=list)
    receives: list[Node] = field(default_factory=list)
    results: dict[int, Edge] = field(default_factory=dict)


def send(transfer: Transfer, what: Edge | Node, kind: TensorType = NOTHING) -> Node:
    """Returns a Send.

    Args:
        transfer: the devices it is from and to, and a name.
        what: a tensor of the sender's part; or, for a control edge, the node that must have run.
        kind: the type of the tensor.
    """
    reads, after = ((what,), ()) if isinstance(what, Edge) else ((), (what,))
    name = f"{(what.node if isinstance(what, Edge) else what).name}/send"
    attrs = {"__tensor__": transfer.tensor, "__to__": transfer.destination, DEVICE: transfer.source}
    return Node(SendCall(_of_kind(transfer, kind), kind), reads, name, (), attrs, None, after)


def receive(transfer: Transfer, kind: TensorType = NOTHING) -> Node:
    """Returns a Recv, whose output 0 is what is sent.

    Args:
        transfer: as that of the Send.
        kind: the type of the tensor; that of a control edge has none.
    """
    there = transfer.destination
    attrs = {"__tensor__": transfer.tensor, "__from__": transfer.source, DEVICE: there}
    call = RecvCall(_of_kind(transfer, kind), kind)
    return Node(call, (), f"{transfer.tensor}/recv", (), attrs)


def _of_kind(transfer: Transfer, kind: TensorType) -> Transfer:
    """Returns a transfer with the mark of control edges, if it is one."""
    if kind is not NOTHING or transfer.tensor.startswith("^"):
        return transfer
    return transfer._replace(tensor=f"^{transfer.tensor}")


def needed(
    graph: Graph, devices: Mapping[Node, str], wanted: Sequence[str]
) -> dict[tuple[Edge | Node, str], None]:
    """Returns what must go to which other device, in the order in which it is first needed there.

    A tensor is an edge; of a control edge it is the node that must have run.
    """
    found: dict[tuple[Edge | Node, str], None] = {}
    for node in graph.nodes:
        for edge in node.inputs:
            found[edge, devices[node]] = None
        for before in node.controls:
            found[before, devices[node]] = None
    for edge, device in zip(graph.outputs, wanted, strict=True):
        found[edge, device] = None
    return {key: None for key in found if devices[_node_of(key[0])] != key[1]}


def _node_of(what: Edge | Node) -> Node:
    return what.node if isinstance(what, Edge) else what


def title(what: Edge | Node) -> str:
    """Returns what the student reads of a tensor; ``^A`` is that node A has run."""
    if isinstance(what, Node):
        return f"^{what.name}"
    return what.node.name if what.node.num_outputs == 1 else f"{what.node.name}:{what.index}"


def shares_of(part: Any, graph: Graph, devices: Any, types: Any, wanted: Any) -> dict[str, Share]:
    """Asks a part for its shares.

    Raises:
        Wrong: they are no shares.
    """
    answer = part.partition(graph, devices, types, wanted)
    if not isinstance(answer, Mapping):
        raise Wrong("no_dict", answer=repr(answer))
    there = dict.fromkeys([*devices.values(), *wanted])
    for device, share in answer.items():
        if device not in there:
            raise Wrong("no_device", device=repr(device), devices=", ".join(there))
        if not isinstance(share, Share):
            raise Wrong("no_share", device=device, answer=repr(share))
        ends = [(node, SendCall) for node in share.sends] + [
            (node, RecvCall) for node in share.receives
        ]
        for node, kind in ends:
            is_end = isinstance(node, Node) and isinstance(node.call, kind)
            if not is_end or (kind is SendCall and not _sends_one(node)):
                raise Wrong("no_end", device=device, node=repr(node), kind=kind.name)
    return dict(answer)


def _sends_one(node: Node) -> bool:
    """Whether a Send has one input, or of a control edge one control."""
    is_control = isinstance(node.call, SendCall) and node.call.is_control
    return (len(node.inputs), len(node.controls)) == ((0, 1) if is_control else (1, 0))


def check_nodes(graph: Graph, devices: Mapping[Node, str], shares: Mapping[str, Share]) -> None:
    """Checks that each node is in the share of its device, and nowhere else."""
    computing = {node for node in graph.nodes if node.call is not None}
    for device, share in shares.items():
        for whole, made in share.nodes.items():
            if not isinstance(whole, Node) or whole not in computing:
                raise Wrong("no_node", device=device, node=getattr(whole, "name", repr(whole)))
            if devices[whole] != device:
                raise Wrong("elsewhere", node=whole.name, device=devices[whole], there=device)
            if not isinstance(made, Node) or made.call is not whole.call:
                raise Wrong("other_node", node=whole.name, made=repr(made))
            if len(made.inputs) != len(whole.inputs):
                raise Wrong("other_inputs", node=whole.name, device=device)
    for node in graph.nodes:
        if node in computing and node not in shares.get(devices[node], Share()).nodes:
            raise Wrong("nowhere", node=node.name, device=devices[node])


def check_reads(devices: Mapping[Node, str], shares: Mapping[str, Share]) -> None:
    """Checks that nodes read nothing but what is in their share."""
    for device, share in shares.items():
        own = {*share.nodes.values(), *share.receives, *share.sends}
        own |= {node for node, where in devices.items() if node.is_variable and where == device}
        for node in [*share.nodes.values(), *share.sends]:
            for edge in node.inputs:
                if not isinstance(edge, Edge):
                    raise Wrong("no_edge", node=node.name, device=device, edge=repr(edge))
            for source in [*(edge.node for edge in node.inputs), *node.controls]:
                if source not in own:
                    raise Wrong("foreign", node=node.name, device=device, source=source.name)
        for number, edge in share.results.items():
            if not isinstance(edge, Edge) or edge.node not in own:
                raise Wrong("foreign_result", number=number, device=device, edge=repr(edge))


def check_pairs(shares: Mapping[str, Share]) -> None:
    """Checks that each Send has a Recv, and each Recv a Send, on the devices that they say."""
    sends, receives = (
        [(device, node.call) for device, share in shares.items() for node in getattr(share, ends)]
        for ends in ("sends", "receives")
    )
    for ends, place in ((sends, 0), (receives, 1)):
        for device, call in ends:
            if call.transfer[place] != device:
                raise Wrong("not_here", end=call.name, transfer=_shown(call), device=device)
        counts = Counter(call.transfer for _, call in ends)
        for _, call in ends:
            if counts[call.transfer] > 1:
                raise Wrong("same_name", end=call.name, transfer=_shown(call))
    received = {call.transfer: call for _, call in receives}
    sent = {call.transfer for _, call in sends}
    for _, call in sends:
        if call.transfer not in received:
            raise Wrong("no_recv", transfer=_shown(call))
        if received[call.transfer].type != call.type:
            raise Wrong("other_type", transfer=_shown(call), sent=call.type,
                        received=received[call.transfer].type)  # fmt: skip
    for _, call in receives:
        if call.transfer not in sent:
            raise Wrong("no_send", transfer=_shown(call))


def check_transfers(
    graph: Graph, devices: Mapping[Node, str], wanted: Sequence[str], shares: Mapping[str, Share]
) -> dict[tuple[Edge | Node, str], Node]:
    """Checks that what is needed elsewhere goes there once, and nothing else does.

    Returns:
        For each tensor (or node, of control edges) and the device that it goes to, its Send; in
        the order in which they are first needed.
    """
    must = needed(graph, devices, wanted)
    found: dict[tuple[Edge | Node, str], Node] = {}
    for share in shares.values():
        whole = {made: node for node, made in share.nodes.items()}
        for node in share.sends:
            assert isinstance(node.call, SendCall)
            what: Edge | Node
            if node.call.is_control:
                what = whole.get(node.controls[0], node.controls[0])
            else:
                source, index = node.inputs[0]
                what = Edge(whole.get(source, source), index)
            key = what, node.call.transfer.destination
            if key in found:
                raise Wrong("twice", what=title(what), device=key[1])
            if key not in must:
                raise Wrong("for_nobody", what=title(what), device=key[1])
            found[key] = node
    for what, device in must:
        if (what, device) not in found:
            raise Wrong("not_sent", what=title(what), device=device)
    return {key: found[key] for key in must}


def _shown(call: TransferCall) -> str:
    source, destination, tensor = call.transfer
    return f"'{tensor}' from {source} to {destination}"


class Meaning:
    """Numbers that stand for values: the same for the same node on the same values."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}

    def of(self, whole: Node, index: int, inputs: Sequence[int] = ()) -> int:
        """Returns the number of an output of a node of the whole graph."""
        return self._numbers.setdefault((whole, index, *inputs), len(self._numbers))

    def whole(self, graph: Graph) -> dict[Edge, int]:
        """Returns the numbers of all that a graph computes on one device."""
        values: dict[Edge, int] = {}
        for node in graph.nodes:
            inputs = [values[edge] for edge in node.inputs]
            for index in range(node.num_outputs):
                values[Edge(node, index)] = self.of(node, index, inputs)
        return values


@final
class ShareRun:
    """A run of shares: at each moment a node is drawn of those that can run.

    Args:
        shares: that were checked.
        meaning: what values are.
        seed: of the order.

    Attributes:
        order: the nodes of the whole graph, in the order in which they ran.
        values: by device, of each output.
    """

    def __init__(self, shares: Mapping[str, Share], meaning: Meaning, seed: int) -> None:
        self.order: list[Node] = []
        self.values: dict[str, dict[Edge, int]] = {device: {} for device in shares}
        self._meaning: Final = meaning
        self._rendezvous: dict[Transfer, int | None] = {}
        self._done: set[tuple[str, Node]] = set()
        draw = random.Random(seed)
        waiting: list[tuple[str, Node, Node | None]] = []
        for device, share in shares.items():
            waiting += [(device, made, whole) for whole, made in share.nodes.items()]
            waiting += [(device, node, None) for node in (*share.sends, *share.receives)]
        while waiting:
            ready = [one for one in waiting if not self._missing(one[0], one[1])]
            if not ready:
                self._stuck(waiting)
            one = draw.choice(ready)
            waiting.remove(one)
            self._run(*one)

    def _missing(self, device: str, node: Node) -> Node | None:
        """Returns what a node waits for: another one, or itself if it is a Recv."""
        for edge in node.inputs:
            if not edge.node.is_variable and (device, edge.node) not in self._done:
                return edge.node
        for before in node.controls:
            if (device, before) not in self._done:
                return before
        call = node.call
        return (
            node if isinstance(call, RecvCall) and call.transfer not in self._rendezvous else None
        )

    def _run(self, device: str, node: Node, whole: Node | None) -> None:
        values, call = self.values[device], node.call
        for edge in node.inputs:
            if edge.node.is_variable and edge.index == 0:
                values[edge] = self._meaning.of(edge.node, 0)
            elif edge not in values:
                raise Wrong("no_output", node=node.name, source=edge.node.name, index=edge.index)
        inputs = [values[edge] for edge in node.inputs]
        if isinstance(call, SendCall):
            self._rendezvous[call.transfer] = inputs[0] if inputs else None
        elif isinstance(call, RecvCall):
            value = self._rendezvous[call.transfer]
            if value is not None:
                values[Edge(node, 0)] = value
        elif whole is not None:
            self.order.append(whole)
            for index in range(node.num_outputs):
                values[Edge(node, index)] = self._meaning.of(whole, index, inputs)
        self._done.add((device, node))

    def _stuck(self, waiting: Sequence[tuple[str, Node, Node | None]]) -> None:
        words = []
        for device, node, _ in waiting[:4]:
            missing = self._missing(device, node)
            assert missing is not None
            what = "its Send" if missing is node else missing.name
            words.append(f"{node.name} on {device} waits for {what}")
        raise Wrong("stuck", waits="; ".join(words))


def check_run(
    graph: Graph,
    devices: Mapping[Node, str],
    wanted: Sequence[str],
    shares: Mapping[str, Share],
    seed: int,
) -> None:
    """Checks that the shares, run in some order, give what the graph does."""
    meaning = Meaning()
    values = meaning.whole(graph)
    run = ShareRun(shares, meaning, seed)
    for node in graph.nodes:
        made = shares[devices[node]].nodes.get(node) if node.call is not None else None
        for number, edge in enumerate(made.inputs if made is not None else ()):
            if run.values[devices[node]][edge] != values[node.inputs[number]]:
                raise Wrong("other_value", node=node.name, number=number,
                            wanted=title(node.inputs[number]))  # fmt: skip
    for number, (edge, device) in enumerate(zip(graph.outputs, wanted, strict=True)):
        found = shares.get(device, Share()).results.get(number)
        if found is None:
            raise Wrong("no_result", number=number, device=device, what=title(edge))
        value = run.values[device].get(found)
        if found.node.is_variable and found.index == 0:
            value = meaning.of(found.node, 0)
        if value != values[edge]:
            raise Wrong("other_result", number=number, device=device, what=title(edge))
    held = sorted(number for share in shares.values() for number in share.results)
    if held != list(range(len(graph.outputs))):
        raise Wrong("results", held=held, count=len(graph.outputs))
    place = {node: number for number, node in enumerate(run.order)}
    for node in graph.nodes:
        for before in node.controls:
            if place[before] > place[node]:
                raise Wrong("too_early", node=node.name, before=before.name)
