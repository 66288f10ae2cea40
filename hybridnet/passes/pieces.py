"""Pieces: a device's part of a graph as few graphs, each of which can be one program.

A program starts when all its inputs are there, and its outputs are there when it ends. So a part
is cut where something must be sent before all is computed, or can be computed before all is
received: two nodes are in one piece if the same Recvs come before them and the same Sends wait for
them. Both sets can only change in one direction along an edge, so pieces never wait for each other
in a circle, on one device or across several: each node of a piece needs all that the piece
receives, and all that the piece sends needs each of its nodes. A part that sends and receives
nothing is one piece.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from hybridnet.graph.node import Edge, Graph, Node, variable

from .partition import Part, RecvCall, SendCall

__all__ = ["Piece", "pieces_of"]

_MOVES: Final = (RecvCall, SendCall)


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
    """

    graph: Graph
    nodes: tuple[Node, ...]
    reads: tuple[Edge, ...]
    makes: tuple[Edge, ...]


def pieces_of(part: Part) -> list[Piece]:
    """Cuts a part into pieces; each comes after those of this device that it reads."""
    groups = _groups(part)
    home = {node: number for number, nodes in enumerate(groups) for node in nodes}
    wanted: list[dict[Edge, None]] = [{} for _ in groups]
    for node in part.graph.nodes:
        for edge in node.inputs:
            if edge.node in home and home.get(node) != home[edge.node]:
                wanted[home[edge.node]][edge] = None
    for edge in part.graph.outputs:
        if edge.node in home:
            wanted[home[edge.node]][edge] = None
    return [_piece(nodes, tuple(wanted[number])) for number, nodes in enumerate(groups)]


def _groups(part: Part) -> list[list[Node]]:
    """Returns the nodes that compute, those of one piece in one list.

    Sets of Recvs and Sends are whole numbers, with a bit for each.
    """
    order = part.graph.nodes
    before: dict[Node, int] = {}
    bit = 1
    for node in order:
        known = 0
        for edge in node.inputs:
            known |= before[edge.node]
        if isinstance(node.call, RecvCall):
            known, bit = bit, bit << 1
        before[node] = known
    after: dict[Node, int] = dict.fromkeys(order, 0)
    bit = 1
    for node in reversed(order):
        if isinstance(node.call, SendCall):
            after[node], bit = bit, bit << 1
        for edge in node.inputs:
            after[edge.node] |= after[node]
    groups: dict[tuple[int, int], list[Node]] = {}
    for node in order:
        if not node.is_variable and not isinstance(node.call, _MOVES):
            groups.setdefault((before[node], after[node]), []).append(node)
    # More is received, and less sent, along every edge: fewer Recvs first, and then more Sends.
    keys = sorted(groups, key=lambda key: (key[0].bit_count(), -key[1].bit_count()))
    return [groups[key] for key in keys]


def _piece(nodes: list[Node], makes: tuple[Edge, ...]) -> Piece:
    inside: dict[Edge, Edge] = {}
    stand_ins: dict[Edge, Node] = {}
    own = set(nodes)

    def moved(edge: Edge) -> Edge:
        if edge.node in own:
            return inside[edge]
        if edge not in stand_ins:
            stand_ins[edge] = variable(edge.node.name, origin=edge.node.origin)
        return Edge(stand_ins[edge], 0)

    for node in nodes:
        made = node.with_inputs(tuple(moved(edge) for edge in node.inputs))
        for index in range(node.num_outputs):
            inside[Edge(node, index)] = Edge(made, index)
    graph = Graph(tuple(stand_ins.values()), tuple(inside[edge] for edge in makes))
    return Piece(graph, tuple(nodes), tuple(stand_ins), makes)
