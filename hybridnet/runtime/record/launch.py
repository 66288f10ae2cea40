"""Launching: the program of a segment is found and started, and its Values get their arrays.

The thread that needs a value launches the segment that makes it, and holds the segment's lock
meanwhile. So a thread that needs a value of another thread's segment waits for at most one launch.
No other lock is held meanwhile, except perhaps `storage.in_place`, which no launch takes.

No thread runs far ahead of its device: XLA accepts 32 unfinished programs (on CPUs and GPUs) and
makes the thread that dispatches one more wait.

If an instruction fails, the Values that depend on it get its error, and all others get their
arrays. So it makes no difference to the results where a segment begins and ends.
"""

from __future__ import annotations

import functools
import gc
import os
import sys
import threading
import time
import weakref
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import Any, Final

from hybridnet import engine
from hybridnet.base.context import Context
from hybridnet.base.errors import MXNetError, OpError, OutOfMemoryError
from hybridnet.base.host_array import HostArray
from hybridnet.base.interrupts import defer_interrupts, is_from_signal
from hybridnet.base.mesh import Mesh

from ..checks.asked import NANS, asked
from ..checks.checked import Checked
from ..live.lack import told_lack
from ..observe import events
from ..observe.journal import Launch, Lines, Watching, launches, listeners
from ..platform.collecting import is_collecting, running
from ..platform.jax_devices import fork, is_stranded, refuse_forked
from ..programs.cache import cache
from ..programs.room import is_lack
from ..programs.spanning import spanning
from ..programs.steps import Failed
from ..segments.code import Code
from ..segments.flight import Flight
from ..segments.segment import Segment, Value
from .answers import checked_of, note_answers
from .apart import InterruptedLaunchError
from .by_device import DeviceSegment, run_by_device
from .dispatched import finish_recent, note_dispatched
from .failures import fail, note_told
from .lined import inside_of, lines_of, recorded, where

__all__ = ["flush_all", "launch", "note_open"]

_CONSUMED: Final = (
    "{names} on {ctx} was interrupted when it had been given the memory of its inputs, and before "
    "it had given its results"
)
_HELD: Final = (Value, Failed)
_BY_NUMPY: Final = {HostArray}
_new: Final = object.__new__


class _Open(weakref.ref[Segment]):
    """A weak reference to an open segment, with its key in `_open`."""

    __slots__ = ("key",)

    key: int


#: Seconds that a launch in another thread of a forked child may take before it counts as one of the
#: parent's, which will never end.
_AT_WORK_SECONDS: Final = 30.0

# Every open segment of every thread, by its `id`, so that `wait_all` and exports can reach them.
# It has no lock, as CPython does each change in one step. A lock could cause a deadlock: while it
# is held, a finalizer may run and wait for `in_place`, whose holder may be waiting for this lock.
_open: Final[dict[int, _Open]] = {}


def _forget(ref: weakref.ref[Segment]) -> None:
    assert isinstance(ref, _Open)
    _open.pop(ref.key, None)


def note_open(segment: Segment) -> None:
    """Registers a segment that was just begun."""
    made = _Open(segment, _forget)
    made.key = id(segment)
    _open[made.key] = made


def launch(segment: Segment | Flight) -> None:
    """Starts a segment's program, unless that has been done.

    Results that nobody refers to any more are not computed. A launch can be ended between any two
    lines by the exception of Ctrl-C or of a signal handler. So each step stores what it has done in
    the segment, and the next thread that needs a value goes on from there.
    """
    # Before taking the lock: its holder may be waiting for the very append that we interrupt.
    interrupts = (segment.launching or segment.busy) and segment.is_interrupted()
    if interrupts or (running and is_collecting() and _is_inside()):
        raise InterruptedLaunchError
    if fork.is_child:
        _refuse_stranded(segment)
    with segment.lock:
        if type(segment) is Flight:
            segment.land()
            return
        segment.open = False
        if segment.busy:
            _wait_for_append(segment)
        defer_interrupts()  # also where there is nothing to start: `mark` counts on it
        if not segment.results:
            return
        try:
            segment.launching = True
            _launch(segment)
        finally:
            segment.launching = False
        _open.pop(id(segment), None)
        segment.results = []  # the segment may live on in a task, and must not keep them alive
        segment.made = []


def _wait_for_append(segment: Segment) -> None:
    while segment.is_busy():  # its owner is in the middle of one, of microseconds
        time.sleep(0)


def _is_inside() -> bool:
    """Whether a finalizer, which this thread is running, interrupted hybridnet or JAX.

    JAX crashes if it is called there.
    """
    frame: FrameType | None = sys._getframe()
    finalizer = False
    while frame is not None:
        ours = frame.f_globals.get("__name__", "").partition(".")[0] in ("hybridnet", "jax")
        if ours and finalizer:
            return True
        finalizer = finalizer or not ours
        frame = frame.f_back
    return False


def _refuse_stranded(segment: Segment | Flight) -> None:
    """Raises an error if, in a forked child, a segment needs XLA or a thread of the parent."""
    alone = threading.active_count() == 1  # then a thread that holds the lock is the parent's
    lock = segment.lock
    try:
        is_free = lock.acquire(timeout=0 if alone else _AT_WORK_SECONDS)
    finally:  # also where an exception came as it was had
        with suppress(RuntimeError):
            lock.release()
    if not is_free:
        refuse_forked()
    if type(segment) is Segment:
        for held in segment.inputs:
            if type(held) is Value and held.array is not None and is_stranded(held.array):
                refuse_forked()


def _launch(segment: Segment) -> None:
    if not (segment.made or segment.task):
        # (A plain loop over the inputs would leave a reference behind: see `Segment.code`.)
        awaits = Value in map(type, segment.inputs)
        for value in [held for held in segment.inputs if type(held) is Value] if awaits else ():
            # A finalizer recorded this while the launch that makes the value was under way.
            if value.segment is not None:
                launch(value.segment)
        segment.find_live()
        if awaits:
            pending = {
                held.var
                for held in segment.inputs
                if type(held) is Value and held.array is None and held.error is None
            }
            if pending and _spans(segment.ctx):
                for var in pending:
                    with suppress(engine.TaskError):  # the Value has the error
                        engine.wait_for_var(var)
            elif pending:
                segment.task = engine.new_variable(), tuple(pending)
    if segment.task is None:
        _execute(segment)
    else:
        # A task of the engine is still making an input, so the launch becomes a task as well. (If
        # an exception comes between the lines below it becomes two; the second does nothing.)
        var, reads = segment.task
        made = segment.live.copy()
        run = functools.partial(_execute, segment)
        engine.push(run, reads=reads, writes=(var,), name="launch")
        for value in made:
            value.var = var
    for value in segment.results:
        value.segment = None


def _spans(ctx: Context) -> bool:
    """Whether launches on a context are those of several processes, which have one order.

    A launch that became a task might come before or after this thread's next one.
    """
    return type(ctx) is Mesh and ctx.processes > 1


def _execute(segment: Segment) -> None:
    """Starts the program and gives each live Value its output, or the error that prevented it.

    Raises:
        OutOfMemoryError: there was not enough memory. Arrays that it was to overwrite keep their
            old contents, unless XLA has already taken them; the other Values get this error, too.
    """
    if not segment.live:
        if events.observer is not None and segment.instructions:
            _tell_dropped(segment)
        return
    if not segment.made:
        error = _dispatch(segment)
        if isinstance(error, OutOfMemoryError):  # programs that end may free enough memory
            finish_recent()
            gc.collect()
            lost = _consumed(segment)
            error = _told_lost(error, lost) if lost else _dispatch(segment)
            if isinstance(error, OutOfMemoryError) and segment.ctx.is_accelerator and not lost:
                error = _dispatch_apart(segment, error)
        if error is not None:
            segment.made.append([Failed(error)] * len(segment.live))
    made = segment.made[0]
    kinds = {*map(type, made)}
    if Failed not in kinds:
        segment.inputs.clear()
        for value, array in zip(segment.live, made, strict=False):  # answers may come after them
            value.array = array
        if HostArray not in kinds:
            note_dispatched(segment.ctx, made[0])
        elif kinds != _BY_NUMPY:
            note_dispatched(segment.ctx, next(x for x in made if type(x) is not HostArray))
        segment.live = []
        return
    lack = next((x.error for x in made if type(x) is Failed and _is_lack(x.error)), None)
    numbers = tuple([value.index for value in segment.live])
    if lack is not None:
        made = segment.made[0] = segment.restored(made)
    segment.inputs.clear()
    _put(segment.live, made)
    fail([value for value in segment.live if value.error is not None])
    segment.live = []
    if lack is not None:
        note_told(lack)
        del made
        raise _told_lack(segment, numbers, lack) from lack.__cause__


def _told_lack(segment: Segment, outputs: tuple[int, ...], lack: BaseException) -> OutOfMemoryError:
    """Returns the error for a launch that found no room, with what can be said of it."""
    kinds = tuple(segment.input_types)
    code = Code(segment.ctx, tuple(segment.instructions), kinds, outputs, ())
    known = {value.index: value.origin for value in segment.results if value.origin is not None}
    return told_lack(lack, code, {**known, **lines_of(segment)})


def _tell_dropped(segment: Segment) -> None:
    """Reports operators to an observer that do not run, since nobody refers to their results."""
    code = Code(segment.ctx, tuple(segment.instructions), tuple(segment.input_types), (), ())
    with events.within(inside_of(segment)), events.span("dropped", code):
        pass


def _is_lack(error: BaseException) -> bool:
    """Whether an error, hybridnet's, Python's or XLA's, says that there was not enough memory."""
    return isinstance(error, MemoryError) or is_lack(error.__cause__)


def _dispatch(segment: Segment) -> MXNetError | None:
    """Starts the program and appends its outputs to `segment.made`; returns the error, if any."""
    inputs = segment.inputs
    if segment.started and _consumed(segment):
        return OpError(_CONSUMED.format(names=_names(segment), ctx=segment.ctx))
    try:
        if Value in map(type, inputs):
            _fill_in(inputs)
        code = segment.code(donates=not asked.mode & NANS)
        segment.started = True
        outputs = _run(segment, code)
        if not segment.made:
            segment.made.append(outputs)
    except OutOfMemoryError as lack:
        return lack
    except Exception as caught:
        if is_from_signal(caught):
            raise
        gang = spanning.gang
        if gang is not None and isinstance(caught, gang.fault):
            return caught
        kind = OutOfMemoryError if is_lack(caught) else OpError
        error = kind(f"{_names(segment)} on {segment.ctx} failed: {caught}{where(segment)}")
        error.__cause__ = caught
        return error
    return None


def _consumed(segment: Segment) -> list[str]:
    """Returns the types of the inputs whose memory XLA has taken."""
    pairs = zip(segment.inputs, segment.input_types, strict=False)
    return [str(kind) for held, kind in pairs if type(held) not in _HELD and held.is_deleted()]


def _told_lost(lack: OutOfMemoryError, lost: list[str]) -> OutOfMemoryError:
    """Adds to an error what a program had taken before there was no memory for it."""
    lack.args = (
        f"{lack}; what it was to overwrite is lost, as XLA had taken its memory: "
        f"{', '.join(dict.fromkeys(lost))}",
    )
    return lack


def _dispatch_apart(segment: Segment, lack: OutOfMemoryError) -> OutOfMemoryError | None:
    """Runs a segment that found no room step by step, so that only what lacks memory is lost.

    Returns:
        The error, where that is not possible: an operator by itself needs too much, memory of its
        inputs was given away, or somebody asks launches something.
    """
    alone = len(segment.instructions) == 1 and not segment.instructions[0][0].has_parts
    if alone or asked.mode or _consumed(segment) or type(segment) is DeviceSegment:
        return lack
    program = cache.next(segment.code(donates=False))
    try:
        segment.made.append(cache.launch_apart(program, segment.inputs, segment.scalars))
    except OutOfMemoryError as again:
        return again
    return None


def _fill_in(inputs: list[Any]) -> None:
    """Puts in the place of each Value its array or its error, which it has by now."""
    # (In a function of its own, which leaves no reference behind: see `Segment.code`.)
    for slot, held in enumerate(inputs):
        if type(held) is Value:
            inputs[slot] = held.array if held.error is None else Failed(held.error)


def _put(values: Sequence[Value], arrays: Sequence[object]) -> None:
    """Gives each Value its array or its error."""
    for value, array in zip(values, arrays, strict=True):
        if type(array) is Failed:
            value.error = array.error
        else:
            value.array = array


def _run(segment: Segment, code: Code) -> Sequence[Any]:
    """Runs the program of a segment and writes the launch into the journal.

    An error among the outputs gets the line at which its instruction was recorded, if that is
    known.
    """
    if type(segment) is DeviceSegment:
        return _run_on_users(segment, code)
    inputs, scalars, made = segment.inputs, segment.scalars, segment.made
    program = cache.next(code)
    if asked.mode or program.checked is not False:
        checked = checked_of(program, asked.mode)
        if checked is not None:
            return _run_checked(segment, program.code, checked)
    # The journal gets the cached program's structure and not `code`, which equals it. Otherwise it
    # would keep thousands of objects alive, all of which the garbage collector has to visit.
    note = _new(Launch)
    note.code, note.scalars = program.code, scalars
    launches.append(note)
    if not listeners.count:
        return cache.launch(program, inputs, scalars, made)
    lines = lines_of(segment)
    watching = Watching(note, lines, program.compiled is not None)
    with events.within(inside_of(segment)), watching:
        outputs = cache.launch(program, inputs, scalars, made)
    _add_lines(outputs, lines)
    return outputs


def _run_checked(segment: Segment, plain: Code, checked: Checked) -> Sequence[Any]:
    """Runs a segment as `_run` does, with what is asked of launches, whose answers are noted."""
    inputs, scalars = segment.inputs, segment.scalars
    given = [*inputs]
    program = cache.next(checked.code)
    program.checked = checked
    note = Launch(plain, scalars)
    note.ran, note.answers = checked.code, checked.about
    launches.append(note)
    lines = lines_of(segment)
    if not listeners.count:
        outputs = cache.launch(program, inputs, scalars, segment.made)
    else:
        watching = Watching(note, lines, program.compiled is not None)
        with events.within(inside_of(segment)), watching:
            outputs = cache.launch(program, inputs, scalars, segment.made)
    live = segment.live
    note_answers(checked, segment.owner, (given, scalars), lines, live, outputs, lists=2)
    count = len(checked.plain.outputs)
    _add_lines(outputs[:count], lines)
    return outputs[:count]


def _run_on_users(segment: DeviceSegment, code: Code) -> Sequence[Any]:
    """Runs a segment on the device that a user brought; no program has a part in it."""
    cache.forget_last()
    note = Launch(code, segment.scalars)
    launches.append(note)
    lines = lines_of(segment)
    if not listeners.count:
        outputs = run_by_device(segment, code)
    else:
        with events.within(inside_of(segment)), Watching(note, lines, compiled=True):
            outputs = run_by_device(segment, code)
    _add_lines(outputs, lines)
    return outputs


def _add_lines(outputs: Sequence[object], lines: Lines) -> None:
    """Adds to errors the lines at which what failed was recorded."""
    for output in outputs:
        if type(output) is Failed and output.result is not None:
            place = recorded([lines.get(output.result)])
            output.result = None  # several outputs may share this error; add the line once
            if place:
                output.error.args = (f"{output.error}{place}",)


def _names(segment: Segment) -> str:
    return ", ".join(dict.fromkeys(call.name for call, _ in segment.instructions))


def flush_all() -> None:
    """Launches everything that any thread has recorded."""
    for segment in [ref() for ref in list(_open.values())]:
        if segment is not None:
            launch(segment)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open.clear)
