"""Bodies of loops and branches inside a trace: graphs that become parts of one node.

A body is traced like a function of its own (`build`). Arrays around it that it reads are inputs of
the node; those that it overwrites, random states among them, go from step to step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

from hybridnet import tape
from hybridnet.base.attrs import HostScalar, Number
from hybridnet.base.context import Context
from hybridnet.base.dtype import is_float
from hybridnet.base.errors import MXNetError
from hybridnet.base.tensor_type import TensorType
from hybridnet.graph import ControlCall, Edge, Graph, Node, variable
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.internal import cast_call, fill_call
from hybridnet.ops.core.registry import get
from hybridnet.runtime.recording import Value, recorder
from hybridnet.runtime.traces import host_scalars

from .build import ArrayResult, Output, Outside, Plan, build
from .structure import Arguments

#: A value in a graph, and whether gradients flow to it.
Flow = tuple[Edge, bool]


@final
class Body:
    """A traced body.

    Args:
        what: function and argument, for messages.
        function: from arrays to a list of arrays, among which may be other objects.
        types: of what it is given.
        ctx: where that is.
        kinds: the classes of what it is given; default NDArray.
        may_write: whether it may overwrite what it is given.

    Attributes:
        given: the arrays that it was given.
        leaves: what the function returned.
        overwritten: what it is given and overwrites, by number.
    """

    def __init__(
        self,
        what: str,
        function: Callable[..., list[Any]],
        types: Sequence[TensorType],
        ctx: Context,
        kinds: Sequence[type[NDArray]] = (),
        may_write: bool = False,
    ) -> None:
        stand_ins = [_stand_in(type_, ctx) for type_ in types]
        if kinds:
            wanted = zip(stand_ins, kinds, strict=True)
            stand_ins = [array.as_kind(kind) for array, kind in wanted]
        self.leaves: list[Any] = []
        self.given: tuple[NDArray, ...] = ()
        self._places: list[int] = []

        def run(*arrays: NDArray) -> list[Any]:
            self.given = arrays
            self.leaves = function(*arrays)
            # Results of their own: neither arguments, nor views, nor arrays from outside.
            copy = get("_copy")
            found: list[Any] = []
            for leaf in self.leaves:
                self._places.append(len(found))
                if isinstance(leaf, NDArray):
                    found.append(NDArray.apply_operator(copy, (leaf,), {}))
            return found

        self.plan: Plan = build(run, Arguments(tuple(stand_ins), {}), is_body=True)
        self.num_given = len(types)
        pairs = list(zip(self.plan.inputs, self.plan.graph.inputs, strict=True))
        self._own = {place: node for place, node in pairs if isinstance(place, int)}
        #: The arrays from outside that it reads, and what stands for them.
        self.outside = [
            (place.get() if type(place) is Outside else place, node)
            for place, node in pairs
            if not isinstance(place, int)
        ]
        self.overwritten: dict[int, Output] = {}
        for write in self.plan.writes:
            if isinstance(write.target, int):
                if may_write and type(write.output) is Output:
                    self.overwritten[write.target] = write.output
                    continue
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

    def result(self, number: int) -> Flow:
        """Returns a leaf that is an array."""
        part = self.plan.results[self._places[number]]
        assert isinstance(part, ArrayResult) and type(part.source) is Output
        return self._output(part.source)

    def _output(self, output: Output) -> Flow:
        index = output.index + (0 if output.tracked else self.plan.num_tracked)
        edge = self.plan.graph.outputs[index]
        if output.tracked or not tape.state.recording:
            return edge, output.tracked
        block = get("BlockGrad").bind({})[0]
        return Edge(Node(block, (edge,), "stop"), 0), False

    def reads(self, array: NDArray) -> Flow:
        """Returns an array from outside, as a result that the function did not name."""
        node = variable("outside")
        self.outside.append((array, node))
        return Edge(node, 0), array.edge is not None

    @property
    def results(self) -> list[Flow]:
        """The leaves, all of which are arrays."""
        return [self.result(number) for number in range(len(self.leaves))]

    def written(self) -> dict[Any, tuple[NDArray, Edge, bool]]:
        """Returns what is overwritten: by storage the array, its new value, and as `result`."""
        found = {}
        for write in self.plan.writes:
            if not isinstance(write.target, int):
                assert type(write.output) is Output
                array = write.target.get()
                found[array.storage] = (array, *self._output(write.output))
        return found


@final
class Bodies:
    """Several bodies that become one call: they get the same inputs.

    Args:
        arrays: what they are given.
        writers: those that may overwrite arrays.

    Attributes:
        operands: the inputs of the call: what is given, what is overwritten, what is read.
        written: the numbers of those that are overwritten.
    """

    def __init__(
        self, bodies: Sequence[Body], arrays: Sequence[NDArray], writers: Sequence[Body]
    ) -> None:
        self.bodies = bodies
        self.operands = list(arrays)
        self._writes = [body.written() if body in writers else {} for body in bodies]
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
        trace.depend([handle for handle in handles if handle is not None])

    def _place(self, array: NDArray) -> int:
        for number, storage in zip(self.written, self._storages, strict=True):
            if array.storage is storage and array.type is storage.type:
                return number
        self.operands.append(array)
        return len(self.operands) - 1

    def graph(
        self, number: int, results: Sequence[Flow], *, writes: bool = True
    ) -> tuple[Graph, list[bool]]:
        """Returns the graph of a body, and for each output whether gradients flow to it.

        Its outputs are the results, then, if `writes`, the new values of what is overwritten.
        """
        slots = self._slots[number]
        inputs = [slots.get(i) or variable(f"unused{i}") for i in range(len(self.operands))]
        outputs = list(results)
        if writes:
            for place, storage in zip(self.written, self._storages, strict=True):
                write = self._writes[number].get(storage)
                outputs.append((Edge(inputs[place], 0), True) if write is None else write[1:])
        graph = Graph(tuple(inputs), tuple(edge for edge, _ in outputs))
        return graph, [flows for _, flows in outputs]

    def apply(
        self,
        call: ControlCall,
        scalars: Sequence[Number],
        num_results: int,
        tracked: Sequence[bool],
        first: Sequence[NDArray] = (),
    ) -> list[NDArray]:
        """Records the call, overwrites what it overwrites, and returns the results.

        Args:
            scalars: the numbers that it takes.
            tracked: for each output whether gradients flow to it.
            first: inputs that come before all others.
        """
        operands = [*first, *self.operands]
        numbers = {key: number for body in self.bodies for key, number in body.numbers().items()}
        given = tuple(numbers.get(x, x) if type(x) is HostScalar else x for x in scalars)
        applied: Any = call
        if tape.state.recording:
            applied = call.keeping(tuple(operand.type for operand in operands))
        outputs: list[NDArray] = NDArray.apply_call(applied, operands, given)
        if call.num_unbounded:
            del outputs[num_results]  # how often loops were run
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
    if tape.state.recording and is_float(type.dtype):
        made.set_edge(tape.Edge(tape.Leaf(None, "write"), 0))
    return made


def filled(value: float, type: TensorType) -> Flow:
    """Returns an array with one number everywhere, as part of a graph."""
    return Edge(Node(fill_call(type), (), "number", (float(value),)), 0), False


def as_type(flow: Flow, type: TensorType) -> Flow:
    """Returns a value broadcast and cast to a type, as part of a graph."""
    return Edge(Node(cast_call(type), (flow[0],), "cast"), 0), flow[1]
