"""`Engine`: the interface to Vars, tasks and waits. coordinator.py has the lock between threads.

Errors are values: a task's error is kept in the task, carried to the schedule, and raised where
somebody waits.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from hybridnet.engine.coordinator import Coordinator
from hybridnet.engine.errors import DeadlockError, EngineError, VarError
from hybridnet.engine.pool import AbstractPool, InlinePool
from hybridnet.engine.schedule import Schedule, is_written
from hybridnet.engine.scheduler import Scheduler, WatchedSchedule
from hybridnet.engine.task import (
    CLOSING,
    DROPPED,
    IDLE_LANE,
    LANES,
    LIVE,
    QUIET_LANE,
    RUNNING,
    WAIT_LANE,
    Completion,
    Origin,
    Task,
    Var,
    caller_origin,
)
from hybridnet.engine.task import current as _current

#: Called as `observer("task" or "failed", task name, lane, start, end, origin)` after each task
#: that ran, in the thread that ended it. Times are nanoseconds of `time.perf_counter_ns`; the
#: origin is where the task was pushed, for `resolve_origin`.
Observer = Callable[[str, str, str, int, int, Origin | None], None]

_LANES: Final = frozenset(LANES)
_MAX_NOTES: Final = 10  # further failures listed with the one that `wait_for_all` raises

live_engines: Final[weakref.WeakSet[Engine]] = weakref.WeakSet()


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts of one engine since its start, as of one moment.

    Attributes:
        pushed: tasks pushed.
        completed: tasks that ended: well, failed, skipped or dropped.
        failed: tasks that raised.
        skipped: tasks not run because a Var that they read was poisoned.
        pending: tasks pushed and not ended.
        threads: worker threads that live.
    """

    pushed: int
    completed: int
    failed: int
    skipped: int
    pending: int
    threads: int


class Engine:
    """Runs tasks in an order that respects the Vars they read and write.

    Any two tasks without a conflict may run in parallel; per Var, writes run in push order and the
    reads between two writes run together. Use `NaiveEngine` or `ThreadedEngine`.

    Args:
        pool: what carries the tasks out; used by this engine only.
    """

    def __init__(self, pool: AbstractPool) -> None:
        #: for process.py; nobody else's.
        self.core = Coordinator(pool)
        self._observer: Observer | None = None
        pool.bind(self)
        live_engines.add(self)

    @property
    def kind(self) -> str:
        """The name that selects this kind in HYBRIDNET_ENGINE_TYPE."""
        return type(self).__name__

    # Vars

    def new_variable(self, name: str | None = None) -> Var:
        """A new Var; `name` is for messages only."""
        return Var(name)

    def delete_variable(self, var: Var) -> None:
        """Delete `var` after the tasks pushed so far. Never blocks; finalizers may call it.

        Raises:
            VarError: if it was deleted before.
        """
        self._admit("delete_variable", (var,))
        var.state = CLOSING
        self.core.post(var)

    # Tasks

    def push(
        self,
        fn: Callable[[], Any],
        reads: Iterable[Var] = (),
        writes: Iterable[Var] = (),
        *,
        priority: int = 0,
        lane: str = "compute",
        name: str | None = None,
        origin: Origin | None = None,
    ) -> None:
        """Run `fn()` when the Vars allow. Never blocks; finalizers may call it.

        Args:
            fn: the task. Its result is dropped; what it raises poisons the Vars it writes.
            reads: Vars whose value it uses. Naming a Var twice is the same as naming it once.
            writes: Vars whose value it replaces; name a Var in both if it updates the value.
            priority: among the ready tasks of a lane, the highest goes first; among equals those
                that a task has pushed, since it may be waiting for them, then the oldest.
            lane: which threads run it: "compute", "copy", "io", "priority", or "background" for
                what nobody need wait for.
            name: for messages and profiles; by default the function's own.
            origin: `(file, line)` to blame; by default the calling line outside hybridnet.

        Raises:
            EngineError: for an unknown lane.
            VarError: if a Var was deleted.
        """
        self._push(fn, reads, writes, priority, lane, name, origin or caller_origin(2), False)

    def push_async(
        self,
        fn: Callable[[Completion], Any],
        reads: Iterable[Var] = (),
        writes: Iterable[Var] = (),
        *,
        priority: int = 0,
        lane: str = "compute",
        name: str | None = None,
        origin: Origin | None = None,
    ) -> None:
        """Run `fn(on_complete)`; the task ends when `on_complete(error=None)` is called.

        It may be called from any thread, before or after `fn` returns, exactly once. A task whose
        `on_complete` is dropped without a call fails, rather than leave everybody waiting. The
        other arguments are those of `push`.
        """
        self._push(fn, reads, writes, priority, lane, name, origin or caller_origin(2), True)

    # Waits

    def wait_for_var(self, var: Var) -> None:
        """Block until the writes of `var` pushed so far have ended.

        Inside a task that reads `var` it returns at once: the value is there.

        Raises:
            TaskError: if the value is missing since a task failed; each wait raises it anew.
            DeadlockError: inside a task that writes `var`.
            VarError: if `var` was deleted.
        """
        self._admit("wait_for_var", (var,))
        lane = None
        task = _current.task
        if task is not None:
            lane = task.lane
            if _holds(task, var):
                return
        if self.core.inbox or not is_written(var):
            wait = Task(None, (var,), lane=WAIT_LANE, latch=self.core.pool.new_latch())
            self.core.wait(wait, lane)
            failure = var.failure if wait.state is DROPPED else wait.failure
        else:
            failure = var.failure
        if failure is not None:
            failure.raise_()

    def wait_for_all(self, background: bool = True) -> None:
        """Block until no task is pending, those pushed by tasks included.

        Args:
            background: wait for tasks of the lane "background", too.

        Raises:
            TaskError: the first failure that no wait has raised yet; the others are listed in its
                notes. All count as reported then. The Vars they poisoned stay so until written.
            DeadlockError: inside a task, which would wait for its own end.
        """
        self._refuse_in_task("wait_for_all")
        if self.core.inbox or self.core.schedule.pending:
            lane = IDLE_LANE if background else QUIET_LANE
            self.core.wait(Task(None, lane=lane, latch=self.core.pool.new_latch()), None)
        if self.core.schedule.failures:
            self._raise_failures()

    # State

    def statistics(self) -> Statistics:
        """Counts since the start. Each is right; together they may be one task apart."""
        self.core.pump()
        schedule = self.core.schedule
        completed, pending = schedule.completed, schedule.count_pending()
        return Statistics(
            pushed=completed + pending,
            completed=completed,
            failed=schedule.failed,
            skipped=schedule.skipped,
            pending=pending,
            threads=self.core.pool.threads,
        )

    def set_scheduler(self, make: Callable[[], Scheduler] | None) -> None:
        """Let another decide when tasks may run, from now on; see scheduler.py.

        Args:
            make: called without arguments, now and after a fork; returns a `Scheduler`. None lets
                the engine decide by itself again.

        Raises:
            TaskError: a task failed unnoticed; then nothing is changed.
            EngineError: another thread pushes tasks meanwhile.
            DeadlockError: inside a task.
        """
        self.wait_for_all()
        self.core.set_schedule(Schedule() if make is None else WatchedSchedule(make))

    @property
    def observer(self) -> Observer | None:
        """The observer of each task that ran; see `set_observer`."""
        return self._observer

    def set_observer(self, observer: Observer | None) -> None:
        """Call `observer` after each task that ran, see `Observer`; None ends that.

        What it raises does not hurt the task: it is raised by `wait_for_all`.
        """
        self._observer = observer

    def close(self, timeout: float = -1) -> bool:
        """Wait for the pending tasks, then stop the threads. Tasks pushed later run at once.

        Args:
            timeout: seconds to wait before pending tasks are dropped; -1 waits as long as needed.

        Returns:
            Whether all tasks ended in time.

        Raises:
            DeadlockError: inside a task, which would wait for its own end.
        """
        self._refuse_in_task("close")
        idle = Task(None, lane=IDLE_LANE, latch=self.core.pool.new_latch())
        ended = self.core.wait(idle, None, timeout)
        if not ended:
            self.core.drop_all("the engine was closed")
        pool, self.core.pool = self.core.pool, InlinePool()
        self.core.pool.bind(self)
        pool.close()
        return ended

    # Runner: what the pool calls

    def execute(self, task: Task) -> bool:
        """Call the task's function in this thread; an error is kept in `task.error`.

        Returns:
            Whether the task has ended, so that `finish` is due: not so for one that ends by its
            `on_complete`, or was dropped, or handed to the pool twice, see coordinator.py.
        """
        if not self.core.schedule.start(task):
            return False
        current = _current
        task.outer = current.task
        if self._observer is not None:
            task.start_ns = time.perf_counter_ns()
        fn = task.fn
        assert fn is not None
        try:
            current.task = task
            if task.is_async:
                self._execute_async(task, fn)
            else:
                fn()
        except BaseException as error:
            # Without this frame, which would make a cycle error -> traceback -> frame -> task.
            traceback = error.__traceback__
            task.error = error.with_traceback(traceback and traceback.tb_next)
        finally:
            current.task = task.outer
            task.outer = None
        return not task.is_async

    def finish(self, task: Task) -> None:
        """Take note that the task has ended."""
        if self._observer is not None:
            self._observe(task)
        self.core.post(task)

    # Inside

    def _push(
        self,
        fn: Callable[..., Any],
        reads: Iterable[Var],
        writes: Iterable[Var],
        priority: int,
        lane: str,
        name: str | None,
        origin: Origin | None,
        is_async: bool,
    ) -> None:
        if lane not in _LANES:
            raise EngineError(f"push requires a lane of {', '.join(LANES)}, got {lane!r}")
        if not callable(fn):
            raise TypeError(f"push requires a callable, got {fn!r}")
        try:
            task = Task(fn, tuple(reads), tuple(writes), priority, lane, name, origin, is_async)
        except TypeError:
            message = f"push requires iterables of Vars, got reads={reads!r}, writes={writes!r}"
            raise TypeError(message) from None
        self._admit("push", task.reads)
        self._admit("push", task.writes)
        parent = _current.task
        if parent is not None:
            task.depth = parent.depth + 1
        self.core.post(task)

    def _admit(self, caller: str, variables: tuple[Var, ...]) -> None:
        """Refuse Vars that are deleted, or that another engine is still working on."""
        schedule = self.core.schedule
        for var in variables:
            if not isinstance(var, Var):
                raise TypeError(f"{caller} requires Vars, got {var!r}")
            if var.state is not LIVE:
                raise VarError(f"{caller} requires a live Var, got {var!r}: it was deleted")
            if var.owner is not schedule:
                if var.held:
                    raise VarError(
                        f"{caller} requires Vars that no other engine works on, got {var!r}; "
                        f"call wait_for_all on the other engine first"
                    )
                var.owner = schedule

    def _refuse_in_task(self, caller: str) -> None:
        task = _current.task
        while task is not None:
            if self.core.schedule.is_pending(task):
                raise DeadlockError(
                    f"{caller} requires a caller outside of tasks, got task {task.title!r}, "
                    f"which would wait for its own end; wait for single Vars instead"
                )
            task = task.outer

    def _execute_async(self, task: Task, fn: Callable[..., Any]) -> None:
        completion = Completion(self._end_async, task)
        try:
            fn(completion)
        except BaseException as error:
            if not completion.claim():  # too late to fail the task, which has ended already
                self.core.schedule.note_failure(task, error)
                return
            self._end_async(task, error)

    def _end_async(self, task: Task, error: BaseException | None) -> None:
        task.error = error
        self.finish(task)

    def _observe(self, task: Task) -> None:
        observer = self._observer
        if observer is None or not task.start_ns:
            return
        event = "task" if task.error is None else "failed"
        try:
            end = time.perf_counter_ns()
            observer(event, task.title, task.lane, task.start_ns, end, task.origin)
        except Exception as error:
            self.core.schedule.note_failure(task, error)

    def _raise_failures(self) -> None:
        failures = self.core.schedule.take_failures()
        if not failures:
            return
        first, *others = failures
        error = first.to_error()
        for other in others[:_MAX_NOTES]:
            error.add_note(f"also: {other.describe()}")
        unlisted = len(others[_MAX_NOTES:]) + self.core.schedule.take_lost()
        if unlisted:
            error.add_note(f"and {unlisted} more tasks failed")
        raise error from first.error

    # For process.py

    def reset_after_fork(self) -> None:
        """In a forked child: forget the parent's tasks and threads, keep the Vars."""
        self.core.reset_after_fork()
        self.core.pool = self.core.pool.fresh()
        self.core.pool.bind(self)
        _current.task = None
        self.core.drop_all("it was pending in the parent process when this one was forked")
        self.core.schedule.take_failures()


def _holds(task: Task | None, var: Var) -> bool:
    """Whether `task`, or one that it runs inside of, has been granted a read of `var`."""
    while task is not None:
        if task.state is not RUNNING:  # an async one that has ended while its function goes on
            pass
        elif var in task.writes:
            raise DeadlockError(
                f"wait_for_var requires a Var that the calling task does not write, got {var!r} "
                f"in task {task.title!r}, which would wait for its own end"
            )
        elif var in task.reads:
            return True
        task = task.outer
    return False
