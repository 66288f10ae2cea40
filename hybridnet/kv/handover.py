"""The end of tasks of the engine, which comes when the servers answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

from hybridnet.engine import RLock
from hybridnet.kvstore.drivers.remote_store import Done

from .failures import as_error


@final
class Acknowledgement:
    """Ends a task when the servers have acknowledged a push, whichever of the two comes first.

    It is the callback of the push, and is told by `tell` how to end the task that stands for it.

    Attributes:
        held: the arrays of the push, kept until the acknowledgement, as they may be sent again.
        error: why the push failed, once that is known.
    """

    def __init__(self) -> None:
        self.held: Any = None
        self._told = False
        self.error: BaseException | None = None
        self._done: Callable[[Any], None] | None = None
        self._once = RLock()

    def __call__(self, error: BaseException | None) -> None:
        """Takes the acknowledgement, or the error of the push."""
        with self._once:
            self._told, self.error, self.held = True, error, None
            done = self._done
        if done is not None:
            self._end(done)

    def tell(self, done: Callable[[Any], None]) -> None:
        """Calls `done` when the acknowledgement is there, maybe at once."""
        with self._once:
            self._done = done
            told = self._told
        if told:
            self._end(done)

    def _end(self, done: Callable[[Any], None]) -> None:
        done((True,) if self.error is None else as_error(self.error))


def ends_task(
    done: Callable[[Any], None],
    make: Callable[[], Sequence[Any]],
    held: Any = None,
    after: Acknowledgement | None = None,
) -> Done:
    """Returns a callback that ends a task: by what `make` returns, or by the error it is given.

    Args:
        done: ends the task.
        make: returns the arrays of the task.
        held: what must stay alive until then.
        after: the push before it. Where that has failed, the task fails, too: what it was given is
            the value without the push, which nobody has asked for.
    """

    def ended(error: BaseException | None, held: Any = held) -> None:
        if error is None and after is not None:
            error = after.error
        done(make() if error is None else as_error(error))

    return ended
