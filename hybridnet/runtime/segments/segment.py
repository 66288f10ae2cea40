"""Values and segments: what a thread has recorded and not launched yet.

A `Segment` is a list of *instructions*: operator calls, each with the numbers of its inputs and
results. A `Value` is an array that is written only once: it is the result of an instruction or of a
task of the engine, or was made from data. To update an NDArray in place gives its `Storage` another
Value, so that an instruction that was recorded earlier still reads the old one.

Threads. Only the thread that owns a segment appends to it, and it takes no lock for that. Any
thread may launch it, under its lock. The two keep out of each other's way by Dekker's algorithm:
each sets a flag of its own and then looks at the other's. The owner sets ``busy`` and goes on only
if the segment is still ``open``; the launcher clears ``open`` and goes on only when the owner is
not ``busy``. The garbage collector may run a finalizer in the middle of an append or a launch; if
the finalizer computes with arrays, it sees by the same flags what it has interrupted, and records
into another segment. The way of a segment, by its flags:

    recorded     open
    appended to  open, busy                 set by the owner, for microseconds
    closed       -                          set by who launches it, under the lock
    launched     launching                  goes on here if Ctrl-C has ended a launch
    started      launching, started         XLA may have taken the memory of inputs
    dispatched   launching, started, made   the outputs are there, and are given to the Values
    done         started                    `results` is empty

A flag for each, and not one state: each has one thread that writes it, so that none needs a lock.

A Value's ``segment`` is cleared only after its array (or its error, or the Var of its task) has
been set; so a thread that reads ``segment is None`` may read those.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import Any, Final

from hybridnet import engine
from hybridnet.base.attrs import Number
from hybridnet.base.context import Context
from hybridnet.base.host_array import DeviceArray, HostArray
from hybridnet.base.mesh import Mesh
from hybridnet.base.references import ALONE, counts
from hybridnet.base.tensor_type import TensorType
from hybridnet.engine import RLock
from hybridnet.ops.core import Call, Types

from .code import Code, Instruction

__all__ = ["Segment", "Value", "note_origin", "origins"]

_new: Final = object.__new__


class _Origins:
    """Of which arrays it is noted where they were made.

    Attributes:
        usual: of those of so many mebibytes or more. To look for a line takes one or two
            microseconds, and to write a mebibyte a hundred.
        least: the same, and 0 while somebody wants the lines of all.
    """

    __slots__ = ("least", "usual")

    def __init__(self) -> None:
        self.least = self.usual = 1


origins: Final = _Origins()


class Value:
    """An array that is written once. It is pending until it has an array or an error.

    Attributes:
        type: shape and dtype.
        array: the JAX array, once there is one (XLA may still be computing its contents).
        segment: the segment in which it was recorded, until that is launched; then None.
        index: its number among the results of that segment.
        var: the engine's Var of the task that makes it; None if no task does.
        error: the error that kept it from being computed.
        over: the `id` of the array that this Value replaced in its Storage, if there was one.
        spare: that array, until the launch, if it is large enough for its memory to be reused.
        shared: None, or the DLPack capsule by which others (DLPack, a JAX user) use the array's
            memory as well. Shared memory is never donated: not by hybridnet, and not by XLA, which
            sees the capsule.
        origin: the user's line that made it, for `engine.resolve_origin`; None where it was not
            noted. Of large arrays it always is: see `origins`.
    """

    # No __slots__, so that attributes with a default cost nothing until they are set: one Value is
    # made for each recorded operator, and most set only a few.
    array: Any = None
    segment: Any = None
    index = -1
    var: Any = None
    error: BaseException | None = None
    over = 0
    spare: Any = None
    shared: Any = None
    origin: engine.Origin | None = None

    def __init__(
        self, type: TensorType, array: DeviceArray | None = None, *, shared: object = None
    ) -> None:
        self.type = type
        self.array = array
        if shared is not None:
            self.shared = shared
        if type.mebibytes >= origins.least:
            self.origin = engine.caller_origin(2)


def note_origin(values: Sequence[Value], depth: int) -> None:
    """Notes of Values that the user's line that runs now makes them.

    Args:
        values: which; of each that is too small for it nothing is noted.
        depth: as for `engine.caller_origin`.
    """
    least = origins.least
    found = None
    for value in values:
        if value.type.mebibytes >= least:
            found = found or engine.caller_origin(depth)
            value.origin = found


class Segment:
    """Instructions recorded by one thread for one context, until they are launched.

    Attributes:
        instructions: the calls, in the order in which they were recorded.
        inputs: for each input its JAX array, or its Value while a task of the engine makes it.
        slots: by the `id` of an input's array, or of its Value, its number among the inputs.
        kept: the numbers of the inputs whose memory is never donated.
        results: the Values of all results. A result to which nobody else refers is dead: it is not
            computed.
        scalars: the numbers that the instructions take beside their inputs, in order.
        load: how much there is to do: the sum of the weights of all instructions and of the
            mebibytes of all results.
        limit: the load at which the segment is launched. It bounds the size of the program, and the
            memory that its results will take.
        open: whether more can be appended.
        started: whether the dispatch of its program has begun.
        live: the results that the launch computes, in the order of the program's outputs.
        made: empty; once the program was dispatched, a list with one item: its outputs.
        task: if a task of the engine launches it, that task's Var and those that it reads.
        busy: whether its owner is appending to it at this moment.
        launching: whether it is being launched.
        late: whether a finalizer records into it. A late segment may read pending Values of other
            segments, which are launched before it.
        sealed: whether a late segment reads from it. Then nothing more is appended: if that read
            from the late segment in turn, each would have to be launched before the other.
        owner: the thread that appends.
        outside: of a trace's segment, the one that stands for everything outside the trace: Values
            that stand for arrays from outside have it as their segment. None for other segments.
        traced: whether it belongs to a trace, and so is never launched.
    """

    # No __slots__: one is made for each result that is read, and most of these stay as they are.
    busy = launching = late = sealed = traced = started = False
    open = True
    load = 0
    outside: Segment | None = None
    task: tuple[Any, tuple[Any, ...]] | None = None

    def __init__(self, ctx: Context, limit: int = sys.maxsize) -> None:
        self.ctx = ctx
        self.limit = limit
        self.lock = RLock()
        self.owner = threading.get_ident()
        self.live: list[Value] = []
        self.made: list[Sequence[Any]] = []
        self.instructions: list[Instruction] = []
        self.inputs: list[Any] = []
        self.kept: set[int] = set()
        self.input_types: list[TensorType] = []
        self.results: list[Value] = []
        self.scalars: list[Any] = []
        self.slots: dict[int, int] = {}

    def append(
        self, call: Call, values: Sequence[Value], scalars: tuple[Number, ...], types: Types
    ) -> list[Value] | None:
        """Adds one instruction. Only the thread that owns the segment may call this.

        Returns:
            The Values of its results. None if nothing can be appended now: the segment has been
            launched; or a finalizer is calling in the middle of another append; or an input belongs
            to another segment, which must be launched first.
        """
        if self.busy:
            return None
        try:
            self.busy = True
            if not self.open:
                return None
            operands = []
            known = self.slots
            for value in values:
                home = value.segment
                if home is self:
                    operands.append(value.index)
                elif home is None or home is self.outside or home.is_interrupted():
                    held = value.array
                    slot = known.get(id(held))
                    if slot is None and (
                        held is None or type(held) is HostArray or value.shared is not None
                    ):
                        operands.append(self._input(value))
                        continue
                    if slot is None:  # as `_input` does
                        slot = len(self.inputs)
                        self.inputs.append(held)
                        self.input_types.append(value.type)
                        known[id(held)] = slot
                    operands.append(~slot)
                elif self.late and not home.traced:
                    home.sealed = True
                    operands.append(self._input(value))
                else:
                    return None
            # `made` keeps the new Values alive: as soon as `busy` is off, a launch in another
            # thread would take those to which nobody refers for dead.
            made = []
            results = self.results
            load = call.weight
            for kind in types:
                value = _new(Value)
                value.type = kind
                value.segment = self
                value.index = len(results)
                results.append(value)
                made.append(value)
                load += kind.mebibytes
            if load - call.weight >= origins.least:
                note_origin(made, 3)
            if scalars:
                self.scalars += scalars
            self.load += load
            # Last, as `_cut` takes back what was done for an instruction that is not in this list.
            self.instructions.append((call, tuple(operands)))
        except BaseException:  # a KeyboardInterrupt may come between any two lines
            self._cut()
            raise
        finally:
            self.busy = False
        return made

    def append_one(
        self, call: Call, values: Sequence[Value], scalars: tuple[Number, ...], type: TensorType
    ) -> Value | None:
        """Does what `append` does, in half the time, for a call of one output, as most are.

        Returns:
            The Value of its result. None where `append` returns None, and also in rare cases that
            only `append` handles.
        """
        if self.busy:
            return None
        try:
            self.busy = True
            if not self.open:
                return None
            operands = []
            known = self.slots
            for value in values:
                home = value.segment
                if home is self:
                    operands.append(value.index)
                elif home is None:
                    held = value.array
                    slot = known.get(id(held))
                    if slot is None and (
                        held is None or isinstance(held, HostArray) or value.shared is not None
                    ):
                        operands.append(self._input(value))
                        continue
                    if slot is None:  # as `_input` does
                        slot = len(self.inputs)
                        self.inputs.append(held)
                        self.input_types.append(value.type)
                        known[id(held)] = slot
                    operands.append(~slot)
                else:
                    return None
            made = _new(Value)
            made.type = type
            made.segment = self
            results = self.results
            made.index = len(results)
            results.append(made)
            if scalars:
                self.scalars += scalars
            mebibytes = type.mebibytes
            if mebibytes >= origins.least:
                made.origin = engine.caller_origin(2)
            self.load += call.weight + mebibytes
            self.instructions.append((call, tuple(operands)))
        except BaseException:
            self._cut()
            raise
        finally:
            self.busy = False
        return made

    def is_interrupted(self) -> bool:
        """Whether this thread is in the middle of an append to this segment, or of its launch.

        If so, the caller is a finalizer that interrupted it.
        """
        if self.launching:
            return bool(self.lock._is_owned())  # type: ignore[attr-defined]
        return self.owner == threading.get_ident() and self.is_busy()

    def is_busy(self) -> bool:
        """Whether its owner is appending to it at this moment.

        The flag `busy` alone does not tell: Ctrl-C may have ended an append just before it was
        cleared. So this looks for the append on the owner's stack, and if it is not there, takes
        back what the append had done and clears the flag.
        """
        if not self.busy:
            return False
        frame = sys._current_frames().get(self.owner)
        while frame is not None:
            if frame.f_code in _APPENDS:
                return True
            frame = frame.f_back
        if self.busy:
            self._cut()
            self.busy = False
        return False

    def is_held_up(self) -> bool:
        """Whether it cannot be launched now: this thread interrupted it, or one it reads from."""
        if self.is_interrupted():
            return True
        homes = [held.segment for held in self.inputs if type(held) is Value]
        return any(home is not None and home.is_held_up() for home in homes)

    def _cut(self) -> None:
        """Takes back what an append that was interrupted has done, so that it never happened."""
        calls = [call for call, _ in self.instructions]
        del self.results[sum(call.num_outputs for call in calls) :]
        del self.scalars[sum(call.num_scalars for call in calls) :]
        inputs = 1 + max((~i for _, operands in self.instructions for i in operands), default=-1)
        del self.inputs[inputs:], self.input_types[inputs:]
        self.kept = {slot for slot in self.kept if slot < inputs}
        self.slots = {key: slot for key, slot in self.slots.items() if slot < inputs}

    def _input(self, value: Value) -> int:
        # Inputs are found by the `id` of their array. The list keeps the array alive, so that no
        # other object can get the same id.
        held = value.array
        if held is None:
            held = value
        elif type(held) is HostArray and held.placed is not None:
            held = value.array = held.placed  # from now on programs are called with it directly
        slots = self.slots
        slot = slots.get(id(held))
        if slot is None:
            inputs = self.inputs
            slot = slots[id(held)] = len(inputs)
            inputs.append(held)
            self.input_types.append(value.type)
            if held is value or value.shared is not None:
                self.kept.add(slot)
        return ~slot

    def load_of(self, count: int) -> int:
        """Returns the load of the last `count` instructions."""
        calls = [call for call, _ in self.instructions[-count:]]
        results = self.results[-sum(call.num_outputs for call in calls) :]
        return sum(call.weight for call in calls) + sum(value.type.mebibytes for value in results)

    def find_live(self) -> None:
        """Sets `live` to the results that somebody still refers to."""
        self.live = []  # drops the references of an interrupted launch: they would count below
        results = self.results
        live = [i for i, count in enumerate(counts(results)) if count > ALONE]
        self.live = list(map(results.__getitem__, live))

    def code(self, *, donates: bool = True) -> Code:
        """Returns the segment's structure, with the live results as its outputs.

        It also chooses which inputs are donated, which means that an output takes over their
        memory: those to which nobody else refers, and large arrays that an output overwrites (which
        become inputs for this purpose). XLA pairs the donated inputs of a type with the outputs of
        that type in their order. So this sorts `live` such that each array that was overwritten is
        paired with what overwrote it; with any other pairing XLA would copy.

        Args:
            donates: False if no input may be donated.
        """
        outputs = self.live
        inputs = self.inputs
        del inputs[len(self.input_types) :]  # what a launch added that was interrupted below
        donated: list[int] = []
        if donates:
            for value in outputs:
                if value.spare is not None:
                    self._take_spare(value)
            kept = self.kept
            donated = [
                i
                for i, count in enumerate(counts(inputs))
                if count == ALONE
                and i not in kept
                and (type(inputs[i]) is not HostArray or inputs[i].is_ours())
            ]
        if donated:
            heirs = self._heirs(donated, outputs)
            donated = sorted(heirs)
            first = [heirs[slot] for slot in donated]
            taken = set(first)
            outputs[:] = first + [value for value in outputs if value not in taken]
        return Code(
            self.ctx,
            tuple(self.instructions),
            tuple(self.input_types),
            tuple([value.index for value in outputs]),
            tuple(donated),
        )

    def restored(self, outputs: Sequence[DeviceArray]) -> list[Any]:
        """Returns what the live results get if they could not be computed.

        A result that was to overwrite an array gets that array back, if XLA has not taken it.

        Args:
            outputs: what the others get, by position: the errors.
        """
        slots = [self.slots.get(value.over, -1) if value.over else -1 for value in self.live]
        return [
            made if slot < 0 or self.inputs[slot].is_deleted() else self.inputs[slot]
            for slot, made in zip(slots, outputs, strict=True)
        ]

    def _take_spare(self, value: Value) -> None:
        """Makes an input of the array that an output overwrites, to be donated, if nobody holds it.

        Otherwise its memory would be freed and as much allocated for the output: in each training
        step, the memory of all gradients.
        """
        inputs = self.inputs
        slot = len(inputs)
        inputs.append(value.spare)
        del value.spare  # from now on it is None, the default of the class
        if (
            next(counts(inputs[slot:])) != ALONE + 1  # `inputs` and the slice of it hold the array
            or id(inputs[slot]) in self.slots
            or (type(inputs[slot]) is HostArray and not inputs[slot].is_ours())
        ):
            inputs.pop()
        else:
            self.slots[id(inputs[slot])] = slot
            self.input_types.append(value.type)

    def _heirs(self, dead: list[int], outputs: list[Value]) -> dict[int, Value]:
        """Chooses for each dead input the output that takes over its memory, if there is one.

        First come the outputs that overwrite an input, then any that has the same type.
        """
        heirs: dict[int, Value] = {}
        unclaimed = set(dead)
        for value in outputs:
            slot = self.slots.get(value.over, -1) if value.over else -1
            if slot in unclaimed and self.input_types[slot] is value.type:
                unclaimed.discard(slot)
                heirs[slot] = value
        if type(self.ctx) is Mesh:  # there the memory says how the output lies
            return heirs
        taken = set(heirs.values())
        free: dict[TensorType, list[Value]] = {}
        for value in reversed(outputs):
            if value not in taken:
                free.setdefault(value.type, []).append(value)
        for slot in dead:
            if slot in unclaimed and free.get(self.input_types[slot]):
                heirs[slot] = free[self.input_types[slot]].pop()
        return heirs


_APPENDS: Final = (Segment.append.__code__, Segment.append_one.__code__)
