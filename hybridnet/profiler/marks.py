"""Marks that users add to a profile: tasks, frames, events, counters and markers.

    domain = hn.profiler.Domain("training")
    with domain.new_task("epoch 1"):
        ...

They record while the profiler runs and is not paused, and otherwise cost next to nothing.
"""

from __future__ import annotations

import threading
from time import perf_counter_ns
from typing import Any, Final, final

from hybridnet import engine
from hybridnet.base.errors import MXNetError, ParameterError

from .state import profiler

__all__ = ["Counter", "Domain", "Event", "Frame", "Marker", "Task"]

_SCOPES: Final = ("global", "process", "thread", "task", "marker")


@final
class Domain:
    """A name that groups what users record; in a trace it is their category.

    Args:
        name: the name.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name

    def new_task(self, name: str) -> Task:
        """Returns a task of this domain."""
        return Task(self, name)

    def new_frame(self, name: str) -> Frame:
        """Returns a frame of this domain."""
        return Frame(self, name)

    def new_counter(self, name: str, value: float | None = None) -> Counter:
        """Returns a counter of this domain, set to `value` if that is given."""
        return Counter(self, name, value)

    def new_marker(self, name: str) -> Marker:
        """Returns a marker of this domain."""
        return Marker(self, name)


class _Stretch:
    """Something that begins and ends, and may do so again; also a ``with`` block."""

    _kind = ""

    def __init__(self, name: str, domain: Domain | None = None) -> None:
        self.name = name
        self.domain = domain
        self._start: int | None = None
        self._origin: engine.Origin | None = None

    def start(self) -> None:
        """Begins it now."""
        self._start = perf_counter_ns()
        self._origin = engine.caller_origin(2) if profiler.listening else None

    def stop(self) -> None:
        """Ends it now; it is recorded if the profiler runs.

        Raises:
            MXNetError: it was not begun.
        """
        if self._start is None:
            kind = type(self).__name__
            raise MXNetError(f"{kind}.stop: {self.name!r} has not begun; call start() first")
        if profiler.listening:
            start = max(self._start, profiler.origin)
            facts = _facts(self._kind, self.domain)
            profiler.add("user", self.name, start, perf_counter_ns(), facts, self._origin)
        self._start = None

    def __enter__(self) -> Any:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def __str__(self) -> str:
        return self.name


@final
class Task(_Stretch):
    """A piece of work of the user's: one epoch, reading one file.

    Args:
        domain: its group.
        name: its name.
    """

    _kind = "task"

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(name, domain)


@final
class Frame(_Stretch):
    """One of many passes of the same kind: a batch, a step.

    Args:
        domain: its group.
        name: its name.
    """

    _kind = "frame"

    def __init__(self, domain: Domain, name: str) -> None:
        super().__init__(name, domain)


@final
class Event(_Stretch):
    """A stretch of one thread's time, of no domain.

    Args:
        name: its name.
    """

    _kind = "event"

    def __init__(self, name: str) -> None:
        super().__init__(name)


@final
class Counter:
    """A number that is shown over time.

    Args:
        domain: its group.
        name: its name.
        value: what it is set to at once; by default it is 0 and not shown until it is changed.
    """

    def __init__(self, domain: Domain, name: str, value: float | None = None) -> None:
        self.name = name
        self.domain = domain
        self._lock = threading.RLock()
        self._value: float = 0
        if value is not None:
            self.set_value(value)

    def set_value(self, value: float) -> None:
        """Sets it."""
        with self._lock:
            self._value = value
            self._record()

    def increment(self, delta: float = 1) -> None:
        """Adds to it."""
        with self._lock:
            self._value += delta
            self._record()

    def decrement(self, delta: float = 1) -> None:
        """Takes from it."""
        self.increment(-delta)

    def __iadd__(self, delta: float) -> Counter:
        self.increment(delta)
        return self

    def __isub__(self, delta: float) -> Counter:
        self.decrement(delta)
        return self

    def __str__(self) -> str:
        return self.name

    def _record(self) -> None:
        if profiler.listening:
            now = perf_counter_ns()
            facts = {**_facts("counter", self.domain), "value": self._value}
            profiler.add("counter", self.name, now, now, facts, engine.caller_origin(2))


@final
class Marker:
    """A moment that is worth a sign in the trace.

    Args:
        domain: its group.
        name: its name.
    """

    def __init__(self, domain: Domain, name: str) -> None:
        self.name = name
        self.domain = domain

    def mark(self, scope: str = "process") -> None:
        """Puts the sign here and now.

        Args:
            scope: how far the sign reaches: 'global', 'process', 'thread', 'task' or 'marker'.

        Raises:
            ParameterError: `scope` is none of these.
        """
        if scope not in _SCOPES:
            raise ParameterError(
                f"Marker.mark: scope must be one of {', '.join(_SCOPES)}, got {scope!r}"
            )
        if profiler.listening:
            now = perf_counter_ns()
            facts = {**_facts("marker", self.domain), "scope": scope}
            profiler.add("marker", self.name, now, now, facts, engine.caller_origin(2))


def _facts(kind: str, domain: Domain | None) -> dict[str, Any]:
    return {"what": kind} if domain is None else {"what": kind, "domain": domain.name}
