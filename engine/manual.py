"""A pool for tests: nothing runs until the test says which of the ready tasks is next."""

from __future__ import annotations

import queue
import random
import threading
from typing import final

from hybridnet.engine.errors import EngineError
from hybridnet.engine.pool import AbstractPool
from hybridnet.engine.task import Latch, Task


@final
class _ManualLatch:
    """A latch whose wait also hears of ready tasks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()
        #: One item for each task that became ready while this is waited for, and for the release.
        self.news: queue.SimpleQueue[None] = queue.SimpleQueue()

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        return self._lock.acquire(blocking, timeout)

    def release(self) -> None:
        self._lock.release()
        self.news.put(None)


@final
class ManualPool(AbstractPool):
    """Holds ready tasks until `run_next`, which runs one in the calling thread.

    Several threads may push, choose and wait; only the order is then no longer repeatable.

    A wait runs tasks, chosen in the same way, until what it waits for has happened; so a program
    under a seeded pool takes one repeatable order among all that the engine allows.

    Args:
        seed: seed of the random choice among the ready tasks; None chooses as one worker would,
            the highest priority first and the oldest among equals.
    """

    def __init__(self, seed: int | None = 0) -> None:
        self._seed = seed
        self._random = None if seed is None else random.Random(seed)
        self._ready: list[Task] = []
        # Those being waited for. Each hears of every ready task: another thread, or its
        # `on_complete`, may make one ready while this one waits.
        self._awaited: set[_ManualLatch] = set()

    @property
    def ready(self) -> list[str]:
        """Names of the ready tasks, the highest priority first and the oldest among equals."""
        return [task.title for task in self._ordered()]

    def run_next(self, name: str | None = None) -> str:
        """Run one ready task, which may make others ready.

        Args:
            name: the task to run; None lets the pool choose.

        Returns:
            The name of the task.

        Raises:
            EngineError: if there is no such task among the ready ones.
        """
        chosen = self._take(name)
        if chosen is None:
            wanted = "a ready task" if name is None else f"a ready task named {name!r}"
            raise EngineError(f"run_next requires {wanted}, ready are {self.ready}")
        return self._run(chosen)

    def run_all(self) -> list[str]:
        """Run tasks until none is ready; returns their names in the order they ran."""
        names = []
        while (task := self._take()) is not None:
            names.append(self._run(task))
        return names

    def submit(self, task: Task) -> None:
        """Keep the task until it is chosen."""
        self._ready.append(task)
        for latch in tuple(self._awaited):
            latch.news.put(None)

    def new_latch(self) -> Latch:
        """A latch that this pool's `wait` can sleep on together with new ready tasks."""
        return _ManualLatch()

    def wait(self, latch: Latch, lane: str | None, timeout: float = -1) -> bool:
        """Run tasks until `latch` is released."""
        assert isinstance(latch, _ManualLatch)
        self._awaited.add(latch)
        try:
            while not latch.acquire(False):
                if (task := self._take()) is not None:
                    self._run(task)
                    continue
                try:  # old news only sends us round the loop
                    latch.news.get(timeout=None if timeout < 0 else timeout)
                except queue.Empty:
                    return False
            return True
        finally:
            self._awaited.discard(latch)

    def close(self) -> None:
        """Forget the ready tasks."""
        self._ready.clear()

    def fresh(self) -> ManualPool:
        """A pool with the same seed, from its beginning."""
        return ManualPool(self._seed)

    @property
    def threads(self) -> int:
        """None: tasks run in the thread that chooses."""
        return 0

    def _ordered(self) -> list[Task]:
        return sorted(self._ready, key=lambda task: (-task.priority, -task.depth, task.seq))

    def _take(self, name: str | None = None) -> Task | None:
        """Choose a task and remove it from the ready ones; None if there is none."""
        while True:
            tasks = [task for task in self._ordered() if name is None or task.title == name]
            if not tasks:
                return None
            chosen = tasks[0]
            if name is None and self._random is not None:
                chosen = self._random.choice(tasks)
            try:
                self._ready.remove(chosen)  # one step: tasks are compared by identity
            except ValueError:
                continue  # another thread has taken it
            return chosen

    def _run(self, task: Task) -> str:
        title = task.title
        runner = self._runner
        assert runner is not None
        if runner.execute(task):
            runner.finish(task)
        return title
