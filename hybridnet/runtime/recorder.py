"""The recorder: each thread's open segments, and when they are launched.

`record` is the one door through which computation enters: eager operators, gradients, optimizer
updates, bound graphs and traced functions all come here. It makes no JAX call.

Launching takes the segment's lock, so that a thread that needs another thread's value waits for
that launch and no longer. No lock is held while another segment is launched: values of other
segments are launched before this thread's own lock is taken.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from typing import Any, Final

from hybridnet import engine
from hybridnet.base import config
from hybridnet.base.context import Context
from hybridnet.base.errors import MXNetError, OpError
from hybridnet.ops.call import Call, Types

from .programs import cache
from .segment import Segment, Value

__all__ = [
    "begin_step",
    "current_trace",
    "flush",
    "flush_all",
    "is_naive",
    "launch",
    "mark",
    "note_backward",
    "ready_array",
    "record",
    "set_naive",
    "set_trace",
    "wait_all",
]

# Bytes of recorded results after which a launch is forced, so that pending work stays bounded.
_SIZE_LIMIT: Final = 1 << 30


_TRACED: Final = (
    "this array belongs to a traced function (hn.function or hybridize()), where it stands for "
    "values to come: it cannot be read there (asnumpy, print, float, if), nor after the function "
    "returned; return it from the function, or do this part outside"
)


class _Thread(threading.local):
    """What this thread has recorded and not launched, by context, and the trace it is in."""

    def __init__(self) -> None:
        self.segments: dict[Context, Segment] = {}
        self.trace: Any = None
        # A backward pass is in the open segments: the next training pass starts new ones.
        self.stepped = False
        self.limit = config.segment_limit()


_thread: Final = _Thread()
# Every open segment of every thread, so that `wait_all` and exports can reach them.
_open: Final[weakref.WeakSet[Segment]] = weakref.WeakSet()
_open_lock: Final = threading.Lock()
_naive: bool | None = None


def is_naive() -> bool:
    """Whether every operator runs at once and is waited for (HYBRIDNET_ENGINE_TYPE=NaiveEngine)."""
    global _naive
    if _naive is None:
        _naive = config.engine_type() == "NaiveEngine"
    return _naive


def set_naive(naive: bool) -> bool:
    """Switches synchronous execution; returns what it was."""
    global _naive
    was = is_naive()
    flush_all()
    _naive = naive
    return was


def record(
    ctx: Context, call: Call, values: tuple[Value, ...], scalars: tuple[Any, ...], types: Types
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
    trace = _thread.trace
    if trace is not None:
        made: list[Value] = trace.append(ctx, call, values, scalars, types)
        return made
    while True:
        segment = _thread.segments.get(ctx)
        if segment is None:
            segment = _thread.segments[ctx] = Segment(ctx)
            with _open_lock:
                _open.add(segment)
        for value in values:
            foreign = value.segment
            if foreign is not None and foreign is not segment:
                launch(foreign)
        with segment.lock:
            # Another thread may have launched it, because it needed a value of ours.
            if segment.open:
                made = segment.append(call, values, scalars, types)
                break
        _thread.segments.pop(ctx, None)
    for one in types:
        segment.size += one.nbytes
    if (
        len(segment.instructions) >= _thread.limit
        or segment.size >= _SIZE_LIMIT
        or is_naive()
    ):
        launch(segment)
        if is_naive():
            for value in made:
                _check(value)
                value.array.block_until_ready()
    return made


def current_trace() -> Any:
    """Returns the trace this thread is in, or None."""
    return _thread.trace


def set_trace(trace: Any) -> Any:
    """Enters a trace (None leaves it); returns the one it was in."""
    was = _thread.trace
    _thread.trace = trace
    return was


def note_backward() -> None:
    """Notes that a backward pass was recorded (see `begin_step`)."""
    _thread.stepped = True


def begin_step() -> None:
    """Called where a training pass begins: launches the step before it, if one is pending.

    An optimizer's step launches by itself (`mark`); this serves loops that update by hand, so that
    their segments begin and end at the same place each time round.
    """
    if _thread.stepped:
        mark()


def flush() -> None:
    """Launches everything this thread has recorded."""
    _thread.stepped = False
    for segment in list(_thread.segments.values()):
        launch(segment)


def mark() -> None:
    """A natural end of a stretch of work (an optimizer step): launches what was recorded.

    Inside a trace it does nothing: there the whole function is one stretch.
    """
    if _thread.trace is None:
        flush()


def flush_all() -> None:
    """Launches everything that any thread has recorded."""
    with _open_lock:
        segments = list(_open)
    for segment in segments:
        launch(segment)


def launch(segment: Segment) -> None:
    """Runs a segment's program, unless another thread just did.

    What is not referred to any more is not computed. Errors are kept in the Values and raised
    where these are waited for.
    """
    with segment.lock:
        if not segment.open:
            return
        segment.open = False
        _thread.segments.pop(segment.ctx, None) if _thread.segments.get(segment.ctx) is segment else None
        with _open_lock:
            _open.discard(segment)
        live, values = segment.live_results()
        if not live:
            return
        pending = {one.var for one in segment.inputs if type(one) is Value and one.array is None}
        if not pending:
            _execute(segment, live, values, None)
            return
        # An input is still being made by a task of the engine: this launch becomes one too.
        var = engine.new_variable()
        try:
            engine.push(
                lambda: _execute(segment, live, values, var), reads=tuple(pending), writes=(var,), name="launch"
            )
        finally:
            for value in values:
                value.var = var
                value.segment = None


def _execute(segment: Segment, live: list[int], values: list[Value], var: Any) -> None:
    """Runs the program and puts its outputs (or the error) in the Values."""
    error: BaseException | None = None
    try:
        inputs = segment.inputs
        for slot, held in enumerate(inputs):
            if type(held) is Value:
                _check(held)
                inputs[slot] = held.array
        held = None  # a second reference would look like another holder
        code = segment.code(live)
        arrays: Sequence[Any] = cache.run(code, inputs, segment.scalars)
        for value, array in zip(values, arrays, strict=True):
            value.array = array
    except BaseException as caught:
        error = caught if isinstance(caught, MXNetError) else _failed(segment, caught)
        if not isinstance(caught, Exception):
            raise  # KeyboardInterrupt and the like belong to the user, now
    finally:
        for value in values:
            if value.array is None:
                value.error = error
            if var is None:
                value.segment = None
        segment.inputs.clear()


def _failed(segment: Segment, cause: BaseException) -> OpError:
    names = ", ".join(dict.fromkeys(call.name for call, _ in segment.instructions))
    error = OpError(f"{names} on {segment.ctx} failed: {cause}")
    error.__cause__ = cause
    return error


def _check(value: Value) -> None:
    error = value.error
    if error is not None:
        # A fresh traceback for each wait; the cause keeps the first one.
        raise error.with_traceback(None)


def ready_array(value: Value) -> Any:
    """Returns the JAX array of a Value, launching and waiting for host tasks as needed.

    The array's own computation may still be running in XLA.

    Raises:
        OpError: it could not be computed.
    """
    segment = value.segment
    if segment is not None and not segment.traced:
        launch(segment)
    if value.array is None and value.error is None:
        if value.var is None:
            raise MXNetError(_TRACED)
        engine.wait_for_var(value.var)
    _check(value)
    return value.array


def wait_all() -> None:
    """Waits until everything recorded by any thread, and every task, has run."""
    flush_all()
    engine.wait_for_all()
