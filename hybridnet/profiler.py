"""`profiler`: what ran when, as a table, as data, and as a trace for Perfetto or chrome://tracing.

    hn.profiler.set_config(filename="trace.json")
    hn.profiler.set_state("run")
    train()
    hn.profiler.set_state("stop")
    print(hn.profiler.dumps())
    hn.profiler.dump()

or, for one block, ``with hn.profiler.profile("trace.json"): train()``.

Recorded are the engine's tasks, launches of programs, compilations, and waits for values. A launch
only hands a program to its device: its span is what that cost the thread, while the computing goes
on beside it and shows as the wait of whoever needs the result.
"""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Any, Final, final

from hybridnet import engine
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.base.files import atomic_write
from hybridnet.runtime import observe

from ._profile_events import COLUMNS, Record, chrome_trace, events_of, statistics, table
from ._profile_events import Span as Span

__all__ = [
    "Span",
    "dump",
    "dumps",
    "events",
    "pause",
    "profile",
    "resume",
    "set_config",
    "set_state",
]

# Events kept; the oldest go first. A training step makes about ten, a record takes 300 bytes.
_CAPACITY: Final = 1 << 18
_FILENAME: Final = "profile.json"
#: MXNet's other settings. All kinds of events are always recorded, and written only by `dump`.
_ACCEPTED: Final = frozenset(
    {
        "aggregate_stats",
        "continuous_dump",
        "dump_period",
        "profile_all",
        "profile_api",
        "profile_imperative",
        "profile_memory",
        "profile_process",
        "profile_symbolic",
    }
)


@final
class _Profiler:
    """The process's profiler. Records come from many threads: a deque's append is atomic."""

    def __init__(self) -> None:
        self.filename: str | os.PathLike[str] = _FILENAME
        self.records: deque[Record] = deque(maxlen=_CAPACITY)
        # When it first ran: the zero of all times shown.
        self.origin = 0
        self.running = False
        self.paused = False
        # What is recorded has been written for good: the next run starts anew.
        self.finished = False

    def set_running(self, running: bool) -> None:
        if running and self.finished:
            self.records.clear()
            self.finished = False
        self.running = running
        self._listen()

    def set_paused(self, paused: bool) -> None:
        self.paused = paused
        self._listen()

    def _listen(self) -> None:
        listening = self.running and not self.paused
        if listening and not self.origin:
            self.origin = perf_counter_ns()
        if listening or observe.observer is not None:
            observe.observer = self._on_event if listening else None
            engine.set_observer(self._on_task if listening else None)

    def _on_event(
        self, kind: str, name: str, start: int, end: int, facts: Mapping[str, Any]
    ) -> None:
        one = threading.current_thread()
        self.records.append(Record(kind, name, (one.ident or 0, one.name), start, end, facts))

    def _on_task(
        self, kind: str, name: str, lane: str, start: int, end: int, origin: engine.Origin | None
    ) -> None:
        self._on_event("task", name, start, end, {"lane": lane, "failed": kind == "failed"})

    def reset_after_fork(self) -> None:
        """In a forked child: what was recorded is the parent's to write."""
        self.records.clear()
        self.set_running(False)

    def events(self) -> list[Span]:
        return events_of(list(self.records.copy()), self.origin)


_profiler: Final = _Profiler()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_profiler.reset_after_fork)


# -- MXNet's functions -----------------------------------------------------------------------------


def set_config(**kwargs: Any) -> None:
    """Sets up the profiler.

    Args:
        **kwargs: filename, where `dump` writes (default profile.json). MXNet's others
            (profile_all, aggregate_stats, ...) are accepted: all kinds of events are recorded, and
            `dumps` can always sum them up.

    Raises:
        ParameterError: there is no such setting.
    """
    filename = kwargs.pop("filename", None)
    unknown = sorted(set(kwargs) - _ACCEPTED)
    if unknown:
        known = ", ".join(sorted({"filename", *_ACCEPTED}))
        raise ParameterError(f"set_config: has no {', '.join(unknown)}; known are {known}")
    if filename is not None:
        _profiler.filename = filename


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """Starts ('run') or ends ('stop') recording. What was recorded before stays, unless dumped.

    Args:
        state: 'run' or 'stop'.
        profile_process: 'worker': there are no server processes.

    Raises:
        ParameterError: an argument is none of these.
    """
    _check_process("set_state", profile_process)
    if state not in ("run", "stop"):
        raise ParameterError(f"set_state: state must be 'run' or 'stop', got {state!r}")
    _profiler.set_running(state == "run")


def pause(profile_process: str = "worker") -> None:
    """Records nothing until `resume`, while the state stays 'run'."""
    _check_process("pause", profile_process)
    _profiler.set_paused(True)


def resume(profile_process: str = "worker") -> None:
    """Ends a `pause`."""
    _check_process("resume", profile_process)
    _profiler.set_paused(False)


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Writes what was recorded to the file of `set_config`, as Chrome trace JSON.

    Open it in https://ui.perfetto.dev or chrome://tracing. The file appears whole or not at all.

    Args:
        finished: end recording; the next run starts anew.
        profile_process: 'worker'.

    Raises:
        OSError: the file cannot be written.
    """
    _check_process("dump", profile_process)
    if finished:
        _profiler.set_running(False)
        _profiler.finished = True
    text = json.dumps(chrome_trace(_profiler.events()))
    with atomic_write(_profiler.filename) as file:
        file.write(text.encode())


def dumps(
    reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False
) -> str:
    """Returns counts and times in milliseconds, by kind and name.

    Args:
        reset: forget the events then.
        format: 'table' or 'json'.
        sort_by: 'total', 'avg', 'min', 'max' or 'count'.
        ascending: the smallest first.

    Raises:
        ParameterError: `format` or `sort_by` is none of these.
    """
    if format not in ("table", "json"):
        raise ParameterError(f"dumps: format must be 'table' or 'json', got {format!r}")
    if sort_by not in COLUMNS:
        raise ParameterError(f"dumps: sort_by must be one of {', '.join(COLUMNS)}, got {sort_by!r}")
    sums = statistics(_profiler.events(), sort_by, ascending)
    text = json.dumps(sums, indent=2) if format == "json" else table(sums)
    if reset:
        _profiler.records.clear()
    return text


def _check_process(function: str, profile_process: str) -> None:
    if profile_process != "worker":
        raise ParameterError(
            f"{function}: profile_process must be 'worker' (stores run in this process, there are "
            f"no servers), got {profile_process!r}"
        )


# -- beyond MXNet ----------------------------------------------------------------------------------


def events() -> list[Span]:
    """Returns what was recorded, by start; where there is too much, the last 262,144 events."""
    return _profiler.events()


@contextmanager
def profile(filename: str | os.PathLike[str] | None = None) -> Iterator[None]:
    """Records what happens in the block, and nothing from before it.

    The block's work may still be pending when it ends; `waitall` in it makes it whole.

    Args:
        filename: where to write the trace when the block ends well; None writes none.

    Raises:
        MXNetError: the profiler is running already.
        OSError: the file cannot be written.
    """
    if _profiler.running:
        raise MXNetError("profile: the profiler is running already; call set_state('stop') first")
    _profiler.finished = True
    _profiler.set_running(True)
    try:
        yield
    finally:
        _profiler.set_running(False)
    if filename is not None:
        set_config(filename=filename)
        dump()
