"""Launching: a segment becomes a program and runs; its Values get their arrays, or an error.

A segment is launched by whoever needs one of its values, under its lock, so that a thread that
needs another thread's value waits for that launch and no longer. No other lock is held meanwhile,
except the one that makes an in-place update whole (`storage.in_place`), which no launch takes.

Nobody runs far ahead of a device: XLA takes 32 programs at a time (on CPUs and GPUs), and lets the
thread that dispatches one more wait.

A failed instruction takes with it what depends on it and nothing else, so that results do not
depend on where a segment begins and ends.
"""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Sequence
from typing import Any, Final

from hybridnet import engine
from hybridnet.base.errors import MXNetError, OpError

from ..observe.journal import Launch, Watching, launches, listeners
from ..programs.cache import cache
from ..programs.steps import Failed
from ..segments.code import Code
from ..segments.segment import Segment, Value
from .dispatched import note_dispatched
from .failures import fail
from .lined import lines_of, recorded, where

__all__ = ["INTERRUPTED", "flush_all", "launch", "note_open"]

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
            # A KeyboardInterrupt belongs to the user now.
            if isinstance(error, KeyboardInterrupt) and _is_untouched(segment):
                segment.open = True
                note_open(segment)
                raise
            # These Values will never be made.
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
            if not segment.open:
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
    made: list[Sequence[Any]] = []
    try:
        for slot, held in enumerate(inputs):
            if type(held) is Value:
                inputs[slot] = held.array if held.error is None else Failed(held.error)
        held = None  # a second reference would look like another holder
        code = segment.code(values)  # may change their order
        arrays = _run(segment, code, inputs, made)
        inputs.clear()
    except KeyboardInterrupt:
        # What a program gave before it came is there: the memory of its inputs may be gone.
        if made:
            inputs.clear()
            _put(values, made[0])
        raise
    except Exception as caught:
        error: MXNetError = OpError(
            f"{_names(segment)} on {segment.ctx} failed: {caught}{where(segment)}"
        )
        error.__cause__ = caught
        arrays = [Failed(error)] * len(values)
        for value in values:
            value.spare = None
        inputs.clear()
    try:
        failed = _put(values, arrays)
    except KeyboardInterrupt:  # in its midst
        _put(values, arrays)
        raise
    if failed:
        fail([value for value in values if value.error is not None])
    else:
        note_dispatched(segment.ctx, arrays[0])


def _put(values: Sequence[Value], arrays: Sequence[Any]) -> bool:
    """Gives Values their arrays, or errors; returns whether there are errors."""
    failed = False
    for value, array in zip(values, arrays, strict=True):
        if type(array) is Failed:
            value.error = array.error
            failed = True
        else:
            value.array = array
    return failed


def _is_untouched(segment: Segment) -> bool:
    """Whether a segment whose launch was interrupted can be launched again."""
    inputs = segment.inputs
    if len(inputs) < len(segment.input_types):
        return False  # its program has been dispatched
    return not any(type(one) not in (Value, Failed) and one.is_deleted() for one in inputs)


def _run(
    segment: Segment, code: Code, inputs: list[Any], made: list[Sequence[Any]]
) -> Sequence[Any]:
    """Runs the program of a segment, and notes that; see `ProgramCache.run`.

    An error among the outputs says where its instruction was recorded, if that is known.
    """
    scalars = segment.scalars
    note = Launch(code, scalars)
    launches.append(note)
    if not listeners.count:
        return cache.run(code, inputs, scalars, made)
    lines = lines_of(segment)
    state = cache.state(code)
    with Watching(note, lines, state is not None and state.compiled):
        outputs = cache.run(code, inputs, scalars, made)
    for output in outputs:
        if type(output) is Failed and output.result is not None:
            place = recorded([lines.get(output.result)])
            output.result = None  # several outputs may have failed of one cause
            if place:
                output.error.args = (f"{output.error}{place}",)
    return outputs


def _names(segment: Segment) -> str:
    return ", ".join(dict.fromkeys(call.name for call, _ in segment.instructions))


def flush_all() -> None:
    """Launches everything that any thread has recorded."""
    for segment in [ref() for ref in list(_open.values())]:
        if segment is not None:
            launch(segment)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_open.clear)
