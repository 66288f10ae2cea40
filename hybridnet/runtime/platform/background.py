"""Work that nobody waits for: compiling ahead, writing programs to disk.

At the end of the program what has begun is left behind, but for what is done in a moment; what
becomes of the threads that do it says `ending`.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Final, TypeVar

from hybridnet import engine
from hybridnet.base.processor import LOW_PRIORITY, num_threads

from .ending import leave_behind

_Result = TypeVar("_Result")

#: Seconds at the end for what is done in a moment, such as programs to be written.
_WAIT_SECONDS: Final = 0.2


class _Background:
    """The tasks that run in the background, and whether more may begin.

    Attributes:
        ended: since when the program has been at its end (`time.monotonic`).
        hooked: whether its end is known to call `end`.
    """

    def __init__(self) -> None:
        self.ended: float | None = None
        self.hooked = False
        self._running: set[engine.Completion] = set()
        self._turn: engine.Var | None = None
        #: Those of `_running` that are waited for: what may still begin now is done in a moment.
        self._short: set[engine.Completion] = set()
        # The lock of `_done` is taken by itself: a handler of signals may raise when the Condition
        # has taken it, and has not come to the block that gives it back.
        self._lock = engine.RLock()
        self._done = threading.Condition(self._lock)

    def run(self, work: Callable[[], None], grace: float, on_complete: engine.Completion) -> None:
        """Does something, unless the program ended longer than `grace` seconds ago."""
        with self._lock:
            late = self.ended is not None and monotonic() - self.ended >= grace
            if not late:
                self._running.add(on_complete)
                if grace:
                    self._short.add(on_complete)
        error = None
        try:
            if not late:
                work()
        except Exception as caught:
            error = caught
        finally:
            with self._lock:
                left = not late and on_complete not in self._running
                self._running.discard(on_complete)
                self._short.discard(on_complete)
                self._done.notify_all()
            if not left:
                on_complete(error)

    def turn(self) -> engine.Var:
        """Returns what tasks write that are to run one after the other."""
        with self._lock:
            if self._turn is None:
                self._turn = engine.new_variable()
            return self._turn

    def end(self) -> None:
        """Lets nothing more begin, and waits a moment for what runs; the rest is left behind."""
        with self._lock:
            if self.ended is None:
                self.ended = monotonic()
            self._done.wait_for(lambda: self._short.isdisjoint(self._running), _WAIT_SECONDS)
            left, self._running = self._running, set()
        for on_complete in left:
            on_complete()

    def reset_after_fork(self) -> None:
        """In a forked child, where nothing runs."""
        self._running = set()
        self._short = set()
        self._turn = None
        self._lock = engine.RLock()
        self._done = threading.Condition(self._lock)


_background: Final = _Background()


def later(work: Callable[[], None], name: str, *, grace: float = 0.0) -> None:
    """Makes the engine run a function when it has a thread to spare.

    Args:
        work: what to do.
        name: of the task.
        grace: seconds after the end of the program until which it is still begun; by default what
            has not begun by then is left out.
    """
    hook()
    run = _background.run
    engine.push_async(lambda done: run(work, grace, done), name=name, lane="background")


def in_turn(work: Callable[[], None], name: str) -> None:
    """Does something as `later` does it, but one such thing at a time.

    XLA's autotuners take kernels' times on the device, which no other's must disturb; and a thread
    of the background stays free for what comes meanwhile.

    Args:
        work: what to do.
        name: of the task.
    """
    hook()
    run = _background.run
    writes = (_background.turn(),)
    engine.push_async(
        lambda done: run(work, 0.0, done), writes=writes, name=name, lane="background"
    )


def later_in_own_thread(work: Callable[[], None], name: str) -> None:
    """Does something that waits for long, as `later` does it, but holds up no thread of the engine.

    Args:
        work: what to do.
        name: of the task and of the thread.
    """
    hook()

    def begin(on_complete: engine.Completion) -> None:
        def run() -> None:
            _background.run(work, 0.0, on_complete)

        try:
            _start(run, name)
        except RuntimeError:  # no thread can be started
            run()

    engine.push_async(begin, name=name, lane="background")


def in_own_thread(work: Callable[[], None], name: str) -> None:
    """Does something in a thread of its own that may go on as long as the process does.

    Nobody waits for it.

    Args:
        work: what to do; it must look at `is_ending` and come to an end then.
        name: of the thread.
    """
    _start(work, name)


def _start(work: Callable[[], None], name: str) -> None:
    hook()
    threading.Thread(target=work, name=name, daemon=True).start()


def at_low_priority(work: Callable[[], _Result], name: str) -> _Result:
    """Does something while other threads go first, and waits for it.

    What computes in C++ for long, and nobody waits for, must not take the processors from a loop
    of the user's. It is done by a thread of its own, since few processes may raise the priority of
    a thread again; where no thread can be started, by this one.

    Args:
        work: what to do: little of it in Python, as others would wait for the interpreter's lock.
        name: of the thread.

    Returns:
        What `work` returns.

    Raises:
        Exception: what `work` raises.
    """

    def run() -> _Result:
        _lower_priority()
        return work()

    return in_another_thread(run, name, otherwise=work)


def in_another_thread(
    work: Callable[[], _Result], name: str, *, otherwise: Callable[[], _Result] | None = None
) -> _Result:
    """Runs a function in a thread of its own, where no Ctrl-C stops it halfway, and waits for it.

    Args:
        work: what to do.
        name: of the thread.
        otherwise: what this thread does where none can be started; default: the same.

    Returns:
        What `work` returns.

    Raises:
        Exception: what `work` raises.
    """
    made: list[_Result] = []
    errors: list[BaseException] = []
    ended = engine.Flag()

    def run() -> None:
        try:
            made.append(work())
        except BaseException as error:
            errors.append(error)
        finally:
            ended.set()

    try:
        _start(run, name)
    except RuntimeError:
        return (otherwise or work)()
    ended.wait()
    if errors:
        raise errors[0]
    return made[0]


def side_by_side(works: Sequence[Callable[[], object]], name: str) -> None:
    """Runs functions in threads of their own, as many at a time as there are processors; waits.

    Args:
        works: what to do. What one raises is passed over: who needs its result will ask again.
        name: of the threads.
    """
    left = [*reversed(works)]

    def run() -> None:
        while True:
            try:
                work = left.pop()
            except IndexError:
                return
            with suppress(Exception):
                work()

    ends = []
    for _ in range(min(len(works), num_threads()) - 1):
        end = engine.Flag()
        try:
            _start(partial(_run_to, run, end), name)
        except RuntimeError:  # no more threads can be started
            break
        ends.append(end)
    run()
    for end in ends:
        end.wait()


def _run_to(work: Callable[[], object], end: engine.Flag) -> None:
    try:
        work()
    finally:
        end.set()


def _lower_priority() -> None:
    """Lowers the priority of this thread, and of those that it starts."""
    if sys.platform != "linux":  # elsewhere this is of the whole process
        return
    thread = threading.get_native_id()
    with suppress(OSError):  # a sandbox may forbid it
        niceness = os.getpriority(os.PRIO_PROCESS, thread) + LOW_PRIORITY
        os.setpriority(os.PRIO_PROCESS, thread, min(niceness, 19))


def is_ending() -> bool:
    """Whether the program is at its end."""
    return _background.ended is not None


def hook() -> None:
    """Sees to it that the process ends well; to be called before anything is computed."""
    if _background.hooked:
        return
    _background.hooked = True
    engine.get()  # hooks in first, so that it waits for its tasks after ours has run
    atexit.register(leave_behind)
    register = getattr(threading, "_register_atexit", atexit.register)
    try:
        register(_background.end)
    except RuntimeError:  # the interpreter is going down already
        _background.end()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_background.reset_after_fork)
