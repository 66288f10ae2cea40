"""The recorder: each thread's open segments, and when they are launched.

A *segment* is a list of operator calls that a thread has made and that have not run yet. To
*launch* a segment means to find or compile its program and start it. `record` is the one way into
a segment: eager operators, gradients, optimizer updates, bound graphs and traced functions all
call it. It makes no JAX call.

A segment is launched in three cases: somebody needs one of its values; the thread comes to a
natural mark, such as the end of a training step (see `mark`); or the segment has grown long. If a
call reads a value of another segment, that other segment is launched first, before this segment's
lock is taken. So no thread ever holds the locks of two segments.

Finalizers (`__del__`) may record, too, while the garbage collector runs them, but they launch
nothing: the collector may have interrupted JAX, which crashes if it is called again at that point,
or another launch, which would then wait for itself. So what a finalizer records goes into segments
of its own ("late" segments), which are launched later by whoever needs their values.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from hybridnet import engine
from hybridnet.base.attrs import Number
from hybridnet.base.context import Context
from hybridnet.base.errors import MXNetError
from hybridnet.base.interrupts import defer_interrupts
from hybridnet.base.locks import free_in_children
from hybridnet.base.tensor_type import TensorType
from hybridnet.engine import RLock
from hybridnet.ops.core import Call, Types

from ..checks.asked import asked
from ..devices.device import users
from ..observe.journal import listeners
from ..platform.collecting import is_collecting, running
from ..segments.code import Instruction
from ..segments.period import period_of
from ..segments.segment import Segment, Value
from .answers import look_at_answers, unanswered
from .at_once import compute
from .at_once import thread as at_once
from .by_device import DeviceSegment, new_segment
from .dispatched import finish_recent
from .launch import flush_all, launch, note_open
from .waiting import TRACED, ready_array, settled, wait, wait_all

__all__ = [
    "begin_pass",
    "current_trace",
    "end_pass",
    "flush",
    "flush_all",
    "in_place",
    "is_naive",
    "is_special",
    "launch",
    "launch_others",
    "mark",
    "one_pass",
    "outside_trace",
    "ready_array",
    "record",
    "record_all",
    "record_one",
    "set_naive",
    "set_trace",
    "settled",
    "several",
    "thread",
    "wait",
    "wait_all",
]

# The longest piece into which a loop is cut, as a load (see `Segment.load`). XLA takes 2 s to
# compile 128 steps of a recurrence and 40 s for 256, and longer pieces run no faster.
_MAX_LOOP_LOAD: Final = 128

# In a training pass segments may be this many times longer, since the pass has an end of its own...
_PASS_FACTOR: Final = 8
# ... unless the bulk size is below this: then a user has asked for short segments.
_ROOMY_LIMIT: Final = 1024


class _Recording(threading.local):
    """The state of the recorder in each thread.

    Attributes:
        segments: the thread's open segments, one for each context.
        trace: the trace that the thread is in, or None.
        limit: the load at which a segment is launched: the engine's bulk size, but at least 1.
        late: the segments that finalizers recorded into while the garbage collector ran, by
            context.
        cuts: for each context, the instructions of the last segment that was launched because it
            was long.
        in_pass: whether a training pass has begun and no natural mark has come since.
        whole: whether the thread is inside `one_pass`, where the parts of a step set no marks.
    """

    def __init__(self) -> None:
        self.segments: dict[Context, Segment] = {}
        self.late: dict[Context, Segment] = {}
        self.trace: Any = None
        self.limit = max(engine.bulk_size(), 1)
        _add_reasons(self.limit == 1)
        self.cuts: dict[Context, list[Instruction]] = {}
        self.in_pass = False
        self.whole = False


_naive = engine.wanted_kind() == "NaiveEngine"
# How many reasons there are to launch each operator at once: one if NaiveEngine is on, and one for
# each thread whose limit is 1. Nearly always it is 0, so that `record` pays for one look at it.
_reasons = int(_naive)
_reasons_lock: Final = free_in_children(RLock())


def _add_reasons(change: int) -> None:
    global _reasons
    with _reasons_lock:
        _reasons += change


#: The state of the calling thread. Hot code reads ``thread.trace``: `current_trace` takes longer.
thread: Final = _Recording()


def is_naive() -> bool:
    """Whether every operator runs at once and is waited for (HYBRIDNET_ENGINE_TYPE=NaiveEngine)."""
    return _naive


def is_special() -> bool:
    """Whether operators are launched at once, or recorded by a trace or a finalizer."""
    return bool(_reasons or running) or thread.trace is not None


def set_naive(naive: bool) -> bool:
    """Switches synchronous execution on or off; returns whether it was on."""
    global _naive
    was = is_naive()
    flush_all()
    _naive = naive
    _add_reasons(naive - was)
    return was


def _set_bulk_size(size: int) -> None:
    flush()
    thread.cuts.clear()
    was, thread.limit = thread.limit, max(size, 1)
    _add_reasons((thread.limit == 1) - (was == 1))


def record(
    ctx: Context, call: Call, values: Sequence[Value], scalars: tuple[Number, ...], types: Types
) -> list[Value]:
    """Adds one call to this thread's segment (or to the trace it is in).

    Args:
        ctx: the context of the inputs and of the outputs.
        call: the operator with its parameters.
        values: its inputs.
        scalars: the numbers it takes beside its inputs.
        types: the types of its outputs, as `call.infer` gave them.

    Returns:
        Its outputs. They are pending: they have no array before the segment is launched.
    """
    trace = thread.trace
    if trace is not None:
        made: list[Value] = trace.append(ctx, call, values, scalars, types)
        return made
    if call.on_host:
        return call.run_on_host(ctx, values, scalars, record)
    if at_once.seconds and not (_reasons or running or call.has_parts):
        segment = thread.segments.get(ctx)
        if segment is None or not segment.open:
            computed = compute(ctx, call, values, scalars, types)
            if computed is not None:
                return computed
    if running and is_collecting():
        return _record_late(ctx, call, values, scalars, types)
    segment = thread.segments.get(ctx)
    if segment is None:
        segment = _begin(ctx)
    elif segment.load >= segment.limit:
        # A finalizer may have interrupted the append that filled it, or its launch.
        segment = _begin(ctx) if segment.is_held_up() else _cut(ctx, segment)
    appended = segment.append(call, values, scalars, types)
    while appended is None:
        segment = _make_way(ctx, segment, call, values)
        appended = segment.append(call, values, scalars, types)
    if _reasons:
        _launch_at_once(segment, appended)
    return appended


def record_one(
    ctx: Context, call: Call, values: Sequence[Value], scalars: tuple[Number, ...], type: TensorType
) -> Value:
    """Does what `record` does, faster, for a call of one output outside a trace.

    The call must not be one that runs on the host (`Call.on_host`).
    """
    if not (_reasons or running):
        segment = thread.segments.get(ctx)
        if segment is None or not segment.open:  # the last one was launched
            if at_once.seconds and not call.has_parts:
                computed = compute(ctx, call, values, scalars, (type,))
                if computed is not None:
                    return computed[0]
            segment = _begin(ctx)
        if segment.load < segment.limit:
            made = segment.append_one(call, values, scalars, type)
            if made is not None:
                return made
    return record(ctx, call, values, scalars, (type,))[0]


def record_all(
    ctx: Context, steps: Iterable[tuple[Call, Sequence[int], Any, Types]], known: list[Value]
) -> None:
    """Does what `record` does, faster, for calls that follow each other, outside a trace.

    Args:
        ctx: the context of all of them.
        steps: for each call: the call, the numbers of its inputs, its scalars, and the types of its
            outputs.
        known: the Values by their numbers, to which the outputs are added.
    """
    segments = thread.segments
    for call, operands, scalars, types in steps:
        values = [known[i] for i in operands]
        segment = segments.get(ctx)
        made: list[Value] | None = None
        if segment is None or _reasons or running or call.on_host:
            pass  # `record` knows what to do
        elif segment.open and segment.load < segment.limit:
            if len(types) == 1:
                one = segment.append_one(call, values, scalars, types[0])
                made = None if one is None else [one]
            else:
                made = segment.append(call, values, scalars, types)
        known += record(ctx, call, values, scalars, types) if made is None else made


def _record_late(
    ctx: Context, call: Call, values: Sequence[Value], scalars: tuple[Number, ...], types: Types
) -> list[Value]:
    """Adds a call that a finalizer made to a late segment, and launches nothing."""
    for value in values:
        if value.segment is not None and value.segment.traced:
            raise MXNetError(f"{call.name}: {TRACED}")
    while True:
        segment = _late_segment(ctx)
        appended = segment.append(call, values, scalars, types)
        if appended is not None:
            return appended
        if type(segment) is DeviceSegment and segment.leaves(call, values):
            ctx = segment.device.memory


def _late_segment(ctx: Context) -> Segment:
    """Returns a late segment that can be appended to now, a new one if need be."""
    segment = thread.late.get(ctx)
    free = segment is not None and segment.open and not (segment.busy or segment.sealed)
    if segment is not None and free and segment.load < segment.limit:
        return segment
    segment = new_segment(ctx, thread.limit)
    segment.late = True
    note_open(segment)
    thread.late[ctx] = segment
    return segment


def _launch_at_once(segment: Segment, made: list[Value]) -> None:
    """Launches what was just recorded, if this thread or NaiveEngine asks for that."""
    if _naive or thread.limit == 1:
        launch(segment)
    if _naive:
        for value in made:
            wait(value)


# The threads that have recorded, until there are two. No lock is needed: CPython adds to a set in
# one step and nothing is removed, so of two threads that begin at once the later one sees both.
_threads: Final[set[int]] = set()
#: Whether more than one thread has recorded; once it is true it stays so.
several = False


#: Held from the read to the write of a change in place. One lock serves all arrays, as recording
#: takes microseconds. It is re-entrant, since a finalizer may run in between and change arrays.
in_place: Final = free_in_children(RLock())


def launch_others(arrays: Iterable[object]) -> None:
    """Launches the segments of other threads that make the present values of some arrays.

    Call it before taking the lock `in_place`. A thread that holds that lock must not wait for
    another thread's launch: there the garbage collector may be running a finalizer that waits for
    the same lock. So this does nothing for a thread that holds it: part of a change whose arrays
    it has been called with.
    """
    me = threading.get_ident()
    if thread.trace is not None or is_collecting() or in_place._is_owned():  # type: ignore[attr-defined]
        return
    for array in arrays:
        storage = getattr(array, "_storage", array)
        segment = getattr(getattr(storage, "value", None), "segment", None)
        if segment is None or segment.traced or segment.is_held_up():
            continue
        if segment.owner != me or not segment.open:  # another thread may be launching ours
            launch(segment)


def _begin(ctx: Context, limit: int | None = None) -> Segment:
    global several
    if not several:
        _threads.add(threading.get_ident())
        if len(_threads) > 1:
            several = True
    if limit is None:
        limit = thread.limit
        if thread.in_pass and limit >= _ROOMY_LIMIT:
            limit *= _PASS_FACTOR
    special = listeners.lines or users
    segment = new_segment(ctx, limit) if special else Segment(ctx, limit)
    # Noted first: if Ctrl-C comes between these lines, no segment is in use that was not noted.
    note_open(segment)
    thread.segments[ctx] = segment
    return segment


def _cut(ctx: Context, full: Segment) -> Segment:
    """Launches a segment that has grown long, and begins another.

    If the instructions repeat, as those of a loop do, the next segments hold a whole number of its
    turns: then they all have the same structure and need only one program; see `period_of`.
    """
    instructions = full.instructions
    last = thread.cuts.get(ctx)
    if last is not None and last == instructions:
        limit = full.limit
    else:
        thread.cuts[ctx] = instructions
        limit = thread.limit
        period = period_of(instructions)
        if period:
            turn = full.load_of(period)
            limit = max(1, min(limit, _MAX_LOOP_LOAD) // turn) * turn
    launch(full)
    return _begin(ctx, limit)


def _make_way(ctx: Context, segment: Segment, call: Call, values: Sequence[Value]) -> Segment:
    """Does what must be done before a call can be appended; returns the segment to append it to."""
    if type(segment) is DeviceSegment and segment.leaves(call, values):
        ctx = segment.device.memory
        segment = thread.segments.get(ctx) or _begin(ctx)
        if segment.load >= segment.limit and not segment.is_held_up():
            segment = _cut(ctx, segment)
    for value in values:
        foreign = value.segment
        if foreign is not None and foreign is not segment:
            if foreign.traced:
                raise MXNetError(f"{call.name}: {TRACED}")
            if foreign.is_interrupted():
                continue
            if foreign.is_held_up():  # we are a finalizer under that launch
                return _late_segment(ctx)
            launch(foreign)
    # Another thread may have launched it, because it needed a value of ours.
    if not segment.open or segment.busy:
        return _begin(ctx)
    return segment


def current_trace() -> Any:
    """Returns the trace this thread is in, or None."""
    return thread.trace


def set_trace(trace: object) -> Any:
    """Enters a trace (None leaves it); returns the one it was in."""
    was = thread.trace
    thread.trace = trace
    return was


def flush() -> None:
    """Launches everything this thread has recorded."""
    segments = [*thread.segments.values(), *thread.late.values()]
    thread.segments.clear()
    thread.late.clear()
    for segment in segments:
        launch(segment)


def mark() -> None:
    """Sets a natural mark: launches what this thread has recorded.

    A natural mark is a place in the code at which a unit of work ends and the next one begins: the
    end of an optimizer's step, the beginning of a training pass, a call of a traced function. As
    segments end there, the segment of a training step begins and ends at the same place in every
    turn, so that it has the same structure each time and is compiled once. Inside a trace this does
    nothing, since there the whole function is one unit.
    """
    if thread.trace is None and (thread.segments or thread.late):
        flush()
    else:
        defer_interrupts()  # as each launch does
    if thread.trace is None:
        thread.in_pass = False
        if unanswered and asked.mode:
            look_at_answers()


def begin_pass() -> None:
    """Sets the natural mark at which a training pass begins.

    Until the next mark segments may be longer than otherwise (`_PASS_FACTOR`), so that the whole
    step becomes one program: that of an unrolled recurrent network has some thousand operators.
    """
    if thread.trace is None and not thread.whole:
        if thread.segments or thread.late:
            flush()
        thread.in_pass = True


@contextmanager
def one_pass(training: bool = True) -> Iterator[None]:
    """A scope whose work is one training pass: `begin_pass` and `end_pass` inside it do nothing.

    It is for a step that is made of several parts, each of which would begin a pass of its own: the
    devices that each compute a part of the batch, or the pieces of a network that is trained in
    pieces.

    Args:
        training: False makes this a scope without any effect.
    """
    if not training or thread.whole:
        yield
        return
    begin_pass()
    thread.whole = True
    try:
        yield
    finally:
        thread.whole = False


def end_pass() -> None:
    """Sets the natural mark at which a training step ends; does nothing inside `one_pass`."""
    if not thread.whole:
        mark()


@contextmanager
def outside_trace() -> Iterator[None]:
    """A scope outside any trace, with segments of its own that are launched as it ends.

    It is for work that only the first step does: making the states of an optimizer, or parameters
    whose shapes were unknown. Recorded apart, it leaves the first step's segment with the same
    structure as that of later steps; and what is made in it does not end with the trace.
    """
    trace, segments = thread.trace, thread.segments
    thread.trace, thread.segments = None, {}
    try:
        yield
        flush()
    finally:
        thread.trace, thread.segments = trace, segments


def _before_fork() -> None:
    """Finishes what this thread has recorded: in a forked child XLA does not work."""
    with contextlib.suppress(Exception):  # an error is raised where a value is read
        flush()
        finish_recent()


def _after_fork_in_child() -> None:
    """Drops what the parent had recorded; see `jax_devices.refuse_forked`."""
    thread.segments.clear()
    thread.late.clear()
    thread.trace = None


engine.follow(_set_bulk_size, set_naive)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork_in_child)
