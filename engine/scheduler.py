"""Another order of tasks than the engine's own: who decides it, and what watches over it.

    class OneAfterTheOther(engine.Scheduler):
        ...

    engine.set_scheduler(OneAfterTheOther)   # makes one, which is asked from now on
    engine.set_scheduler(None)               # the engine decides by itself again

Another order must keep the contract that is in schedule.py, and let every task run at some time.
Each answer is held against that: at the first that is wrong the scheduler is asked no more, the
engine goes on in its own order, so that no task runs too early and none waits for ever, and the
next wait says what was wrong. One that Ctrl-C has interrupted is asked no more, either, since
nobody knows what it has noted. (One that never returns cannot be helped: it is called under the
engine's lock.)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Final, final

from hybridnet.engine.errors import EngineError
from hybridnet.engine.schedule import Schedule
from hybridnet.engine.task import DRAINING, Failure, Task, Var


class Scheduler(ABC):
    """Decides when tasks may run; see `hybridnet.engine.set_scheduler`.

    A task has the attributes ``reads`` and ``writes``, tuples of Vars in which no Var comes twice;
    Vars and tasks are compared by identity. It is called by one thread at a time.
    """

    @abstractmethod
    def push(self, task: Task) -> bool:
        """Takes in a task; returns whether it may run at once."""

    @abstractmethod
    def complete(self, task: Task) -> Iterable[Task]:
        """Takes note that a task has ended; returns those that may run now, each once."""


class _WrongOrderError(EngineError):
    """An answer of a scheduler's that breaks the contract."""


@final
class WatchedSchedule(Schedule):
    """The schedule of an engine whose order a scheduler decides.

    Here `Var.held` counts the pending tasks that read a Var, or is -1 where one writes it.

    Args:
        make: makes the scheduler, without arguments.
    """

    __slots__ = ("_freed", "_granted", "_make", "_scheduler", "_users")

    def __init__(self, make: Callable[[], Scheduler]) -> None:
        super().__init__()
        self._make: Final = make
        #: None once it was wrong.
        self._scheduler: Scheduler | None = make()
        #: Var -> the pending tasks that name it, in push order, and whether they write it.
        self._users: dict[Var, dict[Task, bool]] = {}
        #: pending tasks that may run, or do.
        self._granted: set[Task] = set()
        #: tasks that may run since the engine's own order has taken over.
        self._freed: list[Task] = []

    def push(self, task: Task) -> Sequence[Task]:
        """See `Schedule.push`."""
        return self._with_freed(super().push(task))

    def complete(self, task: Task, error: BaseException | None = None) -> Sequence[Task]:
        """See `Schedule.complete`."""
        return self._with_freed(super().complete(task, error))

    def rebuild(self) -> Sequence[Task]:
        """See `Schedule.rebuild`. A scheduler that was interrupted knows nothing for certain."""
        self._scheduler = None
        return super().rebuild()

    def drop_all(self, extra: Iterable[Task], reason: str) -> list[Task]:
        """See `Schedule.drop_all`; what comes then, a new scheduler decides."""
        dropped = super().drop_all(extra, reason)
        self._users.clear()
        self._granted.clear()
        self._scheduler = self._make()
        return dropped

    def validate(self) -> None:
        """See `Schedule.validate`; while a scheduler decides, each of its answers is checked."""
        if self._scheduler is None:
            super().validate()

    def _request(self, task: Task) -> int:
        scheduler = self._scheduler
        if scheduler is None:
            return super()._request(task)
        for var, writes in _uses(task):
            self._users.setdefault(var, {})[task] = writes
            self._count(var)
        try:
            if not _answer(scheduler, task):
                self._refuse_standstill()
                task.waits = 1
                return 1
            self._grant_to(task)
        except Exception as error:
            self._take_over(error, task)
            return super()._request(task)
        return 0

    def _release(self, task: Task, freed: list[Task]) -> None:
        scheduler = self._scheduler
        if scheduler is None:
            super()._release(task, freed)
            return
        self._granted.discard(task)
        for var, writes in _uses(task):
            if writes:
                var.failure = task.failure
            users = self._users[var]
            del users[task]
            self._count(var)
            if not users:
                del self._users[var]
                if var.state is DRAINING:
                    self._mark_deleted(var)
        self._forget(task)
        try:
            for other in scheduler.complete(task):
                self._grant_to(other)
                freed.append(other)
            self._refuse_standstill()
        except Exception as error:
            self._take_over(error, None)

    def _count(self, var: Var) -> None:
        users = self._users[var]
        var.held = -1 if any(users.values()) else len(users)

    def _grant_to(self, task: Task) -> None:
        """Notes that a task may run.

        Raises:
            _WrongOrderError: it may not, or did not wait.
        """
        if not isinstance(task, Task) or task not in self._pending or task in self._granted:
            raise _WrongOrderError(f"complete must return tasks that wait, got {task!r}")
        for var, writes in _uses(task):
            for other, other_writes in self._users[var].items():
                if other is task:
                    break
                if writes or other_writes:
                    verb = "writes" if other_writes else "reads"
                    raise _WrongOrderError(
                        f"task {task.title!r} must wait for {other.title!r}, which was pushed "
                        f"before it and {verb} {var!r}, but was said to be ready"
                    )
        self._granted.add(task)
        task.waits = 0

    def _refuse_standstill(self) -> None:
        """Raises an error if tasks are pending and none of them may run."""
        if self._pending and not self._granted:
            oldest = next(iter(self._pending))
            raise _WrongOrderError(
                f"none of {len(self._pending)} pending tasks was said to be ready, though nothing "
                f"is in the way of {oldest.title!r}"
            )

    def _take_over(self, error: Exception, new: Task | None) -> None:
        """Goes on without the scheduler: the tasks that wait do so in the engine's own order.

        Those that may run may do so in that order, too, since each was checked.

        Args:
            error: what was wrong.
            new: a task that is being pushed, whose turn the caller sees to.
        """
        made = self._scheduler
        assert made is not None
        self._scheduler = None
        what = error if isinstance(error, _WrongOrderError) else f"{type(error).__name__}: {error}"
        name = type(made).__name__
        told = EngineError(f"the scheduler {name} is asked no more: {what}")
        told.__cause__ = None if isinstance(error, _WrongOrderError) else error
        self._record(Failure(f"{name} (scheduler)", None, told))
        for var in self._users:
            var.held = 0
        self._users.clear()
        for task in self._pending:
            if task is not new and not super()._request(task) and task not in self._granted:
                self._freed.append(task)
        self._granted.clear()

    def _with_freed(self, tasks: Sequence[Task]) -> Sequence[Task]:
        if not self._freed:
            return tasks
        freed, self._freed = self._freed, []
        return [*tasks, *self._ready_or_skip(freed)]


def _answer(scheduler: Scheduler, task: Task) -> bool:
    answer = scheduler.push(task)
    if not isinstance(answer, bool):
        raise _WrongOrderError(f"push must return True or False, got {answer!r}")
    return answer


def _uses(task: Task) -> list[tuple[Var, bool]]:
    return [(var, False) for var in task.reads] + [(var, True) for var in task.writes]
