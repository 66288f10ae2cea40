"""The recorder: each thread's open segments, and when they are launched.

`record` is the one door through which computation enters: eager operators, gradients, optimizer
updates, bound graphs and traced functions all come here. It makes no JAX call.

A segment is launched (`launch`) when a value of it is needed, at a natural mark (the end of a
training step), or when it has grown long. Values of other segments are launched before a segment's
own lock is taken, so that no segment's lock is held while another one is launched.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from hybridnet.base import config
from hybridnet.base.context import Context
from hybridnet.base.errors import MXNetError
from hybridnet.ops.call import Call, Types

from .launch import TRACED, flush_all, launch, note_open, ready_array, wait, wait_all
from .segment import Segment, Value

__all__ = [
    "aside",
    "current_trace",
    "flush",
    "flush_all",
    "is_naive",
    "launch",
    "mark",
    "ready_array",
    "record",
    "set_naive",
    "set_trace",
    "wait",
    "wait_all",
]

# Bytes of recorded results after which a launch is forced, so that pending work stays bounded.
_SIZE_LIMIT: Final = 1 << 30


class _Thread(threading.local):
    """What this thread has recorded and not launched, by context, and the trace it is in."""

    def __init__(self) -> None:
        self.segments: dict[Context, Segment] = {}
        self.trace: Any = None
        self.limit = config.segment_limit()


_thread: Final = _Thread()
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
        if segment is None or not segment.open or (segment.busy and segment.is_interrupted()):
            segment = _thread.segments[ctx] = Segment(ctx)
            note_open(segment)
        for value in values:
            foreign = value.segment
            if foreign is not None and foreign is not segment:
                if foreign.traced:
                    raise MXNetError(f"{call.name}: {TRACED}")
                if not foreign.is_interrupted():
                    launch(foreign)
        with segment.lock:
            # Another thread may have launched it, because it needed a value of ours.
            if segment.open:
                made = segment.append(call, values, scalars, types)
                break
    for one in types:
        segment.size += one.nbytes
    if is_naive():
        launch(segment)
        for value in made:
            wait(value)
    elif segment.weight >= _thread.limit or segment.size >= _SIZE_LIMIT:
        launch(segment)
    return made


def current_trace() -> Any:
    """Returns the trace this thread is in, or None."""
    return _thread.trace


def set_trace(trace: Any) -> Any:
    """Enters a trace (None leaves it); returns the one it was in."""
    was = _thread.trace
    _thread.trace = trace
    return was


def flush() -> None:
    """Launches everything this thread has recorded."""
    segments = list(_thread.segments.values())
    _thread.segments.clear()
    for segment in segments:
        launch(segment)


def mark() -> None:
    """A natural border between stretches of work: launches what was recorded.

    Such are the end of an optimizer's step, and the beginning of a training pass or of a traced
    call. So a step's segment begins and ends at the same place each time round, the first included,
    and is compiled once. Inside a trace it does nothing: there the whole function is one stretch.
    """
    if _thread.trace is None:
        flush()


@contextmanager
def aside() -> Iterator[None]:
    """A scope outside any trace whose work is launched by itself, as it ends.

    What is made in it lasts, and does not make this stretch of work differ from the next: states of
    an optimizer and parameters, which are made in the middle of a first step.
    """
    trace, segments = _thread.trace, _thread.segments
    _thread.trace, _thread.segments = None, {}
    try:
        yield
        flush()
    finally:
        _thread.trace, _thread.segments = trace, segments


def _after_fork_in_child() -> None:
    """What the parent had recorded is the parent's; see `devices.refuse_forked`."""
    _thread.segments.clear()
    _thread.trace = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
