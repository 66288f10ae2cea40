"""Pieces: a device's part of a graph as few graphs, each of which can be one program.

A program starts when all its inputs are there, and its outputs are there when it ends. Pieces must
not wait for each other in a circle, on one device or across several; apart from that, few large
ones take less to launch, and many small ones let other devices begin sooner. So there are two ways
to cut.

By levels: two nodes are in one piece if as many changes of device lie before them. Along an edge
the level can only rise, and between devices it does, so there is no circle. This makes the fewest.

By what is sent and received: two nodes of one level are in one piece if the same Recvs come before
them and the same Sends wait for them. Then nothing is computed before a Send that it does not need,
and nothing waits for a Recv that it does not need. Along an edge Recvs can only be added and Sends
only be dropped, so there is no circle on the device; and others are of another level. This is done
with the levels that take long.

Of a graph with control flow, nodes of different scopes (branch, test or body of a loop) are never
in one piece: one may be dead when the other is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

from hybridnet.graph import Edge, Graph, Moves, Node, variable

from .partition import DevicePart, RecvCall, SendCall


@final
@dataclass(frozen=True, eq=False)
class Piece:
    """Some nodes of a part, to be run as one program.

    Attributes:
        graph: its inputs are variables that stand for `reads`.
        nodes: the nodes of the part that it is made of, in order.
        reads: tensors of the part that it takes: inputs, what is received, results of other
            pieces.
        makes: tensors of the part that it gives: what is sent, results, what other pieces read.
        after: nodes of the part that must have run before it, beside what it reads.
        ends: nodes of it that others wait for in this way.
    """

    graph: Graph
    nodes: tuple[Node, ...]
    reads: tuple[Edge, ...]
    makes: tuple[Edge, ...]
    after: tuple[Node, ...] = ()
    ends: tuple[Node, ...] = ()


def pieces_of(part: DevicePart, is_heavy: Callable[[Sequence[Node]], bool]) -> list[Piece]:
    """Cuts a part into pieces; each comes after those of this device that it reads.

    Args:
        part: what is cut. One that sends and receives nothing is one piece.
        is_heavy: whether nodes of one level take so long that others had better not wait for all
            of them.
    """
    groups = _groups(part, is_heavy)
    home = {node: number for number, nodes in enumerate(groups) for node in nodes}
    wanted: list[dict[Edge, None]] = [{} for _ in groups]
    ends: list[dict[Node, None]] = [{} for _ in groups]
    for node in part.graph.nodes:
        for edge in node.inputs:
            if edge.node in home and home.get(node) != home[edge.node]:
                wanted[home[edge.node]][edge] = None
        for control in node.controls:
            if control in home and home.get(node) != home[control]:
                ends[home[control]][control] = None
    for edge in part.graph.outputs:
        if edge.node in home:
            wanted[home[edge.node]][edge] = None
    targets = set(part.graph.targets)
    return [
        piece_of(nodes, tuple(wanted[number]), tuple(ends[number]), targets)
        for number, nodes in enumerate(groups)
    ]


def _groups(part: DevicePart, is_heavy: Callable[[Sequence[Node]], bool]) -> list[list[Node]]:
    """Returns the nodes that compute, those of one piece in one list."""
    levels: dict[tuple[int, int], list[Node]] = {}
    for node in part.graph.nodes:
        if node in part.levels:
            key = part.levels[node], part.regions[node]
            levels.setdefault(key, []).append(node)
    exchanges = bool(part.sends or part.receives)
    groups: list[list[Node]] = []
    sets: dict[Node, tuple[int, int]] = {}
    for level in sorted(levels):
        nodes = levels[level]
        if not (exchanges and is_heavy(nodes)):
            groups.append(nodes)
            continue
        sets = sets or _sets(part)
        apart: dict[tuple[int, int], list[Node]] = {}
        for node in nodes:
            apart.setdefault(sets[node], []).append(node)
        # More is received, and less sent, along every edge: fewer Recvs first, then more Sends.
        keys = sorted(apart, key=lambda key: (key[0].bit_count(), -key[1].bit_count()))
        groups += [apart[key] for key in keys]
    return groups


def _sets(part: DevicePart) -> dict[Node, tuple[int, int]]:
    """Returns the Recvs before, and the Sends after, each node: whole numbers, a bit for each."""
    order = part.graph.nodes
    before: dict[Node, int] = {}
    bit = 1
    for node in order:
        known = 0
        for source in (*(edge.node for edge in node.inputs), *node.controls):
            known |= before[source]
        if isinstance(node.call, RecvCall):
            known, bit = bit, bit << 1
        before[node] = known
    after: dict[Node, int] = dict.fromkeys(order, 0)
    bit = 1
    for node in reversed(order):
        if isinstance(node.call, SendCall):
            after[node], bit = bit, bit << 1
        for source in (*(edge.node for edge in node.inputs), *node.controls):
            after[source] |= after[node]
    return {node: (before[node], after[node]) for node in order}


def piece_of(
    nodes: Sequence[Node], makes: tuple[Edge, ...], ends: tuple[Node, ...], targets: set[Node]
) -> Piece:
    """Returns some nodes of a graph, each after those of them that it reads, as a graph.

    Args:
        nodes: them.
        makes: what they give.
        ends: those that others wait for without reading them.
        targets: those of the graph that run though nothing reads them.
    """
    inside = Moves()
    stand_ins: dict[Edge, Node] = {}
    after: dict[Node, None] = {}
    own = set(nodes)

    def moved(edge: Edge) -> Edge:
        if edge.node in own:
            return inside.edge(edge)
        if edge not in stand_ins:
            stand_ins[edge] = variable(edge.node.name, origin=edge.node.origin)
        return Edge(stand_ins[edge], 0)

    for node in nodes:
        made = node.with_inputs(tuple(moved(edge) for edge in node.inputs))
        after.update(dict.fromkeys(control for control in node.controls if control not in own))
        within = inside.nodes(control for control in node.controls if control in own)
        inside.note(node, made.with_controls(within))
    runs = inside.nodes(node for node in nodes if node in targets or node in ends)
    graph = Graph(tuple(stand_ins.values()), inside.edges(makes), runs)
    return Piece(graph, tuple(nodes), tuple(stand_ins), makes, tuple(after), ends)
