"""Starts, stops and reads the profiler: MXNet's functions, and two beyond."""

from __future__ import annotations

import atexit
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.base.html_page import HtmlPage

from .spans import Span
from .state import profiler
from .sums import COLUMNS, table
from .timeline import timeline_page
from .traffic import messages_of, messages_of_trace, traffic_page

_KNOWN: Final = frozenset(
    {"continuous_dump", "filename", "profile_memory", "trace_devices", "wait_for_programs"}
)
#: MXNet's other settings. All kinds of events are always recorded, and written only by `dump`, or
#: as the process ends.
_ACCEPTED: Final = frozenset(
    {
        "aggregate_stats",
        "dump_period",
        "profile_all",
        "profile_api",
        "profile_imperative",
        "profile_process",
        "profile_symbolic",
    }
)


def set_config(**kwargs: Any) -> None:
    """Sets up the profiler.

    Args:
        **kwargs: filename, where `dump` writes (default profile.json). continuous_dump, whether
            each `dump` adds what is new to that file (default False: it writes all anew); nothing
            is written in between. profile_memory (or profile_all), whether the memory in use is
            noted at each launch. wait_for_programs, whether each launch waits for its program, so
            that the trace has the times of devices (default False). trace_devices, whether XLA
            notes when each device of a mesh is at work, and on which collective, from the next
            start on (default False; CPUs only). MXNet's others
            (profile_imperative, aggregate_stats, ...) are accepted: all kinds of events are
            recorded, and `dumps` can always sum them up.

    Raises:
        ParameterError: there is no such setting.
    """
    filename = kwargs.pop("filename", None)
    waits = kwargs.pop("wait_for_programs", None)
    traces = kwargs.pop("trace_devices", None)
    continuous = kwargs.pop("continuous_dump", None)
    memory = kwargs.pop("profile_memory", kwargs.get("profile_all"))
    unknown = sorted(set(kwargs) - _ACCEPTED)
    if unknown:
        known = ", ".join(sorted(_KNOWN | _ACCEPTED))
        raise ParameterError(f"set_config: has no {', '.join(unknown)}; known are {known}")
    if filename is not None or continuous is not None:
        grows = profiler.growing is not None if continuous is None else bool(continuous)
        profiler.set_file(profiler.filename if filename is None else filename, grows)
    if memory is not None:
        profiler.notes_memory = bool(memory)
    if traces is not None:
        profiler.traces_devices = bool(traces)
    if waits is not None:
        profiler.set_waiting(bool(waits))


def set_state(state: str = "stop", profile_process: str = "worker") -> None:
    """Starts ('run') or ends ('stop') recording.

    As MXNet's, a run goes on with what there is: runs add up in `dumps`, in `events` and in the
    pages, also a run after a `profile`. It begins anew after a `dump` that ends recording, which
    has written all, and after ``dumps(reset=True)``; `profile` always begins anew. What has not
    been dumped when the process ends is written then, as `dump` does.

    Args:
        state: 'run' or 'stop'.
        profile_process: 'worker': servers record nothing; see `traffic` for what they answer.

    Raises:
        ParameterError: an argument is none of these.
    """
    _check_process("set_state", profile_process)
    if state not in ("run", "stop"):
        raise ParameterError(f"set_state: state must be 'run' or 'stop', got {state!r}")
    profiler.set_running(state == "run")
    if state == "run":
        profiler.due = True


def pause(profile_process: str = "worker") -> None:
    """Records nothing until `resume`, or until the next run, while the state stays 'run'."""
    _check_process("pause", profile_process)
    profiler.set_paused(True)


def resume(profile_process: str = "worker") -> None:
    """Ends a `pause`."""
    _check_process("resume", profile_process)
    profiler.set_paused(False)


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Writes what was recorded to the file of `set_config`, as Chrome trace JSON.

    Open it in https://ui.perfetto.dev or chrome://tracing. The file appears whole or not at all;
    with continuous_dump the next dumps add to it, until one has finished.

    Args:
        finished: end recording; the next run starts anew.
        profile_process: 'worker'.

    Raises:
        OSError: the file cannot be written.
    """
    _check_process("dump", profile_process)
    if finished:
        profiler.set_running(False)
        profiler.finished = True
    profiler.due = False
    profiler.dump()


def dumps(
    reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False
) -> str:
    """Returns counts, and times in milliseconds, of operators and other kinds of events.

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
    sums = profiler.sums.statistics(sort_by, ascending)
    text = json.dumps(sums, indent=2) if format == "json" else table(sums)
    if reset:
        profiler.clear()
    return text


def set_kvstore_handle(handle: Any) -> None:
    """Takes a key-value store and does nothing with it: what all stores send is recorded.

    Args:
        handle: anything.
    """


def _dump_what_is_due() -> None:
    """Writes, as the process ends, what was recorded for a dump that never came."""
    if profiler.due and profiler.records:
        dump()


atexit.register(_dump_what_is_due)


def _check_process(function: str, profile_process: str) -> None:
    if profile_process != "worker":
        raise ParameterError(
            f"{function}: profile_process must be 'worker' (servers record nothing; "
            f"profiler.traffic() shows what they answer), got {profile_process!r}"
        )


def events() -> list[Span]:
    """Returns the recorded spans, by start; where there is too much, the last 524,288 events."""
    return profiler.events()


def timeline() -> HtmlPage:
    """Returns what was recorded as a picture: a row for each thread, a bar for each event.

    Notebooks show it, ``.save("timeline.html")`` writes it as one file that any browser opens,
    without a network. Drag it or use the wheel with Ctrl, as on a map, or W, A, S and D; a click
    tells all that is known of a bar.
    """
    return timeline_page(profiler.events())


def traffic(*traces: str | os.PathLike[str]) -> HtmlPage:
    """Returns what key-value stores sent as a picture: who, to whom, how much, in which round.

    A click on an arrow, on a round or on a key shows what belongs to it alone. A worker of a
    distributed store records what it sends to servers and what they answer; a store in one process
    the copies between devices, of which there are none where there is one device. The 20,000 newest
    messages are shown.

    Args:
        traces: files that `dump` wrote, as of several workers: all are shown together, instead of
            what this process recorded.

    Returns:
        A page: notebooks show it, ``.save("traffic.html")`` writes it.

    Raises:
        OSError: a file cannot be read.
        ParameterError: a file is no trace.
    """
    if not traces:
        return traffic_page(messages_of(profiler.events()))
    return traffic_page([one for path in traces for one in messages_of_trace(path)])


@contextmanager
def profile(filename: str | os.PathLike[str] | None = None) -> Iterator[None]:
    """Records what happens in the block, and forgets what was recorded before it.

    That is where it differs from `set_state`, whose runs add up. Work of the block that is still
    pending when it ends is not recorded; call `waitall` at its end to record all of it.

    Args:
        filename: the file to which the trace is written if the block ends without an error; None
            writes none.

    Raises:
        MXNetError: the profiler is running already.
        OSError: the file cannot be written.
    """
    if profiler.running:
        raise MXNetError("profile: the profiler is running already; call set_state('stop') first")
    profiler.finished = True
    profiler.set_running(True)
    try:
        yield
    finally:
        profiler.set_running(False)
    if filename is not None:
        set_config(filename=filename)
        dump()
