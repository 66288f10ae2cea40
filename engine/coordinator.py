"""Passes events to the schedule and ready tasks to the pool, under the engine's only lock.

Why this is correct. The schedule is changed only by the holder of `_lock`, in `pump`. Nobody ever
waits for that lock. Whoever has an event (a task pushed, a task ended, a Var deleted) appends it
to `inbox` and *tries* the lock. If it gets the lock, it handles all events in the inbox, its own
and those of others. If it does not, another thread holds the lock, and that one looks at the inbox
again after it has released it: the event was appended before the failed try, so it is seen. Hence

- events are handled one at a time in the order of the inbox, which keeps every thread's own order;
- a push may come from anywhere, even from a finalizer that the garbage collector runs while this
  very thread holds the lock: it leaves its event, and the interrupted `pump` finds it afterwards;
- a worker with a completion is not held up by a thread that the GIL has put to sleep while holding
  the lock: it leaves the event behind and goes on.

An event leaves the inbox only after it was handled, so "the inbox is empty" means that everything
this thread pushed is in the schedule; `wait_for_var` uses that to answer without the lock.

User code (tasks, observers) runs outside the lock. Ready tasks are handed to the pool outside of it
too, so two threads may hand theirs over in either order; the pool's heap restores the order by
priority and push.

Ctrl-C can raise between any two steps of the main thread. The inbox, the set of pending tasks, each
task's state and the set of waits are each changed in single steps and in an order that loses
nothing; `_recover` rebuilds the rest from these, and hands out again what may not have been handed
out. A task that reaches the pool twice in this way is run by the thread that takes it first; a wait
has nothing to run, and stays ready until the holder of the lock ends it. If a second Ctrl-C comes
during `_recover`, `_interrupted` stays set, and the next `pump`, in any thread, recovers first. (It
is set where a handler of exceptions begins, where Python looks for no signal.)
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, final

from hybridnet.engine.errors import EngineError
from hybridnet.engine.pool import AbstractPool
from hybridnet.engine.rlock import RLock
from hybridnet.engine.schedule import Schedule
from hybridnet.engine.task import (
    IDLE_LANE,
    NEW,
    QUIET_LANE,
    READY,
    RUNNING,
    WAIT_LANE,
    WAITING,
    Task,
    Var,
)

#: Seconds to wait for the lock after an interruption.
_LOCK_TIMEOUT: Final = 0.05


@final
class Coordinator:
    """Connects one engine's schedule, its pool, and all threads that push, end or wait for tasks.

    Args:
        pool: what carries out the ready tasks. May be replaced between tasks.
    """

    def __init__(self, pool: AbstractPool) -> None:
        self.pool = pool
        self.schedule = Schedule()
        self.inbox: deque[Task | Var] = deque()
        #: waits whose latch was not released yet.
        self._waits: set[Task] = set()
        #: whether a `pump` was interrupted and no `_recover` has ended well since.
        self._interrupted = False
        #: whether the holder of the lock is changing the schedule.
        self._changing = False
        self._renew_lock()

    def post(self, event: Task | Var) -> None:
        """Take in an event: a new task, one that has ended, or a Var to delete. Never blocks."""
        self.inbox.append(event)
        self.pump()

    def pump(self) -> None:
        """Handle the events in the inbox, unless another thread, or a caller of ours, does."""
        # A finalizer, in the middle of a change; or who was interrupted has the lock still.
        if self._is_owned() and (self._changing or not self._interrupted):
            return
        inbox, lock = self.inbox, self._lock
        try:
            if self._interrupted:
                self._recover()
            while inbox and lock.acquire(False):
                todo: list[Task] = []
                try:
                    self._changing = True
                    for _ in range(len(inbox)):
                        todo += self._handle(inbox[0])
                        inbox.popleft()
                finally:
                    self._changing = False
                    lock.release()
                for task in todo:
                    self._dispatch(task)
        except BaseException:
            self._interrupted = True
            try:
                self._recover()
            except BaseException:  # another thread may have recovered from the first one only
                self._interrupted = True
                raise
            raise

    def _handle(self, event: Task | Var) -> Sequence[Task]:
        if isinstance(event, Var):
            self.schedule.close(event)
        elif event.state is NEW:
            return self.schedule.push(event)
        elif event.state is RUNNING:
            return self.schedule.complete(event, event.error)
        elif event.state is READY and event.lane is WAIT_LANE and self.schedule.start(event):
            return self.schedule.complete(event)
        return ()

    def _dispatch(self, task: Task) -> None:
        """Act on what the schedule has decided about `task`."""
        if task.latch is None:
            if task.state is READY:
                self.pool.submit(task)
            return
        if task.state is READY and task.lane is WAIT_LANE:
            self.inbox.append(task)  # its end; the loop of `pump` goes on to handle it
        if task in self._waits:
            with suppress(RuntimeError):  # released before, when an interruption followed
                task.latch.release()
            self._waits.discard(task)

    def _recover(self) -> None:
        """Put things right after an exception in `pump`. If interrupted, it must be called again.

        A thread that was interrupted may have kept the lock. Then it recovers by itself at its next
        event or wait.
        """
        if not self._is_owned() and not self._lock.acquire(True, _LOCK_TIMEOUT):
            return
        try:
            self._changing = True
            todo = self._rebuild()
            self._interrupted = False
        finally:
            self._changing = False
        self._lock.release()
        self.pool.wake_missed()
        for task in todo:
            self._dispatch(task)
        self.pump()

    def _rebuild(self) -> list[Task]:
        """With the lock: rebuild the schedule; returns every task that may need a `_dispatch`."""
        head = self.inbox[0] if self.inbox else None
        # A push that the schedule has seen but that is still in the inbox would be taken for the
        # end of its task, once that runs.
        seen = isinstance(head, Task) and self.schedule.is_pending(head)
        seen = seen and isinstance(head, Task) and head.state in (NEW, WAITING, READY)
        todo = list(self.schedule.rebuild())
        if seen:
            self.inbox.popleft()
        for wait in list(self._waits):
            ended = wait.state not in (NEW, WAITING)
            if not ended and wait.lane in (IDLE_LANE, QUIET_LANE) and not self.inbox:
                ended = self.schedule.lets_through(wait)
            if ended:
                todo.append(wait)
        return todo

    def wait(self, wait: Task, lane: str | None, timeout: float = -1) -> bool:
        """Block until the schedule lets `wait` through."""
        self._waits.add(wait)
        self.inbox.append(wait)
        self.pump()
        assert wait.latch is not None
        return self.pool.wait(wait.latch, lane, timeout)

    def set_schedule(self, schedule: Schedule) -> None:
        """Take another schedule in the place of the present one, whose counts go on.

        Raises:
            EngineError: tasks are pending.
        """
        with self._lock:
            now = self.schedule
            if self.inbox or now.pending:
                raise EngineError("set_scheduler requires an engine without pending tasks")
            schedule.completed, schedule.failed = now.completed, now.failed
            schedule.skipped, schedule.failures, schedule.lost = now.skipped, now.failures, now.lost
            self.schedule = schedule

    def hold(self, timeout: float) -> bool:
        """Before a fork: keep other threads out of the schedule; False if not in `timeout` s."""
        return self._lock.acquire(True, timeout)

    def unhold(self) -> None:
        """After a fork, in the parent: go on, with what came in meanwhile."""
        self._lock.release()
        self.pump()

    def drop_all(self, reason: str) -> None:
        """Forget all tasks; what they would have written is poisoned, waits are let through."""
        with self._lock:
            coming = [event for event in self.inbox if isinstance(event, Task)]
            self.inbox.clear()
            dropped = self.schedule.drop_all(coming, reason)
        for task in dropped:
            self._dispatch(task)

    def reset_after_fork(self) -> None:
        """In a forked child: a new lock and no waits. The pool is the engine's affair."""
        self._renew_lock()
        self._waits.clear()
        self._interrupted = self._changing = False

    def _renew_lock(self) -> None:
        # A reentrant lock, not to enter twice but because it knows whether this thread has it: a
        # finalizer asks so as not to interfere, and `_recover` since Ctrl-C can strike between the
        # acquisition and the line after it. Condition uses the same method of it.
        self._lock = RLock()
        self._is_owned: Callable[[], bool] = self._lock._is_owned  # type: ignore[attr-defined]
