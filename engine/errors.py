"""The engine's errors: misuse, failed tasks, and bugs of the engine itself are different types."""

from __future__ import annotations

from typing import Final


class EngineError(RuntimeError):
    """Base of the errors that the engine raises; every error below but `EngineBug` is one."""


class TaskError(EngineError):
    """A task failed; raised at the wait, `from` the error that the task raised.

    Attributes:
        task: name of the task that failed first (not of those skipped because of it).
        origin: `(file, line)` that pushed the task, or None when it is not known.
    """

    def __init__(self, message: str, task: str, origin: tuple[str, int] | None) -> None:
        super().__init__(message)
        self.task: Final = task
        self.origin: Final = origin


class VarError(EngineError):
    """A Var was used after `delete_variable`, or while another engine still works on it."""


class DeadlockError(EngineError):
    """A task waited for something that cannot happen before the task itself ends."""


class CompletionError(EngineError):
    """The `on_complete` of a `push_async` task was called twice, or dropped without a call."""


class EngineBug(RuntimeError):
    """A bug in the engine: this should never happen, please report it."""
