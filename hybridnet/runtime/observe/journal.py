"""The journal: the last launches, and the lines of the user's code that recorded them.

Each launch is noted always: the journal keeps a small object for each of the last few, with the
structure and without arrays. Where the instructions were recorded and how they ran is noted only
while somebody has asked for it (`explaining`, the profiler, HYBRIDNET_EXPLAIN=1), which the
recorder and the launches see by `listeners.count`.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Final, NamedTuple, final

from hybridnet import engine
from hybridnet.base import config
from hybridnet.engine import RLock

from ..segments.code import Code
from . import events

#: Where instructions were recorded, by the numbers of their first results.
Lines = dict[int, engine.Origin | None]
# Launches kept for `explain`; those of unrolled networks take a megabyte each.
_KEPT_LAUNCHES: Final = 16


class Happening(NamedTuple):
    """An event in a launch: its kind (see `events`), and the seconds it took."""

    kind: str
    seconds: float


@final
class Launch:
    """One launch of a segment.

    Attributes:
        code: the structure that was recorded.
        ran: the one that ran in its place, where launches are asked something; None: itself.
        answers: what that tells about, in words.
        scalars: the numbers its instructions took.
        lines: where these were recorded; empty when nobody listened.
        origin: what made it run; None when nobody listened.
        how: how it ran; empty when nobody listened.
        seconds: how long the launch took; None when nobody listened.
        events: what happened in it, in order of its end; empty when nobody listened.
    """

    # No __slots__: most launches keep the defaults, and one is made for each.
    ran: Code | None = None
    answers = ""
    lines: Mapping[int, engine.Origin | None] = {}
    origin: engine.Origin | None = None
    how = ""
    seconds: float | None = None
    events: Sequence[Happening] = ()

    def __init__(self, code: Code, scalars: list[float]) -> None:
        self.code = code
        self.scalars = scalars


#: The last launches, oldest first.
launches: Final[deque[Launch]] = deque(maxlen=_KEPT_LAUNCHES)


class _Happening(threading.local):
    """The note of the launch that this thread is in; None outside."""

    events: list[Happening] | None = None


class _Listeners:
    """The listeners.

    Attributes:
        count: how many want to know how launches ran.
        lines: how many want lines; those who want the former, too.
        collectors: get every launch.
    """

    __slots__ = ("collectors", "count", "lines", "lock")

    def __init__(self) -> None:
        self.lock = RLock()
        self.count = self.lines = 0
        self.collectors: list[Callable[[Launch], None]] = []


_thread: Final = _Happening()
#: Read by who launches; a look at `count` is all that it costs where nobody listens.
listeners: Final = _Listeners()


def note_lines(change: int) -> None:
    """Notes that one more wants lines, in the segments that are begun from now on (-1: one less).

    How launches run is not noted for it, which would cost more.
    """
    with listeners.lock:
        listeners.lines += change


def listen() -> None:
    """Starts noting lines, and how launches run."""
    with listeners.lock:
        listeners.lines += 1
        listeners.count += 1
        if listeners.count == 1:
            events.listen(_on_event)


def unlisten() -> None:
    """Takes back one `listen`."""
    with listeners.lock:
        listeners.lines -= 1
        listeners.count -= 1
        if not listeners.count:
            events.unlisten(_on_event)


def is_listening() -> bool:
    """Whether lines are noted."""
    return listeners.count > 0


@contextmanager
def collecting(collect: Callable[[Launch], None]) -> Iterator[None]:
    """A block in which somebody is given each launch as it begins, with its lines."""
    listen()
    listeners.collectors.append(collect)
    try:
        yield
    finally:
        listeners.collectors.remove(collect)
        unlisten()


def _on_event(kind: str, what: Code | str, start: int, end: int) -> None:
    if _thread.events is not None:
        _thread.events.append(Happening(kind, (end - start) / 1e9))


@final
class Watching:
    """A block that is one launch: it says what is noted of it while somebody listens.

    `lines` are where its instructions were recorded; `compiled`, whether it had a program before.
    """

    __slots__ = ("_begun", "_compiled", "_launch", "_outer")

    def __init__(self, launch: Launch, lines: Lines, compiled: bool) -> None:
        self._launch = launch
        self._compiled = compiled
        self._outer: list[Happening] | None = None
        self._begun = 0
        launch.lines = lines
        launch.origin = engine.caller_origin(2)

    def __enter__(self) -> None:
        for collect in tuple(listeners.collectors):
            collect(self._launch)
        self._outer, _thread.events = _thread.events, []
        self._begun = perf_counter_ns()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        happened, _thread.events = _thread.events, self._outer
        self._launch.seconds = (perf_counter_ns() - self._begun) / 1e9
        self._launch.events = happened or ()
        if kind is None:
            far = self._launch.code.ctx.is_accelerator
            kinds = [event.kind for event in happened or ()]
            self._launch.how = _how(self._compiled, kinds, ", on the host" if far else "")
        elif issubclass(kind, Exception):
            self._launch.how = "failed"


def _how(compiled: bool, events: Sequence[str], where: str) -> str:
    """Says how a launch ran, from what happened in it and whether it was compiled before."""
    compilations, by_numpy = events.count("compile"), events.count("host")
    if "steps" in events:
        first = f", {compilations} of them compiled first" if compilations else ""
        host = f", {by_numpy} of them by NumPy{where}" if by_numpy else ""
        return f"run one by one{host}{first}"
    if by_numpy:
        return f"run by NumPy{where}"
    if "device" in events and "program" not in events:
        return "run by the device's kernels"
    if compilations:
        return "compiled, then one dispatch"
    return "hot, one dispatch" if compiled else "read from disk, then one dispatch"


def lines_of(code: Code) -> Mapping[int, engine.Origin | None]:
    """Returns where a structure was recorded that was launched of late; empty if not known."""
    for launch in reversed(launches.copy()):
        if launch.code is code:
            return launch.lines
    return {}


def recorded_at(code: Code) -> str:
    """Returns the same as text."""
    return ranges(lines_of(code).values())


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
    listeners.lock = RLock()
    launches.clear()


if config.explain():
    listen()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
