"""`Hot` and `HotStep`: calls of a trace that are only what must be checked, and a dispatch.

Most calls of a traced function are like the last one: arrays of the same types, nothing outside has
been replaced, and the program is compiled. Whatever is not simple (recording, arguments that are
changed in place, Python arguments) goes the long way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, final

from hybridnet.ndarray import NDArray
from hybridnet.runtime.direct import Direct
from hybridnet.runtime.direct_step import DirectStep
from hybridnet.runtime.record.storage import Storage
from hybridnet.runtime.segments.segment import Value

from .admission import Admission
from .build import Output, Outside, Part
from .concrete import ConcreteFunction
from .given import Given
from .structure import unflatten

__all__ = ["MISS", "Hot", "HotStep", "short_way"]

#: What a call returns that has to go the long way.
MISS: Final = object()
_new: Final = object.__new__


def short_way(
    concrete: ConcreteFunction, given: Given, function: Callable[..., Any]
) -> Hot | HotStep | None:
    """Returns the short way to a trace; None where there is none, or not yet.

    Args:
        concrete: the trace.
        given: the arguments of the last call of it, of which none is given by name.
        function: the function.
    """
    if concrete.ctx is None or not (concrete.is_pure or concrete.is_step):
        return None
    sources: list[int | Storage] = []
    for one in concrete.inputs:
        if isinstance(one, int):
            sources.append(one)
            continue
        array = one.memory if type(one) is Outside else one
        assert isinstance(array, NDArray)
        if array.offset is not None:
            return None
        sources.append(array.storage)
    kind: type[Hot | HotStep] = Hot if concrete.is_pure else HotStep
    return kind.of(concrete, given, function, sources)


@final
class Hot:
    """The short way to a trace that changes nothing.

    Args:
        concrete: the trace.
        direct: its program.
        admit: which calls take this way.
        sources: for each input of the graph the number of its argument, or the storage outside.
    """

    __slots__ = (
        "_admit",
        "_concrete",
        "_ctx",
        "_direct",
        "_kind",
        "_order",
        "_outside",
        "_types",
    )

    def __init__(
        self,
        concrete: ConcreteFunction,
        direct: Direct,
        admit: Admission,
        sources: Sequence[int | Storage],
    ) -> None:
        self._concrete = concrete
        self._direct = direct
        self._admit = admit
        numbers = [one for one in sources if type(one) is int]
        outside = [one for one in sources if isinstance(one, Storage)]
        same = numbers == list(range(len(numbers))) and [*numbers, *outside] == list(sources)
        #: None where all arguments are inputs, in order, before what is outside.
        self._order = None if same and len(numbers) == admit.count else list(sources)
        self._outside = outside
        self._types = concrete.call.output_types
        self._ctx = direct.ctx
        self._kind = _kind_of_single(concrete)

    @classmethod
    def of(
        cls,
        concrete: ConcreteFunction,
        given: Given,
        function: Callable[..., Any],
        sources: Sequence[int | Storage],
    ) -> Hot | None:
        """Returns the short way; None where there is none yet. See `short_way`."""
        arrays = given.arguments.arrays
        kinds = tuple([arrays[x].type if isinstance(x, int) else x.type for x in sources])
        assert concrete.ctx is not None
        direct = Direct.of(concrete.ctx, concrete.call, kinds, concrete.scalars)
        admit = None if direct is None else Admission.of(concrete, given, function)
        if direct is None or admit is None:
            return None
        return cls(concrete, direct, admit, sources)

    @property
    def concrete(self) -> ConcreteFunction:
        """The trace that it calls."""
        return self._concrete

    def __call__(self, args: tuple[Any, ...]) -> Any:
        """Runs the trace on arguments; `MISS` where that takes the long way."""
        admitted = self._admit(args)
        if admitted is None:
            return MISS
        arrays = [x._storage.value.array for x in admitted]
        if self._order is not None:
            arrays = [
                arrays[one] if type(one) is int else one.value.array  # type: ignore[union-attr]
                for one in self._order
            ]
        elif self._outside:
            arrays += [one.value.array for one in self._outside]
        made = self._direct(arrays)
        if made is None:
            return MISS
        if self._kind is not None and len(made) == 1:
            value = _new(Value)
            value.type = self._types[0]
            value.array = made[0]
            return self._kind.from_value(value, self._ctx)
        outputs = [
            NDArray.from_value(Value(kind, array), self._ctx)
            for kind, array in zip(self._types, made, strict=True)
        ]
        return unflatten(self._concrete.tree, self._concrete.leaves(admitted, outputs))


@final
class HotStep:
    """The short way to a trace that overwrites arrays outside, as a training step does.

    Args:
        concrete: the trace.
        direct: its program.
        admit: which calls take this way.
        order: the arguments that the program is given, by number.
        written: the storages that it overwrites.
    """

    __slots__ = ("_admit", "_concrete", "_ctx", "_direct", "_kind", "_order", "_shown", "_written")

    def __init__(
        self,
        concrete: ConcreteFunction,
        direct: DirectStep,
        admit: Admission,
        order: Sequence[int],
        written: frozenset[Storage],
    ) -> None:
        self._concrete = concrete
        self._direct = direct
        self._admit = admit
        self._order = list(order)
        self._written = written
        self._shown = concrete.shown
        self._kind = _kind_of_single(concrete)
        self._ctx = direct.ctx

    @classmethod
    def of(
        cls,
        concrete: ConcreteFunction,
        given: Given,
        function: Callable[..., Any],
        sources: Sequence[int | Storage],
    ) -> HotStep | None:
        """Returns the short way; None where there is none yet. See `short_way`."""
        writes = concrete.overwritten
        operands = [None if isinstance(one, int) else one for one in sources]
        direct = DirectStep.of(concrete.call, operands, writes, concrete.shown)
        admit = None if direct is None else Admission.of(concrete, given, function)
        if direct is None or admit is None:
            return None
        inputs = direct.order(concrete.call)
        order = [one for one in (sources[number] for number in inputs) if isinstance(one, int)]
        return cls(concrete, direct, admit, order, frozenset(storage for storage, _ in writes))

    @property
    def concrete(self) -> ConcreteFunction:
        """The trace that it calls."""
        return self._concrete

    def __call__(self, args: tuple[Any, ...]) -> Any:
        """Runs the trace on arguments; `MISS` where that takes the long way."""
        admitted = self._admit(args)
        if admitted is None:
            return MISS
        for one in admitted:
            if one._offset is not None or one._storage in self._written:
                return MISS
        given = [admitted[number]._storage for number in self._order]
        values = self._direct(given, self._concrete.numbers)
        if values is None:
            return MISS
        if self._kind is not None:
            return self._kind.from_value(values[0], self._ctx)
        concrete = self._concrete
        outputs: list[Any] = [None] * len(concrete.call.output_types)
        for number, value in zip(self._shown, values, strict=True):
            outputs[number] = NDArray.from_value(value, self._ctx)
        return unflatten(concrete.tree, concrete.leaves(admitted, outputs))


def _kind_of_single(concrete: ConcreteFunction) -> type[NDArray] | None:
    """Returns the class of a result that is one array, an output and nothing else; else None."""
    if concrete.tree is not None or len(concrete.results) != 1:
        return None
    one = concrete.results[0]
    whole = type(one) is Part and type(one.source) is Output and one.offset is None
    return one.kind if whole else None
