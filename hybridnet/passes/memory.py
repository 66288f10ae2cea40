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

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from hybridnet.base.errors import ParameterError
from hybridnet.base.replaceable import replaceable
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


@dataclass(frozen=True, eq=False)
class MemoryStep:
    """The effect of one node on the memory that is planned; all that a planner needs to know.

    Results stand for themselves: keys of dicts, that are compared.

    Attributes:
        reads: the results that it reads and that have a place, each once.
        makes: the results that it makes and that need a place -> their bytes, at least 1.
        over: pairs of a result that is read and one of as many bytes that is made: this may be
            written over that, in the same place, if no later step reads that.
    """

    reads: tuple[Hashable, ...]
    makes: Mapping[Hashable, int]
    over: tuple[tuple[Hashable, Hashable], ...] = ()


def memory_steps(graph: Graph, types: Mapping[Node, Types]) -> list[MemoryStep]:
    """Returns the steps of the nodes of a graph, in their order; the results are edges.

    Outputs of the graph lie in memory of their own, and so do its inputs.

    Args:
        graph: its nodes run in the order of `Graph.nodes`.
        types: of its nodes.
    """
    return [step for _, step in _steps_of_nodes(graph, types)]


def _steps_of_nodes(graph: Graph, types: Mapping[Node, Types]) -> Iterable[tuple[Node, MemoryStep]]:
    outputs = frozenset(graph.outputs)
    placed: set[Hashable] = set()
    for node in graph.nodes:
        if node.call is None:
            continue
        makes: dict[Hashable, int] = {
            Edge(node, index): type.nbytes
            for index, type in enumerate(types[node])
            if type.nbytes and Edge(node, index) not in outputs
        }
        inputs = tuple(types[edge.node][edge.index] for edge in node.inputs)
        pairs = (
            (node.inputs[number], Edge(node, index))
            for number, index in inplace_pairs(node.call, inputs, types[node])
        )
        yield (
            node,
            MemoryStep(
                tuple(edge for edge in dict.fromkeys(node.inputs) if edge in placed),
                makes,
                tuple(pair for pair in pairs if pair[0] in placed and pair[1] in makes),
            ),
        )
        placed.update(makes)


@replaceable
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
    steps = list(_steps_of_nodes(graph, types))
    return _Planner(steps, inplace, share, _paths(graph, paths)).run()


class _Planner:
    """One walk over the nodes.

    Args:
        steps: of the nodes.
        inplace: whether results take over memory of inputs.
        share: whether memory of dead results is used again.
        path: node -> its path; memory is handed on within one.
    """

    def __init__(
        self,
        steps: Sequence[tuple[Node, MemoryStep]],
        inplace: bool,
        share: bool,
        path: Mapping[Node, int],
    ) -> None:
        self._steps = steps
        self._inplace = inplace
        self._share = share
        self._path = path
        readers: dict[Hashable, list[Node]] = {}
        for node, step in steps:
            for result in step.reads:
                readers.setdefault(result, []).append(node)
        self._left = {result: len(nodes) for result, nodes in readers.items()}
        #: Read on several paths: who writes next could not know that all have read.
        self._mixed = {
            result
            for result, nodes in readers.items()
            if len({path.get(node, 0) for node in nodes}) > 1
        }
        self._bytes = {result: size for _, step in steps for result, size in step.makes.items()}
        #: Result -> its path and where it lies in the arena of that path.
        self._place: dict[Hashable, tuple[int, int]] = {}
        self._arenas: dict[int, Arena] = {}

    def run(self) -> MemoryPlan:
        for node, step in self._steps:
            self._visit(step, self._path.get(node, 0))
        start: dict[int, int] = {}
        size = 0
        for path, arena in self._arenas.items():
            start[path] = size
            size += arena.size
        return MemoryPlan(
            size,
            {
                edge: start[path] + offset
                for edge, (path, offset) in self._place.items()
                if isinstance(edge, Edge)
            },
        )

    def _visit(self, step: MemoryStep, path: int) -> None:
        dying: dict[Hashable, None] = {}
        for result in step.reads:
            self._left[result] -= 1
            if not self._left[result]:
                dying[result] = None
        if self._inplace:
            self._take_over(step, dying)
        for result, size in step.makes.items():
            if result not in self._place:
                arena = self._arenas.setdefault(path, Arena())
                self._place[result] = path, arena.take(size)
        if self._share:
            unread = (result for result in step.makes if result not in self._left)
            for result in (*dying, *unread):
                at, offset = self._place[result]
                if at == path and result not in self._mixed:
                    self._arenas[path].give_back(offset, self._bytes[result])

    def _take_over(self, step: MemoryStep, dying: dict[Hashable, None]) -> None:
        """Puts results where inputs lie that die here, and takes these out of `dying`."""
        for source, target in step.over:
            if source in dying and source not in self._mixed and target not in self._place:
                self._place[target] = self._place[source]
                del dying[source]


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
