"""The profiler's records, as events in rows, and as a Chrome trace."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from hybridnet import engine

__all__ = ["Record", "Span", "chrome_trace", "events_of"]

# The names of the engine's threads: this, and their lane.
_WORKER_THREAD: Final = "hybridnet-"
# How far a marker's line reaches, as the format has it: through all, one process, or one row.
_SIGNS: Final = {"global": "g", "process": "p"}


@dataclass(frozen=True, slots=True)
class Span:
    """Something that took time.

    Attributes:
        kind: "task", "program", "host", "device", "steps", "compile", "wait", "custom" (the code of
            an operator written in Python) or "dropped" (operators whose results nobody wanted); of
            what the user recorded "user", "counter" or "marker"; "memory" is how much was in use,
            where that was asked for.
        name: of the task or the program, or the type of the value.
        row: the thread, as a row of a picture; events of one row lie beside or within each other.
        start: microseconds since the profiler first ran.
        duration: microseconds.
        facts: "line", where the user's code asked for it, like "train.py:12"; "lane" and "failed"
            of a task; "instructions", "device" and "recorded" (the lines) of a program; "what",
            "domain", "value" and "scope" of what the user recorded.
        operators: the operators that ran, or were to run, in order; they are not in traces.
    """

    kind: str
    name: str
    row: str
    start: float
    duration: float
    facts: Mapping[str, Any]
    operators: tuple[str, ...] = ()


class Record(NamedTuple):
    """An event as it comes in; times in nanoseconds of `perf_counter_ns`."""

    kind: str
    name: str
    thread: tuple[int, str]
    start: int
    end: int
    facts: Mapping[str, Any]
    origin: engine.Origin | None = None
    operators: tuple[str, ...] = ()


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
            record.operators,
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
        if span.kind == "dropped":
            continue
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
        if span.kind in ("counter", "memory"):
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
