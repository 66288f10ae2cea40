"""`PreparedCall`: a graph and its arrays, checked once and ready to dispatch again.

What repeats (an inference, a training step, a session's run) is usually one program whose inputs
are there. To record it, to find out who else holds what it overwrites, and to find its program
takes several times as long as XLA's dispatch. A prepared call knows all of that from an earlier
launch; a call looks whether it still holds, and dispatches.

What a call overwrites is replaced before the program is dispatched, by Values that are about to be
made: whoever needs one waits for the call as for the launch of a segment. From then on nobody new
can come to hold the old arrays, and their reference counts tell whether anybody does. So other
threads may go on meanwhile, and of two that make the same call one waits for the other.

No array is lost by a call that does not happen: where the program was not dispatched each holds
again what it held, and where XLA had taken over memory by then, the array says so when it is read.

Locks are taken in this order: that of the call in flight, which nobody can wait for yet, then
`in_place`, which is given back before the dispatch. Nothing of the user's runs under either.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import starmap
from typing import Any, Final, final

import numpy as np

from hybridnet.base.attrs import HostScalar
from hybridnet.base.context import Context
from hybridnet.base.errors import OpError, OutOfMemoryError
from hybridnet.base.interrupts import is_from_signal
from hybridnet.base.lazy import jax
from hybridnet.ops.core.call import Call, Types

from ..observe import events, journal
from ..programs.cache import cache
from ..programs.dispatch import known_scalars, put_scalars
from ..programs.program import Program, replaced
from ..segments.code import Code
from ..segments.flight import Flight
from ..segments.segment import Value
from . import recorder
from .dispatched import note_dispatched
from .storage import Storage, in_place

__all__ = ["Attempts", "PreparedCall"]

_new: Final = object.__new__
# References to what only one list of ours holds, as `sys.getrefcount` counts them: the list's, and
# that of its own argument.
_OURS: Final = 2
# How often in a row it is tried to prepare a call; then each time after as many calls; up to here.
_ATTEMPTS: Final = 8
_MOST_ATTEMPTS: Final = 4096
#: Programs are of the process that compiled them: how often this one was forked.
_forks: Final = [0]

# Inputs that are not the program's, or no room for what it makes: nothing has run, and who records
# the call finds out what to do.
_NOT_RUN: Final = (TypeError, ValueError, OutOfMemoryError)
_LOST: Final = (
    "{failed}. It had been given the memory of arrays that it overwrites by then; these have no "
    "value any more until they are assigned one: {lost}"
)


@final
class Attempts:
    """Tells whoever records the same call again and again when to try to prepare it.

    At the first time arrays are held that are made for it, and the program is another one; later it
    may still be being compiled, so it is tried now and then; and what could not be prepared for
    long never will be.

    Attributes:
        left: how often the call may still be asked about.
    """

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = _MOST_ATTEMPTS

    def is_due(self) -> bool:
        """Whether to try now; to be asked once for each time that the call was recorded."""
        self.left -= 1
        made = _MOST_ATTEMPTS - self.left
        return 1 < made <= _ATTEMPTS or (made % _ATTEMPTS == 0 and self.left >= 0)


@final
class PreparedCall:
    """One call of a graph: its program, where its inputs come from, and what it overwrites.

    A call that overwrites nothing is pure: it consumes nothing, and threads may make it at once.

    Args:
        program: a program of one call.
        num_arguments: how many arrays it is given at each call.
        sources: where the program's inputs come from: the number of an argument, or a storage.
        writes: which storage becomes which output of the program.
        results: the outputs of the program that are returned.
        scalars: the numbers that it takes; None where they are given at each call.
    """

    __slots__ = (
        "__weakref__",
        "_compiled",
        "_donated",
        "_forks",
        "_launch",
        "_numbers",
        "_order",
        "_places",
        "_program",
        "_replaced",
        "_results",
        "_storages",
        "_types",
        "_writes",
        "ctx",
        "dispatched",
    )

    def __init__(
        self,
        program: Program,
        num_arguments: int,
        sources: Sequence[int | Storage],
        writes: Sequence[tuple[Storage, int]],
        results: Sequence[int],
        scalars: Sequence[float] | None,
    ) -> None:
        code = program.code
        self.ctx = code.ctx
        self._program = program
        program.hold(self)
        self._forks = _forks[0]
        call, operands = code.instructions[0]
        types = call.infer(code.input_types[: len(operands)])
        self._types = [types[number] for number in code.outputs]
        self._results = list(results)
        #: How often it was dispatched.
        self.dispatched = 0
        # Those it reads, then those it overwrites unread.
        read = [source for source in sources if isinstance(source, Storage)]
        self._storages = list(dict.fromkeys([*read, *(storage for storage, _ in writes)]))
        place = {storage: number for number, storage in enumerate(self._storages)}
        #: What is overwritten, and the output it becomes.
        self._writes = list(writes)
        self._places = [(output, place[storage]) for storage, output in writes]
        # The program's inputs, by number: the arguments, then the storages.
        first = num_arguments
        order = [source if isinstance(source, int) else first + place[source] for source in sources]
        self._order = None if order == list(range(first + len(self._storages))) else order
        #: What is consumed: the number of the input, and that of its storage.
        self._donated = [(slot, order[slot] - first) for slot in code.donated]
        # Its numbers, if they are the same at each call, and what the journal keeps of it then.
        self._numbers = None if scalars is None else put_scalars(self.ctx, scalars)
        self._launch = None if scalars is None else journal.Launch(code, list(scalars))
        self._take()

    def _take(self) -> bool:
        """Takes the program's executable as it is now; False if it is another process's, or none.

        A program that was dropped from the cache may be there again, made for who recorded the call
        in the meantime.
        """
        if self._forks != _forks[0]:
            return False
        program = self._program
        if program.compiled is None:
            found = cache.compiled(program.code)
            if found is None:
                return False
            self._program = program = found
            program.hold(self)
        self._replaced = replaced[0]
        compiled = program.compiled
        # What JAX's own object hands on to, once it has been called, is called without it.
        self._compiled = getattr(compiled, "_call", None) or compiled
        return True

    def release(self) -> None:
        """Lets go of an executable that was dropped from the cache.

        Another thread may be about to call it: then that call is recorded.
        """
        self._program = self._program.without_executable()
        self._compiled = None
        self._replaced = -1

    # -- preparing ---------------------------------------------------------------------------

    @classmethod
    def pure(
        cls,
        ctx: Context,
        call: Call,
        types: Types,
        scalars: Sequence[Any] | None,
        num_arguments: int,
        sources: Sequence[int | Storage],
    ) -> PreparedCall | None:
        """Returns what runs a call that overwrites nothing; None where it has no program yet.

        Args:
            ctx: where it runs.
            call: the call, all outputs of which are returned.
            types: of its inputs.
            scalars: the numbers that it takes; None where they are given at each call.
            num_arguments: how many arrays it is given at each call.
            sources: where its inputs come from: the number of an argument, or a storage.
        """
        if call.on_host or any(type(scalar) is HostScalar for scalar in scalars or ()):
            return None
        outputs = tuple(range(call.num_outputs))
        operands = tuple(range(-1, ~len(types), -1))
        code = Code(ctx, ((call, operands),), tuple(types), outputs, ())
        program = cache.compiled(code)
        if program is None:
            return None
        return cls(program, num_arguments, sources, (), outputs, scalars)

    @classmethod
    def repeating(
        cls,
        call: Call,
        num_arguments: int,
        sources: Sequence[int | Storage],
        writes: Sequence[tuple[Storage, int]],
        results: Sequence[int],
    ) -> PreparedCall | None:
        """Returns what repeats this thread's last launch, if that was of a call and nothing else.

        Args:
            call: the call.
            num_arguments: how many arrays it is given at each call.
            sources: where its inputs come from: the number of an argument, or a storage.
            writes: which storage becomes which of its outputs.
            results: the outputs that are returned.

        Returns:
            None where the launch was something else or has no program yet, or where it consumed
            what is not overwritten.
        """
        program = cache.last()
        if program is None or call.on_host:
            return None
        code = program.code
        if len(code.instructions) != 1 or code.instructions[0][0] is not call:
            return None
        operands = code.instructions[0][1]
        if len({*operands}) != len(operands) or len(operands) != len(sources):
            return None  # one array in two places
        slots: list[int | Storage | None] = [None] * len(code.input_types)
        for operand, source in zip(operands, sources, strict=True):
            slots[~operand] = source
        # What is there for its memory alone is what the output overwrites that takes it over.
        heirs = dict(zip(code.donated, code.outputs, strict=False))
        overwriting = {number: storage for storage, number in writes}
        for slot in range(len(operands), len(slots)):
            slots[slot] = overwriting.get(heirs.get(slot, -1))
        found = [source for source in slots if source is not None]
        written = {storage for storage, _ in writes}
        if len(found) < len(slots) or any(slots[slot] not in written for slot in code.donated):
            return None
        if not {*results, *(number for _, number in writes)} <= {*code.outputs}:
            return None
        at = code.outputs.index  # where an output of the call is among those of the program
        places = [(storage, at(number)) for storage, number in writes]
        shown = [at(number) for number in results]
        return cls(program, num_arguments, found, places, shown, None)

    # -- calling -----------------------------------------------------------------------------

    def __call__(
        self, arrays: list[Any], scalars: Sequence[float] | None = None, *, wide: bool = False
    ) -> list[Value] | None:
        """Starts the program, and overwrites what it overwrites.

        The caller has launched what its thread had recorded (`recorder.mark`).

        Args:
            arrays: the JAX arrays that are its arguments, none of which is of a storage that it
                overwrites; None for one that is not there yet. A pure call also takes NumPy
                arrays that nobody will change.
            scalars: the numbers, where they were left open.
            wide: whether NumPy arrays of 64 bits, which JAX would narrow, are among the arrays.

        Returns:
            The results. None where the call has to be recorded, and nothing has happened: an input
            is not there or not of the program's type, somebody else holds what would be consumed,
            operators run one by one, or somebody watches what is launched.

        Raises:
            OpError: the program could not be dispatched. What it was to overwrite is as it was, or
                raises the same when it is read.
        """
        if events.observer is not None or recorder.is_special():
            return None
        if self._replaced != replaced[0] and not self._take():
            return None
        if self._writes:
            return self._overwrite(arrays, scalars)
        if self._storages:
            arrays = arrays + [storage.value.array for storage in self._storages]
        if self._order is not None:
            arrays = [arrays[number] for number in self._order]
        launch = self._launch
        if launch is None:
            launch, numbers = self._open(scalars)
            wide = wide or type(numbers) is np.ndarray
        else:
            numbers = self._numbers
        try:
            if wide:
                with jax.enable_x64(True):
                    outputs = self._compiled(*arrays, numbers)
            else:
                outputs = self._compiled(*arrays, numbers)
        except (TypeError, ValueError):  # inputs that are not the program's, or not there
            return None
        except Exception as error:
            if is_from_signal(error):
                raise
            raise OpError(self._failed(error)) from error
        self._note(launch, arrays)  # only now is it sure that the inputs were there
        if outputs:
            note_dispatched(self.ctx, outputs[0])
        made = []
        for kind, array in zip(self._types, outputs, strict=True):
            value = _new(Value)  # without a call of its __init__
            value.type = kind
            value.array = array
            made.append(value)
        return made

    def _overwrite(self, arrays: list[Any], scalars: Sequence[float] | None) -> list[Value] | None:
        """Makes a call that overwrites something; see `__call__`."""
        flight = Flight(self._places, self._did_not_run)
        made = flight.made
        for kind in self._types:
            value = _new(Value)
            value.type = kind
            value.segment = flight
            made.append(value)
        with flight.lock:
            try:
                with in_place:
                    before = [storage.value for storage in self._storages]
                    inputs = self._inputs(arrays, [value.array for value in before])
                    if inputs is None:
                        return None
                    flight.before = before
                    for storage, output in self._writes:
                        storage.value = made[output]
                if self._is_held(before, inputs):
                    return None
                self._dispatch(inputs, scalars, flight.outputs)
            except Exception as error:
                if is_from_signal(error):
                    raise
                if isinstance(error, _NOT_RUN) and not _is_consumed(flight.before):
                    return None
                raise OpError(self._failed(error, flight.before)) from error
            finally:
                flight.land()  # whoever needs a value does it, if Ctrl-C came in its midst
        return [made[number] for number in self._results]

    def _inputs(self, arrays: list[Any], held: list[Any]) -> list[Any] | None:
        """Returns the program's inputs in their order; None if an array is not there."""
        inputs = arrays + held
        for array in inputs:
            if array is None:
                return None
        return inputs if self._order is None else [inputs[number] for number in self._order]

    def _is_held(self, before: list[Value], inputs: list[Any]) -> bool:
        """Whether somebody else holds what the program would consume.

        Nobody new can: the storages have other Values already.
        """
        count = sys.getrefcount
        for slot, number in self._donated:
            if (
                count(before[number]) != _OURS
                or count(inputs[slot]) != _OURS + 1  # its Value's
                or before[number].shared is not None
            ):
                return True
        return False

    def _open(self, scalars: Sequence[float] | None) -> tuple[journal.Launch, Any]:
        """Returns a launch with numbers that were left open, and these for the program."""
        launch = journal.Launch(self._program.code, list(scalars or ()))
        return launch, known_scalars(self.ctx, launch.scalars)

    def _note(self, launch: journal.Launch, inputs: list[Any]) -> None:
        """Notes that the program runs now."""
        launches = journal.launches
        if not launches or launches[-1] is not launch:
            launches.append(launch)
        self.dispatched += 1
        self._program.note_run(inputs, launch.scalars)

    def _dispatch(
        self, inputs: list[Any], scalars: Sequence[float] | None, outputs: list[Sequence[Any]]
    ) -> None:
        """Starts the program, and puts the sequence of its outputs into a list.

        Ctrl-C may come right after a call has returned, before what it gave has a name; so it is
        put into the list by what calls it.
        """
        launch, numbers = self._open(scalars)
        if self._program.memory != 0:
            self._program.look_for_room()
        self._note(launch, inputs)
        inputs.append(numbers)
        if type(numbers) is np.ndarray:
            # Only here do they enter JAX, which would narrow them to float32 outside this scope.
            with jax.enable_x64(True):
                outputs.extend(starmap(self._compiled, (inputs,)))
        else:
            outputs.extend(starmap(self._compiled, (inputs,)))
        note_dispatched(self.ctx, outputs[0][0])

    def _did_not_run(self, before: Sequence[Value]) -> str:
        return self._failed("it did not run", before)

    def _failed(self, error: object, before: Sequence[Value] = ()) -> str:
        """Says why the program was not dispatched, and what was lost by that."""
        failed = f"{self._program.code.instructions[0][0].name} on {self.ctx} failed: {error}"
        lost = [str(value.type) for value in before if value.array.is_deleted()]
        return _LOST.format(failed=failed, lost=", ".join(lost)) if lost else failed


def _is_consumed(values: Sequence[Value]) -> bool:
    return any(value.array.is_deleted() for value in values)


def _after_fork_in_child() -> None:
    _forks[0] += 1
    replaced[0] += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
