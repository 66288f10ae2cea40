"""The callback that ends a `push_async` task, exactly once.

Correctness: whoever ends the task must own its one ticket, and `list.pop` gives a ticket to one
thread only (a single C call under the GIL). The finalizer runs when no reference is left, so it
races with nobody; a ticket that it finds can no longer be used by anyone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

from hybridnet.engine.errors import CompletionError
from hybridnet.engine.task import Task

__all__ = ["Completion"]


@final
class Completion:
    """`on_complete`: call it with no argument, or with the error that the task failed with."""

    __slots__ = ("_end", "_task", "_ticket")

    def __init__(self, end: Callable[[Task, BaseException | None], None], task: Task) -> None:
        self._end = end
        self._task = task
        self._ticket = [True]

    def claim(self) -> bool:
        """Take the right to end the task; False if it is taken."""
        try:
            return self._ticket.pop()
        except IndexError:
            return False

    def __call__(self, error: BaseException | None = None) -> None:
        """End the task.

        Raises:
            CompletionError: if it was called before.
            TypeError: if `error` is neither None nor an exception.
        """
        if error is not None and not isinstance(error, BaseException):
            raise TypeError(f"on_complete requires an exception or None, got {error!r}")
        if not self.claim():
            raise CompletionError(
                f"on_complete requires one call per task, got a second one for task "
                f"{self._task.title!r}"
            )
        self._end(self._task, error)

    def __del__(self) -> None:
        if self.claim():
            message = "on_complete was dropped without a call; keep it and call it exactly once"
            self._end(self._task, CompletionError(message))
