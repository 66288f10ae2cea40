"""`PreparedCall`: a graph and its arrays, checked once and ready to be started again.

Work that repeats (an inference, a training step, a session's run) is usually one program, and all
its inputs have been computed already. To record it each time, to find out which inputs can be
donated, and to look the program up takes several times as long as XLA takes to start it. A prepared
call has all of that from an earlier launch. A call of it checks that this is still right, and
starts the program.

Before the program starts, the storages that it overwrites get new, pending Values. A thread that
needs one of these waits for the call, as it would for the launch of a segment. From then on no
other code can get hold of the old arrays, and their reference counts tell whether any code already
holds them. So other threads need not be stopped meanwhile, and if two threads make the same call,
one waits for the other.

If the program cannot be started, no array is lost: each storage gets back what it held. Only where
XLA had already taken the memory is that impossible; then reading the array raises an error that
says so.

Locks are taken in this order: first that of the call's `Flight`, for which nobody can be waiting
yet, then `in_place`, which is released before the program starts. No code of the user's runs while
either is held.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from itertools import starmap
from typing import Any, Final, Literal, final

from hybridnet import engine
from hybridnet.base.attrs import HostScalar
from hybridnet.base.context import Context
from hybridnet.base.errors import OpError, OutOfMemoryError
from hybridnet.base.host_array import DeviceArray, HostArray
from hybridnet.base.interrupts import is_from_signal
from hybridnet.base.lazy import jax
from hybridnet.base.references import ALONE, counts
from hybridnet.ops.core import Call, Types

from ..checks.asked import asked
from ..checks.checked import Checked, checked
from ..observe import events, journal
from ..platform.jax_devices import place
from ..programs.cache import cache
from ..programs.dispatch import put_scalars
from ..programs.executable import direct, start
from ..programs.program import Program, replaced
from ..programs.room import promise
from ..segments.code import Code
from ..segments.flight import Flight
from ..segments.segment import Value, note_origin, origins
from . import recorder
from .answers import note_answers
from .dispatched import note_dispatched
from .storage import Storage, in_place

__all__ = ["Attempts", "PreparedCall"]

_new: Final = object.__new__
# How many of its next calls a call tries to be prepared at; see `Attempts`.
_ATTEMPTS: Final = 8
#: How often this process was forked. A program can only run in the process that compiled it.
_forks: Final = [0]

# Errors after which a call can still be recorded: the inputs do not fit the program or are missing,
# or there is not enough memory. Nothing has run then.
_NOT_RUN: Final = (TypeError, ValueError, OutOfMemoryError)
_LOST: Final = (
    "{failed}. It had been given the memory of arrays that it overwrites by then; these have no "
    "value any more until they are assigned one: {lost}"
)


@final
class Attempts:
    """Decides when code that records the same call again and again should try to prepare it.

    At its first calls, as its program may be there already; of these the first makes arrays that
    later calls overwrite, so that its program is another one. Then, whenever a program was made.
    """

    __slots__ = ("_left", "_seen")

    def __init__(self) -> None:
        self._seen = -1
        self._left = 0

    def is_due(self) -> bool:
        """Whether to try now. Ask exactly once each time the call was recorded."""
        if self._seen != replaced[0]:
            self._seen = replaced[0]
            self._left = _ATTEMPTS
        elif not self._left:
            return False
        self._left -= 1
        return True


@final
class PreparedCall:
    """One call of a graph: its program, where its inputs come from, and what it overwrites.

    A prepared call that overwrites nothing is called pure: it donates no input, and several threads
    may make it at the same time.

    Args:
        program: a program whose structure is a single call.
        num_arguments: how many arrays are passed at each call.
        sources: for each input of the program where it comes from: the number of an argument, or a
            storage.
        writes: pairs of a storage that is overwritten, and the number of the output it becomes.
        results: the numbers of the outputs that are returned.
        scalars: the numbers that the program takes; None if they are passed at each call.
    """

    __slots__ = (
        "__weakref__",
        "_checked",
        "_compiled",
        "_donated",
        "_forks",
        "_is_direct",
        "_launch",
        "_mebibytes",
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
        #: What its launches are asked; None where nothing is asked.
        self._checked = checked = _checked_by(program)
        if checked is not None:
            code = checked.plain
        program.hold(self)
        self._forks = _forks[0]
        call, operands = code.instructions[0]
        types = call.infer(code.input_types[: len(operands)])
        self._types = [types[number] for number in code.outputs]
        #: Of the largest output.
        self._mebibytes = max([kind.mebibytes for kind in self._types], default=0)
        self._results = list(results)
        #: How often it was dispatched.
        self.dispatched = 0
        # The storages that it reads, then those that it overwrites without reading them.
        read = [source for source in sources if isinstance(source, Storage)]
        self._storages = list(dict.fromkeys([*read, *(storage for storage, _ in writes)]))
        place = {storage: number for number, storage in enumerate(self._storages)}
        #: Pairs of a storage that is overwritten, and the number of the output it becomes.
        self._writes = list(writes)
        self._places = [(output, place[storage]) for storage, output in writes]
        # For each input of the program its place in the list of all arguments and then the arrays
        # of all storages; None if that is the order already.
        first = num_arguments
        order = [source if isinstance(source, int) else first + place[source] for source in sources]
        self._order = None if order == list(range(first + len(self._storages))) else order
        #: The inputs that are donated: pairs of an input's number and that of its storage.
        self._donated = [(slot, order[slot] - first) for slot in code.donated]
        # The numbers on the device, and the journal's entry, if they are the same at each call.
        self._numbers = None if scalars is None else put_scalars(self.ctx, scalars)
        self._launch = None if scalars is None else journal.Launch(code, list(scalars))
        self._compiled: Any = None
        self._is_direct = False
        self._replaced = -1
        self._take()

    def _take(self) -> bool:
        """Fetches the program's executable.

        Returns:
            False if there is none: this process was forked since, or launches are asked something
            else, or the cache has dropped the program. (If a later call was recorded, it may be in
            the cache again, compiled anew.)
        """
        checked = self._checked
        if self._forks != _forks[0] or asked.mode != (0 if checked is None else checked.mode):
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
        call = direct(compiled)
        self._is_direct = call is not None
        self._compiled = call if self._is_direct else compiled
        return True

    def release(self) -> None:
        """Lets go of the executable, since the cache has dropped the program.

        If another thread is about to call it, that call fails, and is recorded instead.
        """
        self._program = self._program.without_executable()
        self._compiled = None
        self._is_direct = False
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
        """Prepares a call that overwrites nothing; returns None if it has no program yet.

        Args:
            ctx: the context on which it runs.
            call: the call; all its outputs are returned.
            types: the types of its inputs.
            scalars: the numbers that it takes; None if they are passed at each call.
            num_arguments: how many arrays are passed at each call.
            sources: for each input where it comes from: the number of an argument, or a storage.
        """
        if call.on_host or any(type(scalar) is HostScalar for scalar in scalars or ()):
            return None
        outputs = tuple(range(call.num_outputs))
        operands = tuple(range(-1, ~len(types), -1))
        code = Code(ctx, ((call, operands),), tuple(types), outputs, ())
        asks = asked.mode or call.bounded(everything=False) is not None
        asking = checked(code, asked.mode) if asks else None
        program = cache.compiled(code if asking is None else asking.code)
        if program is None:
            return None
        if asking is not None:
            program.checked = asking
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
        """Prepares to repeat this thread's last launch, if that was of this call and nothing else.

        Args:
            call: the call.
            num_arguments: how many arrays are passed at each call.
            sources: for each input where it comes from: the number of an argument, or a storage.
            writes: pairs of a storage that is overwritten, and the number of the output it becomes.
            results: the numbers of the outputs that are returned.

        Returns:
            None if the last launch was something else, if it has no program yet, or if it donated
            an input that the call does not overwrite.
        """
        program = cache.last()
        if program is None or call.on_host:
            return None
        asking = _checked_by(program)
        code = program.code if asking is None else asking.plain
        if len(code.instructions) != 1 or code.instructions[0][0] is not call:
            return None
        operands = code.instructions[0][1]
        if len({*operands}) != len(operands) or len(operands) != len(sources):
            return None  # one array is given for two inputs
        slots: list[int | Storage | None] = [None] * len(code.input_types)
        for operand, source in zip(operands, sources, strict=True):
            slots[~operand] = source
        # Further inputs, which no instruction reads, are there only to be donated: each is the old
        # array of the storage that becomes the output that takes over its memory.
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
        self,
        arrays: list[DeviceArray],
        scalars: Sequence[float] | None = None,
        *,
        wide: bool = False,
    ) -> list[Value] | None:
        """Starts the program, and gives the storages that it overwrites their new Values.

        The caller must have launched what its thread had recorded (`recorder.mark`).

        Args:
            arrays: the arguments, as JAX arrays. None may be the array of a storage that the call
                overwrites. An item is None if that argument has no array yet. A pure call also
                takes NumPy arrays, which nobody may change afterwards.
            scalars: the numbers, if they were not given when the call was prepared.
            wide: whether there are NumPy arrays of 64-bit types among the arguments; JAX would
                narrow them otherwise.

        Returns:
            The results. Or None, if the call has to be recorded instead; then nothing has happened.
            It is so if an input has no array yet or another type than the program's, if other code
            holds an array that would be donated, if operators have to run one by one, or if an
            observer watches what is launched.

        Raises:
            OpError: the program could not be started. What it was to overwrite is unchanged; where
                that is impossible, reading it raises the same error.
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
        if self.ctx.is_accelerator and HostArray in map(type, arrays):
            arrays = [*arrays]
            place(self.ctx, arrays)
        launch = self._launch
        if launch is None:
            launch, numbers = self._open(scalars)
        else:
            numbers = self._numbers
        try:
            if self._program.memory != 0:
                self._program.look_for_room()
            if wide:
                with jax.enable_x64(True):
                    outputs = self._compiled(*arrays, numbers)
            else:
                outputs = self._compiled(*arrays, numbers)
        except Exception as error:
            if is_from_signal(error):
                raise
            if isinstance(error, _NOT_RUN):
                return None
            raise OpError(self._failed(error)) from error
        promise(self._program.memory or 0, outputs)
        self._note(launch, arrays)  # not earlier: now it is sure that there was a launch
        if outputs:
            note_dispatched(self.ctx, outputs[0])
        made = []
        for kind, array in zip(self._types, outputs, strict=False):  # answers come after them
            value = _new(Value)  # without a call of its __init__
            value.type = kind
            value.array = array
            made.append(value)
        if self._checked is not None:
            self._note_answers(self._checked, arrays, launch, made, outputs)
        if self._mebibytes >= origins.least:
            note_origin(made, 2)
        return made

    def _overwrite(
        self, arrays: list[DeviceArray], scalars: Sequence[float] | None
    ) -> list[Value] | None:
        """Makes a call that overwrites something; see `__call__`."""
        flight = Flight(self._places, self._did_not_run)
        made = flight.made
        for kind in self._types:
            value = _new(Value)
            value.type = kind
            value.segment = flight
            made.append(value)
        if self._mebibytes >= origins.least:
            note_origin(made, 2)
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
                launch = self._dispatch(inputs, scalars, flight.outputs)
            except Exception as error:
                if is_from_signal(error):
                    raise
                if isinstance(error, _NOT_RUN) and not _is_consumed(flight.before):
                    return None
                raise OpError(self._failed(error, flight.before)) from error
            finally:
                flight.land()  # if Ctrl-C interrupts it, the next thread that needs a value does it
        if self._checked is not None:
            self._note_answers(self._checked, inputs[:-1], launch, made, flight.outputs[0])
        return [made[number] for number in self._results]

    def _inputs(
        self, arrays: list[DeviceArray], held: list[DeviceArray]
    ) -> list[DeviceArray] | None:
        """Returns the program's inputs in their order; None if one has no array yet."""
        inputs = arrays + held
        for array in inputs:
            if array is None:
                return None
        if self._order is not None:
            inputs = [inputs[number] for number in self._order]
        if self.ctx.is_accelerator and HostArray in map(type, inputs):
            if any(type(inputs[slot]) is HostArray for slot, _ in self._donated):
                return None  # a launch can tell whether anybody else holds it
            place(self.ctx, inputs)
        return inputs

    def _is_held(self, before: list[Value], inputs: list[DeviceArray]) -> bool:
        """Whether other code holds an array that the program would take the memory of.

        The answer stays right: the storages have their new Values already, so that no other code
        can get hold of the old ones from now on.
        """
        values, arrays = list(counts(before)), list(counts(inputs))
        for slot, number in self._donated:
            if (
                values[number] != ALONE
                or arrays[slot] != ALONE + 1  # its Value refers to it as well
                or before[number].shared is not None
            ):
                return True
        return False

    def _note_answers(
        self,
        checked: Checked,
        inputs: Sequence[DeviceArray],
        launch: journal.Launch,
        made: Sequence[Value],
        outputs: Sequence[DeviceArray],
    ) -> None:
        """Notes the answers to what a launch was asked."""
        lines = {0: engine.caller_origin(2)}
        owner = threading.get_ident()
        note_answers(checked, owner, (inputs, launch.scalars), lines, made, outputs, lists=1)

    def _open(self, scalars: Sequence[float] | None) -> tuple[journal.Launch, Any]:
        """Returns the journal's entry for a call with these numbers, and them on the device."""
        launch = journal.Launch(self._program.code, list(scalars or ()))
        return launch, put_scalars(self.ctx, launch.scalars)

    def _note(self, launch: journal.Launch, inputs: list[DeviceArray]) -> None:
        """Writes into the journal and the statistics that the program runs."""
        launches = journal.launches
        if not launches or launches[-1] is not launch:
            launches.append(launch)
        self.dispatched += 1
        self._program.note_run(inputs, launch.scalars)

    def _dispatch(
        self,
        inputs: list[DeviceArray],
        scalars: Sequence[float] | None,
        outputs: list[Sequence[DeviceArray]],
    ) -> journal.Launch:
        """Starts the program, and appends the sequence of its outputs to a list.

        Returns:
            The journal's entry.
        """
        launch, numbers = self._open(scalars)
        if self._program.memory != 0:
            self._program.look_for_room()
        self._note(launch, inputs)
        inputs.append(numbers)
        if self._is_direct:
            outputs.extend(starmap(self._compiled, (inputs,)))  # as `start` does
        else:
            start(self._compiled, inputs, outputs)
        promise(self._program.memory or 0, outputs[0])
        note_dispatched(self.ctx, outputs[0][0])
        return launch

    def _did_not_run(self, before: Sequence[Value]) -> str:
        return self._failed("it did not run", before)

    def _failed(self, error: object, before: Sequence[Value] = ()) -> str:
        """Returns the message for a program that was not started, with the arrays that are lost."""
        failed = f"{self._program.code.instructions[0][0].name} on {self.ctx} failed: {error}"
        lost = [str(value.type) for value in before if value.array.is_deleted()]
        return _LOST.format(failed=failed, lost=", ".join(lost)) if lost else failed


def _checked_by(program: Program) -> Checked | None:
    """Returns what the launches of a program are asked; None where nothing is asked."""
    found: Checked | Literal[False] | None = program.checked
    return found if found and found.code is program.code else None


def _is_consumed(values: Sequence[Value]) -> bool:
    return any(value.array.is_deleted() for value in values)


def _after_fork_in_child() -> None:
    _forks[0] += 1
    replaced[0] += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
