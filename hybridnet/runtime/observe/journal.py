"""The last launches, kept to be explained, and where in the user's code they were recorded.

What was launched is always noted: one small object for each of the last few launches, which holds
a structure and no array. Where it was recorded and how it ran is noted only while somebody wants to
know (`explaining`, the profiler, HYBRIDNET_EXPLAIN=1): recording then uses a segment that looks at
the caller's frame for each operator, and otherwise one that knows nothing of it.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, final

from hybridnet import engine
from hybridnet.base import config
from hybridnet.base.context import Context
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.call import Call, Types

from ..programs.cache import Failed, cache
from ..segments.segment import Code, Segment, Value
from . import events as observe

__all__ = [
    "Launch",
    "LinedSegment",
    "Lines",
    "collecting",
    "is_listening",
    "launches",
    "lines_of",
    "listen",
    "new_segment",
    "ranges",
    "recorded_at",
    "run",
    "unlisten",
    "where",
]

#: Where instructions were recorded, by the numbers of their first results.
Lines = dict[int, engine.Origin | None]
# Launches kept for `explain`; those of unrolled networks take a megabyte each.
_KEPT: Final = 16
_RECORDED: Final = "; recorded at "


@final
class LinedSegment(Segment):
    """A segment that also notes where in the user's code each instruction was recorded.

    Attributes:
        lines: where.
    """

    __slots__ = ("lines",)

    def __init__(self, ctx: Context, limit: int) -> None:
        super().__init__(ctx, limit)
        self.lines: Lines = {}

    def append(
        self, call: Call, values: Sequence[Value], scalars: tuple[Any, ...], types: Types
    ) -> list[Value] | None:
        """Adds one instruction; see `Segment.append`."""
        made = super().append(call, values, scalars, types)
        if made:
            self.lines[made[0].index] = engine.caller_origin(2)
        return made

    def append_one(
        self, call: Call, values: Sequence[Value], scalars: tuple[Any, ...], type: TensorType
    ) -> Value | None:
        """Adds one instruction; see `Segment.append_one`."""
        made = super().append_one(call, values, scalars, type)
        if made is not None:
            self.lines[made.index] = engine.caller_origin(2)
        return made


@final
class Launch:
    """One launch of a segment.

    Attributes:
        code: the structure that ran.
        scalars: the numbers its instructions took.
        lines: where these were recorded; empty when nobody listened.
        origin: what made it run; None when nobody listened.
        how: how it ran; empty when nobody listened.
    """

    # No __slots__: most launches keep the defaults, and one is made for each.
    lines: Mapping[int, engine.Origin | None] = {}
    origin: engine.Origin | None = None
    how = ""

    def __init__(self, code: Code, scalars: list[Any]) -> None:
        self.code = code
        self.scalars = scalars


#: The last launches, oldest first.
launches: Final[deque[Launch]] = deque(maxlen=_KEPT)


class _Thread(threading.local):
    """What has happened in the launch that this thread is in; None outside."""

    events: list[str] | None = None


class _Listeners:
    """How many want lines, and who gets every launch."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.count = 0
        self.collectors: list[Callable[[Launch], None]] = []


_thread: Final = _Thread()
_listeners: Final = _Listeners()


def listen() -> None:
    """Has lines noted from now on, in segments that are begun."""
    with _listeners.lock:
        _listeners.count += 1
        if _listeners.count == 1:
            observe.listen(_on_event)


def unlisten() -> None:
    """Takes back one `listen`."""
    with _listeners.lock:
        _listeners.count -= 1
        if not _listeners.count:
            observe.unlisten(_on_event)


def is_listening() -> bool:
    """Whether lines are noted."""
    return _listeners.count > 0


@contextmanager
def collecting(collect: Callable[[Launch], None]) -> Iterator[None]:
    """A block in which somebody is given each launch as it begins, with its lines."""
    listen()
    _listeners.collectors.append(collect)
    try:
        yield
    finally:
        _listeners.collectors.remove(collect)
        unlisten()


def new_segment(ctx: Context, limit: int) -> Segment:
    """Returns a segment, which notes lines if somebody wants them."""
    return LinedSegment(ctx, limit) if _listeners.count else Segment(ctx, limit)


def _on_event(kind: str, what: Code | str, start: int, end: int) -> None:
    if _thread.events is not None:
        _thread.events.append(kind)


# -- launches --------------------------------------------------------------------------------------


def run(segment: Segment, code: Code, inputs: list[Any]) -> Sequence[Any]:
    """Runs the program of a segment, and notes that.

    Args:
        segment: whose.
        code: its structure.
        inputs: see `ProgramCache.run`.

    Returns:
        The outputs; an error among them says where its instruction was recorded, if that is known.
    """
    one = Launch(code, segment.scalars)
    launches.append(one)
    if not _listeners.count:
        return cache.run(code, inputs, one.scalars)
    one.lines = lines_of(segment)
    one.origin = engine.caller_origin(2)
    for collect in tuple(_listeners.collectors):
        collect(one)
    state = cache.state(code)
    outer, _thread.events = _thread.events, []
    try:
        outputs = cache.run(code, inputs, one.scalars)
        one.how = _how(state is not None and state.compiled, _thread.events)
    except Exception:
        one.how = "failed"
        raise
    finally:
        _thread.events = outer
    for output in outputs:
        if type(output) is Failed and output.result is not None:
            _locate(output, one.lines)
    return outputs


def _how(compiled: bool, events: Sequence[str]) -> str:
    """Says how a launch ran, from what happened in it and whether it was compiled before."""
    compilations = events.count("compile")
    if "steps" in events:
        first = f", {compilations} of them compiled first" if compilations else ""
        return f"run one by one{first}"
    if compilations:
        return "compiled, then one dispatch"
    return "hot, one dispatch" if compiled else "read from disk, then one dispatch"


def _locate(failed: Failed, lines: Mapping[int, engine.Origin | None]) -> None:
    """Adds to an error where what failed was recorded."""
    place = ranges([lines.get(failed.result)]) if failed.result is not None else ""
    failed.result = None  # several outputs may have failed of one cause
    if place:
        failed.error.args = (f"{failed.error}{_RECORDED}{place}",)


# -- lines -----------------------------------------------------------------------------------------


def lines_of(segment: Segment) -> Lines:
    """Returns where a segment's instructions were recorded, as far as that was noted."""
    return segment.lines if type(segment) is LinedSegment else {}


def where(segment: Segment) -> str:
    """Returns ``; recorded at train.py:12`` for a message; empty where that was not noted."""
    places = ranges(lines_of(segment).values())
    return f"{_RECORDED}{places}" if places else ""


def recorded_at(code: Code) -> str:
    """Returns where a structure was recorded that was launched of late; empty if not known."""
    for one in reversed(launches.copy()):
        if one.code is code:
            return ranges(one.lines.values())
    return ""


def ranges(origins: Iterable[engine.Origin | None]) -> str:
    """Returns places as text: ``train.py:12-15, 20, model.py:7``; empty where none is known."""
    found: dict[str, set[int]] = {}
    for place in map(engine.resolve_origin, dict.fromkeys(tuple(origins))):
        if place is not None:
            found.setdefault(place[0], set()).add(place[1])
    texts = []
    for file, numbers in found.items():
        spans: list[list[int]] = []
        for number in sorted(numbers):
            if spans and number == spans[-1][1] + 1:
                spans[-1][1] = number
            else:
                spans.append([number, number])
        texts.append(f"{file}:" + ", ".join(f"{a}" if a == b else f"{a}-{b}" for a, b in spans))
    return ", ".join(texts)


def _after_fork_in_child() -> None:
    _listeners.lock = threading.RLock()
    launches.clear()


if config.explain():
    listen()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
