"""`Admission`: whether a call is one for a trace that is known already.

Everything that the key of a trace holds was written down at an earlier call, so that a call
compares a few lists, where making the key anew takes a walk over the function's names.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any, final

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


@final
class Admission:
    """The calls that are of one trace, as far as that can be told quickly.

    Args:
        concrete: the trace.
        guards: what its function's names must mean.
        arrays: the arguments of an earlier call; others must be like them, each for each.
        owner: refers to the object that comes before the arrays, where the function is a method.
    """

    __slots__ = (
        "_classes",
        "_contexts",
        "_current",
        "_fits",
        "_guards",
        "_overwrites",
        "_owner",
        "_plain",
        "_recording",
        "_tracked",
        "_training",
        "_types",
        "concrete",
    )

    def __init__(
        self,
        concrete: ConcreteFunction,
        guards: Guards,
        arrays: Sequence[NDArray],
        owner: Callable[[], object] | None,
    ) -> None:
        self.concrete = concrete
        self._owner = owner
        self._fits = concrete.fits if concrete.reads_outside else None
        self._guards = guards if guards else None
        self._types = [array.type for array in arrays]
        # Those with NumPy's semantics make such.
        self._classes = [type(array) for array in arrays]
        self._contexts = [array.context for array in arrays]
        # Whether they are results on the tape.
        self._tracked = [array.edge is not None for array in arrays]
        self._plain = None if any(self._tracked) else [None] * len(arrays)
        self._overwrites = bool(concrete.written)
        self._recording = tape.state.recording
        self._training = tape.state.training
        self._current = current.now

    @classmethod
    def of(
        cls, concrete: ConcreteFunction, given: CallArguments, function: Callable[..., object]
    ) -> Admission | None:
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

    def __call__(self, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """Returns the arrays among the arguments of a call; None where it is not admitted."""
        state = tape.state
        if state.recording is not self._recording or state.training is not self._training:
            return None
        if self._owner is not None:
            if not args or args[0] is None or args[0] is not self._owner():
                return None
            args = args[1:]
        # (Comprehensions are what Python is quickest at: twice as quick as `map` here.)
        if [type(x) for x in args] != self._classes:
            return None
        if [x._type for x in args] != self._types:
            return None
        if [x._storage.ctx for x in args] != self._contexts:
            return None
        if [x._edge for x in args] != self._plain:
            for x, is_result in zip(args, self._tracked, strict=True):
                edge = x._edge
                if (edge is not None) is not is_result:
                    return None
                if edge is not None and type(edge.node) is Leaf:
                    return None  # a variable, which may get a gradient
        # One array as two arguments is traced as one; that differs only where it is overwritten.
        if self._overwrites and len({id(x) for x in args}) < len(args):
            return None
        if current.now is not self._current:
            return None
        if self._guards is not None and not self._guards.hold():
            return None
        if self._fits is not None and not self._fits():
            return None
        return args


def kind_of(args: tuple[Any, ...]) -> Hashable:
    """Returns what calls of different kinds often differ in, to look up who may admit one by.

    A loop over devices has a kind for each of them, one over training and evaluation two.
    """
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
