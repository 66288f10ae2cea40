"""The profiler's records, and the same as events in rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, final

from hybridnet import engine
from hybridnet.runtime.watching import MeshLaunch

# The names of the engine's threads: this, and their lane.
_WORKER_THREAD: Final = "hybridnet-"


@dataclass(frozen=True, slots=True)
class Span:
    """Something that took time.

    Attributes:
        kind: "task", "program", "host", "device", "collective" (of a device of a mesh), "steps",
            "compile", "wait", "custom" (the code of an operator written in Python), "message" (a
            key-value store's, until its answer, or a copy between devices), "transfer" (a tensor of
            another task) or "dropped" (operators whose results nobody wanted); of what the user
            recorded "user", "counter" or "marker"; "memory" is how much was in use, where that was
            asked for.
        name: of the task or the program, or the type of the value.
        row: the thread, as a row of a picture; events of one row lie beside or within each other.
        start: microseconds since the profiler first ran.
        duration: microseconds.
        facts: "line", where the user's code asked for it, like "train.py:12"; "lane" and "failed"
            of a task; of a message the fields of `hybridnet.kvstore.traffic.Exchange`, but for its
            times; "instructions", "device" and "recorded" (the lines) of a program, and of one on a
            mesh "collectives", what its devices tell each other; "what", "domain", "value" and
            "scope" of what the user recorded.
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
    """An event as it comes in; times in nanoseconds of `perf_counter_ns`.

    What devices of a mesh told each other in it is read when it is asked for, which takes time.
    """

    kind: str
    name: str
    thread: tuple[int, str]
    start: int
    end: int
    facts: Mapping[str, Any]
    origin: engine.Origin | None = None
    operators: tuple[str, ...] = ()
    on_mesh: MeshLaunch | None = None


def events_of(records: Sequence[Record], origin: int, rows: Rows | None = None) -> list[Span]:
    """Returns the records as events, by start; of two that start together the longer comes first.

    Args:
        records: in any order.
        origin: the zero of the events' times, in nanoseconds.
        rows: those of earlier records, where these continue them.
    """
    rows = Rows() if rows is None else rows
    ordered = sorted(records, key=lambda record: (record.start, -record.end))
    lines = {origin: _line(origin) for origin in {record.origin for record in ordered}}
    return [
        Span(
            record.kind,
            record.name,
            rows.of(record),
            (record.start - origin) / 1000,  # not 1e3: today's nanoseconds are no float
            (record.end - record.start) / 1000,
            {**record.facts, **_collectives(record), **lines[record.origin]},
            record.operators,
        )
        for record in ordered
    ]


def _collectives(record: Record) -> dict[str, list[str]]:
    words = [] if record.on_mesh is None else record.on_mesh.words()
    return {"collectives": words} if words else {}


def _line(origin: engine.Origin | None) -> dict[str, str]:
    place = engine.resolve_origin(origin)
    return {} if place is None else {"line": f"{place[0]}:{place[1]}"}


@final
class Rows:
    """The rows of records that come ordered by start, the longer first.

    A row is a thread. Tasks that end by a callback may overlap others of the thread they ended in:
    these get a row beside it, since in one row spans must follow or contain each other.
    """

    def __init__(self) -> None:
        # By thread, for each of its rows the ends of the spans that the next one may lie within.
        self._open: dict[tuple[int, str], list[list[int]]] = {}
        self._labels: dict[tuple[tuple[int, str], int], str] = {}
        self._used: dict[str, int] = {}

    def of(self, record: Record) -> str:
        """Returns the name of the next record's row."""
        beside = self._open.setdefault(record.thread, [])
        for ends in beside:
            while ends and ends[-1] <= record.start:
                ends.pop()
        number = 0
        while number < len(beside) and beside[number] and record.end > beside[number][-1]:
            number += 1
        if number == len(beside):
            beside.append([])
        beside[number].append(record.end)
        place = (record.thread, number)
        if place not in self._labels:
            name = record.thread[1].removeprefix(_WORKER_THREAD)
            used = self._used[name] = self._used.get(name, 0) + 1
            self._labels[place] = name if used == 1 else f"{name} {used}"
        return self._labels[place]
