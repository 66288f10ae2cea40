"""The profiler's events summed up, as MXNet's `dumps` has them: data, and tables.

Operators are counted when they are called. Where several ran as one program, each has an equal part
of the program's time; one whose result nobody wanted took none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from .spans import Span

__all__ = ["COLUMNS", "Statistics", "statistics", "table"]

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
_CUSTOM: Final = "Custom Operator"
#: What is shown of each kind of event that is no operator's, by the order of the kinds.
_TITLES: Final = {
    _OPERATORS: "Operators",
    _CUSTOM: "Operators written in Python, and what they call",
    "task": "Engine tasks",
    "program": "Program launches",
    "device": "Programs on devices",
    "steps": "Launches instruction by instruction",
    "compile": "Compilations",
    "wait": "Waits for values",
    "event": "The user's events",
}
#: Events that run operators, and launches that such events lie within.
_RUNS: Final = frozenset({"program", "host", "dropped"})
_STEPS: Final = "steps"

#: Kind or domain -> name -> column -> number.
Sums = dict[str, dict[str, dict[str, float]]]
#: "Time", "Memory" -> their sums; and "Unit", theirs.
Statistics = dict[str, Any]


def statistics(events: Sequence[Span], sort_by: str, ascending: bool) -> Statistics:
    """Sums up events.

    Args:
        events: by start.
        sort_by: a column's name, see `COLUMNS`.
        ascending: the smallest first.

    Returns:
        "Time": of operators, of other kinds of events, and of the user's domains, the number and
        milliseconds of each name; "Memory": of each device how often that was noted and how much it
        was, in kilobytes; "Unit": what they are in.
    """
    times: dict[str, dict[str, list[float]]] = {}
    memory: dict[str, list[float]] = {}
    for event in events:
        if event.kind == "memory":
            memory.setdefault(event.name, []).append(event.facts["value"])
            continue
        kind = {"custom": _CUSTOM, "user": event.facts.get("domain", "event")}.get(event.kind)
        kind = event.kind if kind is None else kind
        if kind in ("counter", "marker", "host", "dropped"):
            continue
        times.setdefault(kind, {}).setdefault(event.name, []).append(event.duration / 1e3)
    for kind, name, duration in _operators(events):
        times.setdefault(kind, {}).setdefault(name, []).append(duration / 1e3)
    columns = [heading for heading, _ in COLUMNS.values()]
    kinds = sorted(times, key=lambda kind: list(_TITLES).index(kind) if kind in _TITLES else 99)
    stored = {"Device Storage": _rows(memory, [c for c in columns if c != "Total"])}
    order = COLUMNS[sort_by][0], ascending
    return {
        "Time": {kind: _sorted(_rows(times[kind], columns), *order) for kind in kinds},
        "Memory": {kind: _sorted(rows, *order) for kind, rows in stored.items() if rows},
        "Unit": {"Time": "ms", "Memory": "kB"},
    }


def _rows(found: Mapping[str, Sequence[float]], columns: Iterable[str]) -> Any:
    rows = {}
    for name, values in found.items():
        row = {
            "Count": len(values),
            "Total": sum(values),
            "Min": min(values),
            "Max": max(values),
            "Avg": sum(values) / len(values),
        }
        rows[name] = {column: row[column] for column in columns}
    return rows


def _sorted(rows: dict[str, dict[str, float]], column: str, ascending: bool) -> Any:
    if any(column not in row for row in rows.values()):
        return rows
    return dict(sorted(rows.items(), key=lambda row: row[1][column], reverse=not ascending))


def _operators(events: Sequence[Span]) -> Iterator[tuple[str, str, float]]:
    """Yields a kind, a name and a duration for each operator that was called.

    A launch instruction by instruction is a span of "steps" with those of what ran within it.
    """
    within: dict[str, tuple[Span, Counter[str]]] = {}  # of each row, and what has not run yet
    for event in events:
        around = within.get(event.row)
        if around is not None and event.start >= around[0].start + around[0].duration:
            yield from _left(*within.pop(event.row))
            around = None
        if event.kind == _STEPS:
            within[event.row] = event, Counter(event.operators)
        elif event.kind in _RUNS and event.operators:
            share = event.duration / len(event.operators)
            for name in event.operators:
                if around is not None:
                    around[1][name] -= 1
                yield *_named(event, name), share
    for steps, counts in within.values():
        yield from _left(steps, counts)


def _left(steps: Span, counts: Counter[str]) -> Iterator[tuple[str, str, float]]:
    for name in counts.elements():
        yield *_named(steps, name), 0.0


def _named(event: Span, name: str) -> tuple[str, str]:
    inside = event.facts.get("inside")
    return (_CUSTOM, f"{inside}::{name}") if inside else (_OPERATORS, name)


def table(sums: Statistics) -> str:
    """Returns the sums as text, a table for each kind."""
    lines = ["", "Profile Statistics (times in ms, memory in kB)"]
    for kind, rows in {**sums["Memory"], **sums["Time"]}.items():
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
