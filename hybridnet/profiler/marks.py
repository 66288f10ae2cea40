"""Marks that users add to a profile: tasks, frames, events, counters and markers.

    domain = hn.profiler.Domain("training")
    with domain.new_task("epoch 1"):
        ...

They record while the profiler runs and is not paused, and otherwise cost next to nothing.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any, Final, final

from hybridnet import engine
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.base.locks import free_in_children
from hybridnet.engine import RLock

from .state import profiler

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


class _Named:
    """A mark with a name, in a group if it has one; recorded with both."""

    _kind = ""

    def __init__(self, domain: Domain | None, name: str) -> None:
        self.name = name
        self.domain = domain

    def __str__(self) -> str:
        return self.name

    def _facts(self, **facts: Any) -> dict[str, Any]:
        domain = {} if self.domain is None else {"domain": self.domain.name}
        return {"what": self._kind, **domain, **facts}

    def _record(self, **facts: Any) -> None:
        """Records it as of now, for the caller of its method."""
        if profiler.listening:
            now = perf_counter_ns()
            origin = engine.caller_origin(2)
            profiler.add(self._kind, self.name, now, now, self._facts(**facts), origin)


class _Stretch(_Named):
    """A mark that begins and ends, and may do so again; also a ``with`` block."""

    _start: int | None = None
    _origin: engine.Origin | None = None

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
            end = perf_counter_ns()
            profiler.add("user", self.name, start, end, self._facts(), self._origin)
        self._start = None

    def __enter__(self) -> Any:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()


@final
class Task(_Stretch):
    """A piece of work of the user's: one epoch, reading one file.

    Args:
        domain: its group.
        name: its name.
    """

    _kind = "task"


@final
class Frame(_Stretch):
    """One of many passes of the same kind: a batch, a step.

    Args:
        domain: its group.
        name: its name.
    """

    _kind = "frame"


@final
class Event(_Stretch):
    """A stretch of one thread's time, of no domain.

    Args:
        name: its name.
    """

    _kind = "event"

    def __init__(self, name: str) -> None:
        super().__init__(None, name)


@final
class Counter(_Named):
    """A number that is shown over time.

    Args:
        domain: its group.
        name: its name.
        value: what it is set to at once; by default it is 0 and not shown until it is changed.
    """

    _kind = "counter"

    def __init__(self, domain: Domain, name: str, value: float | None = None) -> None:
        super().__init__(domain, name)
        self._lock = free_in_children(RLock())
        self._value: float = 0
        if value is not None:
            self.set_value(value)

    def set_value(self, value: float) -> None:
        """Sets it."""
        with self._lock:
            self._value = value
            self._record(value=value)

    def increment(self, delta: float = 1) -> None:
        """Adds to it."""
        with self._lock:
            self._value += delta
            self._record(value=self._value)

    def decrement(self, delta: float = 1) -> None:
        """Takes from it."""
        self.increment(-delta)

    def __iadd__(self, delta: float) -> Counter:
        self.increment(delta)
        return self

    def __isub__(self, delta: float) -> Counter:
        self.decrement(delta)
        return self


@final
class Marker(_Named):
    """A moment that is worth a sign in the trace.

    Args:
        domain: its group.
        name: its name.
    """

    _kind = "marker"

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
        self._record(scope=scope)
