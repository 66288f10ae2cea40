"""The process's profiler: whether it runs, and what it has recorded."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter_ns
from typing import Any, Final, final

from hybridnet import engine
from hybridnet.base.context import Context
from hybridnet.base.errors import MXNetError
from hybridnet.base.mesh import Mesh
from hybridnet.kvstore import traffic
from hybridnet.runtime.calls import Code
from hybridnet.runtime.recording import recorder
from hybridnet.runtime.watching import DeviceTrace, MeshLaunch, events, journal, on_mesh, resident

from .spans import Record, Span, events_of
from .sums import Sums
from .trace import TraceFile

# Events kept; the oldest go first. A training step makes about ten, a record takes 400 bytes.
_CAPACITY: Final = 1 << 19
_FILENAME: Final = "profile.json"
# Events of programs that have operators.
_RUNNING: Final = frozenset({"program", "host", "steps", "dropped"})
# Those of launches whose devices may tell each other something.
_ON_MESH: Final = frozenset({"program", "device"})


@final
class _Profiler:
    """The process's profiler. Records come from many threads: a deque's append is atomic."""

    def __init__(self) -> None:
        self.filename: str | os.PathLike[str] = _FILENAME
        self.records: deque[Record] = deque(maxlen=_CAPACITY)
        self.sums = Sums(_CAPACITY)
        self.growing: TraceFile | None = None  # the file that each dump adds to, if it is to
        self.origin = 0  # when it first ran: the zero of all times shown
        self.running = self.paused = False
        self.waits = False  # whether launches wait for the end of their programs
        self.traces_devices = False  # whether XLA notes what devices of meshes do
        self._device_trace = DeviceTrace()
        self.listening = False  # it runs, and is not paused
        self.finished = False  # what is recorded has been written: the next run starts anew
        self.due = False  # what is recorded is to be written when the process ends
        self.notes_memory = False  # whether launches note how much memory is in use

    def set_running(self, running: bool) -> None:
        """Starts or ends recording."""
        if running and self.finished:
            self.clear()
            self.finished = False
            if self.growing is not None:
                self.growing = TraceFile(self.filename, deque(maxlen=_CAPACITY))
        if running and not self.running:
            self.paused = False  # of an earlier run
        self.running = running
        self._listen()

    def clear(self) -> None:
        """Forgets what was recorded; a file that grows still gets all of it."""
        self.records.clear()
        self.sums.clear()

    def set_file(self, filename: str | os.PathLike[str], continuous: bool) -> None:
        """Says where dumps write, and whether each adds to what those before it have written."""
        self.filename = filename
        pending = self.records if self.growing is None else self.growing.pending
        self.growing = TraceFile(filename, pending.copy()) if continuous else None

    def dump(self) -> None:
        """Writes what was recorded, or what is new of it."""
        (self.growing or TraceFile(self.filename, self.records.copy())).add_pending(self.origin)

    def set_paused(self, paused: bool) -> None:
        """Records nothing for a while."""
        self.paused = paused
        self._listen()

    def set_waiting(self, waits: bool) -> None:
        """Sets whether launches wait for the end of their programs while it listens."""
        self.waits = waits
        self._listen()

    def _listen(self) -> None:
        listening = self.running and not self.paused
        if listening and not self.listening and self.traces_devices:
            self._begin_device_trace()
        events.waits = listening and self.waits
        if listening == self.listening:
            return
        self.listening = listening
        if listening:
            if not self.origin:
                self.origin = perf_counter_ns()
            recorder.flush_all()  # so that what is recorded from now on is, with its lines
            journal.listen()
            events.listen(self._on_event)
            traffic.watch(self._on_exchange)
        else:
            events.unlisten(self._on_event)
            self._keep_device_work()
            traffic.unwatch(self._on_exchange)
            journal.unlisten()
        engine.set_observer(self._on_task if listening else None)

    def _begin_device_trace(self) -> None:
        try:
            self._device_trace.begin()
        except MXNetError:
            self.running = False
            raise

    def _keep_device_work(self) -> None:
        for one in self._device_trace.finish():
            row = hash(one.device), one.device
            facts = {"device": one.device}
            self._keep(Record(one.kind, one.name, row, one.start, one.end, facts))

    def _on_event(self, kind: str, what: Code | str, start: int, end: int) -> None:
        origin = engine.caller_origin(2)
        if isinstance(what, str):
            self.add(kind, what, start, end, {}, origin)
            return
        facts: dict[str, Any] = {"instructions": len(what.instructions)}
        recorded = journal.recorded_at(what)
        if recorded:
            facts["recorded"] = recorded
        if events.inside.operator:
            facts["inside"] = events.inside.operator
        operators = tuple(operators_of(what)) if kind in _RUNNING else ()
        name, launched = events.name_of(what), on_mesh(what) if kind in _ON_MESH else None
        for device in self._rows_of(kind, what):
            own = {"device": str(device), **facts}
            self.add(kind, name, start, end, own, origin, operators, launched)
        if self.notes_memory and operators and kind != "dropped":
            used = resident() / 1024
            name = f"Memory: {what.ctx.device_type}/{what.ctx.device_id}"
            self.add("memory", name, end, end, {"value": used}, None)

    def _rows_of(self, kind: str, what: Code) -> Sequence[Context]:
        """Returns the devices that an event is recorded for: each of a mesh that was at work."""
        if kind != "device" or not isinstance(what.ctx, Mesh):
            return [what.ctx]
        return () if self.traces_devices else what.ctx.contexts

    def _on_task(
        self, kind: str, name: str, lane: str, start: int, end: int, origin: engine.Origin | None
    ) -> None:
        self.add("task", name, start, end, {"lane": lane, "failed": kind == "failed"}, origin)

    def _on_exchange(self, one: traffic.Exchange) -> None:
        facts = {
            "what": one.what,
            "key": one.key,
            "part": one.part,
            "source": one.source,
            "to": one.to,
            "sent": one.sent,
            "received": one.received,
            "round": one.round,
            "shared": one.shared,
        }
        # Two that talk have a row of their own: many messages are on their way at a time.
        pair = (hash((one.source, one.to)), f"{one.source} - {one.to}")
        self._keep(Record("message", f"{one.what} {one.key}", pair, one.start, one.end, facts))

    def add(
        self,
        kind: str,
        name: str,
        start: int,
        end: int,
        facts: Mapping[str, Any],
        origin: engine.Origin | None,
        operators: tuple[str, ...] = (),
        launched: MeshLaunch | None = None,
    ) -> None:
        """Records an event of this thread; times in nanoseconds of `perf_counter_ns`."""
        current = threading.current_thread()
        thread = (current.ident or 0, current.name)
        self._keep(Record(kind, name, thread, start, end, facts, origin, operators, launched))

    def _keep(self, record: Record) -> None:
        self.records.append(record)
        self.sums.pending.append(record)
        growing = self.growing
        if growing is not None:
            growing.pending.append(record)

    def reset_after_fork(self) -> None:
        """In a forked child: what was recorded is the parent's to write."""
        self.growing = None
        self.records.clear()
        self.sums = Sums(_CAPACITY)
        self._device_trace.forget()
        self.set_running(False)
        self.due = False

    def events(self) -> list[Span]:
        """Returns the recorded spans, by start."""
        return events_of(list(self.records.copy()), self.origin)


def operators_of(what: Code) -> Iterator[str]:
    """Yields the names of the operators of a program, those within graphs too."""
    calls = [call for call, _ in reversed(what.instructions)]
    while calls:
        call = calls.pop()
        if call.has_parts:
            parts = call.lay_open("cpu")
            calls += [part for part, _ in reversed(parts.instructions)]
        else:
            yield call.name


profiler: Final = _Profiler()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=profiler.reset_after_fork)
