"""Lab 9: pictures of traced functions, with both branches of each choice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from hybridnet.graph import CondCall, ControlCall, Edge, Graph, Node, variable
from hybridnet.symbol import Symbol

_BRANCHES: Final = ("then", "else")


def choices_in(graph: Graph) -> int:
    """Returns how many choices are in a graph, and in the graphs inside of its nodes."""
    return sum(isinstance(node.call, CondCall) for node in _all_nodes(graph))


def _all_nodes(graph: Graph) -> Iterator[Node]:
    for node in graph.nodes:
        yield node
        if isinstance(node.call, ControlCall):
            for part in node.call.parts:
                yield from _all_nodes(part.graph)


def unfolded(graph: Graph, names: Sequence[str] = ()) -> Symbol:
    """Returns a network that looks as a graph does, the branches of its choices opened.

    It is for pictures, not to be run: a choice takes its condition and what both branches give.
    What is in a branch is in the scope ``if1/then`` or ``if1/else``.

    Args:
        names: of its inputs; default their own.
    """
    given = [Edge(variable(name), 0) for name in names or [node.name for node in graph.inputs]]
    return Symbol(_Unfolding().edges(graph, given, ""))


class _Unfolding:
    """Copies the nodes of a graph, and of the branches in it."""

    def __init__(self) -> None:
        self._choices = 0
        self._counts: Counter[str] = Counter()

    def edges(self, graph: Graph, inputs: Sequence[Edge], scope: str) -> list[Edge]:
        """Returns copies of a graph's outputs.

        Args:
            inputs: what its inputs are.
            scope: what the names of its nodes begin with.
        """
        made: dict[Node, list[Edge]] = {
            node: [edge] for node, edge in zip(graph.inputs, inputs, strict=True)
        }
        for node in graph.nodes:
            if node.call is None:
                continue
            given = [made[edge.node][edge.index] for edge in node.inputs]
            if node.call.name == "_copy":
                made[node] = given  # a picture needs none
                continue
            if isinstance(node.call, CondCall):
                name, given = self._opened(node.call, given, scope)
            else:
                name = self._name(node.call.name, scope)
            copy = Node(node.call, tuple(given), name)
            made[node] = [Edge(copy, number) for number in range(node.num_outputs)]
        return [made[edge.node][edge.index] for edge in graph.outputs]

    def _opened(self, call: CondCall, given: list[Edge], scope: str) -> tuple[str, list[Edge]]:
        """Returns the name of a choice, its condition and what its branches give."""
        self._choices += 1
        name = f"{scope}if{self._choices}"
        ends = [
            self.edges(part.graph, given[1:], f"{name}/{branch}/")
            for part, branch in zip(call.parts, _BRANCHES, strict=True)
        ]
        return f"{name}/end", list(dict.fromkeys([given[0], *ends[0], *ends[1]]))

    def _name(self, operator: str, scope: str) -> str:
        """Returns a name for a node, short, and without what would make a scope of it."""
        short = operator.strip("_").removeprefix("broadcast_").removesuffix("_scalar")
        name = scope + short.replace("_", " ")
        self._counts[name] += 1
        return name if self._counts[name] == 1 else f"{name} {self._counts[name]}"
