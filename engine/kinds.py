"""The kinds of engine: what differs is the pool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import final

from hybridnet.engine.engine import Engine
from hybridnet.engine.errors import EngineError
from hybridnet.engine.pool import AbstractPool, InlinePool, ThreadPool

__all__ = ["NaiveEngine", "ThreadedEngine"]


@final
class NaiveEngine(Engine):
    """Runs every task in the pushing thread, before `push` returns, if its Vars allow.

    They always do, except where a task pushes another that conflicts with itself (that one runs
    right after it), and behind a `push_async` task that is not complete (those run when it is).
    Errors surface at the waits, as with every engine.
    """

    def __init__(self) -> None:
        super().__init__(InlinePool())


@final
class ThreadedEngine(Engine):
    """Runs tasks in a few threads per lane.

    Args:
        pool: what carries the tasks out; by default a `ThreadPool`.
        workers: threads per lane of the default pool, e.g. `{"compute": 4}`.
    """

    def __init__(
        self, pool: AbstractPool | None = None, workers: Mapping[str, int] | None = None
    ) -> None:
        if pool is not None and workers is not None:
            raise EngineError("ThreadedEngine requires a pool or workers, got both")
        super().__init__(pool or ThreadPool(workers))
