"""A thread's queue of work that is ready, started when it is done with what it does now.

So long chains of small programs neither nest nor wait for other threads.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["as_task", "at_once", "may_wait", "start_soon"]


class _Inline(threading.local):
    """The state of this thread in runs.

    Attributes:
        queue: what it has found ready and will start next; None outside of that.
        may_wait: whether it is a thread of the engine, and no user's.
    """

    queue: deque[Callable[[], None]] | None = None
    may_wait = False


_thread: Final = _Inline()


def start_soon(work: Callable[[], None]) -> None:
    """Has this thread do something when it is done with what it does now."""
    if _thread.queue is not None:
        _thread.queue.append(work)
        return
    queue = _thread.queue = deque([work])
    try:
        while queue:
            queue.popleft()()
    finally:
        _thread.queue = None


def as_task(work: Callable[[], None]) -> Callable[[], None]:
    """Returns a task of the engine that does something."""

    def task() -> None:
        was, _thread.may_wait = _thread.may_wait, True
        try:
            start_soon(work)
        finally:
            _thread.may_wait = was

    return task


@contextmanager
def at_once() -> Iterator[None]:
    """A block in which this thread starts at once what it finds ready.

    An operator of the user's may run a graph in it, and wait for that.
    """
    queue, _thread.queue = _thread.queue, None
    try:
        yield
    finally:
        _thread.queue = queue


def may_wait() -> bool:
    """Whether this thread has nothing better to do than to wait: it is the engine's."""
    return _thread.may_wait
