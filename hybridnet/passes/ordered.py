"""Graphs with control edges, as the passes see them: without.

A pass knows of values only. What has an order beside that of values (a node that control edges lead
to or from, a target) is taken out before the passes run, and put back after: what it reads is an
output of the graph between, and what it makes is an input.
"""

from __future__ import annotations

from typing import final

from hybridnet.graph import Edge, Graph, Moves, Node, topological, variable

from .context import PassContext


def has_order(graph: Graph) -> bool:
    """Whether anything in a graph runs before something else that does not read it."""
    return bool(graph.targets) or any(node.controls for node in graph.nodes)


@final
class ControlFreeGraph:
    """A graph without its ordered nodes.

    Args:
        context: knows the types of its inputs.

    Attributes:
        graph: what is left. Its inputs are those of the whole and the values that ordered nodes
            make; its outputs those of the whole and the values that ordered nodes read.
        input_types: of its inputs.
    """

    def __init__(self, graph: Graph, context: PassContext) -> None:
        self._whole = graph
        controls = {control for node in graph.nodes for control in node.controls}
        self._nodes = [
            node
            for node in graph.nodes
            if node.call is not None
            and (node.controls or node in controls or node in graph.targets)
        ]
        types = context.types(graph)
        self._stand_ins = {
            Edge(node, index): variable(f"{node.name}:{index}")
            for node in self._nodes
            for index in range(node.num_outputs)
        }
        ordered = set(self._nodes)
        moves = Moves({edge: Edge(node, 0) for edge, node in self._stand_ins.items()})
        for node in graph.nodes:
            if node.call is not None and node not in ordered:
                moves.note(node, moves.moved(node))
        read = [edge for node in self._nodes for edge in node.inputs]
        self.graph = Graph(
            (*graph.inputs, *self._stand_ins.values()),
            (*moves.edges(graph.outputs), *moves.edges(read)),
        )
        self.input_types = (
            *context.input_types,
            *(types[edge.node][edge.index] for edge in self._stand_ins),
        )

    def restored(self, made: Graph) -> Graph:
        """Puts the ordered nodes back into what the passes have made of the rest."""
        whole, moves = self._whole, Moves()
        count = len(whole.outputs)
        heads, read = made.outputs[:count], iter(made.outputs[count:])
        # What an ordered node reads depends on ordered nodes before it only; so does its order.
        rest = iter(topological((*made.outputs[count:], *heads)))
        done: set[Node] = set()
        for node in self._nodes:
            edges = tuple(next(read) for _ in node.inputs)
            for edge in edges:
                while edge.node not in done:
                    done.add(_again(next(rest), moves))
            again = node.with_inputs(moves.edges(edges)).with_controls(moves.nodes(node.controls))
            for index in range(node.num_outputs):
                moves.note(self._stand_ins[Edge(node, index)], (Edge(again, index),))
            moves.note(node, again)
        for node in rest:
            _again(node, moves)
        return Graph(whole.inputs, moves.edges(heads), moves.nodes(whole.targets))


def _again(node: Node, moves: Moves) -> Node:
    """Notes a node over what its inputs are now, unless it is a variable; returns it."""
    if node.call is not None:
        moves.note(node, moves.moved(node))
    return node
