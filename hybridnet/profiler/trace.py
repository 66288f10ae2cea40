"""Events in Chrome's Trace Event Format, which Perfetto reads, and the file that holds them."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, final

from hybridnet.base.files import atomic_write
from hybridnet.base.locks import free_in_children
from hybridnet.base.remote import file_size, is_remote, read_file
from hybridnet.engine import RLock

from .spans import Record, Rows, Span, events_of

# How far a marker's line reaches, as the format has it: through all, one process, or one row.
_SIGNS: Final = {"global": "g", "process": "p"}
# What stands in the rows of a device.
_ON_DEVICES: Final = frozenset({"device", "collective"})
# Processes have smaller numbers: Linux allows /proc/sys/kernel/pid_max to be no larger.
_PROCESSES: Final = 1 << 22
_ARROWS: Final = 1 << 30  # of one process; with its number before, they are whole in a float
_HEAD: Final = b'{"displayTimeUnit": "ms", "traceEvents": [\n'
_TAIL: Final = b"\n]}\n"


def trace_text(events: Sequence[Span]) -> str:
    """Returns a trace of events, as a file would hold it; of this process only if it has some."""
    trace = _Trace(any(one.kind not in _ON_DEVICES for one in events))
    return (_HEAD + _listed(trace.add(events)) + _TAIL).decode()


def _listed(events: Sequence[Mapping[str, Any]]) -> bytes:
    """Returns events of the format as JSON, without the brackets of a list."""
    return json.dumps(events, allow_nan=False)[1:-1].encode()


@final
class TraceFile:
    """A file with a trace, to which records can be added.

    Args:
        path: of the file.
        pending: records that `add_pending` is to write; any thread may append others.
    """

    def __init__(self, path: str | os.PathLike[str], pending: deque[Record]) -> None:
        self.path = path
        self.pending = pending
        self._lock = free_in_children(RLock())
        self._begin()

    def _begin(self) -> None:
        self._rows, self._trace = Rows(), _Trace()
        self._size = -1  # of the file as it was left

    def add_pending(self, origin: int) -> None:
        """Writes the records that wait to be.

        A file that is not there as it was left begins anew, and appears whole or not at all.

        Args:
            origin: the zero of the events' times, in nanoseconds.

        Raises:
            OSError: the file cannot be written; the records wait on.
        """
        with self._lock:
            records = [self.pending.popleft() for _ in range(len(self.pending))]
            try:
                self._write(records, origin)
            except BaseException:
                self.pending.extendleft(reversed(records))
                raise

    def _write(self, records: Sequence[Record], origin: int) -> None:
        goes_on = self._is_as_it_was_left()
        if not goes_on:
            self._begin()
        text = _listed(self._trace.add(events_of(records, origin, self._rows)))
        if not goes_on or is_remote(self.path):
            head = read_file(self.path)[: -len(_TAIL)] + b",\n" if goes_on else _HEAD
            with atomic_write(self.path) as file:
                file.write(head + text + _TAIL)
            self._size = len(head + text + _TAIL)
        elif text:
            with open(self.path, "r+b") as file:
                file.seek(-len(_TAIL), os.SEEK_END)
                file.write(b",\n" + text + _TAIL)
                self._size = file.tell()

    def _is_as_it_was_left(self) -> bool:
        try:
            return self._size >= 0 and file_size(self.path) == self._size
        except OSError:
            return False


@final
class _Trace:
    """Makes events of the format of spans, and names the rows when they first occur.

    These are complete events ("X"), the user's counters ("C") and markers ("i"), and names of rows.
    What devices did is in a group of rows for each device (a process, in the format's words): a
    row for each thread that had it do something. An arrow ("s" to "f") leads from a launch to what
    a device did for it. The numbers of all these are of this process only, so that the traces of
    several can be put together.

    Args:
        has_host: whether there is this process besides.
    """

    def __init__(self, has_host: bool = True) -> None:
        self._host = os.getpid()
        # By row, what devices do there that no launch has been found for, and where.
        self._at_work: dict[str, list[tuple[Span, dict[str, int]]]] = {}
        self._arrows = 0
        self._has_host = has_host
        self._processes: dict[str, int] = {}
        self._numbers: dict[str, int] = {}
        self._used: set[tuple[int, int]] = set()
        self._told = -1  # how many processes beside the host have been named

    def add(self, events: Iterable[Span]) -> list[dict[str, Any]]:
        """Returns the events of the format."""
        spans, names = [], []
        for span in events:
            if span.kind == "dropped":
                continue
            process = self._host
            if span.kind in _ON_DEVICES:
                new = (len(self._processes) + 1) * _PROCESSES + self._host % _PROCESSES
                process = self._processes.setdefault(span.facts["device"], new)
            row = self._numbers.setdefault(span.row, len(self._numbers))
            if (process, row) not in self._used:
                self._used.add((process, row))
                names += _labels("thread", span.row, row, {"pid": process, "tid": row})
            place = {"pid": process, "tid": row}
            spans.append(_event(span, place))
            if span.kind == "device":
                working = self._at_work.get(span.row, ())
                going_on = [one for one in working if _contains(one[0], span)]
                self._at_work[span.row] = [*going_on, (span, place)]
            elif span.kind == "program":
                spans += self._arrows_from(span, place)
        if len(self._processes) > self._told:
            names[:0] = self._named_processes()
            self._told = len(self._processes)
        return names + spans

    def _arrows_from(self, launch: Span, place: dict[str, int]) -> Iterator[dict[str, Any]]:
        """Yields arrows to what devices did for a launch: it lies within their events."""
        working = self._at_work.get(launch.row, [])
        for one in working.copy():
            if one[0].name == launch.name and _contains(one[0], launch):
                working.remove(one)
                number = self._host % _PROCESSES * _ARROWS + self._arrows
                self._arrows += 1
                arrow = {"name": "launch", "cat": "launch", "id": number, "ts": launch.start}
                yield {"ph": "s", **arrow, **place}
                yield {"ph": "f", "bp": "e", **arrow, **one[1]}

    def _named_processes(self) -> Iterator[dict[str, Any]]:
        """Yields all processes' names; where they stand may change when another one comes."""
        devices = {self._processes[name]: name for name in sorted(self._processes)}
        host = {self._host: "hybridnet"} if self._has_host else {}
        for order, (process, name) in enumerate((host | devices).items()):
            yield from _labels("process", name, order, {"pid": process})


def _contains(outer: Span, inner: Span) -> bool:
    ends = outer.start + outer.duration, inner.start + inner.duration
    return outer.start <= inner.start and ends[1] <= ends[0]


def _event(span: Span, place: Mapping[str, int]) -> dict[str, Any]:
    event = {
        "ph": "X",
        "name": span.name,
        "cat": span.facts.get("domain", span.kind),
        "ts": span.start,
        **place,
        "args": span.facts,
    }
    if span.kind in ("counter", "memory"):
        event |= {"ph": "C", "args": {span.name: span.facts["value"]}}
    elif span.kind == "marker":
        event |= {"ph": "i", "s": _SIGNS.get(span.facts["scope"], "t")}
    else:
        event["dur"] = span.duration
    return event


def _labels(what: str, name: str, order: int, place: Mapping[str, int]) -> list[dict[str, Any]]:
    """Returns the events that name a process or thread, and say where it stands."""
    values = {f"{what}_name": {"name": name}, f"{what}_sort_index": {"sort_index": order}}
    return [{"ph": "M", "name": key, **place, "args": value} for key, value in values.items()]
