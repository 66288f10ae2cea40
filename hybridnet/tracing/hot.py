"""`Hot`: a call of a trace that is only what must be checked, and a dispatch.

Most calls of a traced function are like the last one: arrays of the same types, nothing outside has
been replaced, and the program is compiled. What has to hold for that is written down once, so that
a call compares a few lists. Whatever is not simple (recording, arrays that are changed in place,
Python arguments, methods) goes the long way.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple, final

from hybridnet.base.context import current_context
from hybridnet.ndarray import NDArray, _tape
from hybridnet.ops.call import Types
from hybridnet.runtime.direct import Direct
from hybridnet.runtime.segment import Value
from hybridnet.runtime.storage import Storage

from .build import Output, Outside, Part
from .concrete import ConcreteFunction
from .environment import is_fixed, is_followed, paths_of, plain_function
from .given import Given
from .structure import unflatten

__all__ = ["MISS", "Hot"]

#: What a call returns that has to go the long way.
MISS: Final = object()
_ABSENT: Final = object()
_ATOMS: Final = (bool, int, float, complex, str, bytes, type(None))
_new: Final = object.__new__
# For many arguments at once these are far quicker than Python code.
_type_of: Final = attrgetter("_type")
_edge_of: Final = attrgetter("_edge")
_array_of: Final = attrgetter("_storage.value.array")


class _Guards(NamedTuple):
    """What names must still mean.

    Attributes:
        plain: dict, key, and the value that it must have; held where it holds nothing else.
        weak: dict, key, and what refers to the value.
        cells: cell, and what refers to its content.
    """

    plain: list[tuple[dict[str, Any], str, Any]]
    weak: list[tuple[dict[str, Any], str, Callable[[], Any]]]
    cells: list[tuple[Any, Callable[[], Any]]]

    def hold(self) -> bool:
        """Whether they mean what they meant."""
        for names, key, value in self.plain:
            if names.get(key, _ABSENT) is not value:
                return False
        for names, key, ref in self.weak:
            if names.get(key, _ABSENT) is not ref():
                return False
        for cell, ref in self.cells:
            try:
                if cell.cell_contents is not ref():
                    return False
            except ValueError:
                return False
        return True


def _guards(function: Any) -> _Guards | None:
    """Returns what decides what a function's names mean; None where that is not simple."""
    made = _Guards([], [], [])
    return made if _add_guards(function, made, set()) else None


def _add_guards(function: Any, made: _Guards, visited: set[int]) -> bool:
    function, bound = plain_function(function, ())
    if function is None or bound:
        return False
    if id(function) in visited:
        return True
    visited.add(id(function))
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for is_global, name, path in paths_of(function.__code__):
        if is_global:
            names = function.__globals__
            value = names.get(name, _ABSENT)
            if value is _ABSENT or type(value) in _ATOMS:
                made.plain.append((names, name, value))
            else:
                try:
                    made.weak.append((names, name, weakref.ref(value)))
                except TypeError:
                    return False
        elif name in cells:
            try:
                value = cells[name].cell_contents
                ref = _atom(value) if type(value) in _ATOMS else weakref.ref(value)
            except (ValueError, TypeError):
                return False
            made.cells.append((cells[name], ref))
        else:
            continue  # an argument, which is an array
        if is_followed(value):
            if not _add_guards(value, made, visited):
                return False
        elif path and not (isinstance(value, NDArray) or is_fixed(value) or value is _ABSENT):
            return False
    return True


def _atom(value: Any) -> Callable[[], Any]:
    return lambda: value


@final
class Hot:
    """The short way to call one trace.

    Args:
        concrete: the trace.
        direct: its program.
        guards: what its function's names must mean.
        kinds: of the arguments, in order.
        source: for each input of the graph the number of its argument, or the storage outside.
    """

    __slots__ = (
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
        "_single",
        "_training",
        "_types",
    )

    def __init__(
        self,
        concrete: ConcreteFunction,
        direct: Direct,
        guards: _Guards,
        kinds: Types,
        source: Sequence[int | Storage],
    ) -> None:
        self._concrete = concrete
        self._direct = direct
        self._fits = concrete.fits if concrete.reads_outside else None
        self._guards = guards if any(guards) else None
        self._kinds = tuple(kinds)
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
        guards = _guards(function)
        ctx = concrete.ctx
        if guards is None or ctx is None:
            return None
        direct = Direct.of(ctx, concrete.call, tuple(kinds), concrete.scalars)
        if direct is None:
            return None
        return cls(concrete, direct, guards, tuple(one.type for one in arrays), source)

    @property
    def concrete(self) -> ConcreteFunction:
        """The trace that it calls."""
        return self._concrete

    def __call__(self, args: tuple[Any, ...]) -> Any:
        """Runs the trace on arguments; `MISS` where that takes the long way."""
        state = _tape.state
        if state.recording or state.training is not self._training:
            return MISS
        try:
            if tuple(map(_type_of, args)) != self._kinds or any(map(_edge_of, args)):
                return MISS
            arrays = list(map(_array_of, args))
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
