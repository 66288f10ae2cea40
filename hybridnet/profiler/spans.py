"""The profiler's records, as events in rows, as sums, as a table, and as a Chrome trace."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from hybridnet import engine

__all__ = ["COLUMNS", "Record", "Span", "chrome_trace", "events_of", "statistics", "table"]

# The names of the engine's threads: this, and their lane.
_WORKER_THREAD: Final = "hybridnet-"
_TITLES: Final = {
    "task": "Engine tasks",
    "program": "Program launches",
    "host": "Operators by NumPy",
    "device": "Programs on devices",
    "steps": "Launches instruction by instruction",
    "compile": "Compilations",
    "wait": "Waits for values",
    "user": "The user's tasks, frames and events",
}
#: The columns that `dumps` shows and sorts by: the heading and the width of its column.
COLUMNS: Final = {
    "count": ("Count", 10),
    "total": ("Total", 14),
    "min": ("Min", 12),
    "max": ("Max", 12),
    "avg": ("Avg", 12),
}
_NAME_WIDTH: Final = 56
# How far a marker's line reaches, as the format has it: through all, one process, or one row.
_SIGNS: Final = {"global": "g", "process": "p"}


@dataclass(frozen=True, slots=True)
class Span:
    """Something that took time.

    Attributes:
        kind: "task", "program", "device", "steps", "compile" or "wait"; what the user recorded is
            "user", "counter" or "marker".
        name: of the task or the program, or the type of the value.
        row: the thread, as a row of a picture; events of one row lie beside or within each other.
        start: microseconds since the profiler first ran.
        duration: microseconds.
        facts: "line", where the user's code asked for it, like "train.py:12"; "lane" and "failed"
            of a task; "instructions", "device" and "recorded" (the lines) of a program; "what",
            "domain", "value" and "scope" of what the user recorded.
    """

    kind: str
    name: str
    row: str
    start: float
    duration: float
    facts: Mapping[str, Any]


class Record(NamedTuple):
    """An event as it comes in; times in nanoseconds of `perf_counter_ns`."""

    kind: str
    name: str
    thread: tuple[int, str]
    start: int
    end: int
    facts: Mapping[str, Any]
    origin: engine.Origin | None = None


def events_of(records: Sequence[Record], origin: int) -> list[Span]:
    """Returns the records as events, by start; of two that start together the longer comes first.

    The zero of the events' times is `origin`, in nanoseconds.
    """
    ordered = sorted(records, key=lambda record: (record.start, -record.end))
    lines = {record.origin: _line(record.origin) for record in ordered}
    return [
        Span(
            record.kind,
            record.name,
            row,
            (record.start - origin) / 1e3,
            (record.end - record.start) / 1e3,
            {**record.facts, **lines[record.origin]},
        )
        for record, row in zip(ordered, _rows(ordered), strict=True)
    ]


def _line(origin: engine.Origin | None) -> dict[str, str]:
    place = engine.resolve_origin(origin)
    return {} if place is None else {"line": f"{place[0]}:{place[1]}"}


def _rows(records: Sequence[Record]) -> list[str]:
    """Names the row of each record; the records are ordered by start, the longer first.

    A row is a thread. Tasks that end by a callback may overlap others of the thread they ended in:
    these get a row beside it, since in one row spans must follow or contain each other.
    """
    rows: list[str] = []
    # By thread, for each of its rows the ends of the spans that the next one may lie within.
    open_spans: dict[tuple[int, str], list[list[int]]] = {}
    labels: dict[tuple[tuple[int, str], int], str] = {}
    used: dict[str, int] = {}
    for record in records:
        beside = open_spans.setdefault(record.thread, [])
        for ends in beside:
            while ends and ends[-1] <= record.start:
                ends.pop()
        number = next(
            (i for i, ends in enumerate(beside) if not ends or record.end <= ends[-1]), len(beside)
        )
        if number == len(beside):
            beside.append([])
        beside[number].append(record.end)
        place = (record.thread, number)
        if place not in labels:
            name = record.thread[1].removeprefix(_WORKER_THREAD)
            used[name] = used.get(name, 0) + 1
            labels[place] = name if used[name] == 1 else f"{name} {used[name]}"
        rows.append(labels[place])
    return rows


Statistics = dict[str, dict[str, dict[str, float]]]


def statistics(events: Sequence[Span], sort_by: str, ascending: bool) -> Statistics:
    """Sums up events: kind -> name -> count and times in milliseconds."""
    times: dict[str, dict[str, list[float]]] = {}
    for event in events:
        name = f"{event.facts['domain']}: {event.name}" if "domain" in event.facts else event.name
        times.setdefault(event.kind, {}).setdefault(name, []).append(event.duration / 1e3)
    result: Statistics = {}
    for kind in _TITLES:
        rows = {
            name: {
                "count": len(found),
                "total": sum(found),
                "min": min(found),
                "max": max(found),
                "avg": sum(found) / len(found),
            }
            for name, found in times.get(kind, {}).items()
        }
        if rows:
            result[kind] = dict(
                sorted(rows.items(), key=lambda row: row[1][sort_by], reverse=not ascending)
            )
    return result


def table(sums: Statistics) -> str:
    """Returns the sums as text, a table for each kind."""
    lines = ["", "Profile Statistics (times in ms)"]
    for kind, rows in sums.items():
        title = _TITLES[kind]
        heads = "".join(f"{head:>{width}}" for head, width in COLUMNS.values())
        lines += ["", title, "=" * len(title), f"{'Name':<{_NAME_WIDTH}}{heads}"]
        for name, row in rows.items():
            cells = "".join(
                f"{row[key]:>{width}}" if key == "count" else f"{row[key]:>{width}.4f}"
                for key, (_, width) in COLUMNS.items()
            )
            lines.append(f"{name:<{_NAME_WIDTH}}{cells}")
    return "\n".join(lines) + "\n"


def chrome_trace(events: Sequence[Span]) -> dict[str, Any]:
    """Returns the trace in Chrome's Trace Event Format, which Perfetto reads.

    It holds complete events ("X"), the user's counters ("C") and markers ("i"), and names of rows.
    What devices did is in a group of rows for each device (a process, in the format's words): a
    row for each thread that had it do something.
    """
    host = os.getpid()
    processes: dict[str, int] = {}
    numbers: dict[str, int] = {}
    used: dict[tuple[int, int], str] = {}
    spans = []
    for span in events:
        process = host
        if span.kind == "device":
            device = span.facts["device"]
            process = processes.setdefault(device, host + 1 + len(processes))
        row = numbers.setdefault(span.row, len(numbers))
        used[process, row] = span.row
        event = {
            "ph": "X",
            "name": span.name,
            "cat": span.facts.get("domain", span.kind),
            "ts": span.start,
            "pid": process,
            "tid": row,
            "args": dict(span.facts),
        }
        if span.kind == "counter":
            event |= {"ph": "C", "args": {span.name: span.facts["value"]}}
        elif span.kind == "marker":
            event |= {"ph": "i", "s": _SIGNS.get(span.facts["scope"], "t")}
        else:
            event["dur"] = span.duration
        spans.append(event)
    names = []
    ordered = {host: "hybridnet"} | {processes[thread]: thread for thread in sorted(processes)}
    for order, (process, name) in enumerate(ordered.items()):
        names += _labels("process", name, order, {"pid": process})
    for (process, row), name in used.items():
        names += _labels("thread", name, row, {"pid": process, "tid": row})
    return {"traceEvents": names + spans, "displayTimeUnit": "ms"}


def _labels(what: str, name: str, order: int, place: Mapping[str, int]) -> list[dict[str, Any]]:
    """Returns the events that name a process or thread, and say where it stands."""
    values = {f"{what}_name": {"name": name}, f"{what}_sort_index": {"sort_index": order}}
    return [{"ph": "M", "name": key, **place, "args": value} for key, value in values.items()]
