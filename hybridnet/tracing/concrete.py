"""One trace of a function, for one kind of arguments: how it is made, and how it is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

from hybridnet.base.attrs import HostScalar
from hybridnet.base.dtype import is_float
from hybridnet.base.errors import MXNetError
from hybridnet.ndarray import NDArray, _tape
from hybridnet.runtime import recorder
from hybridnet.runtime.graph_call import GraphCall
from hybridnet.runtime.segment import Value
from hybridnet.runtime.storage import Storage
from hybridnet.runtime.trace import Trace, graph_of, host_scalars

from .structure import Arguments, flatten

__all__ = ["ConcreteFunction"]

# Where an input comes from, or a written value goes: the number of an argument, or an array that
# the function found outside.
Place = int | NDArray


@final
class ConcreteFunction:
    """A traced function: a graph, where its inputs come from, and where its outputs go.

    Attributes:
        call: the graph as one call. Its outputs are the results, then what is written.
        captured: the arrays from outside that it reads or writes.
    """

    __slots__ = (
        "_inputs",
        "_num_results",
        "_results",
        "_sources",
        "_tree",
        "_writes",
        "call",
        "captured",
    )

    def __init__(self, function: Callable[..., Any], arguments: Arguments, name: str) -> None:
        trace = Trace()
        recording = _tape.state.recording
        with trace:
            formals = _formals(arguments.arrays, trace)
            starts = [formal.storage.value for formal in formals]
            leaves = list(arguments.leaves)
            for position, number in arguments.places.items():
                leaves[position] = formals[number]
            args, kwargs = arguments.tree.unflatten(leaves)
            # The whole function is one entry on the caller's tape.
            _tape.state.recording = False
            try:
                results, self._tree = flatten(function(*args, **kwargs))
            finally:
                _tape.state.recording = recording
            returned = [one.read() if isinstance(one, NDArray) else None for one in results]
        outputs: list[Value] = []
        self._results = [
            _result(one, value, formals, trace, outputs)
            for one, value in zip(results, returned, strict=True)
        ]
        self._num_results = len(outputs)
        self._writes: list[Place] = []
        for number, formal in enumerate(formals):
            if formal.offset is None and formal.storage.value is not starts[number]:
                self._writes.append(number)
                outputs.append(formal.storage.value)
        for storage, value in trace.written():
            self._writes.append(NDArray.from_storage(storage))
            outputs.append(value)
        graph, values = graph_of(trace.segment, outputs)
        numbers = {value: number for number, value in enumerate(starts)}
        captured = {value: _whole(*found) for value, found in trace.captured().items()}
        self.captured = list(captured.values())
        self._inputs: list[Place] = []
        for value in values:
            place: Place | None = numbers.get(value, captured.get(value))
            if place is None:
                assert trace.ctx is not None
                place = NDArray.from_value(value, trace.ctx)
            self._inputs.append(place)
        self._sources = trace.sources
        types = tuple(value.type for value in values)
        self.call = GraphCall(graph, types, name, self._num_results)

    def __call__(self, arguments: Arguments) -> Any:
        """Records the graph as one call on these arguments; returns what the function returned."""
        arrays = arguments.arrays
        if self._writes:
            self._refuse_captured(arrays)
        operands = [arrays[one] if isinstance(one, int) else one for one in self._inputs]
        numbers: dict[HostScalar, float] = {}
        for source, stand_ins in self._sources:
            numbers.update(zip(stand_ins, host_scalars(source, len(stand_ins)), strict=True))
        call = self.call
        scalars = tuple(numbers[one] for one in call.hosts)
        if _tape.state.recording:
            wanted = tuple(
                i
                for i, x in enumerate(operands)
                if x.edge is not None and is_float(x.inferred_dtype)
            )
            if wanted:
                call = call.training(wanted)
        outputs = NDArray.apply_call(call, operands, scalars)
        for place, output in zip(self._writes, outputs[self._num_results :], strict=False):
            target = arrays[place] if isinstance(place, int) else place
            target.write(output.read())
        leaves = [
            outputs[what] if kind == "value" else arrays[what] if kind == "argument" else what
            for kind, what in self._results
        ]
        if not _tape.state.recording:
            # A unit of work that the user named: it starts now, whatever follows. While recording,
            # the backward pass belongs to it.
            recorder.mark()
        return self._tree.unflatten(leaves)

    def _refuse_captured(self, arrays: Sequence[NDArray]) -> None:
        """Raises if an argument is also read or written from outside: the two would part."""
        outside = {id(one.storage) for one in self.captured}
        for one in arrays:
            if id(one.storage) in outside:
                raise MXNetError(
                    f"{self.call.name}: an array that is changed in place was both passed as an "
                    "argument and used from outside the function; do one of the two"
                )


def _whole(storage: Storage, handle: NDArray | None) -> NDArray:
    """Returns the array through which a captured storage is read at each call."""
    if handle is None or handle.edge is None:
        return NDArray.from_storage(storage)
    if handle.offset is not None or handle.type is not storage.type:
        raise MXNetError(
            "a traced function used a view (a slice or reshape) of an outside array that needs a "
            "gradient; pass the view as an argument, or take it inside the function"
        )
    return handle


def _formals(arrays: Sequence[NDArray], trace: Trace) -> list[NDArray]:
    """Makes the arrays that stand for the arguments inside the trace.

    Each has a storage of its own, except that views of one storage stay views of one.
    """
    counts: dict[int, int] = {}
    for one in arrays:
        counts[id(one.storage)] = counts.get(id(one.storage), 0) + 1
    by_array = {}
    for one in arrays:
        if counts[id(one.storage)] > 1:
            raise MXNetError(
                "a traced function was given two arrays that share memory (views of one array); "
                "pass the whole array, or copies"
            )
        formal = NDArray.from_value(Value(one.type), one.context)
        by_array[one] = formal
    for one, formal in by_array.items():
        if one.grad is not None and one.edge is not None and one.grad in by_array:
            formal.mark_variable(by_array[one.grad], one.edge.node.req)
    return list(by_array.values())


def _result(
    one: Any, value: Value | None, formals: Sequence[NDArray], trace: Trace, outputs: list[Value]
) -> tuple[str, Any]:
    """Says what a leaf of the result is: an output or argument by number, or the object itself."""
    if value is None:
        return "same", one
    for number, formal in enumerate(formals):
        if formal is one:
            return "argument", number
    if one.storage.owner is not trace:
        return "same", one
    outputs.append(value)
    return "value", len(outputs) - 1
