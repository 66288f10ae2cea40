"""The recorder: each thread's open segments, and when they are launched.

`record` is the one door through which computation enters: eager operators, gradients, optimizer
updates, bound graphs and traced functions all come here. It makes no JAX call.

A segment is launched (`launch`) when a value of it is needed, at a natural mark (the end of a
training step), or when it has grown long. Values of other segments are launched before a segment's
own lock is taken, so that no segment's lock is held while another one is launched.

What finalizers record while the garbage collector runs them is launched later, by whoever needs
it. The collector may have interrupted JAX, which crashes when it is called again there; or a
launch, for which the thread whose segment a finalizer would launch is waiting. Such work has
segments of its own, and these read only what is older than they are.
"""

from __future__ import annotations

import contextlib
import gc
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from hybridnet import engine
from hybridnet.base.context import Context
from hybridnet.base.errors import MXNetError
from hybridnet.base.interrupts import defer_interrupts
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.core.call import Call, Types

from ..segments.code import Instruction
from ..segments.period import period_of
from ..segments.segment import Segment, Value
from .dispatched import finish_recent
from .launch import INTERRUPTED, collecting, flush_all, launch, note_open
from .lined import new_segment
from .waiting import TRACED, ready_array, wait, wait_all

__all__ = [
    "INTERRUPTED",
    "begin_pass",
    "current_trace",
    "end_pass",
    "flush",
    "flush_all",
    "is_naive",
    "is_special",
    "launch",
    "launch_others",
    "mark",
    "one_pass",
    "outside_trace",
    "ready_array",
    "record",
    "record_one",
    "set_naive",
    "set_trace",
    "several",
    "thread",
    "wait",
    "wait_all",
]

# The load of a stretch of a loop. XLA takes 2 s for 128 steps of a recurrence and 40 s for 256; and
# longer stretches run no faster.
_LOOP: Final = 128


# How many times longer segments may be in a training pass; a smaller bulk size is a user's wish.
_PASS: Final = 8
_ROOMY: Final = 1024


class _Recording(threading.local):
    """The segments of this thread, by context, and the trace it is in.

    Attributes:
        segments: what is recorded.
        trace: the trace it is in, or None.
        limit: the load at which a segment is launched: the engine's bulk size, but at least 1.
        late: what finalizers have recorded while the garbage collector ran, by context.
        cuts: the instructions of the last segment that was launched for its load.
        in_pass: whether a training pass has begun and no natural border has come since.
        whole: whether it is one of several parts, at whose beginnings there is no border.
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
# Why operators may have to be launched at once: NaiveEngine, and the threads whose limit is 1. All
# but a few programs have no reason, and spend no more than a look at this.
_reasons = int(_naive)
_reasons_lock: Final = threading.RLock()


def _add_reasons(change: int) -> None:
    global _reasons
    with _reasons_lock:
        _reasons += change


#: This thread's; read where a call of `current_trace` would take too long.
thread: Final = _Recording()


def is_naive() -> bool:
    """Whether every operator runs at once and is waited for (HYBRIDNET_ENGINE_TYPE=NaiveEngine)."""
    return _naive


def is_special() -> bool:
    """Whether operators are launched at once, or recorded by a trace or a finalizer."""
    return _reasons or _collecting or thread.trace is not None  # type: ignore[return-value]


def set_naive(naive: bool) -> bool:
    """Switches synchronous execution; returns what it was."""
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
    ctx: Context, call: Call, values: Sequence[Value], scalars: tuple[Any, ...], types: Types
) -> list[Value]:
    """Adds one call to this thread's segment (or to the trace it is in).

    Args:
        ctx: where the inputs are and the outputs will be.
        call: the operation.
        values: its inputs.
        scalars: the numbers it takes beside them.
        types: of its outputs, as `call.infer` gave them.

    Returns:
        Its outputs, pending.
    """
    trace = thread.trace
    if trace is not None:
        made: list[Value] = trace.append(ctx, call, values, scalars, types)
        return made
    if call.on_host:
        return call.run_on_host(ctx, values, scalars, record)
    if _collecting and _collecting == threading.get_ident():
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
    ctx: Context, call: Call, values: Sequence[Value], scalars: tuple[Any, ...], type: TensorType
) -> Value:
    """Does what `record` does, for a call of one output that is on the device, outside a trace."""
    segment = thread.segments.get(ctx)
    if segment is not None and segment.load < segment.limit and not (_reasons or _collecting):
        made = segment.append_one(call, values, scalars, type)
        if made is not None:
            return made
    return record(ctx, call, values, scalars, (type,))[0]


# As `collecting` says, where asking that would take too long.
_collecting = 0


def _note_collection(phase: str, _: object) -> None:
    global _collecting
    _collecting = collecting[0] = threading.get_ident() if phase == "start" else 0


gc.callbacks.append(_note_collection)


def _record_late(
    ctx: Context, call: Call, values: Sequence[Value], scalars: tuple[Any, ...], types: Types
) -> list[Value]:
    """Adds one call of a finalizer, and launches nothing."""
    for value in values:
        if value.segment is not None and value.segment.traced:
            raise MXNetError(f"{call.name}: {TRACED}")
    appended = None
    while appended is None:
        appended = _late_segment(ctx).append(call, values, scalars, types)
    return appended


def _late_segment(ctx: Context) -> Segment:
    """Returns a segment that can be appended to now, and that launches nothing for it."""
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
    """Launches what was just recorded, if this thread or the process wants that."""
    if _naive or thread.limit == 1:
        launch(segment)
    if _naive:
        for value in made:
            wait(value)


# The threads that recorded, until there are two. To add to a set is one step of CPython's, and what
# is added is never taken out: of two threads that begin at once, the later one counts both.
_threads: Final[set[int]] = set()
#: Whether more than one thread has recorded; once it is true it stays so.
several = False


def launch_others(arrays: Iterable[Any]) -> None:
    """Launches what other threads have recorded of arrays: to be called before `in_place` is taken.

    Who holds that lock must not wait for another thread's launch, in whose midst the garbage
    collector may be running a finalizer that waits for the lock.
    """
    me = threading.get_ident()
    if thread.trace is not None or _collecting == me:
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
        if thread.in_pass and limit >= _ROOMY:
            limit *= _PASS
    segment = new_segment(ctx, limit)
    note_open(segment)  # first: if an interrupt comes between, nothing is recorded unknown to it
    thread.segments[ctx] = segment
    return segment


def _cut(ctx: Context, full: Segment) -> Segment:
    """Launches a segment that has grown long, and begins another.

    In a loop, stretches that hold whole turns of it follow, which are one program; see `period_of`.
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
            limit = max(1, min(limit, _LOOP) // turn) * turn
    launch(full)
    return _begin(ctx, limit)


def _make_way(ctx: Context, segment: Segment, call: Call, values: Sequence[Value]) -> Segment:
    """Removes what kept a call from being appended; returns the segment to try now."""
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


def set_trace(trace: Any) -> Any:
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
    """A natural border between stretches of work: launches what was recorded.

    Such are the end of an optimizer's step, and the beginning of a training pass or of a traced
    call. So a step's segment begins and ends at the same place each time round, the first included,
    and is compiled once. Inside a trace it does nothing: there the whole function is one stretch.
    """
    defer_interrupts()
    if thread.trace is None:
        if thread.segments or thread.late:
            flush()
        thread.in_pass = False


def begin_pass() -> None:
    """The natural border at which a training pass begins.

    A pass has an end that comes by itself, so that it is worth waiting for: recurrent networks,
    unrolled, make steps of some thousand operators.
    """
    if thread.trace is None and not thread.whole:
        flush()
        thread.in_pass = True


@contextmanager
def one_pass(training: bool = True) -> Iterator[None]:
    """A scope in which what begins training passes begins one together, and `end_pass` none ends.

    Such are the devices that each have a part of a batch, and the parts of a network that is
    trained in pieces: what they record is one stretch of work.

    Args:
        training: whether they do; else the scope is none.
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
    """The natural border at which a training step ends, if it is not a part of a larger one."""
    if not thread.whole:
        mark()


@contextmanager
def outside_trace() -> Iterator[None]:
    """A scope outside any trace whose work is launched by itself, as it ends.

    What is made in it lasts, and does not make this stretch of work differ from the next: states of
    an optimizer and parameters, which are made in the middle of a first step.
    """
    trace, segments = thread.trace, thread.segments
    thread.trace, thread.segments = None, {}
    try:
        yield
        flush()
    finally:
        thread.trace, thread.segments = trace, segments


def _before_fork() -> None:
    """Finishes what this thread has recorded: a forked child has no XLA to compute it with."""
    with contextlib.suppress(Exception):  # whoever reads what failed is told
        flush()
        finish_recent()


def _after_fork_in_child() -> None:
    """Drops what the parent had recorded; see `jax_devices.refuse_forked`."""
    thread.segments.clear()
    thread.late.clear()
    thread.trace = None
    _reasons_lock._at_fork_reinit()  # type: ignore[attr-defined]


engine.follow(_set_bulk_size, set_naive)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork_in_child)
