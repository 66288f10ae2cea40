"""Making a trace: the function runs once on arrays that stand for its arguments."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, final

from hybridnet import tape
from hybridnet.base.attrs import HostScalar
from hybridnet.base.context import Context
from hybridnet.base.host_array import HostArray
from hybridnet.graph import Graph
from hybridnet.ndarray import NDArray
from hybridnet.ops.core import Averages, Types
from hybridnet.runtime.contexts import device_of
from hybridnet.runtime.placing import full_name
from hybridnet.runtime.recording import Value
from hybridnet.runtime.traces import Captured, GraphBuilder, Trace, init_scope

from .gradient_routes import GradientRoutes
from .structure import Arguments, Tree, flatten, unflatten


@final
class Outside:
    """An array from outside.

    Attributes:
        memory: an array on the same memory, which is nowhere on the tape.
        find: returns the array as it was found, None if that is gone.
    """

    __slots__ = ("find", "memory")

    def __init__(self, memory: NDArray, handle: NDArray | None) -> None:
        self.memory = memory
        # Weakly, so that an array is seen to be gone, which the function would find no more.
        self.find = weakref.ref(memory if handle is None else handle)

    def get(self) -> NDArray:
        """Returns the array as it was found, with its place on the tape, if it is still there."""
        found = self.find()
        return self.memory if found is None else found


@final
@dataclass(frozen=True, slots=True)
class Output:
    """An output of a trace's graph.

    Attributes:
        tracked: whether it is one of those that gradients can be asked of, which come first.
        index: its number among those, or among the others.
    """

    tracked: bool
    index: int


@final
@dataclass(frozen=True, slots=True)
class ArrayResult:
    """A result that is an array: a whole one, or a view of one.

    Attributes:
        source: of what: an argument, by number, an array from outside, or an output.
        offset: where the view begins; None for the very array.
        shape: of the view.
        tracked: whether the view is on the tape.
        kind: the class of the array.
    """

    source: int | Outside | Output
    offset: int | None
    shape: tuple[int, ...]
    tracked: bool
    kind: type[NDArray]


@final
@dataclass(frozen=True, slots=True)
class Write:
    """An array that the function overwrites.

    Attributes:
        target: an argument, by number, or an array from outside.
        output: what it becomes; tracked if the array takes over the output's place on the tape. A
            constant is no output of the graph, and may be on another device (the states of all
            random generators, seeded inside).
    """

    target: int | Outside
    output: Output | Value


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """The findings of a trace.

    Attributes:
        graph: from the inputs to the outputs.
        inputs: where they come from: an argument, by number, an array from outside, a constant.
        types: of the inputs.
        num_tracked: how many of the outputs, from the first, gradients can be asked of.
        results: the leaves of the result: an `ArrayResult`, or any other object itself.
        tree: puts them together.
        writes: what is overwritten.
        averages: the running averages that the backward pass moves, latest first: each held by an
            `ArrayResult`, and the statistics in outputs, by number.
        sources: what is asked for numbers at each call, and what stands for these in the graph.
        ctx: where it runs; None where nothing says it.
        contexts: where its outputs are, if it runs on several devices, which its nodes name; None
            if on one.
        handles: the arrays through which it reached outside, and whether gradients are wanted
            of them.
    """

    graph: Graph
    inputs: tuple[int | Outside | NDArray, ...]
    types: Types
    num_tracked: int
    results: tuple[Any, ...]
    tree: Tree
    writes: tuple[Write, ...]
    averages: tuple[Averages, ...]
    sources: tuple[tuple[Callable[[], Sequence[float]], list[HostScalar]], ...]
    ctx: Context | None
    contexts: tuple[Context, ...] | None
    handles: tuple[tuple[weakref.ref[NDArray], bool], ...]

    def number(self, output: Output) -> int:
        """Returns which of the graph's outputs one is."""
        return output.index if output.tracked else self.num_tracked + output.index


def build(function: Callable[..., object], arguments: Arguments, *, is_body: bool = False) -> Plan:
    """Runs a function once, for arguments of one kind, and returns what it did.

    Args:
        function: the function.
        arguments: the arguments.
        is_body: whether it is a body of a loop or a branch, which moves its running averages as it
            runs: a gradient of the loop does not tell in which turns it was needed.
    """
    trace = Trace(next(tape.order))
    before = tape.state.recording, tape.state.training
    try:
        with trace:
            formals = _formals(arguments, trace)
            leaves = list(arguments.leaves)
            for position, number in arguments.places.items():
                leaves[position] = formals[number].array
            args, kwargs = unflatten(arguments.tree, leaves)
            results, tree = flatten(function(*args, **kwargs))
            if is_body:
                ends = [result.edge for result in results if isinstance(result, NDArray)]
                nodes = tape.reachable([end for end in ends if end is not None])
                tape.move_averages(nodes)
                for node in nodes:
                    node.averages = ()
            values = {
                id(result): result.read()
                for result in results
                if isinstance(result, NDArray) and trace.owns(result.storage)
            }
        return _Planner(trace, formals).plan(results, values, tree)
    finally:
        tape.state.recording, tape.state.training = before
        trace.close()


@final
class _Formal:
    """A stand-in for an argument inside a trace.

    Attributes:
        array: the array that the function is given.
        start: what it holds at first.
        place: where it is on the tape at first.
    """

    __slots__ = ("array", "place", "start")

    def __init__(self, array: NDArray, trace: Trace) -> None:
        self.start = trace.placeholder(array.type)
        self.array = array.from_value(self.start, array.context)
        self.place: tape.Edge | None = None
        trace.formals.add(self.array.storage)


def _formals(arguments: Arguments, trace: Trace) -> list[_Formal]:
    """Makes what stands for the arguments inside the trace.

    Each has a storage of its own, and a place on the tape where its argument has one.
    """
    formals = [_Formal(array, trace) for array in arguments.arrays]
    for number, (formal, array) in enumerate(zip(formals, arguments.arrays, strict=True)):
        if array.edge is not None:
            grad = arguments.grads.get(number)
            req = array.edge.node.req if type(array.edge.node) is tape.Leaf else "write"
            leaf = tape.Leaf(None if grad is None else formals[grad].array, req)
            formal.place = tape.Edge(leaf, 0)
            formal.array.set_edge(formal.place)
    return formals


@final
class _Planner:
    """Finds out what a trace did."""

    def __init__(self, trace: Trace, formals: list[_Formal]) -> None:
        self._trace = trace
        self._formals = formals
        self._numbers = {formal.array.storage: number for number, formal in enumerate(formals)}
        # The outputs of the graph: those that gradients can be asked of come first.
        self._tracked: list[tuple[Value, tape.Edge]] = []
        self._plain: list[Value] = []

    def plan(self, results: list[object], values: dict[int, Value], tree: Tree) -> Plan:
        """Makes the plan.

        Args:
            results, tree: what the function returned, flattened.
            values: what those of the results hold that are arrays made inside, by their ids.
        """
        trace = self._trace
        captured = {capture.value: capture for capture in trace.captured()}
        pairs = [(formal.place, formal.start) for formal in self._formals]
        pairs += [(capture.edge, value) for value, capture in captured.items()]
        leaves = {edge: value for edge, value in pairs if edge is not None}
        arrays = [result for result in results if isinstance(result, NDArray)]
        ends = [array.edge for array in arrays if trace.owns(array.storage)]
        ends += [formal.array.edge for formal in self._formals]
        ends += [edge for _, edge in trace.rewired.values()]
        routes = GradientRoutes(trace, leaves, [edge for edge in ends if edge is not None])
        parts = self._array_results(arrays, values, routes)
        writes, averages = self._writes(routes), self._averages(routes)
        spans = self._spans()
        builder = GraphBuilder(
            trace.segment,
            routes.connect if routes.tracked else None,
            [str(full_name(ctx)) for _, ctx in trace.where] if spans else None,
            trace.origins,
            trace.attrs,
        )
        edges = [routes.joined(builder, builder.edge(value), edge) for value, edge in self._tracked]
        edges += [builder.edge(value) for value in self._plain]
        graph, inputs = builder.graph(edges)
        ctx = trace.ctx or next(
            (array.context for array in arrays if trace.owns(array.storage)), None
        )
        starts = {formal.start: number for number, formal in enumerate(self._formals)}
        places: list[int | Outside | NDArray] = []
        for value in inputs:
            if value in starts:
                places.append(starts[value])
            elif value in captured:
                places.append(self._outside(captured[value]))
            else:
                assert ctx is not None  # a constant is an input of something, or a result
                with init_scope():
                    places.append(NDArray.from_value(value, self._home(value, ctx)))
        return Plan(
            graph=graph,
            inputs=tuple(places),
            types=tuple(value.type for value in inputs),
            num_tracked=len(self._tracked),
            results=tuple(parts.get(id(result), result) for result in results),
            tree=tree,
            writes=writes,
            averages=averages,
            sources=tuple(trace.sources),
            ctx=ctx,
            contexts=self._contexts(places, inputs, ctx) if spans and ctx else None,
            handles=tuple((weakref.ref(handle), on_tape(handle)) for handle in trace.handles()),
        )

    def _spans(self) -> bool:
        """Whether operators, or what they read, are on several devices."""
        trace = self._trace
        homes = {formal.start: formal.array.context for formal in self._formals}
        homes |= {capture.value: capture.storage.ctx for capture in trace.captured()}
        read = {homes[x] for x in trace.segment.inputs if type(x) is Value and x in homes}
        return trace.spans_devices or bool(trace.where and read - {trace.ctx})

    def _home(self, value: Value, ctx: Context) -> Context:
        """Returns where a constant is."""
        if value.array is None:
            return ctx
        array = value.array
        held = {device_of(array.ctx)} if type(array) is HostArray else array.devices()
        known = dict.fromkeys([ctx, *chain.from_iterable(self._trace.where)])
        return next((home for home in known if held == {device_of(home)}), ctx)

    def _contexts(
        self, places: Sequence[int | Outside | NDArray], inputs: Sequence[Value], ctx: Context
    ) -> tuple[Context, ...]:
        """Returns where the outputs are."""
        given = {}
        for value, place in zip(inputs, places, strict=True):
            array = self._formals[place].array if isinstance(place, int) else place
            given[value] = (array.memory if type(array) is Outside else array).context
        values = [value for value, _ in self._tracked] + self._plain
        return tuple(self._trace.context_of(value) or given.get(value, ctx) for value in values)

    def _outside(self, captured: Captured) -> Outside:
        """Returns what is read, at each call, where this was."""
        if captured.edge is None:
            return Outside(NDArray.from_storage(captured.storage), None)
        return Outside(captured.handle.detach(), captured.handle)

    # -- results -----------------------------------------------------------------------------

    def _array_results(
        self, arrays: list[NDArray], values: dict[int, Value], routes: GradientRoutes
    ) -> dict[int, ArrayResult]:
        """Says, for the arrays among the results by id, what they are."""
        parts: dict[int, ArrayResult] = {}
        made: dict[Any, dict[int, NDArray]] = {}
        for array in arrays:
            if self._trace.owns(array.storage):
                made.setdefault(array.storage, {})[id(array)] = array
            else:
                parts[id(array)] = self._given(array)
        for group in made.values():
            whole = next((array for array in group.values() if array.offset is None), None)
            if whole is None or len(group) == 1:
                for key, array in group.items():
                    source = self._output(values[key], array.edge, routes)
                    parts[key] = _array_result(source, None, array)
                continue
            # Several arrays that share memory still do.
            source = self._output(values[id(whole)], whole.edge, routes)
            for key, array in group.items():
                offset = None if array is whole else array.offset or 0
                parts[key] = _array_result(source, offset, array)
        return parts

    def _given(self, array: NDArray) -> ArrayResult:
        """Says what a result is that was not made inside: an argument, something from outside."""
        number = self._numbers.get(array.storage)
        if number is not None:
            whole = array is self._formals[number].array
            return _array_result(number, None if whole else array.offset or 0, array)
        root = self._trace.root(array)
        offset = None if root is array else (array.offset or 0) - (root.offset or 0)
        return _array_result(Outside(root.detach(), root), offset, array)

    def _output(self, value: Value, edge: tape.Edge | None, routes: GradientRoutes) -> Output:
        """Adds an output to the graph."""
        if edge is not None and edge in routes.tracked:
            self._tracked.append((value, edge))
            return Output(True, len(self._tracked) - 1)
        self._plain.append(value)
        return Output(False, len(self._plain) - 1)

    # -- writes ------------------------------------------------------------------------------

    def _writes(self, routes: GradientRoutes) -> tuple[Write, ...]:
        """Says what is overwritten."""
        writes = []
        for number, formal in enumerate(self._formals):
            value = formal.array.storage.value
            if value is not formal.start:
                edge = None if formal.array.edge is formal.place else formal.array.edge
                writes.append(Write(number, self._output(value, edge, routes)))
        for storage, value in self._trace.written():
            handle, edge = self._trace.rewired.get(storage, (None, None))
            target = Outside(NDArray.from_storage(storage), handle)
            constant = value.segment is None
            writes.append(Write(target, value if constant else self._output(value, edge, routes)))
        return tuple(writes)

    def _averages(self, routes: GradientRoutes) -> tuple[Averages, ...]:
        """Says which running averages a backward pass moves."""
        found = []
        for node in routes.nodes:
            for call, arrays, statistics in node.averages:
                assert node.outputs is not None
                # What was made inside, nobody will see.
                if any(self._trace.owns(array.storage) for array in arrays):
                    continue
                values = [node.outputs[number] for number in statistics]
                outputs = [self._output(x, None, routes) for x in values if x is not None]
                # (All outputs that are tracked are there by now, and come before these.)
                numbers = [len(self._tracked) + output.index for output in outputs]
                found.append(Averages(call, [*map(self._given, arrays)], numbers))
        return tuple(found)


def _array_result(source: Any, offset: int | None, array: NDArray) -> ArrayResult:
    return ArrayResult(source, offset, array.shape, array.edge is not None, type(array))


def on_tape(array: NDArray) -> bool:
    """Whether a gradient is wanted of an array."""
    return array.edge is not None and array.edge.node.wanted
