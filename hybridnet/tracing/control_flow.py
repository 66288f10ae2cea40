"""Loops and choices on arrays inside a trace: each becomes one node, with graphs inside.

A body is traced like a function of its own (`build`). Arrays around it that it reads are inputs of
the node; those that it overwrites, random states among them, go from step to step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

from hybridnet.base.attrs import HostScalar
from hybridnet.base.context import Context
from hybridnet.base.dtype import is_float
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.base.nested import Layout, flattened, nested
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.graph.cond import CondCall
from hybridnet.graph.foreach import ForeachCall, Loop
from hybridnet.graph.node import Edge, Graph, Node, variable
from hybridnet.graph.subgraph import ControlCall, opened, shared
from hybridnet.graph.while_loop import WhileCall
from hybridnet.ndarray import NDArray, _tape
from hybridnet.ndarray.control_flow import TRACED, loop_arguments, taken_apart
from hybridnet.ops.registry import get
from hybridnet.runtime import recorder
from hybridnet.runtime.segment import Value
from hybridnet.runtime.trace import host_scalars

from .build import Output, Outside, Part, Plan, build
from .structure import Arguments

__all__: list[str] = []


@final
class _Body:
    """A traced body.

    Args:
        what: function and argument, for messages.
        function: from arrays to a list of arrays.
        types: of what it is given.
        ctx: where that is.
    """

    def __init__(
        self,
        what: str,
        function: Callable[..., list[NDArray]],
        types: Sequence[TensorType],
        ctx: Context,
    ) -> None:
        self._what = what
        given = Arguments(tuple(_stand_in(one, ctx) for one in types), {})

        def run(*arrays: NDArray) -> list[Any]:
            # Results of their own: neither arguments, nor views, nor arrays from outside.
            copy = get("_copy")
            return [NDArray.apply_operator(copy, (one,), {}) for one in function(*arrays)]

        self.plan: Plan = build(run, given)
        self.num_given = len(types)
        pairs = list(zip(self.plan.inputs, self.plan.graph.inputs, strict=True))
        self._own = {place: node for place, node in pairs if isinstance(place, int)}
        #: The arrays from outside that it reads, and what stands for them.
        self.outside = [
            (place.get() if type(place) is Outside else place, node)
            for place, node in pairs
            if not isinstance(place, int)
        ]
        for write in self.plan.writes:
            if isinstance(write.target, int):
                raise MXNetError(
                    f"{what}: in a traced function it cannot overwrite what it is given; make new "
                    "arrays (state = state + 1) and return these"
                )
            if type(write.output) is Value:
                raise MXNetError(
                    f"{what}: in a traced function it cannot set an array to a constant from "
                    "outside (such as a seed)"
                )

    def variable(self, number: int) -> Node:
        """Returns what stands for an argument."""
        return self._own.get(number) or variable(f"unused{number}")

    def numbers(self) -> dict[HostScalar, Any]:
        """Returns what stands, in the trace around, for numbers that Python is asked for."""
        found: dict[HostScalar, Any] = {}
        for source, stand_ins in self.plan.sources:
            found.update(zip(stand_ins, host_scalars(source, len(stand_ins)), strict=True))
        return found

    def result(self, number: int) -> tuple[Edge, bool]:
        """Returns a result, and whether gradients flow to it."""
        part = self.plan.results[number]
        assert isinstance(part, Part) and type(part.source) is Output
        return self._output(part.source)

    def _output(self, output: Output) -> tuple[Edge, bool]:
        index = output.index + (0 if output.tracked else self.plan.num_tracked)
        edge = self.plan.graph.outputs[index]
        if output.tracked or not _tape.state.recording:
            return edge, output.tracked
        block = get("BlockGrad").bind({})[0]
        return Edge(Node(block, (edge,), "stop"), 0), False

    @property
    def num_results(self) -> int:
        """How many arrays the function returned."""
        return len(self.plan.results)

    def written(self) -> dict[Any, tuple[NDArray, Edge, bool]]:
        """Returns what is overwritten: by storage the array, its new value, and as `result`."""
        found = {}
        for write in self.plan.writes:
            assert isinstance(write.target, Outside) and type(write.output) is Output
            array = write.target.get()
            found[array.storage] = (array, *self._output(write.output))
        return found


@final
class _Bodies:
    """Several bodies that become one call: they get the same inputs.

    Args:
        bodies: the traced bodies.
        arrays: what they are given.
        writers: those that may overwrite arrays.

    Attributes:
        operands: the inputs of the call: what is given, what is overwritten, what is read.
        written: the numbers of those that are overwritten.
    """

    def __init__(
        self, bodies: Sequence[_Body], arrays: Sequence[NDArray], writers: Sequence[_Body]
    ) -> None:
        self.bodies = bodies
        self.operands = list(arrays)
        self._writes = [one.written() if one in writers else {} for one in bodies]
        targets = {
            storage: write[0] for writes in self._writes for storage, write in writes.items()
        }
        first = len(arrays)
        self.written = tuple(range(first, first + len(targets)))
        self._slots: list[dict[int, Node]] = [
            {i: body.variable(i) for i in range(body.num_given)} for body in bodies
        ]
        self._storages = list(targets)
        self.operands += targets.values()
        for body, slots in zip(bodies, self._slots, strict=True):
            for array, node in body.outside:
                slots[self._place(array)] = node
        trace = recorder.current_trace()
        assert trace is not None
        handles = [ref() for body in bodies for ref, _ in body.plan.handles]
        trace.depend([one for one in handles if one is not None])

    def _place(self, array: NDArray) -> int:
        for i, storage in enumerate(self._storages):
            if array.storage is storage and array.type is storage.type:
                return self.written[i]
        self.operands.append(array)
        return len(self.operands) - 1

    def graph(self, number: int, *, writes: bool = True) -> tuple[Graph, list[bool]]:
        """Returns the graph of a body: its results, then the new values of what is overwritten.

        Args:
            number: of the body.
            writes: whether to give the latter.

        Returns:
            The graph, and for each output whether gradients flow to it.
        """
        body, slots = self.bodies[number], self._slots[number]
        inputs = [slots.get(i) or variable(f"unused{i}") for i in range(len(self.operands))]
        outputs = [body.result(i) for i in range(body.num_results)]
        if writes:
            for place, storage in zip(self.written, self._storages, strict=True):
                write = self._writes[number].get(storage)
                outputs.append((Edge(inputs[place], 0), True) if write is None else write[1:])
        graph = Graph(tuple(inputs), tuple(edge for edge, _ in outputs))
        return graph, [flows for _, flows in outputs]

    def apply(
        self,
        call: ControlCall,
        scalars: Sequence[Any],
        num_results: int,
        tracked: Sequence[bool],
        first: Sequence[NDArray] = (),
    ) -> list[NDArray]:
        """Records the call, overwrites what it overwrites, and returns the results.

        Args:
            call: the call.
            scalars: the numbers that it takes.
            num_results: how many results there are.
            tracked: for each output whether gradients flow to it.
            first: inputs that come before all others.
        """
        operands = [*first, *self.operands]
        numbers = {key: one for body in self.bodies for key, one in body.numbers().items()}
        given = tuple(numbers.get(x, x) if type(x) is HostScalar else x for x in scalars)
        applied: Any = call
        if _tape.state.recording:
            applied = call.keeping(tuple(one.type for one in operands))
        outputs: list[NDArray] = NDArray.apply_call(applied, operands, given)
        for output, flows in zip(outputs, tracked, strict=False):
            if not flows:
                output.set_edge(None)
        for i, place in enumerate(self.written):
            target, value = self.operands[place], outputs[num_results + i]
            target.write(value.read())
            if tracked[num_results + i] and target.offset is None:
                target.set_edge(value.edge)
        return outputs[:num_results]


def _stand_in(type: TensorType, ctx: Context) -> NDArray:
    """Returns an argument for tracing a body: while recording gradients are wanted of it."""
    trace = recorder.current_trace()
    assert trace is not None
    made = NDArray.from_value(trace.placeholder(type), ctx)
    if _tape.state.recording and is_float(type.dtype):
        made.set_edge(_tape.Edge(_tape.Leaf(None, "write"), 0))
    return made


def _foreach(
    body: Callable[..., Any],
    rows: Sequence[NDArray],
    data_layout: Layout,
    states: Sequence[NDArray],
    state_layout: Layout,
) -> tuple[Any, Any]:
    """Traces a loop over rows; see `hybridnet.ndarray.control_flow`."""
    count = len(rows)
    layouts: list[Any] = []

    def run(*arrays: NDArray) -> list[NDArray]:
        result = body(nested(data_layout, arrays[:count]), nested(state_layout, arrays[count:]))
        outs, new, found = taken_apart("foreach: body", result, states)
        layouts.append(found)
        return [*outs, *new]

    types = [tensor_type(one.shape[1:] or (1,), one.inferred_dtype) for one in rows]
    types += [one.type for one in states]
    traced = _Body("foreach: body", run, types, rows[0].context)
    bodies = _Bodies([traced], [*rows, *states], [traced])
    total = traced.num_results
    num_out = total - len(states)
    graph, tracked = bodies.graph(0)
    parts, scalars = opened(graph)
    carried = (*range(count, count + len(states)), *bodies.written)
    loop = Loop(count, num_out, carried, len(states), flat=True)
    call = shared(ForeachCall(parts[0], loop, len(scalars)))
    outputs = bodies.apply(call, scalars, total, tracked)
    return nested(layouts[0][0], outputs[:num_out]), nested(layouts[0][1], outputs[num_out:])


def _while_loop(
    cond: Callable[..., Any],
    func: Callable[..., Any],
    variables: Sequence[NDArray],
    layout: Layout,
    limit: int,
) -> tuple[Any, Any]:
    """Traces a loop; see `hybridnet.ndarray.control_flow`."""
    layouts: list[Any] = []
    ctx = variables[0].context

    def test(*arrays: NDArray) -> list[NDArray]:
        holds = cond(*loop_arguments(layout, arrays))
        if not isinstance(holds, NDArray):
            attrs = {"shape": (1,), "value": float(bool(holds))}
            holds = NDArray.apply_operator(get("_full"), (), attrs, ctx=ctx)
        return [holds]

    def run(*arrays: NDArray) -> list[NDArray]:
        result = func(*loop_arguments(layout, arrays))
        outs, new, found = taken_apart("while_loop: func", result, variables)
        layouts.append(found)
        return [*outs, *new]

    types = [one.type for one in variables]
    tested = _Body("while_loop: cond", test, types, ctx)
    traced = _Body("while_loop: func", run, types, ctx)
    if tested.plan.writes:
        raise MXNetError(
            "while_loop: in a traced function cond must neither draw random numbers nor overwrite "
            "arrays; do it in func"
        )
    bodies = _Bodies([tested, traced], variables, [traced])
    total, count = traced.num_results, len(variables)
    num_out = total - count
    condition, _ = bodies.graph(0, writes=False)
    body, tracked = bodies.graph(1)
    parts, scalars = opened(condition, body)
    carried = (*range(count), *bodies.written)
    call = shared(WhileCall((parts[0], parts[1]), num_out, carried, count, limit, len(scalars)))
    outputs = bodies.apply(call, scalars, total, tracked)
    return nested(layouts[0][0], outputs[:num_out]), nested(layouts[0][1], outputs[num_out:])


def _cond(pred: NDArray, then_func: Callable[[], Any], else_func: Callable[[], Any]) -> Any:
    """Traces a choice; see `hybridnet.ndarray.control_flow`."""
    layouts: list[Any] = []

    def traced(what: str, function: Callable[[], Any]) -> _Body:
        def run() -> list[NDArray]:
            outs, layout = flattened(function(), NDArray, f"cond: what {what} returns")
            layouts.append(layout)
            return outs

        return _Body(f"cond: {what}", run, [], pred.context)

    branches = [traced("then_func", then_func), traced("else_func", else_func)]
    counts = [one.num_results for one in branches]
    if counts[0] != counts[1] or not counts[0]:
        raise ParameterError(
            "cond: in a traced function then_func and else_func must return the same number of "
            f"arrays, at least one, got {counts[0]} and {counts[1]}"
        )
    bodies = _Bodies(branches, [], branches)
    (then, flows), (other, others) = bodies.graph(0), bodies.graph(1)
    tracked = [a or b for a, b in zip(flows, others, strict=True)]
    parts, scalars = opened(then, other)
    call = shared(CondCall((parts[0], parts[1]), counts[0], len(scalars), written=bodies.written))
    outputs = bodies.apply(call, scalars, counts[0], tracked, (pred,))
    return nested(layouts[0], outputs)


TRACED.update(foreach=_foreach, while_loop=_while_loop, cond=_cond)
