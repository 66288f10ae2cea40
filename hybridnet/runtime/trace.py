"""A trace: the recording of a function, kept as a graph instead of being launched.

While a thread traces, its recorder hands every call to the trace, and every Storage asks the trace
what it holds. Arrays from outside become inputs when they are read, and outputs when they are
written; arrays made inside belong to the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hybridnet.base.attrs import HostScalar
from hybridnet.base.context import Context
from hybridnet.base.errors import MXNetError
from hybridnet.graph.node import Edge, Graph, Node, variable
from hybridnet.ops.call import Call, Types

from . import recorder
from .segment import Segment, Value

__all__ = ["Trace", "graph_of", "host_scalars", "init_scope"]


class Trace:
    """One tracing of one function.

    Attributes:
        ctx: the device that everything in it is on; known at the first array.
        segment: what has been recorded.
        sources: what is asked for numbers at each call, and how many it gives.
    """

    def __init__(self) -> None:
        self.ctx: Context | None = None
        self.segment = Segment(Context("cpu", 0))
        self.segment.traced = True
        self._reads: dict[tuple[Any, bool], Value] = {}
        self._handles: dict[Value, Any] = {}
        self._writes: dict[Any, Value] = {}
        self.sources: list[tuple[Callable[[], Sequence[float]], list[HostScalar]]] = []
        self._outer: Any = None

    def __enter__(self) -> Trace:
        self._outer = recorder.set_trace(self)
        return self

    def __exit__(self, *exc: object) -> None:
        recorder.set_trace(self._outer)

    def append(
        self, ctx: Context, call: Call, values: tuple[Value, ...], scalars: Any, types: Types
    ) -> list[Value]:
        """Records one call."""
        if self.ctx is None:
            self.ctx = self.segment.ctx = ctx
        elif self.ctx is not ctx:
            raise MXNetError(
                f"{call.name}: a traced function runs on one device: it began on {self.ctx}, "
                f"and this is on {ctx}"
            )
        for value in values:
            foreign = value.segment
            if foreign is not None and foreign is not self.segment:
                # A value from before the trace (autograd keeps some): a constant of this trace.
                if foreign.traced:
                    raise MXNetError(f"{call.name}: an array of another trace was used here")
                recorder.launch(foreign)
        self.segment.size += sum(one.nbytes for one in types)
        return self.segment.append(call, values, scalars, types)

    def read(self, storage: Any, handle: Any = None) -> Value:
        """Returns what a Storage from outside holds now, in the trace.

        Args:
            storage: what is read.
            handle: the array through which; its place on the tape decides whether a gradient
                will flow out of the traced function this way.
        """
        value = self._writes.get(storage)
        if value is not None:
            return value
        key = (storage, handle is not None and handle.edge is not None)
        value = self._reads.get(key)
        if value is None:
            value = self._reads[key] = Value(storage.type)
            self._handles[value] = handle
        return value

    def write(self, storage: Any, value: Value) -> None:
        """Notes that a Storage from outside is overwritten."""
        self._writes[storage] = value

    def captured(self) -> dict[Value, tuple[Any, Any]]:
        """Returns, for each Value that stands for something outside, the Storage and the array."""
        return {
            value: (storage, self._handles[value]) for (storage, _), value in self._reads.items()
        }

    def written(self) -> list[tuple[Any, Value]]:
        """Returns the storages from outside that were written, and their last Values."""
        return list(self._writes.items())

    def host_scalars(self, source: Callable[[], Sequence[float]], count: int) -> list[HostScalar]:
        """Notes numbers to be asked for at each call."""
        made = [HostScalar(source, index) for index in range(count)]
        self.sources.append((source, made))
        return made


def host_scalars(source: Callable[[], Sequence[float]], count: int) -> list[Any]:
    """Returns numbers that Python must compute anew each time (a scheduled learning rate).

    Outside a trace they are computed now. In a trace `source` will be called at each call of the
    traced function, and what is returned stands for its results; it can be given to `Scalar`
    parameters of operators only.

    Args:
        source: returns the numbers, and may change Python state (count a step).
        count: how many.
    """
    trace = recorder.current_trace()
    if trace is not None:
        made: list[Any] = trace.host_scalars(source, count)
        return made
    numbers = [float(one) for one in source()]
    if len(numbers) != count:
        raise MXNetError(f"host_scalars: expected {count} numbers, got {len(numbers)}")
    return numbers


@contextmanager
def init_scope() -> Iterator[None]:
    """A scope outside any trace: what is made in it lasts (optimizer states, parameters)."""
    trace = recorder.set_trace(None)
    try:
        yield
    finally:
        recorder.set_trace(trace)


def graph_of(segment: Segment, outputs: Sequence[Value]) -> tuple[Graph, list[Value]]:
    """Turns a segment into a graph.

    Args:
        segment: what was recorded.
        outputs: results of it, or Values from outside that are passed through.

    Returns:
        The graph, and the Values of its inputs: those that stood for something, and constants.
    """
    values = [
        held if type(held) is Value else Value(one, held)
        for held, one in zip(segment.inputs, segment.input_types, strict=True)
    ]
    slots = {id(held): slot for slot, held in enumerate(segment.inputs)}
    for value in outputs:
        if value.segment is not segment:
            held = value if value.array is None else value.array
            if slots.setdefault(id(held), len(values)) == len(values):
                values.append(value)
    variables = [variable(f"input{slot}") for slot in range(len(values))]
    results: list[Edge] = []
    position = 0
    for number, (call, operands) in enumerate(segment.instructions):
        scalars = tuple(segment.scalars[position : position + call.num_scalars])
        position += call.num_scalars
        inputs = tuple(results[i] if i >= 0 else Edge(variables[~i], 0) for i in operands)
        node = Node(call, inputs, f"{call.name.lower()}{number}", scalars)
        results.extend(Edge(node, index) for index in range(call.num_outputs))
    edges = [
        results[value.index]
        if value.segment is segment
        else Edge(variables[slots[id(value if value.array is None else value.array)]], 0)
        for value in outputs
    ]
    graph = Graph(tuple(variables), tuple(edges))
    graph.verify()
    return graph, values
