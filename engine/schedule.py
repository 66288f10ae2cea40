"""Decides which task may run: a state machine without threads, locks or time.

The contract, per Var: writes happen in push order, and the reads between two writes happen
together. A task is ready when every Var it names has been granted to it.

How it is kept. A Var is free, held by n readers, or held by one writer (`Var.held` is 0, n, -1).
Whoever cannot be granted joins the Var's queue and everybody after it does too, so that nobody
overtakes: a read is granted at once only if no writer holds the Var *and nobody queues*; a write
only if the Var is free. When the holders leave, the head of the queue is granted: one write, or
all the reads up to the next write. Hence

    (1) a Var that is free has an empty queue;
    (2) a read is granted exactly if no earlier pending task writes the Var;
    (3) a write is granted exactly if no earlier pending task names the Var.

A wait for a Var by (2) and (3) points only to tasks pushed earlier, so the graph of waits has no
cycle and the oldest pending task is never blocked: there is no deadlock. `validate` checks (1) to
(3) from first principles.

Failure. A failed task leaves its `Failure` on the Vars it writes. A task that reads such a Var is
skipped when its turn comes: it fails with the same `Failure` and passes it on. A task that
succeeds in writing a Var without reading it clears the mark.

Calls are made one at a time (coordinator.py holds a lock). Without it may be asked only whether a
Var has a pending write, see `is_written`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from threading import get_ident
from typing import Final

from hybridnet.engine.errors import EngineBug, EngineError
from hybridnet.engine.task import (
    BACKGROUND,
    DELETED,
    DONE,
    DRAINING,
    DROPPED,
    FAILED,
    IDLE_LANE,
    NEW,
    QUIET_LANE,
    READY,
    RUNNING,
    WAITING,
    Failure,
    Task,
    Var,
)

# What may follow what. A task is skipped (failed without running) when its last Var is granted.
ALLOWED: Final[frozenset[tuple[str, str]]] = frozenset(
    {
        (NEW, WAITING),  # some Var is not granted yet
        (NEW, READY),
        (NEW, FAILED),  # skipped at once
        (WAITING, READY),
        (WAITING, FAILED),  # skipped
        (READY, RUNNING),
        (RUNNING, DONE),
        (RUNNING, FAILED),
        (NEW, DROPPED),  # dropped: the process forked or ended first
        (WAITING, DROPPED),
        (READY, DROPPED),
        (RUNNING, DROPPED),
    }
)

# Failures kept for `wait_for_all`. An error keeps its traceback, and that the locals of its frames,
# so a program that never waits must not collect them without end; beyond this they are counted.
MAX_UNREPORTED: Final = 64


def is_written(var: Var) -> bool:
    """Whether `var` has no pending write. May be called without the lock.

    The order matters: `_grant` sets `held` before it takes a task from the queue, and here the
    queue is read before `held`, so a write that is moving from one to the other is seen in either.
    """
    return not var.queue and var.held >= 0


class Schedule:
    """The pending tasks of one engine, and what is granted to them."""

    __slots__ = (
        "_background",
        "_idle",
        "_pending",
        "_seq",
        "completed",
        "failed",
        "failures",
        "lost",
        "skipped",
    )

    def __init__(self) -> None:
        #: position of the newest task in the order of pushes, waits included.
        self._seq = 0
        #: tasks pushed and not completed, in push order (a dict used as an ordered set).
        self._pending: dict[Task, None] = {}
        #: how many of these are background tasks.
        self._background = 0
        #: waits for an idle engine, or one that has background tasks only.
        self._idle: list[Task] = []
        #: failures that no wait has raised yet, oldest first; at most MAX_UNREPORTED.
        self.failures: deque[Failure] = deque()
        #: failures not kept in `failures` for want of room.
        self.lost = 0
        #: counts of tasks, waits not included; those skipped are not among those failed.
        self.completed = 0
        self.failed = 0
        self.skipped = 0

    @property
    def pending(self) -> int:
        """Number of tasks pushed and not completed, waits included."""
        return len(self._pending)

    def count_pending(self) -> int:
        """Number of tasks pushed and not completed, waits left out. Needs no lock."""
        return sum(task.latch is None for task in list(self._pending))

    def is_pending(self, task: Task) -> bool:
        """Whether `task` is one of this schedule's and not completed."""
        return task in self._pending

    def lets_through(self, wait: Task) -> bool:
        """Whether nothing is pending that a wait for an idle or a quiet engine waits for."""
        count = len(self._pending)
        return not count or (wait.lane is QUIET_LANE and count == self._background)

    def push(self, task: Task) -> Sequence[Task]:
        """Take in a new task.

        Returns:
            The tasks to act on: in state "ready", to be run; in state "failed", skipped.
        """
        if task.state is not NEW:
            raise EngineBug(f"push requires a new task, got {task!r}")
        if task.lane is IDLE_LANE or task.lane is QUIET_LANE:
            if self.lets_through(task):
                self._move(task, READY)
                return (task,)
            self._move(task, WAITING)
            self._idle.append(task)
            return ()
        self._seq = task.seq = self._seq + 1
        self._pending[task] = None
        if task.lane == BACKGROUND:
            self._background += 1
        if self._request(task):
            task.state = WAITING
            return ()
        for var in task.reads:
            if var.failure is not None:
                return self._ready_or_skip([task])
        for var in task.updates:
            if var.failure is not None:
                return self._ready_or_skip([task])
        task.state = READY
        return (task,)

    def start(self, task: Task) -> bool:
        """Note that the calling thread runs a task now. Needs no lock.

        A task is handed out twice if nobody knows, after an interruption, whether it was. To append
        is one step for all threads: the first has the task, and has it still if it asks again.

        Returns:
            Whether it may: not so if the task is not ready, or another thread has it.
        """
        if task.state is not READY:
            return False
        caller = get_ident()
        task.takers.append(caller)
        if task.takers[0] != caller:
            return False
        task.state = RUNNING
        return True

    def complete(self, task: Task, error: BaseException | None = None) -> Sequence[Task]:
        """Note that a running task has ended, with an error or well.

        Returns:
            The tasks to act on, as `push` does, in the order in which they were freed.
        """
        if task.state is not RUNNING:
            raise EngineBug(f"complete requires a running task, got {task!r}")
        if error is None:
            task.state = DONE
        else:
            self.failed += 1
            task.failure = self._record(Failure(task.title, task.origin, error))
            task.state = FAILED
        freed: list[Task] = []
        self._release(task, freed)
        if freed or self._idle:
            return self._ready_or_skip(freed)
        return ()

    def note_failure(self, task: Task, error: BaseException) -> None:
        """Keep an error that came too late to fail its task; `wait_for_all` raises it."""
        self._record(Failure(task.title, task.origin, error))

    def close(self, var: Var) -> None:
        """Delete `var` once its pending tasks have ended. No task that names it may follow."""
        var.state = DRAINING
        if var.held == 0:
            self._mark_deleted(var)

    def rebuild(self) -> Sequence[Task]:
        """Make the state whole after a call that was cut short by an exception.

        Ctrl-C, or too deep a recursion, can strike between any two steps. What is changed in one
        step, and so is right, is who is pending, and in what state; `held`, `queue` and `waits`
        follow from these by (2) and (3). A task that has ended leaves `_pending` last, so one that
        is found there has not been released in full.

        Returns:
            All tasks that are ready, handed to a pool before or not, and those skipped.
        """
        pending = list(self._pending)
        self._background = sum(task.lane == BACKGROUND for task in pending)
        for task in pending:
            for var in (*task.reads, *task.writes):
                var.held = 0
                var.queue = None
        granted: list[Task] = []
        for task in pending:
            if task.state in (DONE, FAILED):
                for var in task.writes:
                    var.failure = task.failure
                self._forget(task)
            elif self._request(task):
                task.state = WAITING
            elif task.state is not RUNNING:
                task.state = WAITING
                granted.append(task)
        return self._ready_or_skip(granted)

    def drop_all(self, extra: Iterable[Task], reason: str) -> list[Task]:
        """Forget every pending task; the Vars they would have written are poisoned.

        Rebuilds the Vars from nothing, so it is right even if a call was cut short.

        Args:
            extra: tasks that were on their way to `push`.
            reason: why they will never run; part of the error that a wait for such a Var raises.

        Returns:
            The dropped tasks, whose latches the caller releases.
        """
        dropped = [*self._pending, *self._idle, *extra]
        for task in dropped:
            for var in (*task.reads, *task.writes):
                var.held = 0
                var.queue = None
        for task in dropped:
            if task.state in (DONE, FAILED, DROPPED):
                continue
            self._move(task, DROPPED)
            failure = Failure(task.title, task.origin, EngineError(f"it was dropped: {reason}"))
            for var in task.writes:
                var.failure = failure
        for task in dropped:
            for var in (*task.reads, *task.writes):
                if var.state is DRAINING:
                    self._mark_deleted(var)
        self.completed += self.count_pending()
        self._pending.clear()
        self._background = 0
        self._idle.clear()
        return dropped

    def take_failures(self) -> list[Failure]:
        """Remove and return the failures that no wait has raised yet, oldest first."""
        taken: list[Failure] = []
        while self.failures:
            failure = self.failures.popleft()
            if not failure.reported:
                failure.reported = True
                taken.append(failure)
        return taken

    def take_lost(self) -> int:
        """Return and reset the number of failures that were only counted."""
        lost, self.lost = self.lost, 0
        return lost

    def validate(self) -> None:
        """Check the invariants (1) to (3) of this file for every pending task.

        Raises:
            EngineBug: naming the Var or task that breaks one.
        """
        readers: dict[Var, int] = {}
        named: dict[Var, bool] = {}  # Var -> whether some earlier pending task writes it
        queues: dict[Var, list[tuple[Task, bool]]] = {}
        for task in self._pending:
            blocked = 0
            uses = [(var, False) for var in task.reads] + [(var, True) for var in task.writes]
            for var, is_write in uses:
                granted = var not in named if is_write else not named.get(var, False)
                if granted:
                    readers[var] = -1 if is_write else readers.get(var, 0) + 1
                else:
                    blocked += 1
                    queues.setdefault(var, []).append((task, is_write))
                named[var] = named.get(var, False) or is_write
            if task.waits != blocked:
                raise EngineBug(f"{task!r} waits for {task.waits} Vars, should for {blocked}")
            if (task.state is WAITING) != (blocked > 0):
                raise EngineBug(f"{task!r} waits for {blocked} Vars, in the wrong state")
        for var in named:
            if var.held != readers.get(var, 0):
                raise EngineBug(f"{var!r} is held {var.held}, should be {readers.get(var, 0)}")
            if list(var.queue or ()) != queues.get(var, []):
                raise EngineBug(f"{var!r} has the wrong queue: {var.queue}")
            if var.held == 0 and var.queue:
                raise EngineBug(f"{var!r} is free, but {len(var.queue)} tasks queue for it")

    @staticmethod
    def _move(task: Task, state: str) -> None:
        if (task.state, state) not in ALLOWED:
            raise EngineBug(f"{task!r} cannot become {state!r}")
        task.state = state

    def _request(self, task: Task) -> int:
        """Grant `task` its Vars, or queue it for them; returns the number it has to wait for."""
        waits = 0
        for var in task.reads:
            if var.held >= 0 and not var.queue:
                var.held += 1
            else:
                waits += 1
                self._enqueue(var, task, False)
        for var in task.writes:
            if var.held == 0:
                var.held = -1
            else:
                waits += 1
                self._enqueue(var, task, True)
        task.waits = waits
        return waits

    def _forget(self, task: Task) -> None:
        task.fn = None  # frees what it captured
        if task.latch is None:
            self.completed += 1
        if task.lane == BACKGROUND:
            self._background -= 1
        del self._pending[task]

    @staticmethod
    def _mark_deleted(var: Var) -> None:
        var.state = DELETED
        var.failure = None  # its traceback may hold much

    @staticmethod
    def _enqueue(var: Var, task: Task, is_write: bool) -> None:
        if var.queue is None:
            var.queue = deque()
        var.queue.append((task, is_write))

    def _record(self, failure: Failure) -> Failure:
        if len(self.failures) < MAX_UNREPORTED:
            self.failures.append(failure)
        else:
            self.lost += 1
        return failure

    def _release(self, task: Task, freed: list[Task]) -> None:
        """Give back what `task` holds; append the tasks thereby granted everything to `freed`."""
        for var in task.reads:
            var.held -= 1
            if var.held == 0:
                if var.queue:
                    self._grant(var, freed)
                elif var.state is DRAINING:
                    self._mark_deleted(var)
        failure = task.failure
        for var in task.writes:
            var.failure = failure  # before `held`: see is_written
            var.held = 0
            if var.queue:
                self._grant(var, freed)
            elif var.state is DRAINING:
                self._mark_deleted(var)
        self._forget(task)  # last: see `rebuild`

    @staticmethod
    def _grant(var: Var, freed: list[Task]) -> None:
        """Hand a free Var to the head of its queue: one write, or all reads up to a write."""
        queue = var.queue
        assert queue is not None
        task, is_write = queue[0]
        if is_write:
            var.held = -1
            queue.popleft()
            task.waits -= 1
            if task.waits == 0:
                freed.append(task)
        else:
            while queue and not queue[0][1]:
                var.held += 1
                task, _ = queue.popleft()
                task.waits -= 1
                if task.waits == 0:
                    freed.append(task)
        if not queue:
            var.queue = None

    def _ready_or_skip(self, granted: list[Task]) -> Sequence[Task]:
        """Readies those of the tasks that were granted everything, or skips them after a failure.

        Skipping one may grant others: a loop rather than recursion, since chains can be long.
        """
        out: list[Task] = []
        for task in granted:  # grows while it is walked
            failure = None
            for var in (*task.reads, *task.updates):
                if var.failure is not None:
                    failure = var.failure
                    break
            if failure is None:
                self._move(task, READY)
            else:
                task.failure = failure
                self._move(task, FAILED)
                if task.latch is None:
                    self.skipped += 1
                self._release(task, granted)
            out.append(task)
        if self._idle:
            for task in self._idle:
                if task.state is WAITING and self.lets_through(task):
                    self._move(task, READY)
                    out.append(task)
            self._idle = [task for task in self._idle if task.state is WAITING]
        return out
