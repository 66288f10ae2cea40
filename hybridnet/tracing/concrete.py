"""One trace of a function, for one kind of arguments, and its call."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from time import perf_counter
from typing import Any, Final, NamedTuple, final

from hybridnet import tape
from hybridnet.autograd import pause
from hybridnet.base.attrs import HostScalar
from hybridnet.base.context import Context
from hybridnet.base.dtype import is_float
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.graph import STATE, Graph
from hybridnet.ndarray import NDArray
from hybridnet.ops.core import Scalars
from hybridnet.runtime.calls import Attempts, GraphCall, PreparedCall, note_call, shared_call
from hybridnet.runtime.placing import PartitionedCall
from hybridnet.runtime.recording import Storage, Value, in_place, recorder
from hybridnet.runtime.traces import host_scalars

from .build import ArrayResult, Output, Outside, Plan, build
from .call_arguments import ArgumentReader, CallArguments
from .host_call import finish_host_calls
from .placed_call import PlacedCall, placed_call
from .retracing import argument_names, described
from .structure import unflatten

# Stands for a number that only Python knows, such as a learning rate, where any will do.
_ANY_NUMBER: Final = 0.5

_SHARED: Final = (
    "{name}: it overwrites an array whose memory it was given in two ways (as two arguments, or as "
    "an argument and from outside), which would part; pass a copy, or the array only once"
)


class _Signature(NamedTuple):
    """The arguments that a trace is for.

    Attributes:
        kinds: the name of each leaf, and what it was.
        key: that of `Arguments`.
        reader: of arguments, for calls.
    """

    kinds: list[tuple[str, str]]
    key: Hashable
    reader: ArgumentReader


@final
class _Numbers:
    """The numbers that a call takes, of which some are asked for at each call.

    Args:
        scalars: they, in the call's order; a `HostScalar` for one that is asked for.
        sources: see `Plan`.
    """

    __slots__ = ("_known", "_places", "scalars", "sources")

    def __init__(self, scalars: Scalars, sources: Sequence[Any]) -> None:
        self.scalars = scalars
        self.sources = sources
        self._known = [scalar for scalar in scalars if type(scalar) is not HostScalar]
        # Where each one is, where those that are asked for come behind the others.
        asked = itertools.chain(*(stand_ins for _, stand_ins in sources))
        places = dict(zip(asked, itertools.count(len(self._known))))
        same = itertools.count()
        self._places = [places[x] if type(x) is HostScalar else next(same) for x in scalars]

    def ask(self) -> list[float]:
        """Returns the numbers of the next call."""
        found = self._known.copy()
        for source, stand_ins in self.sources:
            found += host_scalars(source, len(stand_ins))
        return [found[place] for place in self._places]


@final
class ConcreteFunction:
    """A traced function: a graph, where its inputs come from, and where its outputs go.

    Args:
        given: arguments of the kind that it is traced for.
        name: for messages.
        reader: of arguments, for calls.

    Attributes:
        call: the graph as one call, with open scalars.
        plan: what the trace found.
        written: the arguments that it overwrites, by number.
        shown: the outputs of the call that the results are made of.
    """

    __slots__ = (
        "__weakref__",
        "_attempts",
        "_handles",
        "_needed",
        "_numbers",
        "_outside",
        "_overwritten",
        "_placed",
        "_prepared",
        "_signature",
        "_single",
        "_training",
        "call",
        "plan",
        "shown",
        "written",
    )

    def __init__(
        self, function: Callable[..., Any], given: CallArguments, name: str, reader: ArgumentReader
    ) -> None:
        arguments = given.arguments
        names = argument_names(function, given.args, given.kwargs)
        kinds = list(zip(names, map(described, arguments.leaves), strict=False))
        self._signature = _Signature(kinds, arguments.key, reader)
        plan = self.plan = build(function, arguments)
        self._placed: PlacedCall | None = None
        kind = (plan.graph, plan.types, name, plan.num_tracked)
        if plan.contexts is None or plan.ctx is None:
            self.call, scalars = shared_call(*kind)
        else:
            where = [
                (arguments.arrays[x] if isinstance(x, int) else _memory(x)).context
                for x in plan.inputs
            ]
            self._placed, scalars = placed_call(*kind, where, plan.contexts, plan.ctx)
            self.call = self._placed.call
        self._numbers = _Numbers(scalars, plan.sources)
        targets = [write.target for write in plan.writes]
        handles = [x for x in (*plan.inputs, *targets) if isinstance(x, Outside)]
        #: By storage the arrays from outside that it reads or writes.
        self._outside = {handle.memory.storage: handle.memory for handle in handles}
        # Arrays that were made and dropped while tracing are not expected back.
        self._handles = tuple(handle for handle in plan.handles if handle[0]() is not None)
        self.written = {target for target in targets if isinstance(target, int)}
        #: The storages outside that it overwrites.
        self._overwritten = frozenset(x.memory.storage for x in targets if type(x) is Outside)
        # Whether its program can be dispatched as it is: gradients are none of its affair, it is
        # on one device, and all that it changes is arrays outside, as a whole.
        dispatched = not (plan.num_tracked or self._placed or self.call.on_host) and all(
            type(write.target) is Outside
            and write.target.memory.offset is None
            and type(write.output) is Output
            and not write.output.tracked
            for write in plan.writes
        )
        self._prepared: PreparedCall | None = None
        #: When to try to prepare its calls; None: they cannot be.
        self._attempts = Attempts() if dispatched else None
        #: By which inputs are on the tape the call that keeps what their gradients need.
        self._training: dict[tuple[bool, ...], GraphCall] = {}
        parts = [result for result in plan.results if type(result) is ArrayResult]
        # One output may be returned in several places.
        outputs = [plan.number(part.source) for part in parts if type(part.source) is Output]
        self.shown = list(dict.fromkeys(outputs))
        #: The class of a result that is one array, an output and nothing else; else None.
        self._single = parts[0].kind if len(parts) == 1 and _is_output(plan, parts[0]) else None
        #: The outputs of the call that results, or what is overwritten, are made of.
        written = [plan.number(x.output) for x in plan.writes if type(x.output) is Output]
        self._needed = list(dict.fromkeys([*self.shown, *written]))

    @property
    def graph(self) -> Graph:
        """The graph, with the numbers that the function had."""
        return self.plan.graph

    @property
    def ctx(self) -> Context | None:
        """The context in which it runs; None where nothing says it."""
        return self.plan.ctx

    @property
    def captured(self) -> list[NDArray]:
        """The arrays from outside that it reads or writes."""
        return list(self._outside.values())

    def fits(self) -> bool:
        """Whether the arrays it found outside are still there, and gradients as wanted as then.

        An array that is gone was replaced by another one, or is needed no more.
        """
        for ref, wanted in self._handles:
            one = ref()
            if one is None:
                return False
            edge = one._edge  # as `on_tape` says; asked at each call, for each parameter
            if (edge is not None and edge.node.wanted) is not wanted:
                return False
        return True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs this trace on arguments of the kind that it was made for.

        Raises:
            ParameterError: they are of another kind; the message names the first that differs.
            MXNetError: an array that the function found outside is gone.
        """
        given = self._signature.reader(args, kwargs)
        if given.arguments.key != self._signature.key:
            raise ParameterError(self._difference(given))
        if not self.fits():
            raise MXNetError(
                f"{self.call.name}: an array that it read from outside was replaced since it was "
                "traced; call get_concrete_function() again"
            )
        return self.run(given.arguments.arrays)

    def _difference(self, given: CallArguments) -> str:
        """Says how arguments differ from those that it was made for."""
        names = [name for name, _ in self._signature.kinds]
        kinds = [described(leaf) for leaf in given.arguments.leaves]
        for (name, wanted), got in zip(self._signature.kinds, kinds, strict=False):
            if wanted != got:
                return f"{self.call.name}: argument {name!r} must be {wanted}, got {got}"
        return (
            f"{self.call.name}: this trace is for the arguments {', '.join(names) or 'none'}, as "
            f"{self.pretty_printed_signature()}; got {len(kinds)} values in another structure"
        )

    def pretty_printed_signature(self) -> str:
        """Returns what it takes and gives, in words: ``f(x: float32[2,3] on cpu(0)) -> ...``."""
        takes = ", ".join(f"{name}: {kind}" for name, kind in self._signature.kinds)
        gives = []
        for part in self.plan.results:
            if type(part) is not ArrayResult:
                gives.append(described(part))
            elif type(part.source) is Output:
                gives.append(str(self.call.output_types[self.plan.number(part.source)]))
            elif isinstance(part.source, int):
                gives.append(f"argument {part.source}")
            else:
                gives.append("an array from outside")
        result = ", ".join(gives)
        if self.plan.tree is not None:
            result = f"({result})"
        return f"{self.call.name}({takes}) -> {result}"

    def run(self, arrays: Sequence[NDArray]) -> Any:
        """Runs the graph on arrays; returns what the function returned.

        Args:
            arrays: as in `Arguments.arrays`.
        """
        if self.plan.writes:
            self._refuse_shared(arrays)
        # First: it may run user's code, which may change any array.
        numbers = self._numbers
        scalars = numbers.ask() if numbers.sources else numbers.scalars
        recording, trace = tape.state.recording, recorder.thread.trace
        prepared = self._prepared
        if not recording:
            # A unit of work that the user named: it begins here, and starts as it ends, whatever
            # follows. While recording, the backward pass belongs to it.
            recorder.mark()
            if prepared is not None:
                given = [x._storage.value.array for x in arrays if x._offset is None]
                values = prepared(given, scalars) if len(given) == len(arrays) else None
                if values is not None:
                    if self._single is not None:
                        return self._single.from_value(values[0], prepared.ctx)
                    return self._returned(arrays, values)
            started = perf_counter()
        if trace is not None:
            trace.depend([ref() for ref, _ in self._handles])
        # What changes arrays is recorded in one go.
        if self.plan.writes and not (self.call.on_host or self._placed):
            if recorder.several:
                recorder.launch_others([*arrays, *self._outside])
            with in_place:
                result = self._applied(arrays, scalars)
        else:
            result = self._applied(arrays, scalars)
        if not recording:
            recorder.mark()
            if self._attempts is not None and trace is None:
                note_call(perf_counter() - started)
                if prepared is None and self._attempts.is_due():
                    self._prepare(len(arrays))
        if self.call.on_host and trace is None:
            for storage in self._outside:
                finish_host_calls(storage)
        return result

    def _returned(self, arrays: Sequence[NDArray], values: Sequence[Value]) -> Any:
        """Returns what the function returned, of the outputs in `shown`."""
        assert self.plan.ctx is not None
        outputs: list[Any] = [None] * len(self.call.output_types)
        for number, value in zip(self.shown, values, strict=True):
            outputs[number] = NDArray.from_value(value, self.plan.ctx)
        return unflatten(self.plan.tree, self.leaves(arrays, outputs))

    def _prepare(self, count: int) -> None:
        """Prepares the next calls, on so many arrays, if that can be done by now."""
        sources = self._whole_sources()
        if sources is None or self.plan.ctx is None:
            return
        if self.plan.writes:
            writes = [
                (write.target.memory.storage, write.output.index)
                for write in self.plan.writes
                if type(write.target) is Outside and type(write.output) is Output
            ]
            self._prepared = PreparedCall.repeating(self.call, count, sources, writes, self.shown)
        else:
            numbers = None if self._numbers.sources else self._numbers.scalars
            types = self.call.input_types
            self._prepared = PreparedCall.pure(
                self.plan.ctx, self.call, types, numbers, count, sources
            )

    def _whole_sources(self) -> list[int | Storage] | None:
        """Returns where the inputs come from; None if one is a part of an array."""
        sources: list[int | Storage] = []
        for x in self.plan.inputs:
            if isinstance(x, int):
                sources.append(x)
                continue
            memory = _memory(x)
            if memory.offset is not None:
                return None
            sources.append(memory.storage)
        return sources

    def _applied(self, arrays: Sequence[NDArray], scalars: Sequence[float]) -> Any:
        """Records the graph, and writes what it overwrites; returns what the function returned."""
        state, plan = tape.state, self.plan
        recording = state.recording
        # What the function recorded is on the caller's tape, and nothing else.
        state.recording = plan.num_tracked > 0
        try:
            outputs = self._apply(arrays, tuple(scalars), self._needed)
            if plan.averages and state.recording:
                self._note_averages(arrays, outputs)
            for number in self._needed:
                if number >= plan.num_tracked:
                    outputs[number]._edge = None
            for write in plan.writes:
                target = write.target
                array = arrays[target] if isinstance(target, int) else target.get()
                output = write.output
                if type(output) is Value:
                    array.write(output)
                    continue
                assert type(output) is Output
                value = outputs[plan.number(output)]
                array.write(value.read())
                if output.tracked:
                    array.set_edge(value.edge)
            if self._single is not None:
                result = outputs[self.shown[0]]
                return result if type(result) is self._single else result.as_kind(self._single)
            return unflatten(plan.tree, self.leaves(arrays, outputs))
        finally:
            state.recording = recording

    def _note_averages(self, arrays: Sequence[NDArray], outputs: Sequence[NDArray | None]) -> None:
        """Notes on the tape which running averages move when the backward pass comes through."""
        edge = next((x.edge for x in outputs if x is not None and x.edge is not None), None)
        if edge is not None:
            edge.node.averages = [
                one._replace(states=[self._array(part, arrays, ()) for part in one.states])
                for one in self.plan.averages
            ]

    def _apply(
        self, arrays: Sequence[NDArray], scalars: Scalars, needed: Sequence[int] | None = None
    ) -> Sequence[NDArray]:
        """Records the graph as one call; returns its outputs, of which some may be needed only."""
        operands: list[NDArray] = []
        for x in self.plan.inputs:
            if type(x) is Outside:  # as its `get` says; asked at each call, for each parameter
                found = x.find()
                operands.append(x.memory if found is None else found)
            else:
                operands.append(arrays[x] if isinstance(x, int) else x)
        if self._placed is not None:
            return self._placed.apply(operands, scalars)
        call = self.call
        if tape.state.recording:
            taped = tuple([x._edge is not None and x._edge.node.wanted for x in operands])
            training = self._training.get(taped)
            if training is None:
                wanted = self._wanted_of(taped)
                training = self._training[taped] = call.training(wanted) if wanted else call
            call = training
        return NDArray.apply_call(call, operands, scalars, self.plan.ctx, needed)

    def _wanted_of(self, taped: tuple[bool, ...]) -> tuple[int, ...]:
        """Returns the inputs whose gradients are computed, of those on the tape."""
        found = tuple(i for i, is_taped in enumerate(taped) if is_taped)
        # Whole numbers have gradients where they are alone, as of single operators.
        types = self.call.input_types
        return tuple(i for i in found if is_float(types[i].dtype)) or found

    def try_out(self, arrays: Sequence[NDArray]) -> list[NDArray]:
        """Returns the arrays that a call gives, and all that it computes and might write.

        It changes nothing, and asks for no numbers.

        Args:
            arrays: as in `Arguments.arrays`.
        """
        numbers = tuple(_ANY_NUMBER if type(x) is HostScalar else x for x in self._numbers.scalars)
        with pause(), recorder.outside_trace():
            outputs = self._apply(arrays, numbers)
            leaves = self.leaves(arrays, outputs)
            return [*(leaf for leaf in leaves if isinstance(leaf, NDArray)), *outputs]

    @property
    def tried_shapes(self) -> list[tuple[int, ...]]:
        """The shapes of what `try_out` returns."""
        given = [result.shape for result in self.plan.results if isinstance(result, ArrayResult)]
        return [*given, *(type_.shape for type_ in self.call.output_types)]

    @property
    def results(self) -> tuple[object, ...]:
        """The leaves of the result: an `ArrayResult` for an array, any other object itself."""
        return self.plan.results

    @property
    def partitioned(self) -> PartitionedCall | None:
        """The part of each device, if it runs on several; None if on one."""
        return None if self._placed is None else self._placed.partitioned

    @property
    def reads_outside(self) -> bool:
        """Whether `fits` has something to look at."""
        return bool(self._handles)

    @property
    def is_repeatable(self) -> bool:
        """Whether running it once more would change nothing and give the same."""
        return not (self.plan.writes or self._numbers.sources or self.draws or self.call.on_host)

    @property
    def draws(self) -> bool:
        """Whether it draws random numbers."""
        return STATE in self.call.input_types

    def leaves(self, arrays: Sequence[NDArray], outputs: Sequence[NDArray]) -> list[Any]:
        """Returns the leaves of the result; what was one object is one."""
        made: dict[int, Any] = {}
        for part in self.plan.results:
            if type(part) is not ArrayResult or id(part) in made:
                continue
            made[id(part)] = self._array(part, arrays, outputs)
        return [
            made[id(result)] if type(result) is ArrayResult else result
            for result in self.plan.results
        ]

    def _array(
        self, part: ArrayResult, arrays: Sequence[NDArray], outputs: Sequence[NDArray]
    ) -> NDArray:
        """Returns the array that a part stands for."""
        source = part.source
        if type(source) is int:
            array = arrays[source]
        elif type(source) is Output:
            array = outputs[self.plan.number(source)]
        else:
            assert isinstance(source, Outside)
            array = source.get()
        if part.offset is not None:
            array = (array if part.tracked else array.detach()).view(part.offset, part.shape)
        return array.as_kind(part.kind)

    def _refuse_shared(self, arrays: Sequence[NDArray]) -> None:
        """Raises if memory that is written can be reached in another way too."""
        storages = [array._storage for array in arrays]
        shared = not self._overwritten.isdisjoint(storages)
        for target in self.written:
            storage = storages[target]
            shared = shared or storage in self._outside or storages.count(storage) > 1
        if shared:
            raise MXNetError(_SHARED.format(name=self.call.name))


def _is_output(plan: Plan, part: ArrayResult) -> bool:
    """Whether a part is a whole output, and the whole result."""
    return type(part.source) is Output and part.offset is None and plan.tree is None


def _memory(array: Outside | NDArray) -> NDArray:
    return array.memory if type(array) is Outside else array
