"""Values and segments: what a thread has recorded and not launched yet.

A `Value` is an array that is written once: by an instruction of a segment, by a task of the
engine, or by being given. In-place update is a matter of `Storage`, which points at one Value
after another, so that a recorded instruction can never see a later write.

Who may touch what. A segment is appended to by the thread that owns it and may be launched by any
thread, so both happen under its lock. The lock is re-entrant, because a finalizer that the garbage
collector runs may compute with arrays: where it interrupts an append or a launch of its own
thread, it finds the segment busy and records in another one. A Value's ``segment`` is set when it
is recorded and cleared after its array (or its error, or its task's Var) is in place: whoever reads
``segment is None`` without the lock may go on to read the rest.
"""

from __future__ import annotations

import sys
import threading
import weakref
from typing import Any, Final, NamedTuple

from hybridnet.base.context import Context
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.call import Call, Types

__all__ = ["Code", "Instruction", "Segment", "Value"]

# References to an input array that only its segment holds, as `sys.getrefcount` counts them: the
# list's, and the argument's of the call that counts.
_OURS: Final = 2


class Value:
    """An array that is written once, and may be pending.

    Attributes:
        type: shape and dtype.
        array: the JAX array, once there is one (its computation may still be running in XLA).
        segment: the segment it is recorded in, until that is launched.
        index: which of that segment's results it is.
        var: the engine's Var of the task that will make it; None when no task will.
        error: why it could not be made.
        shared: None, or what shows XLA that somebody else (DLPack, a JAX user) uses the array's
            memory, too; such memory is never donated, neither here nor there.
    """

    __slots__ = ("__weakref__", "array", "error", "index", "segment", "shared", "type", "var")

    def __init__(self, type: TensorType, array: Any = None, *, shared: Any = None) -> None:
        self.type = type
        self.array = array
        self.segment: Any = None
        self.index = -1
        self.var: Any = None
        self.error: BaseException | None = None
        self.shared: Any = shared


class Instruction(NamedTuple):
    """One call in a segment.

    Operands are the numbers of earlier results (>= 0), or ``~i`` for input ``i`` of the segment.
    """

    call: Call
    operands: tuple[int, ...]


class Code(NamedTuple):
    """The structure of a segment: the key under which its program is found.

    Attributes:
        ctx: where it runs.
        instructions: in program order; the results are numbered through.
        input_types: of the inputs.
        outputs: the numbers of the results that somebody still refers to.
        donated: inputs that nobody refers to any more and whose memory an output takes over.
    """

    ctx: Context
    instructions: tuple[Instruction, ...]
    input_types: Types
    outputs: tuple[int, ...]
    donated: tuple[int, ...]


class Segment:
    """Instructions recorded by one thread for one context, until they are launched.

    Attributes:
        instructions: as recorded.
        inputs: for each input its JAX array, or its Value while that is made by an engine task.
        kept: inputs whose memory is never given away.
        results: weak references to the Values of the results, by number.
        scalars: the numbers that the instructions take beside their inputs, in order.
        size: bytes of all results, for the memory bound.
        weight: of all instructions, for the bound on what is compiled.
        open: whether it can still be appended to.
        busy: whether it is being appended to, or launched, at this moment.
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
        "lock",
        "open",
        "result_types",
        "results",
        "scalars",
        "size",
        "traced",
        "weight",
    )

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.lock = threading.RLock()
        self.open = True
        self.busy = False
        self.traced = False
        self.instructions: list[Instruction] = []
        self.inputs: list[Any] = []
        self.kept: set[int] = set()
        self.input_types: list[TensorType] = []
        self.results: list[weakref.ref[Value]] = []
        self.result_types: list[TensorType] = []
        self.scalars: list[Any] = []
        self.size = 0
        self.weight = 0
        self._slots: dict[int, int] = {}

    def append(
        self, call: Call, values: tuple[Value, ...], scalars: tuple[Any, ...], types: Types
    ) -> list[Value]:
        """Adds one instruction; the lock is held. Foreign values must be launched already."""
        counts = len(self.instructions), len(self.inputs), len(self.results), len(self.scalars)
        self.busy = True
        try:
            operands = tuple([v.index if v.segment is self else self._input(v) for v in values])
            self.instructions.append(Instruction(call, operands))
            if scalars:
                self.scalars.extend(scalars)
            made = []
            results = self.results
            for one in types:
                value = Value(one)
                value.segment = self
                value.index = len(results)
                results.append(weakref.ref(value))
                made.append(value)
            self.result_types.extend(types)
            self.weight += call.weight
        except BaseException:  # a KeyboardInterrupt may come between any two lines
            self._cut(*counts)
            raise
        finally:
            self.busy = False
        return made

    def is_interrupted(self) -> bool:
        """Whether this thread is in the middle of an append to it, or of its launch."""
        return self.busy and bool(self.lock._is_owned())  # type: ignore[attr-defined]

    def _cut(self, instructions: int, inputs: int, results: int, scalars: int) -> None:
        """Takes back an instruction that was appended in part."""
        del self.instructions[instructions:], self.inputs[inputs:], self.input_types[inputs:]
        del self.results[results:], self.result_types[results:], self.scalars[scalars:]
        self.kept = {slot for slot in self.kept if slot < inputs}
        self._slots = {key: slot for key, slot in self._slots.items() if slot < inputs}

    def _input(self, value: Value) -> int:
        # An input is known by its array, which the list keeps alive, so that its id stays its own.
        held = value.array
        if held is None:
            held = value
        slot = self._slots.get(id(held))
        if slot is None:
            slot = len(self.inputs)
            self._slots[id(held)] = slot
            self.inputs.append(held)
            self.input_types.append(value.type)
            if value.shared is not None or held is value:
                self.kept.add(slot)
        return ~slot

    def live_results(self) -> tuple[list[int], list[Value]]:
        """Returns the numbers and Values of the results that somebody still refers to."""
        numbers, values = [], []
        for number, ref in enumerate(self.results):
            value = ref()
            if value is not None:
                numbers.append(number)
                values.append(value)
        return numbers, values

    def donations(self, live: list[int]) -> tuple[int, ...]:
        """Returns the inputs whose memory an output can take over.

        That is an input that nobody else holds, as long as there is an output of the same type
        left that no other input was matched with: XLA reuses memory only so.
        """
        # The array object is held by a live Value, by another segment that reads it, or by no
        # one but our list: its reference count tells, with no bookkeeping while recording.
        count = sys.getrefcount
        inputs = self.inputs
        dead = [i for i in range(len(inputs)) if count(inputs[i]) <= _OURS and i not in self.kept]
        if not dead:
            return ()
        room: dict[TensorType, int] = {}
        for number in live:
            one = self.result_types[number]
            room[one] = room.get(one, 0) + 1
        donated = []
        for slot in dead:
            one = self.input_types[slot]
            if room.get(one, 0):
                room[one] -= 1
                donated.append(slot)
        return tuple(donated)

    def code(self, live: list[int]) -> Code:
        """Returns the segment's structure with these results as its outputs."""
        return Code(
            self.ctx,
            tuple(self.instructions),
            tuple(self.input_types),
            tuple(live),
            self.donations(live),
        )
