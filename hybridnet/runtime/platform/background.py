"""Work that nobody waits for, done by the engine: compiling ahead, and writing programs to disk.

At the end of the program what has begun is waited for, however long it takes: a thread that comes
back from XLA into an interpreter that is gone aborts the process.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable
from time import monotonic
from typing import Final

from hybridnet import engine

__all__ = ["in_own_thread", "is_ending", "later"]


_PATIENCE: Final = 10.0  # seconds
_WAITING: Final = "hybridnet: waiting for a program that is being compiled (Ctrl-C ends at once)"


class _Exit:
    """Whether the process is ending, and since when (seconds of `time.monotonic`)."""

    def __init__(self) -> None:
        self.begun: float | None = None
        self.hooked = False
        self._running = 0
        self._ended = threading.Condition()

    def run(self, work: Callable[[], None], grace: float) -> None:
        with self._ended:
            if self.is_over(grace):
                return
            self._running += 1
        try:
            work()
        finally:
            with self._ended:
                self._running -= 1
                self._ended.notify_all()

    def begin(self) -> None:
        """Lets nothing more begin, and waits for what runs; Ctrl-C ends the process at once."""
        with self._ended:
            if self.begun is None:
                self.begun = monotonic()
        try:
            with self._ended:
                if not self._ended.wait_for(self._is_idle, _PATIENCE):
                    print(_WAITING, file=sys.stderr)
                    self._ended.wait_for(self._is_idle)
        except KeyboardInterrupt:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(128 + signal.SIGINT)

    def _is_idle(self) -> bool:
        return self._running == 0

    def reset_after_fork(self) -> None:
        """In a forked child, where nothing runs."""
        self._running = 0
        self._ended = threading.Condition()

    def is_over(self, grace: float) -> bool:
        return self.begun is not None and monotonic() - self.begun >= grace


_exit: Final = _Exit()


def later(work: Callable[[], None], name: str, *, grace: float = 0.0) -> None:
    """Has the engine do something when it has a thread to spare.

    Args:
        work: what to do.
        name: of the task.
        grace: seconds after the end of the program until which it is still begun; by default what
            has not begun by then is left out.
    """
    _hook()
    engine.push(lambda: _exit.run(work, grace), priority=-1, name=name, lane="io")


def in_own_thread(work: Callable[[], None], name: str) -> None:
    """Does something that waits for long in a thread of its own.

    Args:
        work: what to do; it must look at `is_ending` and come to an end then.
        name: of the thread.
    """
    _hook()
    threading.Thread(target=_exit.run, args=(work, 0.0), name=name, daemon=True).start()


def is_ending() -> bool:
    """Whether the program is at its end, and waits for what runs."""
    return _exit.begun is not None


def _hook() -> None:
    if _exit.hooked:
        return
    _exit.hooked = True
    engine.get()  # hooks in first, so that it waits for its tasks after ours has run
    register = getattr(threading, "_register_atexit", atexit.register)
    try:
        register(_exit.begin)
    except RuntimeError:  # the interpreter is going down already
        _exit.begin()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_exit.reset_after_fork)
