"""A trace: the recording of a function, kept as a graph instead of being launched.

While a thread traces, its recorder hands every call to the trace, and every Storage asks the trace
what it holds. Arrays from outside become inputs when they are read, and outputs when they are
written; arrays made inside belong to the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple, final

from hybridnet import engine
from hybridnet.attribute import AttrScope
from hybridnet.base.attrs import HostScalar, Number
from hybridnet.base.context import Context, places
from hybridnet.base.device_name import DEVICE, DeviceName
from hybridnet.base.errors import MXNetError
from hybridnet.base.origins import noted_origin
from hybridnet.base.tensor_type import TensorType
from hybridnet.graph import MIRRORING, Edge, Graph, Node, stored_name, variable
from hybridnet.ops.core import Call, Types
from hybridnet.ops.core.registry import get

from ..devices.device import device_at
from ..segments.segment import Segment, Value
from . import recorder
from .apart import InterruptedLaunchError
from .storage import Storage

__all__ = ["Captured", "GraphBuilder", "Trace", "host_scalars", "init_scope"]

_ANOTHER: Final = (
    "{name}: an array of another trace was used here: one that a traced function, or a branch or "
    "loop in it, kept where the trace does not see it, or that a "
    "thread made while it traced; return it from the function instead"
)


class Captured(NamedTuple):
    """An array from outside the trace that the traced function reads.

    Attributes:
        value: the Value that stands for it in the trace.
        storage: its Storage.
        handle: the NDArray through which it was read first; None for the state of a random
            generator.
        edge: the place of that NDArray on the tape.
    """

    value: Value
    storage: Storage
    handle: Any
    edge: Any


@final
class Trace:
    """One tracing of one function.

    Args:
        began: the number that the next node of the tape has when the trace begins; nodes with a
            smaller one are from outside.

    Attributes:
        began: the same.
        ctx: the context of its first operator; None before there is one.
        segment: the instructions recorded so far.
        origins: for each instruction the user's line that recorded it.
        attrs: for each instruction what `AttrScope` said of recomputation.
        where: for each instruction the context of its results, and that on which it runs.
        sources: functions that compute numbers anew at each call of the traced function (see
            `host_scalars`), each with the objects that stand for its numbers in the trace.
        formals: the storages of the arrays that stand for the function's arguments.
        rewired: storages from outside whose whole array was replaced by one on the trace's own
            tape: for each the NDArray that was written, and its place on that tape. Known after the
            trace has ended.
    """

    def __init__(self, began: int = 0) -> None:
        self.began = began
        self.ctx: Context | None = None
        self.where: list[tuple[Context, Context]] = []
        # How many `device` scopes were entered outside: they do not apply inside the function.
        self._depth = len(places())
        self._result_contexts: list[Context] = []
        self.segment = _traced_segment()
        self.origins: list[engine.Origin | None] = []
        self.attrs: list[Mapping[str, str]] = []
        self.sources: list[tuple[Callable[[], Sequence[float]], list[HostScalar]]] = []
        self.rewired: dict[Storage, tuple[Any, Any]] = {}
        # The `segment` of Values that stand for arrays from outside, and so have no array.
        self._outside = self.segment.outside = _traced_segment()
        self.formals: set[Any] = set()
        self._reads: dict[tuple[Storage, Hashable], Captured] = {}
        self._handles: dict[int, Any] = {}
        self._writes: dict[Storage, Value] = {}
        self._written: dict[int, tuple[Any, Any]] = {}
        self._roots: dict[int, tuple[object, object]] = {}
        self._outer: Trace | None = None

    def __enter__(self) -> Trace:
        self._outer = recorder.set_trace(self)
        return self

    def __exit__(self, *exc: object) -> None:
        recorder.set_trace(self._outer)
        # Arrays from outside must not keep a place on the trace's tape, which ends here.
        for handle, edge in self._written.values():
            if handle.edge is not edge:
                self.rewired[handle.storage] = (handle, handle.edge)
                handle.set_edge(edge)

    def close(self) -> None:
        """Drops all references to arrays from outside."""
        for held in (self.formals, self.rewired, self._reads, self._handles):
            held.clear()
        for kept in (self._writes, self._written, self._roots):
            kept.clear()

    def owns(self, storage: Storage) -> bool:
        """Whether the traced function made a Storage itself (its arguments' are from outside)."""
        return storage.owner is self and storage not in self.formals

    def placeholder(self, type: TensorType) -> Value:
        """Returns a Value that stands for an array from outside."""
        value = Value(type)
        value.segment = self._outside
        return value

    def append(
        self,
        ctx: Context,
        call: Call,
        values: Sequence[Value],
        scalars: tuple[Number, ...],
        types: Types,
    ) -> list[Value]:
        """Records one call."""
        runs_on = ctx
        stack = places()
        if len(stack) > self._depth and not isinstance(stack[-1], Context):
            runs_on = _asked_for(stack[self._depth :]) or ctx
        if self.ctx is None:
            self.ctx = self.segment.ctx = ctx
        for value in values:
            foreign = value.segment
            if foreign is None or foreign is self.segment or foreign is self._outside:
                continue
            if foreign.traced:
                raise MXNetError(_ANOTHER.format(name=call.name))
            recorder.launch(foreign)  # made before the trace: a constant of it
        made = self.segment.append(call, values, scalars, types)
        if made is None:
            raise InterruptedLaunchError
        self.where.append((ctx, runs_on))
        self.origins.append(noted_origin(2))
        self.attrs.append(_mirroring())
        self._result_contexts += (ctx,) * len(made)
        return made

    @property
    def spans_devices(self) -> bool:
        """Whether the instructions are on several devices."""
        return len({context for pair in self.where for context in pair}) > 1

    def context_of(self, value: Value) -> Context | None:
        """Returns the context of a Value; None if it was not recorded in this trace."""
        if value.segment is not self.segment:
            return None
        return self._result_contexts[value.index]

    def inline(
        self,
        call: Any,
        values: Sequence[Value],
        scalars: Sequence[Number],
        contexts: Sequence[Context],
    ) -> list[Value]:
        """Records the nodes of a graph one by one, each on the device that it names.

        Args:
            call: a `GraphCall` whose nodes are on several devices.
            values: its inputs.
            scalars: the numbers that it takes.
            contexts: the contexts on which its outputs are wanted.

        Returns:
            Its outputs.
        """
        numbers = dict(zip(call.hosts, scalars, strict=True))
        made = {node: [value] for node, value in zip(call.graph.inputs, values, strict=True)}
        for node in call.graph.nodes:
            if node.call is None:
                continue
            operands = [made[edge.node][edge.index] for edge in node.inputs]
            own = tuple(numbers[x] if type(x) is HostScalar else x for x in node.scalars)
            types = node.call.infer(tuple(value.type for value in operands))
            place = DeviceName.parse(node.attrs[DEVICE])
            assert place.type is not None and place.index is not None
            made[node] = self.append(
                Context(place.type, place.index), node.call, operands, own, types
            )
        found = [made[edge.node][edge.index] for edge in call.graph.outputs]
        copy = get("_copy").bind({})[0]
        return [
            value
            if self.context_of(value) in (None, ctx)
            else self.append(ctx, copy, [value], (), (value.type,))[0]
            for value, ctx in zip(found, contexts, strict=True)
        ]

    def link(self, view: object, base: object) -> None:
        """Notes that an array is a view of another: to read it is to read through the other."""
        self._roots[id(view)] = (view, self.root(base))

    def root(self, handle: object) -> Any:
        """Returns the array from outside that an array is a view of, or that array itself."""
        found = self._roots.get(id(handle))
        return handle if found is None else found[1]

    def read(self, storage: Storage, handle: Any = None) -> Value:
        """Returns the Value that a Storage from outside has at this point of the trace.

        Args:
            storage: the Storage that is read.
            handle: the NDArray through which it is read. Gradients will flow out of the traced
                function to this array's place on the tape.
        """
        edge = None
        if handle is not None:
            handle = self.root(handle)
            self._handles[id(handle)] = handle
            # If it was overwritten, its edge may be on the trace's own tape: take the earlier one.
            _, edge = self._written.get(id(handle), (handle, handle.edge))
        if edge is not None and not (handle.offset is None and handle.type is storage.type):
            # A view that has its own place on the tape: its gradient goes there, but its value is
            # read from the whole Storage.
            self._capture(storage, handle, edge, handle.type)
            edge = None
        written = self._writes.get(storage)
        if written is not None and edge is None:
            return written
        value = self._capture(storage, handle, edge, storage.type)
        return value if written is None else written

    def _capture(self, storage: Storage, handle: object, edge: object, type: TensorType) -> Value:
        found = self._reads.get((storage, edge))
        if found is None:
            value = self.placeholder(type)
            found = self._reads[storage, edge] = Captured(value, storage, handle, edge)
        return found.value

    def write(self, storage: Storage, value: Value, handle: Any = None) -> None:
        """Notes that a Storage from outside is overwritten.

        Args:
            storage: the Storage that is written.
            value: its Value from now on.
            handle: the NDArray through which it is written, if that is the whole of the Storage.
        """
        if handle is not None:
            self._written.setdefault(id(handle), (handle, handle.edge))
        self._writes[storage] = value

    def captured(self) -> list[Captured]:
        """Returns the arrays from outside that were read, in the order of their first reading."""
        return list(self._reads.values())

    def depend(self, handles: Sequence[object]) -> None:
        """Notes the NDArrays from outside that a traced function called in this one reads."""
        self._handles.update((id(handle), handle) for handle in handles if handle is not None)

    def handles(self) -> list[Any]:
        """Returns the NDArrays from outside that were read or, as a whole, overwritten."""
        return [*self._handles.values(), *(handle for handle, _ in self._written.values())]

    def written(self) -> list[tuple[Storage, Value]]:
        """Returns the storages from outside that were written, and their last Values."""
        return list(self._writes.items())

    def host_scalars(self, source: Callable[[], Sequence[float]], count: int) -> list[HostScalar]:
        """Adds numbers that are computed anew at each call; see the function `host_scalars`."""
        made = [HostScalar(source, index) for index in range(count)]
        self.sources.append((source, made))
        return made


def _asked_for(stack: Sequence[Context | DeviceName | str | None]) -> Context | None:
    """Returns the context that `device` scopes ask for; None if they name none.

    Raises:
        MXNetError: this process has no such device.
    """
    name = DeviceName()
    for scope in stack:
        name = DeviceName() if scope is None else name.merged(DeviceName.of(scope))
    if name.task or name.replica:  # this process is task 0 of any job
        raise MXNetError(
            f"hn.device: {name} is of another process, and a traced function runs in one; over "
            "other processes a session of hn.cluster runs symbols"
        )
    if name.type is None:
        return None
    return device_at(Context(name.type, name.index or 0)).context


def _mirroring() -> Mapping[str, str]:
    """Returns what the scopes in force say of recomputation, as nodes have it."""
    given = {stored_name(name): text for name, text in AttrScope.current.get(None).items()}
    return {name: given[name] for name in sorted(MIRRORING) if name in given}


def _traced_segment() -> Segment:
    segment = Segment(Context("cpu", 0))
    segment.traced = True
    return segment


def host_scalars(source: Callable[[], Sequence[float]], count: int) -> Sequence[Number]:
    """Returns numbers that Python must compute anew each time, such as a scheduled learning rate.

    Outside a trace they are computed now. In a trace, `source` will be called at each call of the
    traced function, and this returns objects that stand for its numbers. Such an object can only be
    passed to a parameter of an operator that is a `Scalar`.

    Args:
        source: returns the numbers, and may change Python state (count a step).
        count: how many numbers it returns.
    """
    trace = recorder.thread.trace
    if trace is not None:
        made: Sequence[Number] = trace.host_scalars(source, count)
        return made
    numbers = [*map(float, source())]
    if len(numbers) != count:
        raise MXNetError(f"host_scalars: expected {count} numbers, got {len(numbers)}")
    return numbers


@contextmanager
def init_scope() -> Iterator[None]:
    """A scope outside any trace: what is made in it lasts (optimizer states, parameters)."""
    with recorder.outside_trace():
        yield


@final
class GraphBuilder:
    """Turns a segment into a graph.

    Args:
        segment: the segment.
        connect: a function that may change the inputs of a node. It is called for each instruction
            with this builder, the call, the number of its first result and its inputs, and returns
            the inputs that the node gets.
        devices: for each instruction the name of its device; None if all run on one.
        origins: for each instruction the user's line that recorded it; empty if not known.
        attrs: for each instruction further attributes of its node; empty for none.

    Attributes:
        results: for each result of the segment its edge in the graph. While `connect` is called
            it has only those of earlier instructions.
    """

    def __init__(
        self,
        segment: Segment,
        connect: Callable[[GraphBuilder, Call, int, list[Edge]], Sequence[Edge]] | None = None,
        devices: Sequence[str] | None = None,
        origins: Sequence[engine.Origin | None] = (),
        attrs: Sequence[Mapping[str, str]] = (),
    ) -> None:
        self._segment = segment
        self._inputs: dict[int, tuple[Node, Value]] = {}
        self.results: list[Edge] = []
        for held, kind in zip(segment.inputs, segment.input_types, strict=True):
            self._input(held if type(held) is Value else Value(kind, held))
        variables = [node for node, _ in self._inputs.values()]
        position = 0
        for number, (call, operands) in enumerate(segment.instructions):
            noted = dict(attrs[number]) if attrs else {}
            if devices is not None:
                noted[DEVICE] = devices[number]
            scalars = tuple(segment.scalars[position : position + call.num_scalars])
            position += call.num_scalars
            inputs = [self.results[i] if i >= 0 else Edge(variables[~i], 0) for i in operands]
            if connect is not None:
                inputs = list(connect(self, call, len(self.results), inputs))
            origin = origins[number] if origins else None
            name = f"{call.name.lower()}{number}"
            node = Node(call, tuple(inputs), name, scalars, noted, origin)
            self.results.extend(Edge(node, index) for index in range(call.num_outputs))

    def _input(self, value: Value) -> Node:
        # An array from outside is found by the `id` of the array, as in the segment.
        key = id(value if value.array is None else value.array)
        found = self._inputs.get(key)
        if found is None:
            found = self._inputs[key] = (variable(f"input{len(self._inputs)}"), value)
        return found[0]

    def edge(self, value: Value) -> Edge:
        """Returns the edge of a Value in the graph; a Value from outside becomes an input."""
        if value.segment is self._segment:
            return self.results[value.index]
        return Edge(self._input(value), 0)

    def graph(self, outputs: Sequence[Edge]) -> tuple[Graph, list[Value]]:
        """Returns the graph that computes these outputs, and the Values of the inputs it needs."""
        needed = set(Graph((), tuple(outputs)).nodes)
        inputs = [(node, value) for node, value in self._inputs.values() if node in needed]
        graph = Graph(tuple(node for node, _ in inputs), tuple(outputs))
        graph.verify()
        return graph, [value for _, value in inputs]
