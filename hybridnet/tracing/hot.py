"""`Hot`: a call of a trace that is only what must be checked, and a dispatch.

Most calls of a traced function are like the last one: arrays of the same types, nothing outside has
been replaced, and the program is compiled. What has to hold for that is written down once, so that
a call compares a few lists. Whatever is not simple (recording, arrays that are changed in place,
Python arguments) goes the long way.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final, final

import numpy as np

from hybridnet.base.context import current_context
from hybridnet.base.tensor_type import TensorType
from hybridnet.ndarray import NDArray, _tape
from hybridnet.runtime.direct import Direct
from hybridnet.runtime.segment import Value
from hybridnet.runtime.storage import Storage

from .build import Output, Outside, Part
from .concrete import ConcreteFunction
from .environment import guards_of
from .given import Given
from .guards import Guards
from .structure import Identity, flatten, static_key, unflatten

__all__ = ["MISS", "Hot"]

#: What a call returns that has to go the long way.
MISS: Final = object()
_new: Final = object.__new__


@final
class Hot:
    """The short way to call one trace.

    Args:
        concrete: the trace.
        direct: its program.
        guards: what its function's names must mean.
        kinds: of the arguments, in order.
        source: for each input of the graph the number of its argument, or the storage outside.
        owner: refers to the object that comes before the arrays, where the function is a method.
        classes: of the arrays: those with NumPy's semantics make such.
    """

    __slots__ = (
        "_classes",
        "_concrete",
        "_ctx",
        "_current",
        "_direct",
        "_fits",
        "_guards",
        "_kind",
        "_kinds",
        "_order",
        "_outside",
        "_owner",
        "_plain",
        "_single",
        "_training",
        "_types",
    )

    def __init__(
        self,
        concrete: ConcreteFunction,
        direct: Direct,
        guards: Guards,
        kinds: Sequence[TensorType],
        source: Sequence[int | Storage],
        owner: Callable[[], Any] | None,
        classes: Sequence[type],
    ) -> None:
        self._concrete = concrete
        self._owner = owner
        self._direct = direct
        self._fits = concrete.fits if concrete.reads_outside else None
        self._guards = guards if guards else None
        self._kinds = list(kinds)
        self._classes = list(classes)
        self._plain = [None] * len(self._kinds)
        numbers = [one for one in source if type(one) is int]
        outside = [one for one in source if type(one) is not int]
        same = numbers == list(range(len(kinds))) and source[: len(kinds)] == numbers
        #: None where all arguments are inputs, in order, before what is outside.
        self._order = None if same else list(source)
        self._outside = [one for one in outside if isinstance(one, Storage)]
        self._types = concrete.call.output_types
        self._training = _tape.state.training
        self._current = current_context()
        self._ctx = direct.ctx
        parts = concrete.results
        one = parts[0] if len(parts) == 1 and concrete.tree is None else None
        self._single = type(one) is Part and type(one.source) is Output and one.offset is None
        self._kind: type[NDArray] = one.kind if self._single and type(one) is Part else NDArray

    @classmethod
    def of(
        cls, concrete: ConcreteFunction, given: Given, function: Callable[..., Any]
    ) -> Hot | None:
        """Returns the short way to a trace; None where there is none, or not yet.

        Args:
            concrete: the trace.
            given: the arguments of a call of it, of which none is given by name.
            function: the function.
        """
        args, arrays = given.args, given.arguments.arrays
        owner = None
        if args and _is_object(args[0]):
            owner, args = weakref.ref(args[0]), args[1:]
        simple = all(isinstance(one, NDArray) and one.edge is None for one in args)
        if not simple or len(arrays) != len(args) or not concrete.is_pure:
            return None
        source: list[int | Storage] = []
        kinds: list[Any] = []
        for one in concrete.inputs:
            if isinstance(one, int):
                source.append(one)
                kinds.append(arrays[one].type)
                continue
            array = one.memory if type(one) is Outside else one
            assert isinstance(array, NDArray)
            if array.offset is not None:
                return None
            source.append(array.storage)
            kinds.append(array.type)
        guards = guards_of(function, given.args)
        ctx = concrete.ctx
        if guards is None or ctx is None:
            return None
        direct = Direct.of(ctx, concrete.call, tuple(kinds), concrete.scalars)
        if direct is None:
            return None
        kinds = [one.type for one in arrays]
        return cls(concrete, direct, guards, kinds, source, owner, list(map(type, arrays)))

    @property
    def concrete(self) -> ConcreteFunction:
        """The trace that it calls."""
        return self._concrete

    def __call__(self, args: tuple[Any, ...]) -> Any:
        """Runs the trace on arguments; `MISS` where that takes the long way."""
        state = _tape.state
        if state.recording or state.training is not self._training:
            return MISS
        if self._owner is not None:
            if not args or args[0] is None or args[0] is not self._owner():
                return MISS
            args = args[1:]
        try:
            # (Comprehensions are what Python is quickest at: twice as quick as `map` here.)
            if [x._type for x in args] != self._kinds or [x._edge for x in args] != self._plain:
                return MISS
            if [type(x) for x in args] != self._classes:
                return MISS
            arrays = [x._storage.value.array for x in args]
        except AttributeError:  # not an array
            return MISS
        if current_context() is not self._current:
            return MISS
        if self._guards is not None and not self._guards.hold():
            return MISS
        if self._fits is not None and not self._fits():
            return MISS
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
        if self._single and len(made) == 1:
            value = _new(Value)
            value.type = self._types[0]
            value.array = made[0]
            return self._kind.from_value(value, self._ctx)
        outputs = [
            NDArray.from_value(Value(kind, array), self._ctx)
            for kind, array in zip(self._types, made, strict=True)
        ]
        return unflatten(self._concrete.tree, self._concrete.leaves(args, outputs))


def _is_object(one: Any) -> bool:
    """Whether an argument is an object that traces know by its identity, and nothing else."""
    if isinstance(one, (NDArray, np.ndarray)) or flatten(one)[1] is not None:
        return False
    found: list[Identity] = []
    static_key(one, found)
    return len(found) == 1 and found[0].get() is one and hasattr(one, "__weakref__")
