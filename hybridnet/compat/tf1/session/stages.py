"""Runs with Python in them: what the Python needs, the Python, and the rest with that fed to it.

Strings go from Python to Python beside the programs (`hybridnet.compat.tf1.session.texts`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final
from weakref import WeakKeyDictionary

import numpy as np

from hybridnet.clusters import ClusterRunner, SharedStore
from hybridnet.graph import Edge, Graph, Moves, Node
from hybridnet.session import Request, Runner, RunStep, Trace

from ..graph.host_call import HostCall
from .calls import Calls
from .texts import Beside, beside, is_text, on_host

__all__ = ["StagedRunner"]

#: Runs a request with values for what it feeds.
Run = Callable[[Request, Sequence[Any]], Sequence[Any]]


@dataclass(frozen=True, eq=False, slots=True)
class Stages:
    """A request, cut before and after the first Python in it.

    Attributes:
        first: what runs before: it gives what the calls read, and what the rest needs of it.
        calls: nodes of Python, none of which needs another, in the order in which they run.
        rest: everything else; it is fed what the request was fed, what it needs of `first`, and
            what the calls return.
        read: of each call, which outputs of `first`, by number, it reads.
        carried: which outputs of `first`, by number, the rest is fed.
    """

    first: Request
    calls: tuple[Node, ...]
    rest: Request
    read: tuple[tuple[int, ...], ...]
    carried: tuple[int, ...]


@final
class StagedRunner:
    """Runs requests, those with Python in them by stages.

    Args:
        runner: runs the stages.
        store: the queues and accumulators of this process.
        constants: the values of nodes, among them strings.
    """

    def __init__(
        self,
        runner: Runner | ClusterRunner,
        store: SharedStore,
        constants: Mapping[Node, np.ndarray[Any, Any]],
    ) -> None:
        self._runner = runner
        self._calls = Calls(runner, store)
        self._constants = constants
        self._stages: WeakKeyDictionary[RunStep, Stages | None] = WeakKeyDictionary()
        self._beside: WeakKeyDictionary[RunStep, dict[tuple[int, ...], Beside | None]]
        self._beside = WeakKeyDictionary()

    def run(
        self, request: Request, feeds: Sequence[Any], trace: Trace | None = None
    ) -> Sequence[Any]:
        """Runs a request; see `Runner.run`. Outputs that are strings are arrays of NumPy."""
        step = self._runner.step(request)
        stages = self._stages_of(step)
        if stages is not None:
            seconds = None if trace is None else trace.timeout
            seconds = self._runner.timeout if seconds is None else seconds
            run: Run = lambda one, given: self.run(one, given, trace)  # noqa: E731
            return self._run_stages(stages, run, feeds, seconds)
        found = self._beside_of(step, feeds)
        if found is None:
            return self._runner.run_step(step, feeds, trace)
        made: Sequence[Any] = ()
        if not found.is_empty:
            given = [feeds[number] for number in found.kept]
            made = self._runner.run_step(self._runner.step(found.request), given, trace)
        return found.outputs(feeds, made)

    def close(self) -> None:
        """Gives up what waits for queues and accumulators."""
        self._calls.close()

    def _run_stages(
        self, stages: Stages, run: Run, feeds: Sequence[Any], timeout: float | None
    ) -> Sequence[Any]:
        """Runs the stages, one after the other.

        Args:
            stages: see there.
            run: runs a request.
            feeds: what the request is fed.
            timeout: seconds that the Python may wait for an answer; None: any.

        Returns:
            The outputs.

        Raises:
            MXNetError: a function failed, or a node.
        """
        before = run(stages.first, feeds)
        given = [[on_host(before[one]) for one in numbers] for numbers in stages.read]
        made = self._calls.run(stages.calls, given, timeout)
        carried = [before[number] for number in stages.carried]
        return run(stages.rest, [*feeds, *carried, *made])

    def _stages_of(self, step: RunStep) -> Stages | None:
        if step not in self._stages:
            self._stages[step] = _stages_of(step.graph, step.request)
        return self._stages[step]

    def _beside_of(self, step: RunStep, feeds: Sequence[Any]) -> Beside | None:
        """Returns what is to be done with the strings of a run; None: there are none."""
        texts = tuple([number for number, one in enumerate(feeds) if is_text(one)])
        known = self._beside.get(step)
        if known is None:
            known = self._beside[step] = {}
        if texts not in known:
            known[texts] = beside(step.request, texts, self._constants)
        return known[texts]


def _stages_of(graph: Graph, request: Request) -> Stages | None:
    """Cuts a request where it must be; returns None where it holds no Python.

    What stands before Python (by values or by control edges) runs once, in the first stage, and
    what it changes is kept before the Python runs.

    Args:
        graph: the request's, pruned; its last inputs are what the request feeds.
        request: what is asked for.
    """
    held = [node for node in graph.nodes if isinstance(node.call, HostCall)]
    if not held:
        return None
    front = [node for node in held if not _ancestors([node]).intersection(held)]
    # What returns nothing (putting into a queue) first: others may wait for it.
    calls = tuple(sorted(front, key=lambda node: node.num_outputs > 0))
    done = _ancestors(calls)
    over = done.union(calls)
    later = [node for node in graph.nodes if node not in over and not node.is_variable]
    wanted = [*graph.outputs, *(edge for node in later for edge in node.inputs)]
    carried = [edge for edge in wanted if edge.node in done and not edge.node.is_variable]
    outputs = dict.fromkeys([*(edge for node in calls for edge in node.inputs), *carried])
    targets = [*(one for node in calls for one in node.controls), *graph.targets]
    count = len(request.feeds)
    fed = tuple(Edge(node, 0) for node in graph.inputs[len(graph.inputs) - count :])
    first = Request(
        tuple(outputs),
        tuple(dict.fromkeys(node for node in targets if node in done and not node.is_variable)),
        fed[:count],
        request.train,
    )
    numbers = {edge: number for number, edge in enumerate(outputs)}
    kept = tuple(dict.fromkeys(carried))
    return Stages(
        first,
        calls,
        _rest(graph, later, fed[:count], kept, calls, request.train),
        tuple(tuple(numbers[edge] for edge in node.inputs) for node in calls),
        tuple(numbers[edge] for edge in kept),
    )


def _rest(
    graph: Graph,
    later: Sequence[Node],
    fed: tuple[Edge, ...],
    kept: Sequence[Edge],
    calls: Sequence[Node],
    train: bool,
) -> Request:
    """Returns the request for what runs after the calls, over nodes of its own."""
    made = [Edge(node, index) for node in calls for index in range(node.num_outputs)]
    given = {edge: Edge(Node(None, (), edge.node.name), 0) for edge in (*kept, *made)}
    moves = Moves(given)
    left = set(later)
    for node in later:
        controls = moves.nodes(one for one in node.controls if one in left)
        moves.note(node, node.with_inputs(moves.edges(node.inputs)).with_controls(controls))
    return Request(
        moves.edges(graph.outputs),
        moves.nodes(node for node in graph.targets if node in left),
        (*fed, *given.values()),
        train,
    )


def _ancestors(nodes: Sequence[Node]) -> set[Node]:
    """Returns all that must run before some nodes, variables too."""
    found: set[Node] = set()
    stack = list(nodes)
    while stack:
        node = stack.pop()
        before = [*(edge.node for edge in node.inputs), *node.controls]
        stack += [one for one in before if one not in found]
        found.update(before)
    return found
