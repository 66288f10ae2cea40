"""Something that another thread completes, and that can be waited for."""

from __future__ import annotations

from typing import final

from hybridnet.engine import Flag


@final
class Completion:
    """A `done` that can be waited for, by one thread or by several, one after the other."""

    __slots__ = ("_error", "_flag")

    def __init__(self) -> None:
        self._flag = Flag()
        self._error: BaseException | None = None

    def __call__(self, error: BaseException | None) -> None:
        """Says that it is complete: with None, or with what went wrong."""
        self._error = error
        self._flag.set()

    def wait(self, timeout: float | None = None) -> None:
        """Waits for it.

        Args:
            timeout: seconds; by default as long as it takes (dead peers end it: `DeadNodeError`).

        Raises:
            TimeoutError: it took longer.
            BaseException: what went wrong.
        """
        if not self._flag.wait(timeout):
            raise TimeoutError(f"not complete after {timeout} s")
        if self._error is not None:
            raise self._error
