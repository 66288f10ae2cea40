"""`DirectStep`: one call that overwrites arrays, again and again, as its dispatch and nothing else.

A training step as a traced function is one program that takes the weights and gives new ones. To
record it, to find out who else holds the old weights, and to find the program takes several times
as long as XLA's dispatch. Here all of that was found out at an earlier launch; a launch looks
whether it still holds.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final, final

from hybridnet.base.errors import OpError
from hybridnet.base.lazy import jnp
from hybridnet.ops.call import Call

from .direct import forks
from .observe import events as observe
from .observe import journal
from .programs.cache import cache
from .programs.dispatch import dispatch
from .record import recorder
from .record.dispatched import note_dispatched
from .record.failures import fail
from .record.storage import Storage, in_place
from .segments.code import Code
from .segments.segment import Value

__all__ = ["DirectStep"]

_new: Final = object.__new__

# References to a Value, or an array, that nobody but its storage holds: the storage's (the
# Value's), that of a list here, and the one that `getrefcount` itself is given.
_OURS = 3


def _is_alone() -> bool:
    """Whether no thread but this one can come to hold an array between a look and a dispatch.

    The engine's own threads hold what they were given, and look for nothing else.
    """
    this = threading.current_thread()
    for one in threading.enumerate():
        if one is not this and not one.name.startswith("hybridnet-"):
            return False
    return True


@final
class DirectStep:
    """A launch of one call, all inputs of which are whole storages.

    Args:
        code: the structure, as it was launched before.
        operands: the storages of the inputs; None for what a caller gives each time.
        writes: which storage becomes which output of the call.
        needed: the outputs that are wanted besides.
    """

    __slots__ = (
        "_code",
        "_donated",
        "_forks",
        "_needed",
        "_operands",
        "_program",
        "_types",
        "_writes",
        "ctx",
    )

    def __init__(
        self,
        program: Any,
        code: Code,
        operands: Sequence[Storage | None],
        writes: Sequence[tuple[Storage, int]],
        needed: Sequence[int],
    ) -> None:
        self.ctx = code.ctx
        self._program = program
        self._code = code
        self._forks = forks[0]
        self._operands = list(operands)
        self._donated = code.donated
        call = code.instructions[0][0]
        types = call.infer(code.input_types[: len(code.instructions[0][1])])
        self._types = [types[number] for number in code.outputs]
        # Where an output of the call is among those of the program.
        place = code.outputs.index
        self._writes = [(storage, place(number)) for storage, number in writes]
        self._needed = [place(number) for number in needed]

    @classmethod
    def of(
        cls,
        call: Call,
        operands: Sequence[Storage | None],
        writes: Sequence[tuple[Storage, int]],
        needed: Sequence[int],
    ) -> DirectStep | None:
        """Returns what repeats the last launch of this process, if that was this call's.

        Args:
            call: the call.
            operands: the storages of its inputs; None for what is given each time.
            writes: which storages become which of its outputs.
            needed: the outputs that are wanted besides.

        Returns:
            None where that launch was something else, or has no program yet.
        """
        if call.on_host or not journal.launches:
            return None
        code = journal.launches[-1].code
        program = cache.compiled(code)
        if program is None or len(code.instructions) != 1 or code.instructions[0][0] is not call:
            return None
        places = code.instructions[0][1]
        if len({*places}) != len(places) or len(places) != len(operands):
            return None  # one array in two places
        slots: list[Storage | None] = [None] * len(code.input_types)
        for place, storage in zip(places, operands, strict=True):
            slots[~place] = storage
        # What is there for its memory alone is what the output overwrites that takes it over.
        heirs = dict(zip(code.donated, code.outputs, strict=False))
        overwriting = {number: storage for storage, number in writes}
        for slot in range(len(places), len(slots)):
            slots[slot] = overwriting.get(heirs.get(slot, -1))
            if slots[slot] is None:
                return None
        written = {storage for storage, _ in writes}
        if any(slots[slot] is None or slots[slot] not in written for slot in code.donated):
            return None
        if not {*needed, *(number for _, number in writes)} <= {*code.outputs}:
            return None
        return cls(program, code, slots, writes, needed)

    def order(self, call: Call) -> list[int]:
        """Returns which of the call's inputs are given each time, in the order of the program."""
        places = self._code.instructions[0][1]
        inputs = {~place: number for number, place in enumerate(places)}
        return [inputs[slot] for slot, one in enumerate(self._operands) if one is None]

    def __call__(
        self, given: Sequence[Storage], numbers: Callable[[], list[float]]
    ) -> list[Value] | None:
        """Starts the program, and overwrites what it overwrites.

        Args:
            given: storages of the inputs that are given each time.
            numbers: returns the scalars; it is called once it is sure that the program runs.

        Returns:
            The outputs that are wanted; None where the call has to be recorded: an input is not
            there, somebody else holds what it would consume, or somebody wants to see what is
            launched.
        """
        if observe.observer is not None or recorder.is_special() or self._forks != forks[0]:
            return None
        if not _is_alone():
            return None
        recorder.mark()
        rest = iter(given)
        storages = [next(rest) if one is None else one for one in self._operands]
        with in_place:
            held = [one.value for one in storages]
            arrays = [one.array for one in held]
            for array in arrays:
                if array is None:
                    return None
            array = None  # it would count as a holder
            count = sys.getrefcount
            for slot in self._donated:
                if (
                    count(held[slot]) != _OURS
                    or count(arrays[slot]) != _OURS
                    or held[slot].shared is not None
                ):
                    return None
            scalars = numbers()
            if [one.value for one in storages] != held:
                # To ask for the numbers has changed an array: nothing is known of it any more.
                held = [one.value for one in storages]
                arrays = [jnp.copy(recorder.ready_array(one)) for one in held]
            return self._run(arrays, scalars)

    def _run(self, arrays: list[Any], scalars: list[float]) -> list[Value]:
        code, program = self._code, self._program
        program.note_run(arrays, scalars)
        journal.launches.append(journal.Launch(code, scalars))
        types = self._types
        try:
            outputs = dispatch(code.ctx, program.compiled, arrays, scalars)
        except Exception as caught:
            name = code.instructions[0][0].name
            error = OpError(f"{name} on {code.ctx} failed: {caught}")
            error.__cause__ = caught
            made = [Value(one) for one in types]
            fail(made, error)
        else:
            made = []
            for one, array in zip(types, outputs, strict=True):
                value = _new(Value)  # without a call of its __init__
                value.type = one
                value.array = array
                made.append(value)
            note_dispatched(code.ctx, outputs[0])
        for storage, place in self._writes:
            storage.value = made[place]
        return [made[place] for place in self._needed]
