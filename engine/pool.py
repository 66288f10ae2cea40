"""Pools carry ready tasks out; what is ready, the schedule has decided.

`InlinePool` runs a task in the thread that made it ready, `ThreadPool` in daemon threads, a few
per lane. Neither knows Vars. (`ManualPool`, for tests, is in manual.py.)

Why `ThreadPool` loses no task. A lane has a heap of ready tasks and a stack of idle workers, each
asleep on a gate (a lock of its own).

    submit:  push the task on the heap;  then, if a worker is idle, pop one and open its gate.
    worker:  pop a task and run it; if there is none, put its gate on the idle stack,
             then *look at the heap again*, and sleep only if it is still empty.

Whichever of "task on the heap" and "gate on the stack" comes second sees the first, so a task and a
sleeping worker never miss each other. A worker that finds a task in the second look takes its gate
back; if it is gone, somebody is about to open it, and passing it once is harmless. A worker woken
for nothing (another took the task) goes back to sleep. If nobody is idle and the lane is below its
limit, submit starts a worker.

Assumptions: `heappush`, `heappop`, `deque.append`, `pop` and `remove` are single steps for other
threads. In CPython with the GIL they are: each is one C call, and the items compare as tuples of
numbers with a unique third member, so no Python code runs inside. A finalizer may therefore
submit at any point, even in the middle of a submit of its own thread. Idle workers are taken last
in, first out, because the last one's memory is still in the cache; they sleep in a lock, not spin.

A worker that waits (a task may wait for other Vars) takes no room: the lane's limit is one higher
for the time, so tasks that wait for tasks of their own lane cannot exhaust it. The extra worker
takes tasks pushed by tasks first, and a worker beyond the limit ends before its next task; else
each would take another task that waits, and there would soon be a thread per task.
"""

from __future__ import annotations

import os
import threading
from _thread import start_new_thread
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from heapq import heappop, heappush
from threading import get_ident
from time import monotonic
from typing import Final, Protocol, final

from hybridnet.engine.errors import EngineError
from hybridnet.engine.flag import LONGEST_SLEEP, Flag
from hybridnet.engine.rlock import RLock
from hybridnet.engine.signals import raised_by_handler
from hybridnet.engine.task import LANES, READY, RUNNING, Latch, Task

# Heaps order tasks by (-priority, -depth, seq): the highest priority first, then those that a task
# has pushed (it may be waiting for them), then the oldest push.
_Entry = tuple[int, int, int, Task]

#: Seconds to wait for a worker to be started: it takes some 100 us.
START_TIMEOUT: Final = 0.1
JOIN_TIMEOUT: Final = 0.02  # seconds to wait for workers at close; idle ones leave in microseconds


class Runner(Protocol):
    """Runs a task for a pool: `execute`, then `finish` if that says so."""

    def execute(self, task: Task) -> bool:
        """Call the task's function; errors are kept in the task. Whether it has ended by that."""

    def finish(self, task: Task) -> None:
        """Report the end of the task, which may submit others."""


class AbstractPool(ABC):
    """Runs ready tasks. Bound once, to one engine."""

    _runner: Runner | None = None

    def bind(self, runner: Runner) -> None:
        """Set who is called to run a task; before the first `submit`."""
        self._runner = runner

    @abstractmethod
    def submit(self, task: Task) -> None:
        """Run a ready task, now or later."""

    def wake_missed(self) -> None:  # noqa: B027, most pools have nobody to wake
        """Wake the workers that an interrupted `submit` may not have woken."""

    def new_latch(self) -> Latch:
        """A latch for one thread to sleep on in `wait`, until `release` is called."""
        return _taken_lock()

    def wait(self, latch: Latch, lane: str | None, timeout: float = -1) -> bool:
        """Block until `latch` is released.

        Args:
            latch: from `new_latch` of this pool.
            lane: the lane whose task is waiting, or None outside of tasks.
            timeout: seconds, -1 for no limit.

        Returns:
            Whether it was released in time.
        """
        return _acquire(latch, timeout)

    @abstractmethod
    def close(self) -> None:
        """Stop the threads, if any. Tasks submitted later run in the submitting thread."""

    @abstractmethod
    def fresh(self) -> AbstractPool:
        """A pool of the same kind and sizes, without tasks or threads, for a forked child."""

    @property
    @abstractmethod
    def threads(self) -> int:
        """Number of threads started and not ended."""


def _acquire(latch: Latch, timeout: float) -> bool:
    """Wait for `latch`, without end if `timeout` is negative."""
    if timeout >= 0:
        return latch.acquire(True, timeout)
    while not latch.acquire(True, LONGEST_SLEEP):
        pass
    return True


def _taken_lock() -> threading.Lock:
    lock = threading.Lock()
    lock.acquire()
    return lock


class _InlineState(threading.local):
    # Tasks that became ready as one ended in this thread; None while none is ending.
    freed: list[_Entry] | None = None


class _Chain:
    """Tasks that one thread runs one after the other, each freed by one before it."""

    __slots__ = ("freed", "interrupt", "task")

    def __init__(self, task: Task) -> None:
        #: what runs, or is about to; None when all have ended.
        self.task: Task | None = task
        self.freed: list[_Entry] = []
        #: Ctrl-C, if it was pressed, or what the handler of another signal raised.
        self.interrupt: BaseException | None = None


@final
class InlinePool(AbstractPool):
    """Runs a task at once, in the thread that made it ready.

    A task pushed by a running task runs inside it. Tasks freed by a completion run one after the
    other when the completion is over, so a long chain does not nest.

    Ctrl-C, or what another signal's handler raises, can strike between any two steps: what is left
    to do is in the chain and the states of its tasks, so it goes on from there. A second one can
    strike where the first is handled, and where a loop jumps back, which is outside of what it
    holds; so there is a loop around the loop.
    """

    def __init__(self) -> None:
        self._state = _InlineState()

    def submit(self, task: Task) -> None:
        """Run the task now, or at the end of the completion that freed it."""
        if self._state.freed is not None:
            heappush(self._state.freed, (-task.priority, -task.depth, task.seq, task))
            return
        chain = _Chain(task)
        while chain.task is not None:
            try:
                self._run_all(chain)
            except BaseException as error:
                if not _is_struck(error):
                    raise
                chain.interrupt = error
        if chain.interrupt is not None:
            raise chain.interrupt  # it is for the program, not only for the task it struck

    def _run_all(self, chain: _Chain) -> None:
        while chain.task is not None:
            try:
                self._run_one(chain, chain.task)
            except BaseException as error:
                if not _is_struck(error):
                    raise
                chain.interrupt = error
                if chain.task is not None and chain.task.state is RUNNING:
                    chain.task.error = chain.task.error or error

    def _run_one(self, chain: _Chain, task: Task) -> None:
        runner, state = self._runner, self._state
        assert runner is not None
        try:
            if task.state is READY:
                runner.execute(task)
            if task.error is not None and _is_struck(task.error):
                chain.interrupt = task.error
            if task.state is RUNNING and not task.is_async and task.takers[0] == get_ident():
                state.freed = chain.freed
                runner.finish(task)
            if chain.freed:
                chain.task = chain.freed[0][3]  # before it is taken out: what has ended runs once
                heappop(chain.freed)
            else:
                chain.task = None
        finally:
            state.freed = None

    def close(self) -> None:
        """Nothing to stop."""

    def fresh(self) -> InlinePool:
        """A new pool of this kind."""
        return InlinePool()

    @property
    def threads(self) -> int:
        """None: tasks run in the threads that push."""
        return 0


def _is_struck(error: BaseException) -> bool:
    """Whether an exception is for the program, whatever it interrupted."""
    return isinstance(error, KeyboardInterrupt) or raised_by_handler(error)


def default_workers() -> dict[str, int]:
    """Threads per lane, at most: enough to keep this process's processors and one disk busy."""
    if hasattr(os, "sched_getaffinity"):
        processors = len(os.sched_getaffinity(0))
    else:
        processors = os.cpu_count() or 1
    most = max(2, min(processors, 8))
    return {"compute": most, "copy": 1, "io": 2, "priority": 1, "background": 2}


class _Lane:
    __slots__ = ("gates", "heap", "idle", "limit", "name", "started")

    def __init__(self, name: str, limit: int) -> None:
        self.name = name
        self.limit = limit
        #: workers started and not ended; changed under the pool's lock.
        self.started = 0
        self.heap: list[_Entry] = []
        #: gates of all workers.
        self.gates: set[threading.Lock] = set()
        #: gates of the sleeping workers.
        self.idle: deque[threading.Lock] = deque()


@final
class ThreadPool(AbstractPool):
    """A few daemon threads per lane, started when first needed.

    Args:
        workers: threads per lane, at most; lanes not named keep their default.

    Raises:
        EngineError: for an unknown lane or a number below 1.
    """

    def __init__(self, workers: Mapping[str, int] | None = None) -> None:
        sizes = default_workers()
        for name, size in (workers or {}).items():
            if name not in sizes:
                raise EngineError(f"workers requires lanes of {', '.join(LANES)}, got {name!r}")
            if size < 1:
                raise EngineError(f"workers requires at least 1 thread per lane, got {name}={size}")
            sizes[name] = size
        self._lanes = {name: _Lane(name, size) for name, size in sizes.items()}
        self._sizes = sizes
        self._run: Callable[[Task], None] | None = None
        # Guards `started`, `limit` and the list of threads. Reentrant, because starting a thread
        # allocates, and a finalizer that runs then may submit a task.
        self._lock = RLock()
        self._threads: set[threading.Thread] = set()
        self._closed = False

    def bind(self, runner: Runner) -> None:
        """Set who is called to run a task."""
        execute, finish = runner.execute, runner.finish

        def run(task: Task) -> None:
            if execute(task):
                finish(task)

        self._run = run

    def submit(self, task: Task) -> None:
        """Queue the task for its lane and wake or start a worker if there is one to spare."""
        lane = self._lanes[task.lane]
        heappush(lane.heap, (-task.priority, -task.depth, task.seq, task))
        self._wake(lane)

    def wait(self, latch: Latch, lane: str | None, timeout: float = -1) -> bool:
        """Block until `latch` is released; the lane of a waiting task gets another worker."""
        if lane is None:
            return _acquire(latch, timeout)
        held = self._lanes[lane]
        with self._lock:
            held.limit += 1
        try:
            if held.heap:
                self._wake(held)
            return _acquire(latch, timeout)
        finally:
            with self._lock:
                held.limit -= 1

    def close(self) -> None:
        """Let the workers finish the queued tasks and end; waits for those that do so soon."""
        self._closed = True
        for lane in self._lanes.values():
            while lane.idle:
                self._wake(lane)
        end = monotonic() + JOIN_TIMEOUT
        for thread in list(self._threads):
            # One that another thread is just starting cannot be joined: it sees that we are closed.
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(max(0.0, end - monotonic()))

    def fresh(self) -> ThreadPool:
        """A pool of the same sizes; a worker of this one ends after its task."""
        self._closed = True  # of the parent's threads, at most the forking one lives on: it leaves
        return ThreadPool(self._sizes)

    @property
    def threads(self) -> int:
        """Number of workers started and not ended."""
        return len(self._threads)

    def wake_missed(self) -> None:
        """Open the gates that are in nobody's hands.

        Ctrl-C can strike when a gate was taken from the stack and is not open yet: its worker would
        sleep for ever. One that is busy passes its gate once more for nothing.
        """
        for lane in self._lanes.values():
            for gate in lane.gates - set(lane.idle):
                with suppress(RuntimeError):  # it is open
                    gate.release()

    def _wake(self, lane: _Lane) -> None:
        if lane.idle:
            try:
                lane.idle.pop().release()
            except IndexError:  # another thread was quicker: that worker sees our task too
                self._wake(lane)
            except RuntimeError:  # it was open already (see `wake_missed`): that worker does, too
                pass
        elif lane.started < lane.limit or self._closed:
            self._grow(lane)

    def _grow(self, lane: _Lane) -> None:
        """Start a worker if there may be another; run the lane's tasks here if it has none."""
        if get_ident() != threading.main_thread().ident:
            self._add_worker(lane)
        elif not self._add_worker_apart(lane):
            return
        if lane.started == 0:  # closed, or no thread to be had: better here than never
            self._drain_inline(lane)

    def _add_worker_apart(self, lane: _Lane) -> bool:
        """Have another thread call `_add_worker`; return whether that is over, or could not begin.

        In the main thread the handler of a signal may raise in `Thread.start`, which then takes the
        thread off Python's books, whether it runs or not: it ends there, and never works.
        """
        tried = Flag()
        try:
            start_new_thread(self._add_worker, (lane, tried))
        except RuntimeError as error:
            if error.__traceback__ is not None and error.__traceback__.tb_next is not None:
                raise  # a handler did, and not `start_new_thread`
            return True
        # Not for ever: a finalizer may push while this thread holds a lock that starting takes.
        return tried.wait(START_TIMEOUT)

    def _add_worker(self, lane: _Lane, tried: Flag | None = None) -> None:
        try:
            with self._lock:
                if not self._closed and lane.started < lane.limit:
                    self._start(lane)
        finally:
            if tried is not None:
                tried.set()

    def _start(self, lane: _Lane) -> None:
        thread = threading.Thread(
            target=self._work, args=(lane,), daemon=True, name=f"hybridnet-{lane.name}"
        )
        lane.started += 1
        self._threads.add(thread)
        try:
            thread.start()
        except BaseException as error:
            if thread.ident is None:
                lane.started -= 1
                self._threads.discard(thread)
            if not isinstance(error, RuntimeError):  # which says that no thread can be started
                raise

    def _drain_inline(self, lane: _Lane) -> None:
        """Run the tasks of a lane that has no workers and gets none."""
        assert self._run is not None
        while True:
            try:
                task = heappop(lane.heap)[3]
            except IndexError:
                return
            self._run(task)

    def _retire(self, lane: _Lane) -> bool:
        """Whether a worker should end: the pool is closed, or its lane has too many."""
        with self._lock:
            if not self._closed and lane.started <= lane.limit:
                return False
            lane.started -= 1
            self._threads.discard(threading.current_thread())
            return True

    def _work(self, lane: _Lane) -> None:
        gate = _taken_lock()
        lane.gates.add(gate)
        try:
            self._work_behind(gate, lane)
        finally:
            lane.gates.discard(gate)

    def _work_behind(self, gate: threading.Lock, lane: _Lane) -> None:
        heap, idle, run = lane.heap, lane.idle, self._run
        assert run is not None
        while True:
            if lane.started > lane.limit and self._retire(lane):
                if heap:  # whoever opened our gate meant us to take a task: pass it on
                    self._wake(lane)
                return
            try:
                task = heappop(heap)[3]
            except IndexError:
                if self._closed and self._retire(lane):
                    return
                idle.append(gate)
                if heap or self._closed:
                    try:
                        idle.remove(gate)
                    except ValueError:
                        gate.acquire()
                    continue
                gate.acquire()
                if gate in idle:  # opened by `wake_missed`, which takes none from the stack
                    with suppress(ValueError):
                        idle.remove(gate)
                continue
            run(task)
            del task  # a sleeping worker must not keep a task, and what its error holds, alive
