"""Planning memory: which results of a graph's nodes lie in the same block.

A result is alive from the node that computes it to the last one that reads it. Two strategies
make blocks serve several results (Chen et al. 2015, "MXNet: a flexible and efficient machine
learning library for heterogeneous distributed systems", arXiv:1512.01274, section 3.1): `inplace`
has an operator that allows it write over an input that nobody reads afterwards, `co-share` gives
the block of a dead result to a later one. Both look at every node once; co-share is tried a few
times with other limits. Nothing is computed: shapes and dtypes are enough.

This is how an engine that runs node by node would use memory. XLA plans its programs itself, after
having fused nodes, whose results then never exist; so a plan is an estimate from above.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from hybridnet.base.errors import ParameterError
from hybridnet.graph.node import Edge, Graph, Node
from hybridnet.ops.call import Types

from .memory_inplace import inplace_pairs

__all__ = ["STRATEGIES", "MemoryPlan", "Strategy", "plan_memory"]

Strategy = Literal["naive", "inplace", "co-share", "both"]
STRATEGIES: Final[tuple[Strategy, ...]] = get_args(Strategy)

# By how many times a block may be larger than what is put there: each is tried.
_RANGES: Final = (1, 2, 4, 8, 16, 64)


@dataclass(frozen=True, eq=False)
class MemoryPlan:
    """Where the results inside a graph lie.

    Attributes:
        blocks: the bytes of each block.
        place: edge -> the number of its block, for all results of nodes but those that are outputs
            of the graph, which lie in memory of their own, and those without elements.
    """

    blocks: tuple[int, ...]
    place: Mapping[Edge, int]

    @property
    def num_bytes(self) -> int:
        """The bytes of all blocks."""
        return sum(self.blocks)


def plan_memory(
    graph: Graph, types: Mapping[Node, Types], strategy: str = "both", paths: int = 1
) -> MemoryPlan:
    """Plans the memory of what a graph computes on the way.

    Args:
        graph: its nodes run in the order of `Graph.nodes`.
        types: of its nodes.
        strategy: 'naive' (a block for each result), 'inplace', 'co-share' or 'both'.
        paths: how many nodes shall be able to run at once. A block is handed on only along one
            path through the graph, where nodes run one after the other anyway: among the nodes of
            the longest path, then among those of the longest in the rest, and so on; the last
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
    if strategy not in ("co-share", "both"):
        return _Planner(graph, types, inplace, None, {}).run()
    path = _paths(graph, paths)
    tried = (_Planner(graph, types, inplace, largest, path).run() for largest in _RANGES)
    return min(tried, key=lambda plan: plan.num_bytes)


class _Planner:
    """One walk over the nodes.

    Args:
        graph: the graph.
        types: of its nodes.
        inplace: whether results take over memory of inputs.
        largest: by how many times a block that is used again may be too large; None: never again.
        path: node -> its path; blocks are handed on within one.
    """

    def __init__(
        self,
        graph: Graph,
        types: Mapping[Node, Types],
        inplace: bool,
        largest: int | None,
        path: Mapping[Node, int],
    ) -> None:
        self._graph = graph
        self._types = types
        self._inplace = inplace
        self._largest = largest
        self._path = path
        readers = _readers(graph)
        self._left = {edge: len(nodes) for edge, nodes in readers.items()}
        #: Read on several paths: who writes next could not know that all have read.
        self._mixed = {
            edge for edge, nodes in readers.items() if len({path.get(one, 0) for one in nodes}) > 1
        }
        self._outputs = frozenset(graph.outputs)
        self._blocks: list[int] = []
        self._place: dict[Edge, int] = {}
        #: Path -> (bytes, number) of the blocks that are free, sorted.
        self._free: dict[int, list[tuple[int, int]]] = {}

    def run(self) -> MemoryPlan:
        for node in self._graph.nodes:
            if not node.is_variable:
                self._visit(node)
        return MemoryPlan(tuple(self._blocks), self._place)

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
                self._place[edge] = self._block(self._types[node][edge.index].nbytes, path)
        for edge in (*dying, *(one for one in made if not self._left.get(one))):
            if edge not in self._mixed:
                number = self._place[edge]
                insort(self._free.setdefault(path, []), (self._blocks[number], number))

    def _take_over(self, node: Node, dying: dict[Edge, None]) -> None:
        """Puts results where inputs lie that die here, and takes these out of `dying`."""
        assert node.call is not None
        inputs = tuple(self._types[edge.node][edge.index] for edge in node.inputs)
        for number, index in inplace_pairs(node.call, inputs, self._types[node]):
            source, target = node.inputs[number], Edge(node, index)
            if source in dying and target not in self._place and target not in self._outputs:
                self._place[target] = self._place[source]
                del dying[source]

    def _block(self, size: int, path: int) -> int:
        """Returns a block for a result: the smallest free one that holds it, else the largest."""
        free = self._free.get(path)
        if self._largest is not None and free:
            index = bisect_left(free, (size, 0))
            if index < len(free) and free[index][0] <= self._largest * size:
                return free.pop(index)[1]
            if index and free[index - 1][0] * self._largest >= size:
                number = free.pop(index - 1)[1]
                self._blocks[number] = size  # nobody minds a block that grows
                return number
        self._blocks.append(size)
        return len(self._blocks) - 1


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
