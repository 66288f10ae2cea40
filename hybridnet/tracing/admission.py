"""`Admissions`: whether a call is one for a trace that is known already.

Everything that the key of a trace holds was written down at an earlier call, so that a call
compares a few lists, where making the key anew takes a walk over the function's names.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, final

import numpy as np

from hybridnet import tape
from hybridnet.base.context import current
from hybridnet.ndarray import NDArray
from hybridnet.tape import Leaf

from .call_arguments import CallArguments
from .concrete import ConcreteFunction
from .environment import guards_of
from .guards import Guards
from .structure import Identity, flatten, requirement, static_key

#: What `Admissions.run` returns for a call that is of no trace of an earlier one.
NEW_KIND: Final = object()
#: Kinds of calls that are remembered of one function; past it, it starts afresh.
_CAPACITY: Final = 256


@final
class _Admission:
    """The conditions for a call to be of one trace, as far as they can be checked quickly.

    Args:
        concrete: the trace.
        guards: what its function's names must mean.
        arrays: the arguments of an earlier call; others must be like them, each for each.
        owner: refers to the object that comes before the arrays, where the function is a method.

    Attributes:
        concrete: the trace.
        owner: as given.
        fits: asks whether what it has found outside is there; None if that is nothing.
        guards: as given; None if they guard nothing.
        types, classes, contexts: of the arrays. (Classes: those with NumPy's semantics make such.)
        tracked: for each array whether it is a result on the tape.
        plain: None for each array; None if one is a result on the tape.
        overwrites: whether the trace overwrites arguments.
        current: the current context.
    """

    __slots__ = (
        "classes",
        "concrete",
        "contexts",
        "current",
        "fits",
        "guards",
        "overwrites",
        "owner",
        "plain",
        "tracked",
        "types",
    )

    def __init__(
        self,
        concrete: ConcreteFunction,
        guards: Guards,
        arrays: Sequence[NDArray],
        owner: Callable[[], object] | None,
    ) -> None:
        self.concrete = concrete
        self.owner = owner
        self.fits = concrete.fits if concrete.reads_outside else None
        self.guards = guards if guards else None
        self.types = [array.type for array in arrays]
        self.classes = [type(array) for array in arrays]
        self.contexts = [array.context for array in arrays]
        self.tracked = [array.edge is not None for array in arrays]
        self.plain = None if any(self.tracked) else [None] * len(arrays)
        self.overwrites = bool(concrete.written)
        self.current = current.now

    @classmethod
    def of(
        cls, concrete: ConcreteFunction, given: CallArguments, function: Callable[..., object]
    ) -> _Admission | None:
        """Returns what admits calls like one that was made; None where that is not simple.

        Args:
            concrete: the trace that the call was of.
            given: its arguments, of which none was given by name.
            function: the function.
        """
        args, arrays = given.args, given.arguments.arrays
        owner = None
        if args and _is_object(args[0]):
            owner, args = weakref.ref(args[0]), args[1:]
        simple = all(
            isinstance(arg, NDArray) and requirement(arg) in (None, "recorded") for arg in args
        )
        if not simple or len(arrays) != len(args):
            return None
        guards = guards_of(function, given.args)
        return None if guards is None else cls(concrete, guards, arrays, owner)


@final
class Admissions:
    """The calls of a function that are of traces of earlier ones.

    Calls are told apart by their *kind*, which is what they often differ in. A loop over devices
    has a kind for each of them, one over training and evaluation two.

    Args:
        function: the function.

    Attributes:
        hits: how many calls were admitted.
    """

    __slots__ = ("_function", "_known", "_last", "hits")

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function
        # Made at the second call in a row, and None where that is not simple.
        self._known: dict[Hashable, _Admission | None] = {}
        self._last: dict[Hashable, weakref.ref[ConcreteFunction]] = {}
        self.hits = 0

    def run(self, args: tuple[Any, ...]) -> Any:
        """Runs the last trace of a kind again, if a call is admitted; else returns `NEW_KIND`."""
        state = tape.state
        last = args[-1] if args else None
        if isinstance(last, NDArray):  # as `_kind_of` does; asked at each call
            kind: Hashable = last._type, last._storage.ctx, state.recording, state.training
        else:
            kind = state.recording, state.training
        known = self._known.get(kind)
        if known is None:
            return NEW_KIND
        if known.owner is not None:
            if not args or args[0] is None or args[0] is not known.owner():
                return NEW_KIND
            args = args[1:]
        # (Comprehensions are what Python is quickest at: twice as quick as `map` here.)
        if [type(x) for x in args] != known.classes:
            return NEW_KIND
        if [x._type for x in args] != known.types:
            return NEW_KIND
        if [x._storage.ctx for x in args] != known.contexts:
            return NEW_KIND
        if [x._edge for x in args] != known.plain:
            for x, is_result in zip(args, known.tracked, strict=True):
                edge = x._edge
                if (edge is not None) is not is_result:
                    return NEW_KIND
                if edge is not None and type(edge.node) is Leaf:
                    return NEW_KIND  # a variable, which may get a gradient
        # One array as two arguments is traced as one; that differs only where it is overwritten.
        if known.overwrites and len({id(x) for x in args}) < len(args):
            return NEW_KIND
        if current.now is not known.current:
            return NEW_KIND
        if known.guards is not None and not known.guards.hold():
            return NEW_KIND
        if known.fits is not None and not known.fits():
            return NEW_KIND
        self.hits += 1
        return known.concrete.run(args)

    def learn(self, concrete: ConcreteFunction, given: CallArguments) -> None:
        """Notes a call of a trace; admits others like it if it is the second in a row.

        Args:
            concrete: the trace.
            given: the arguments, of which none was given by name.
        """
        kind = _kind_of(given.args)
        last = self._last.get(kind)
        if last is None or last() is not concrete:
            if len(self._last) >= _CAPACITY:
                self._last.clear()
                self._known.clear()
            self._last[kind] = weakref.ref(concrete)
            self._known.pop(kind, None)
        elif kind not in self._known:
            self._known[kind] = _Admission.of(concrete, given, self._function)

    def forget(self, concrete: ConcreteFunction | None) -> None:
        """Admits no call to a trace any more."""
        for kind, known in list(self._known.items()):
            if known is not None and known.concrete is concrete:
                self._known.pop(kind, None)

    def __reduce__(self) -> Any:
        return Admissions, (self._function,)  # copies and pickles begin without traces


def _kind_of(args: tuple[Any, ...]) -> Hashable:
    state = tape.state
    last = args[-1] if args else None
    if isinstance(last, NDArray):
        return last._type, last._storage.ctx, state.recording, state.training
    return state.recording, state.training


def _is_object(value: object) -> bool:
    """Whether an argument is an object that traces know by its identity, and nothing else."""
    if isinstance(value, (NDArray, np.ndarray)) or flatten(value)[1] is not None:
        return False
    found: list[Identity] = []
    static_key(value, found)
    return len(found) == 1 and found[0].get() is value and hasattr(value, "__weakref__")
