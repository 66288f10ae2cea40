"""A dependency-tracking task engine. Standard library only: it knows no arrays.

A `Var` stands for a resource. A task names the Vars it reads and writes, and runs as soon as no
earlier task is in conflict with it:

    from hybridnet import engine

    lines = []
    file = engine.new_variable("file")
    engine.push(lambda: lines.append("a"), writes=[file], lane="io")
    engine.push(lambda: print(lines), reads=[file])
    engine.wait_for_var(file)

The functions here use the process-wide engine, made at first use; its kind is chosen by the
environment variable HYBRIDNET_ENGINE_TYPE, or MXNet's MXNET_ENGINE_TYPE, `ThreadedEngine` (default)
or `NaiveEngine`. In a block `with engine.naive():` everything is synchronous, and `bulk` says how
many operators become a task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from .bulking import bulk, bulk_size, follow, naive, set_bulk_size
from .engine import Engine, Observer, Statistics
from .errors import (
    CompletionError,
    DeadlockError,
    EngineBug,
    EngineError,
    TaskError,
    VarError,
)
from .flag import Flag
from .manual import ManualPool
from .process import NaiveEngine, ThreadedEngine, get, set_engine, wanted_kind
from .rlock import RLock
from .scheduler import Scheduler
from .signals import handlers_put_off, raised_by_handler
from .task import (
    LANES,
    Completion,
    Origin,
    Task,
    Var,
    caller_origin,
    raised_origin,
    resolve_origin,
)

__all__ = [
    "LANES",
    "Completion",
    "CompletionError",
    "DeadlockError",
    "Engine",
    "EngineBug",
    "EngineError",
    "Flag",
    "ManualPool",
    "NaiveEngine",
    "Observer",
    "Origin",
    "RLock",
    "Scheduler",
    "Statistics",
    "Task",
    "TaskError",
    "ThreadedEngine",
    "Var",
    "VarError",
    "bulk",
    "bulk_size",
    "caller_origin",
    "delete_variable",
    "follow",
    "get",
    "handlers_put_off",
    "naive",
    "new_variable",
    "push",
    "push_async",
    "raised_by_handler",
    "raised_origin",
    "resolve_origin",
    "set_bulk_size",
    "set_engine",
    "set_observer",
    "set_scheduler",
    "statistics",
    "wait_for_all",
    "wait_for_var",
    "wanted_kind",
]


def new_variable(name: str | None = None) -> Var:
    """A new Var; `name` is for messages only."""
    return Var(name)


def delete_variable(var: Var) -> None:
    """See `Engine.delete_variable`."""
    get().delete_variable(var)


def push(
    fn: Callable[[], Any],
    reads: Iterable[Var] = (),
    writes: Iterable[Var] = (),
    *,
    priority: int = 0,
    lane: str = "compute",
    name: str | None = None,
    origin: Origin | None = None,
) -> None:
    """See `Engine.push`."""
    get().push(fn, reads, writes, priority=priority, lane=lane, name=name, origin=origin)


def push_async(
    fn: Callable[[Completion], Any],
    reads: Iterable[Var] = (),
    writes: Iterable[Var] = (),
    *,
    priority: int = 0,
    lane: str = "compute",
    name: str | None = None,
    origin: Origin | None = None,
) -> None:
    """See `Engine.push_async`."""
    get().push_async(fn, reads, writes, priority=priority, lane=lane, name=name, origin=origin)


def wait_for_var(var: Var) -> None:
    """See `Engine.wait_for_var`."""
    get().wait_for_var(var)


def wait_for_all(background: bool = True) -> None:
    """See `Engine.wait_for_all`."""
    get().wait_for_all(background)


def set_scheduler(make: Callable[[], Scheduler] | None) -> None:
    """See `Engine.set_scheduler`."""
    get().set_scheduler(make)


def statistics() -> Statistics:
    """See `Engine.statistics`."""
    return get().statistics()


def set_observer(observer: Observer | None) -> None:
    """See `Engine.set_observer`."""
    get().set_observer(observer)
