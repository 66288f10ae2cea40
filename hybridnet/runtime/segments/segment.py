"""Values and segments: what a thread has recorded and not launched yet.

A `Value` is an array that is written once: by an instruction of a segment, by a task of the
engine, or by being given. In-place update is a matter of `Storage`, which points at one Value
after another, so that a recorded instruction can never see a later write.

Who may touch what. A segment is appended to by the thread that owns it, without a lock, and may be
launched by any thread, under its lock. Each says what it is about to do and then looks at the
other's flag (Dekker's algorithm): the owner sets ``busy`` and goes on only if the segment is still
``open``, the launcher clears ``open`` and goes on only when the owner is not ``busy``. A finalizer
that the garbage collector runs may compute with arrays: where it interrupts an append or a launch
of its own thread, it finds that out by the same flags and records in another segment. A Value's
``segment`` is set when it is recorded and cleared after its array (or its error, or its task's Var)
is in place: whoever reads ``segment is None`` may go on to read the rest.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from typing import Any, Final

from hybridnet.base.context import Context
from hybridnet.base.host_array import HostArray
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.core.call import Call, Types

from .code import Code, Instruction

__all__ = ["Segment", "Value"]

# References to something that only its segment's list holds, as `sys.getrefcount` counts them: the
# list's, and the argument's of the call that counts.
_OURS: Final = 2
_new: Final = object.__new__


class Value:
    """An array that is written once, and may be pending.

    Attributes:
        type: shape and dtype.
        array: the JAX array, once there is one (its computation may still be running in XLA).
        segment: the segment it is recorded in, until that is launched.
        index: which of that segment's results it is.
        var: the engine's Var of the task that will make it; None when no task will.
        error: why it could not be made.
        over: the `id` of the array that it overwrote, if it overwrote one.
        spare: that array, until this is launched, where its memory is worth being taken over.
        shared: None, or what shows XLA that somebody else (DLPack, a JAX user) uses the array's
            memory, too; such memory is never donated, neither here nor there.
    """

    # No __slots__: most Values never have the attributes with a default, and one is made for each
    # recorded operator.
    array: Any = None
    segment: Any = None
    index = -1
    var: Any = None
    error: BaseException | None = None
    over = 0
    spare: Any = None
    shared: Any = None

    def __init__(self, type: TensorType, array: Any = None, *, shared: Any = None) -> None:
        self.type = type
        self.array = array
        if shared is not None:
            self.shared = shared


class Segment:
    """Instructions recorded by one thread for one context, until they are launched.

    Attributes:
        instructions: as recorded.
        inputs: for each input its JAX array, or its Value while that is made by an engine task.
        kept: inputs whose memory is never given away.
        results: the Values of the results, by number. What nobody else holds is dead.
        scalars: the numbers that the instructions take beside their inputs, in order.
        load: the weight of all instructions and the mebibytes of all results, together.
        limit: the load at which it is launched: it bounds what is compiled, and the memory that
            pending work will take.
        open: whether it can still be appended to.
        started: whether its program was about to be dispatched.
        live: what its launch makes, in the order of the program's outputs.
        made: the program's outputs, in a list, once it was dispatched.
        task: the Var of the engine's task that launches it, and those it waits for; None: no task.
        busy: whether its owner is appending to it at this moment.
        launching: whether it is being launched.
        late: whether it reads Values of any segments, which are launched when it is.
        sealed: whether a late one reads it, so that appending to it might close a circle.
        owner: the thread that appends.
        outside: what a trace's Values from outside have for their segment; None in others.
        traced: whether it belongs to a trace, and so is never launched.
    """

    __slots__ = (
        "__weakref__",
        "_slots",
        "busy",
        "ctx",
        "input_types",
        "inputs",
        "instructions",
        "kept",
        "late",
        "launching",
        "limit",
        "live",
        "load",
        "lock",
        "made",
        "open",
        "outside",
        "owner",
        "results",
        "scalars",
        "sealed",
        "started",
        "task",
        "traced",
    )

    def __init__(self, ctx: Context, limit: int = sys.maxsize) -> None:
        self.ctx = ctx
        self.limit = limit
        self.load = 0
        self.lock = threading.RLock()
        self.open = True
        self.busy = False
        self.launching = False
        self.late = self.sealed = False
        self.owner = threading.get_ident()
        self.outside: Segment | None = None
        self.traced = False
        self.started = False
        self.live: list[Value] = []
        self.made: list[Sequence[Any]] = []
        self.task: tuple[Any, tuple[Any, ...]] | None = None
        self.instructions: list[Instruction] = []
        self.inputs: list[Any] = []
        self.kept: set[int] = set()
        self.input_types: list[TensorType] = []
        self.results: list[Value] = []
        self.scalars: list[Any] = []
        self._slots: dict[int, int] = {}

    def append(
        self, call: Call, values: Sequence[Value], scalars: tuple[Any, ...], types: Types
    ) -> list[Value] | None:
        """Adds one instruction, in the thread that owns this.

        Returns:
            The Values of its results; None where that cannot be done now: this is launched, or in
            the middle of an append that a finalizer interrupted, or a Value of another segment
            must be launched first.
        """
        if self.busy:
            return None
        try:
            self.busy = True
            if not self.open:
                return None
            operands = []
            for value in values:
                home = value.segment
                if home is self:
                    operands.append(value.index)
                elif home is None or home is self.outside or home.is_interrupted():
                    operands.append(self._input(value))
                elif self.late and not home.traced:
                    home.sealed = True
                    operands.append(self._input(value))
                else:
                    return None
            # Held from here on: once `busy` is off, a launch takes what nobody holds for dead.
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
            if scalars:
                self.scalars += scalars
            self.load += load
            # Last: what is not in this list has not happened.
            self.instructions.append((call, tuple(operands)))
        except BaseException:  # a KeyboardInterrupt may come between any two lines
            self._cut()
            raise
        finally:
            self.busy = False
        return made

    def append_one(
        self, call: Call, values: Sequence[Value], scalars: tuple[Any, ...], type: TensorType
    ) -> Value | None:
        """Does what `append` does, for a call of one output: most are, and this is half the work.

        Returns:
            The Value of its result; None also where only `append` can tell what is to be done.
        """
        if self.busy:
            return None
        try:
            self.busy = True
            if not self.open:
                return None
            operands = []
            for value in values:
                home = value.segment
                if home is self:
                    operands.append(value.index)
                elif home is None:
                    operands.append(self._input(value))
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
            self.load += call.weight + type.mebibytes
            self.instructions.append((call, tuple(operands)))
        except BaseException:
            self._cut()
            raise
        finally:
            self.busy = False
        return made

    def is_interrupted(self) -> bool:
        """Whether this thread is in the middle of an append to it, or of its launch."""
        if self.launching:
            return bool(self.lock._is_owned())  # type: ignore[attr-defined]
        return self.owner == threading.get_ident() and self.is_busy()

    def is_busy(self) -> bool:
        """Whether its owner is appending to it at this moment; sees to appends that were cut off.

        An exception that comes out of nothing may have kept `busy` from being taken back.
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
        """Whether it cannot be launched now: it, or one it depends on, is interrupted here."""
        if self.is_interrupted():
            return True
        homes = [held.segment for held in self.inputs if type(held) is Value]
        return any(home is not None and home.is_held_up() for home in homes)

    def _cut(self) -> None:
        """Takes back what was done for an instruction that is not there."""
        calls = [call for call, _ in self.instructions]
        del self.results[sum(call.num_outputs for call in calls) :]
        del self.scalars[sum(call.num_scalars for call in calls) :]
        inputs = 1 + max((~i for _, operands in self.instructions for i in operands), default=-1)
        del self.inputs[inputs:], self.input_types[inputs:]
        self.kept = {slot for slot in self.kept if slot < inputs}
        self._slots = {key: slot for key, slot in self._slots.items() if slot < inputs}

    def has_input(self, array: Any) -> bool:
        """Whether an array is an input."""
        return id(array) in self._slots

    def _input(self, value: Value) -> int:
        # An input is known by its array, which the list keeps alive, so that its id stays its own.
        held = value.array
        if held is None:
            held = value
        elif type(held) is HostArray and held.placed is not None:
            held = value.array = held.placed  # from now on programs are called with it directly
        slot = self._slots.get(id(held))
        if slot is None:
            slot = len(self.inputs)
            self.inputs.append(held)
            self.input_types.append(value.type)
            if value.shared is not None or held is value:
                self.kept.add(slot)
            self._slots[id(held)] = slot
        return ~slot

    def load_of(self, count: int) -> int:
        """Returns the load of the last instructions."""
        calls = [call for call, _ in self.instructions[-count:]]
        results = self.results[-sum(call.num_outputs for call in calls) :]
        return sum(call.weight for call in calls) + sum(value.type.mebibytes for value in results)

    def find_live(self) -> None:
        """Sets `live` to the results that somebody still refers to."""
        self.live = []  # those of a launch that was interrupted
        count = sys.getrefcount
        results = self.results
        live = [i for i in range(len(results)) if count(results[i]) > _OURS]
        self.live = [results[i] for i in live]

    def code(self) -> Code:
        """Returns the segment's structure with the live results as its outputs.

        Inputs that nobody else holds are donated: an output takes over their memory; so are large
        arrays that an output overwrites, which become inputs for that. XLA matches the donated
        inputs of a type with the outputs of that type in order, so the outputs are put in an order,
        in place, in which an array that was overwritten meets what overwrote it; any other match
        would make XLA copy.
        """
        outputs = self.live
        self._take_spares(outputs)
        donated = self._dead()
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

    def restored(self, outputs: Sequence[Any]) -> list[Any]:
        """Returns what the live results get when they could not be made: what they overwrote.

        Args:
            outputs: why, for those that overwrote nothing, or nothing that is still there.
        """
        slots = [self._slots.get(value.over, -1) if value.over else -1 for value in self.live]
        return [
            made if slot < 0 or self.inputs[slot].is_deleted() else self.inputs[slot]
            for slot, made in zip(slots, outputs, strict=True)
        ]

    def _take_spares(self, outputs: list[Value]) -> None:
        """Makes inputs of the arrays that outputs overwrite and nobody holds or reads.

        Else their memory would be freed, and as much allocated for the output: at each training
        step that of all gradients.
        """
        inputs = self.inputs
        del inputs[len(self.input_types) :]  # of a launch that was interrupted right here
        for value in outputs:
            if value.spare is None:
                continue
            slot = len(inputs)
            inputs.append(value.spare)
            del value.spare  # the class has None
            if id(inputs[slot]) in self._slots or not self._is_ours(slot):
                inputs.pop()
            else:
                self._slots[id(inputs[slot])] = slot
                self.input_types.append(value.type)

    def _dead(self) -> list[int]:
        """Returns the inputs that nobody holds but this."""
        return [i for i in range(len(self.inputs)) if i not in self.kept and self._is_ours(i)]

    def _is_ours(self, slot: int) -> bool:
        """Whether nobody but this holds an input."""
        # The array object is held by a live Value, by another segment that reads it, or by no
        # one but our list: its reference count tells, with no bookkeeping while recording.
        if sys.getrefcount(self.inputs[slot]) > _OURS:
            return False
        array = self.inputs[slot]
        return type(array) is not HostArray or array.is_ours()

    def _heirs(self, dead: list[int], outputs: list[Value]) -> dict[int, Value]:
        """Chooses, for as many of these inputs as there is room, the output that takes over."""
        heirs: dict[int, Value] = {}
        unclaimed = set(dead)
        for value in outputs:
            slot = self._slots.get(value.over, -1) if value.over else -1
            if slot in unclaimed and self.input_types[slot] is value.type:
                unclaimed.discard(slot)
                heirs[slot] = value
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
