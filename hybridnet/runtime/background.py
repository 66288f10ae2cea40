"""Work that nobody waits for, done by the engine: compiling ahead, and writing programs to disk."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from time import monotonic
from typing import Final

from hybridnet import engine

__all__ = ["later"]


class _Exit:
    """Whether the process is ending, and since when (seconds of `time.monotonic`)."""

    begun: float | None = None
    hooked = False

    def begin(self) -> None:
        if self.begun is None:
            self.begun = monotonic()

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
    if not _exit.hooked:
        _exit.hooked = True
        engine.get()  # hooks in first, so that it waits for its tasks after ours has run
        register = getattr(threading, "_register_atexit", atexit.register)
        try:
            register(_exit.begin)
        except RuntimeError:  # the interpreter is going down already
            _exit.begin()
    engine.push(lambda: None if _exit.is_over(grace) else work(), priority=-1, name=name, lane="io")
