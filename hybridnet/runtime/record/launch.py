"""Launching: a segment becomes a program and runs; its Values get their arrays, or an error.

A segment is launched by whoever needs one of its values, under its lock, so that a thread that
needs another thread's value waits for that launch and no longer. No other lock is held meanwhile,
except the one that makes an in-place update whole (`storage.in_place`), which no launch takes.

Nobody runs far ahead of a device: XLA takes 32 programs at a time (on CPUs and GPUs), and lets the
thread that dispatches one more wait.

Errors are kept in the Values and raised where these are waited for. A failed instruction takes
with it what depends on it and nothing else, so that results do not depend on where a segment
begins and ends.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

from hybridnet import engine
from hybridnet.base.context import Context
from hybridnet.base.errors import MXNetError, OpError

from ..observe import events
from ..observe.journal import Launch, Watching, launches, listeners
from ..platform.jax_devices import refuse_forked
from ..programs.cache import cache
from ..programs.steps import Failed
from ..segments.code import Code
from ..segments.segment import Segment, Value
from .lined import lines_of, recorded, where

__all__ = [
    "INTERRUPTED",
    "TRACED",
    "fail",
    "flush_all",
    "launch",
    "loops",
    "note_dispatched",
    "note_open",
    "ready_array",
    "wait",
    "wait_all",
    "was_told",
]

TRACED: Final = (
    "this array belongs to a traced function (hn.function or hybridize()), where it stands for "
    "values to come: it cannot be read there (asnumpy, print, float, if), nor after the function "
    "returned; return it from the function, or do this part outside"
)

INTERRUPTED: Final = (
    "a finalizer (__del__) needs an array that the code it interrupted is recording or computing "
    "at this moment; let finalizers not compute with arrays that others use"
)


class _Open(weakref.ref[Segment]):
    """A reference to an open segment, which knows where in `_open` it stands."""

    __slots__ = ("key",)

    key: int


# Every open segment of every thread, by its `id`, so that `wait_all` and exports can reach them.
# There is no lock: each change is one step of CPython's. Under a lock a finalizer might run, and
# need the one for changes in place while its holder, who records, waits for this one.
_open: Final[dict[int, _Open]] = {}


def _forget(ref: weakref.ref[Segment]) -> None:
    assert isinstance(ref, _Open)
    _open.pop(ref.key, None)


# What `wait_all` waits for: on each device, an output of each of the last programs and copies. A
# device runs programs in the order of their dispatch, so the last one would do; more are kept since
# outputs may be dropped.
_recent: Final[dict[Context, deque[weakref.ref[Any]]]] = {}
_RECENT: Final = 32
#: Runs of graphs with loops that are under way, by their `id`: Ctrl-C in a wait ends those of its
#: thread, since a loop may have no end of its own.
loops: Final[dict[int, Any]] = {}
# Errors that no wait has raised yet, oldest first, by identity. One that was raised says so itself
# (its attribute `told`), as long as there is a Value that holds it.
_unreported: Final[dict[int, BaseException]] = {}
_MAX_UNREPORTED: Final = 64


def note_open(segment: Segment) -> None:
    """Registers a segment that was just begun."""
    made = _Open(segment, _forget)
    made.key = id(segment)
    _open[made.key] = made


def launch(segment: Segment) -> None:
    """Runs a segment's program, unless another thread just did.

    What is not referred to any more is not computed.
    """
    # Before taking the lock: its holder may be waiting for the very append that we interrupt.
    if segment.is_interrupted():
        raise MXNetError(INTERRUPTED)
    with segment.lock:
        if not segment.open:
            return
        segment.open = False
        try:
            while segment.busy:  # its owner is in the middle of an append, of microseconds
                time.sleep(0)
        except BaseException:  # a KeyboardInterrupt: nothing has happened yet
            segment.open = True
            raise
        segment.launching = True
        try:
            _open.pop(id(segment), None)
            _launch(segment)
        except BaseException as error:
            # A KeyboardInterrupt belongs to the user now; these Values will never be made.
            why = OpError(
                f"{_names(segment)} on {segment.ctx} did not run: {type(error).__name__} came first"
            )
            why.__cause__ = error
            for value in segment.results:
                if value.segment is segment:
                    value.error = why if value.array is None else None
                    value.segment = None
            raise
        finally:
            segment.launching = False
            segment.results = []  # each holds the segment


def _launch(segment: Segment) -> None:
    # (A plain loop over the inputs would leave a reference behind: see `Segment.code`.)
    for value in [held for held in segment.inputs if type(held) is Value]:
        # A finalizer recorded this while the launch that makes the value was under way.
        if value.segment is not None:
            launch(value.segment)
    live = segment.live()
    if not live:
        return
    values = [segment.results[number] for number in live]
    pending = {
        one.var
        for one in segment.inputs
        if type(one) is Value and one.array is None and one.error is None
    }
    if not pending:
        _execute(segment, values)
        for value in values:
            value.segment = None
        return
    # An input is still being made by a task of the engine: this launch becomes one too.
    var = engine.new_variable()
    engine.push(
        lambda: _execute(segment, values),
        reads=tuple(pending),
        writes=(var,),
        name="launch",
    )
    for value in values:
        value.var = var
        value.segment = None


def _execute(segment: Segment, values: list[Value]) -> None:
    """Runs the program and puts its outputs, or why there are none, in the Values."""
    inputs = segment.inputs
    try:
        for slot, held in enumerate(inputs):
            if type(held) is Value:
                inputs[slot] = held.array if held.error is None else Failed(held.error)
        held = None  # a second reference would look like another holder
        code = segment.code(values)  # may change their order
        arrays = _run(segment, code, inputs)
    except Exception as caught:
        error: MXNetError = OpError(
            f"{_names(segment)} on {segment.ctx} failed: {caught}{where(segment)}"
        )
        error.__cause__ = caught
        arrays = [Failed(error)] * len(values)
        for value in values:
            value.spare = None
    finally:
        inputs.clear()
    failed = False
    for value, array in zip(values, arrays, strict=True):
        if type(array) is Failed:
            value.error = array.error
            failed = True
        else:
            value.array = array
    if failed:
        fail([value for value in values if value.error is not None])
    else:
        note_dispatched(segment.ctx, arrays[0])


def _run(segment: Segment, code: Code, inputs: list[Any]) -> Sequence[Any]:
    """Runs the program of a segment, and notes that; see `ProgramCache.run`.

    An error among the outputs says where its instruction was recorded, if that is known.
    """
    scalars = segment.scalars
    note = Launch(code, scalars)
    launches.append(note)
    if not listeners.count:
        return cache.run(code, inputs, scalars)
    lines = lines_of(segment)
    state = cache.state(code)
    with Watching(note, lines, state is not None and state.compiled):
        outputs = cache.run(code, inputs, scalars)
    for output in outputs:
        if type(output) is Failed and output.result is not None:
            place = recorded([lines.get(output.result)])
            output.result = None  # several outputs may have failed of one cause
            if place:
                output.error.args = (f"{output.error}{place}",)
    return outputs


def note_dispatched(ctx: Context, array: Any) -> None:
    """Notes that a device is making an array, for `wait_all` to wait for."""
    recent = _recent.get(ctx)
    if recent is None:
        recent = _recent.setdefault(ctx, deque(maxlen=_RECENT))
    recent.append(weakref.ref(array))


def fail(values: Sequence[Value], error: BaseException | None = None) -> None:
    """Notes that Values could not be made: reading one raises, and so does `wait_all`, once.

    Args:
        values: the Values.
        error: why; None where they hold their errors already.
    """
    # First: whoever sees an error in a Value raises it at once, and then it has been told.
    for value in values:
        why = value.error if error is None else error
        if why is None or len(_unreported) >= _MAX_UNREPORTED:
            continue
        _unreported[id(why)] = why
        # What depends on a failure may run, or be launched, long after a wait has raised it.
        if _is_told(why):
            _unreported.pop(id(why), None)
    if error is not None:
        for value in values:
            value.error = error


def was_told(value: Value) -> bool:
    """Whether a Value could not be made, and some wait has raised why."""
    return value.error is not None and _is_told(value.error)


def _is_told(error: BaseException) -> bool:
    return "told" in vars(error)


def _note_told(error: BaseException) -> None:
    # In this order, and in `fail` the other way round: between them none stays who was told.
    vars(error)["told"] = True
    _unreported.pop(id(error), None)


def _names(segment: Segment) -> str:
    return ", ".join(dict.fromkeys(call.name for call, _ in segment.instructions))


def _raise(error: BaseException) -> None:
    """Raises an error that is kept: a new one for each wait, so that tracebacks do not pile up."""
    _note_told(error)
    if isinstance(error, MXNetError):
        raise type(error)(*error.args) from error.__cause__
    raise OpError(str(error)) from error


def ready_array(value: Value) -> Any:
    """Returns the JAX array of a Value, launching and waiting for host tasks as needed.

    The array's own computation may still be running in XLA.

    Raises:
        OpError: it could not be computed.
        MXNetError: it belongs to a trace, or this process was forked.
    """
    refuse_forked()
    segment = value.segment
    if segment is not None and not segment.traced:
        launch(segment)
    if value.array is None and value.error is None:
        if value.var is None:
            raise MXNetError(TRACED)
        try:
            engine.wait_for_var(value.var)
        except engine.TaskError as error:
            raise OpError(str(error)) from error.__cause__
        except KeyboardInterrupt:
            _interrupt_loops()
            raise
    if value.error is not None:
        _raise(value.error)
    return value.array


def wait(value: Value) -> Any:
    """Returns the JAX array of a Value when it has been computed.

    Raises:
        OpError: it could not be computed.
        MXNetError: it belongs to a trace, or this process was forked.
    """
    if events.observer is not None:
        with events.span("wait", str(value.type)):
            return _finished(ready_array(value))
    return _finished(ready_array(value))


def _interrupt_loops() -> None:
    for run in list(loops.values()):
        run.interrupt(threading.get_ident())


def _finished(array: Any) -> Any:
    try:
        return array.block_until_ready()
    except RuntimeError as error:
        raise OpError(f"a program failed while it ran: {error}") from error


def flush_all() -> None:
    """Launches everything that any thread has recorded."""
    for segment in [ref() for ref in list(_open.values())]:
        if segment is not None:
            launch(segment)


def wait_all() -> None:
    """Waits until everything recorded by any thread, and every task, has run.

    Raises:
        OpError: something failed, and no wait has raised that yet; the first such failure.
    """
    with events.span("wait", "everything"):
        flush_all()
        try:
            engine.wait_for_all()
        except engine.TaskError as error:
            raise OpError(str(error)) from error.__cause__
        except KeyboardInterrupt:
            _interrupt_loops()
            raise
        for ref in [ref for recent in list(_recent.values()) for ref in recent.copy()]:
            array = ref()
            try:
                if array is not None and not array.is_deleted():
                    _finished(array)
            except OpError:
                # A donated array is gone, maybe just now: its memory belongs to a later program.
                if array is None or not array.is_deleted():
                    raise
    unreported = [one for one in list(_unreported.values()) if not _is_told(one)]
    for one in unreported:
        _note_told(one)
    if unreported:
        _raise(unreported[0])


def _after_fork_in_child() -> None:
    _open.clear()
    _recent.clear()
    _unreported.clear()
    loops.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
