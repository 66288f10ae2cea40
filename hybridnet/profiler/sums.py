"""The profiler's events summed up, as MXNet's `dumps` has them: data, and tables.

Operators are counted when they are called. Where several ran as one program, each has an equal part
of the program's time; one whose result nobody wanted took none.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from math import inf
from typing import Any, Final, final

from hybridnet.base.locks import free_in_children
from hybridnet.engine import RLock

from .spans import Record

#: The columns by the names that `dumps` sorts by: the heading and the width of its column.
COLUMNS: Final = {
    "count": ("Count", 10),
    "total": ("Total", 14),
    "min": ("Min", 12),
    "max": ("Max", 12),
    "avg": ("Avg", 12),
}
_NAME_WIDTH: Final = 56
_OPERATORS: Final = "operator"
_TOLD: Final = "Between devices of a mesh (kB a device)"
_CUSTOM: Final = "Custom Operator"
#: What is shown of each kind of event that is no operator's, by the order of the kinds.
_TITLES: Final = {
    _OPERATORS: "Operators",
    _CUSTOM: "Operators written in Python, and what they call",
    "task": "Engine tasks",
    "program": "Program launches",
    "device": "Programs on devices",
    "collective": "Collectives on devices of a mesh",
    "steps": "Launches instruction by instruction",
    "compile": "Compilations",
    "wait": "Waits for values",
    "transfer": "Tensors from other tasks, from the start of the step",
    "message": "Messages of key-value stores, and copies between devices",
    "event": "The user's events",
}
#: Events that run operators, and launches that such events lie within.
_RUNS: Final = frozenset({"program", "host", "dropped"})
_STEPS: Final = "steps"
#: Marks of a moment.
_UNTIMED: Final = frozenset({"counter", "marker"})
#: Launches that are remembered: more than one that runs instruction by instruction has.
_RECENT: Final = 1 << 12

#: "Time", "Memory" -> kind or domain -> name -> column -> number; and "Unit", theirs.
Statistics = dict[str, Any]


@final
class Sums:
    """Counts and times of what is recorded, kept up to date.

    Each record is summed up once, when `statistics` is asked for the next time, so that asking
    again and again costs no more than what is new. Records come from many threads: a deque's append
    is atomic.

    Args:
        capacity: how many records may wait to be summed up; the oldest go first.
    """

    def __init__(self, capacity: int) -> None:
        self.pending: deque[Record] = deque(maxlen=capacity)
        self._lock = free_in_children(RLock())
        self._times: dict[str, dict[str, _Sum]] = {}
        self._memory: dict[str, _Sum] = {}
        self._collectives: dict[str, _Sum] = {}
        self._launches: deque[Record] = deque(maxlen=_RECENT)
        self._until = 0  # when the last of those launches began

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            self.pending.clear()
            self._times.clear()
            self._memory.clear()
            self._collectives.clear()
            self._launches.clear()

    def statistics(self, sort_by: str, ascending: bool) -> Statistics:
        """Returns the sums so far.

        Args:
            sort_by: a column's name, see `COLUMNS`.
            ascending: the smallest first.

        Returns:
            "Time": of operators, of other kinds of events, and of the user's domains, the number
            and milliseconds of each name; "Memory": of each device how often that was noted and how
            much it was, in kilobytes; "Collectives", where a mesh has had any: of each name how
            often devices have told each other that, and kilobytes a device; "Unit": what they are
            in.
        """
        with self._lock:
            self._sum_up()
            columns = [heading for heading, _ in COLUMNS.values()]
            known = list(_TITLES)
            kinds = sorted(self._times, key=lambda kind: known.index(kind) if kind in known else 99)
            times = {kind: _rows(self._times[kind], columns) for kind in kinds}
            memory = _rows(self._memory, [column for column in columns if column != "Total"])
            told = _rows(self._collectives, columns)
        order = COLUMNS[sort_by][0], ascending
        return {
            "Time": {kind: _sorted(rows, *order) for kind, rows in times.items()},
            "Memory": {"Device Storage": _sorted(memory, *order)} if memory else {},
            **({"Collectives": {_TOLD: _sorted(told, *order)}} if told else {}),
            "Unit": {"Time": "ms", "Memory": "kB"} | ({"Collectives": "kB"} if told else {}),
        }

    def _sum_up(self) -> None:
        records = [self.pending.popleft() for _ in range(len(self.pending))]
        records = [record for record in records if record.kind not in _UNTIMED]
        records.sort(key=lambda record: (record.start, -record.end))
        for record in records:
            if record.kind == "memory":
                self._memory.setdefault(record.name, _Sum()).add(record.facts["value"])
            elif record.kind not in ("host", "dropped"):
                kind = {"custom": _CUSTOM, "user": record.facts.get("domain", "event")}
                self._add(kind.get(record.kind, record.kind), record.name, _milliseconds(record))
            if record.kind == "program" and record.on_mesh is not None:
                for one in record.on_mesh.collectives():
                    name = record.on_mesh.name_of(one)
                    self._collectives.setdefault(name, _Sum()).add(one.nbytes / 1024)
        for group, name, time in self._operators(records):
            self._add(group, name, time)
        launches = [record for record in records if record.kind in _RUNS]
        if launches:
            self._until = max(self._until, launches[-1].start)
            self._launches += launches

    def _add(self, kind: str, name: str, time: float) -> None:
        self._times.setdefault(kind, {}).setdefault(name, _Sum()).add(time)

    def _operators(self, records: Iterable[Record]) -> Iterator[tuple[str, str, float]]:
        """Yields a kind, a name and milliseconds for each operator that was called.

        A launch instruction by instruction is a record of "steps" with those of what ran within it.
        """
        within: dict[Any, tuple[Record, Counter[str]]] = {}  # of each thread, and what has not run
        for record in records:
            around = within.get(record.thread)
            if around is not None and record.start >= around[0].end:
                yield from _left(*within.pop(record.thread))
                around = None
            if record.kind == _STEPS:
                within[record.thread] = record, self._not_summed_up(record)
            elif record.kind in _RUNS and record.operators:
                share = _milliseconds(record) / len(record.operators)
                for name in record.operators:
                    if around is not None:
                        around[1][name] -= 1
                    yield *_named(record, name), share
        for steps, counts in within.values():
            yield from _left(steps, counts)

    def _not_summed_up(self, steps: Record) -> Counter[str]:
        """Counts the operators of a launch, without those summed up before it had ended."""
        counts = Counter(steps.operators)
        if steps.start <= self._until:
            for record in self._launches:
                if record.thread == steps.thread and record.start >= steps.start:
                    counts.subtract(record.operators)
        return counts


@final
class _Sum:
    """A summary of some numbers: how many, their sum, the least and the greatest."""

    __slots__ = ("count", "greatest", "least", "total")

    def __init__(self) -> None:
        self.count = 0
        self.total = 0.0
        self.least = inf
        self.greatest = -inf

    def add(self, number: float) -> None:
        self.count += 1
        self.total += number
        self.least = min(self.least, number)
        self.greatest = max(self.greatest, number)

    def columns(self) -> dict[str, float]:
        return {
            "Count": self.count,
            "Total": self.total,
            "Min": self.least,
            "Max": self.greatest,
            "Avg": self.total / self.count,
        }


def _milliseconds(record: Record) -> float:
    return (record.end - record.start) / 1e6


def _rows(sums: Mapping[str, _Sum], columns: Iterable[str]) -> dict[str, dict[str, float]]:
    rows = {name: one.columns() for name, one in sums.items()}
    return {name: {column: row[column] for column in columns} for name, row in rows.items()}


def _sorted(rows: dict[str, dict[str, float]], column: str, ascending: bool) -> Any:
    if any(column not in row for row in rows.values()):
        return rows
    return dict(sorted(rows.items(), key=lambda row: row[1][column], reverse=not ascending))


def _left(steps: Record, counts: Counter[str]) -> Iterator[tuple[str, str, float]]:
    for name in counts.elements():
        yield *_named(steps, name), 0.0


def _named(record: Record, name: str) -> tuple[str, str]:
    inside = record.facts.get("inside")
    return (_CUSTOM, f"{inside}::{name}") if inside else (_OPERATORS, name)


def table(sums: Statistics) -> str:
    """Returns the sums as text, a table for each kind."""
    lines = ["", "Profile Statistics (times in ms, memory in kB)"]
    for kind, rows in {**sums["Memory"], **sums.get("Collectives", {}), **sums["Time"]}.items():
        title = _TITLES.get(kind, kind)
        heads = "".join(f"{head:>{width}}" for head, width in COLUMNS.values())
        lines += ["", title, "=" * len(title), f"{'Name':<{_NAME_WIDTH}}{heads}"]
        for name, row in rows.items():
            lines.append(f"{name:<{_NAME_WIDTH}}" + "".join(_cells(row)))
    return "\n".join(lines) + "\n"


def _cells(row: Mapping[str, float]) -> Iterator[str]:
    for heading, width in COLUMNS.values():
        if heading not in row:
            yield " " * width
        else:
            yield (
                f"{row[heading]:>{width}}" if heading == "Count" else f"{row[heading]:>{width}.4f}"
            )
