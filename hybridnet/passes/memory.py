"""Planning memory: where the results of a graph's nodes lie.

A result is alive from the node that computes it to the last one that reads it. Two strategies let
results share memory (Chen et al. 2015, "MXNet: a flexible and efficient machine learning library
for heterogeneous distributed systems", arXiv:1512.01274, section 3.1): `inplace` has an operator
that allows it write over an input that nobody reads afterwards, `co-share` gives the memory of
dead results to later ones. Both look at every node once. Nothing is computed: shapes and dtypes
are enough.

This is how an engine that runs node by node would use memory. XLA plans its programs itself, after
having fused nodes, whose results then never exist; so a plan is an estimate from above.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from hybridnet.base.errors import ParameterError
from hybridnet.graph import Edge, Graph, Node
from hybridnet.ops.core import Types

from .memory_arena import Arena
from .memory_inplace import inplace_pairs

Strategy = Literal["naive", "inplace", "co-share", "both"]
STRATEGIES: Final[tuple[Strategy, ...]] = get_args(Strategy)


@dataclass(frozen=True, eq=False)
class MemoryPlan:
    """The places in memory of the results inside a graph.

    Attributes:
        num_bytes: of all of them together.
        place: edge -> where it begins, in bytes, for all results of nodes but those that are
            outputs of the graph, which lie in memory of their own, and those without elements.
    """

    num_bytes: int
    place: Mapping[Edge, int]


def plan_memory(
    graph: Graph, types: Mapping[Node, Types], strategy: str = "both", paths: int = 1
) -> MemoryPlan:
    """Plans the memory of what a graph computes on the way.

    Args:
        graph: its nodes run in the order of `Graph.nodes`.
        types: of its nodes.
        strategy: 'naive' (each result has its own), 'inplace', 'co-share' or 'both'.
        paths: how many nodes shall be able to run at once. Memory is handed on only along one
            path through the graph, where nodes run one after the other anyway: among the nodes
            of the longest path, then among those of the longest in the rest, and so on; the last
            stands for all nodes that are left. With 1, all nodes run in their order.

    Raises:
        ParameterError: there is no such strategy, or `paths` is not positive.
    """
    if strategy not in STRATEGIES:
        raise ParameterError(
            f"strategy must be {', '.join(map(repr, STRATEGIES))}, got {strategy!r}"
        )
    if paths < 1:
        raise ParameterError(f"paths must be at least 1, got {paths}")
    inplace = strategy in ("inplace", "both")
    share = strategy in ("co-share", "both")
    return _Planner(graph, types, inplace, share, _paths(graph, paths)).run()


class _Planner:
    """One walk over the nodes.

    Args:
        types: of its nodes.
        inplace: whether results take over memory of inputs.
        share: whether memory of dead results is used again.
        path: node -> its path; memory is handed on within one.
    """

    def __init__(
        self,
        graph: Graph,
        types: Mapping[Node, Types],
        inplace: bool,
        share: bool,
        path: Mapping[Node, int],
    ) -> None:
        self._graph = graph
        self._types = types
        self._inplace = inplace
        self._share = share
        self._path = path
        readers = _readers(graph)
        self._left = {edge: len(nodes) for edge, nodes in readers.items()}
        #: Read on several paths: who writes next could not know that all have read.
        self._mixed = {
            edge
            for edge, nodes in readers.items()
            if len({path.get(node, 0) for node in nodes}) > 1
        }
        self._outputs = frozenset(graph.outputs)
        #: Edge -> its path and where it lies in the arena of that path.
        self._place: dict[Edge, tuple[int, int]] = {}
        self._arenas: dict[int, Arena] = {}

    def run(self) -> MemoryPlan:
        for node in self._graph.nodes:
            if not node.is_variable:
                self._visit(node)
        start: dict[int, int] = {}
        size = 0
        for path, arena in self._arenas.items():
            start[path] = size
            size += arena.size
        return MemoryPlan(
            size, {edge: start[path] + offset for edge, (path, offset) in self._place.items()}
        )

    def _visit(self, node: Node) -> None:
        path = self._path.get(node, 0)
        dying: dict[Edge, None] = {}
        for edge in dict.fromkeys(node.inputs):
            self._left[edge] -= 1
            if not self._left[edge] and edge in self._place:
                dying[edge] = None
        made = [
            Edge(node, index)
            for index, type in enumerate(self._types[node])
            if type.nbytes and Edge(node, index) not in self._outputs
        ]
        if self._inplace and dying:
            self._take_over(node, dying)
        for edge in made:
            if edge not in self._place:
                arena = self._arenas.setdefault(path, Arena())
                self._place[edge] = path, arena.take(self._bytes(edge))
        if self._share:
            for edge in (*dying, *(edge for edge in made if edge not in self._left)):
                if self._place[edge][0] == path and edge not in self._mixed:
                    self._arenas[path].give_back(self._place[edge][1], self._bytes(edge))

    def _bytes(self, edge: Edge) -> int:
        return self._types[edge.node][edge.index].nbytes

    def _take_over(self, node: Node, dying: dict[Edge, None]) -> None:
        """Puts results where inputs lie that die here, and takes these out of `dying`."""
        assert node.call is not None
        inputs = tuple(self._types[edge.node][edge.index] for edge in node.inputs)
        for number, index in inplace_pairs(node.call, inputs, self._types[node]):
            source, target = node.inputs[number], Edge(node, index)
            if (
                source in dying
                and source not in self._mixed
                and target not in self._place
                and target not in self._outputs
            ):
                self._place[target] = self._place[source]
                del dying[source]


def _readers(graph: Graph) -> dict[Edge, list[Node]]:
    """Returns the nodes that read each edge."""
    found: dict[Edge, list[Node]] = {}
    for node in graph.nodes:
        for edge in dict.fromkeys(node.inputs):
            found.setdefault(edge, []).append(node)
    return found


def _paths(graph: Graph, count: int) -> dict[Node, int]:
    """Returns for each node its path: 0 for the longest, 1 for the longest in the rest, ..."""
    nodes = [node for node in graph.nodes if not node.is_variable]
    found: dict[Node, int] = {}
    for number in range(count - 1):
        length: dict[Node, int] = {}
        before: dict[Node, Node | None] = {}
        for node in nodes:
            sources: Iterable[Node] = (e.node for e in node.inputs if e.node in length)
            best = max(sources, key=length.__getitem__, default=None)
            before[node] = best
            length[node] = (node not in found) + (0 if best is None else length[best])
        end: Node | None = max(nodes, key=length.__getitem__, default=None)
        while end is not None:
            found.setdefault(end, number)
            end = before[end]
    return {node: found.get(node, count - 1) for node in nodes}
