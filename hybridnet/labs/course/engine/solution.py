"""Lab 1: a queue for each variable, and a count of variables for each task."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from hybridnet import engine


class Order(engine.Scheduler):
    """Grants variables to tasks; a task may run when all that it names are granted to it."""

    def __init__(self) -> None:
        #: Variable -> how many readers hold it, or -1 for a writer.
        self._held: dict[Any, int] = {}
        #: Variable -> who waits for it, in push order, and whether to write.
        self._queues: dict[Any, deque[tuple[Any, bool]]] = {}
        #: Task -> how many variables it waits for.
        self._missing: dict[Any, int] = {}

    def push(self, task: engine.Task) -> bool:
        """Grants it what is free, and queues it for the rest."""
        missing = 0
        for variable, writes in self._uses(task):
            queue = self._queues.setdefault(variable, deque())
            held = self._held.get(variable, 0)
            # Whoever comes after somebody who waits, waits too: nobody is overtaken.
            if queue or held < 0 or (writes and held > 0):
                queue.append((task, writes))
                missing += 1
            else:
                self._held[variable] = -1 if writes else held + 1
        if missing:
            self._missing[task] = missing
        return not missing

    def complete(self, task: engine.Task) -> Iterable[engine.Task]:
        """Takes back what it held, and grants it to the heads of the queues."""
        ready: list[Any] = []
        for variable, writes in self._uses(task):
            self._held[variable] = 0 if writes else self._held[variable] - 1
            queue = self._queues[variable]
            while queue:
                waiting, to_write = queue[0]
                held = self._held[variable]
                if held < 0 or (to_write and held > 0):
                    break
                queue.popleft()
                self._held[variable] = -1 if to_write else held + 1
                self._missing[waiting] -= 1
                if not self._missing[waiting]:
                    del self._missing[waiting]
                    ready.append(waiting)
            if not queue and not self._held[variable]:
                del self._queues[variable], self._held[variable]
        return ready

    @staticmethod
    def _uses(task: Any) -> list[tuple[Any, bool]]:
        return [(one, False) for one in task.reads] + [(one, True) for one in task.writes]
