"""Something that another thread completes, and that can be waited for."""

from __future__ import annotations

import threading
from typing import final

__all__ = ["Completion"]


@final
class Completion:
    """A `done` that can be waited for, by one thread or by several, one after the other."""

    __slots__ = ("_error", "_open")

    def __init__(self) -> None:
        # A lock is the quickest thing that a thread can wait for.
        self._open = threading.Lock()
        self._open.acquire()
        self._error: BaseException | None = None

    def __call__(self, error: BaseException | None) -> None:
        """Says that it is complete: with None, or with what went wrong."""
        self._error = error
        self._open.release()

    def wait(self, timeout: float | None = None) -> None:
        """Waits for it.

        Args:
            timeout: seconds; by default as long as it takes (dead peers end it: `DeadNodeError`).

        Raises:
            TimeoutError: it took longer.
            BaseException: what went wrong.
        """
        if not self._open.acquire(timeout=-1 if timeout is None else max(0.0, timeout)):
            raise TimeoutError(f"not complete after {timeout} s")
        self._open.release()
        if self._error is not None:
            raise self._error
