"""Locks that are free where nobody can be holding them.

Two things could leave a lock held for ever. A forked child has none of its parent's threads, but
their locks. And the handler of a signal may raise between any two instructions of the main thread.
Not within ``with lock:``, which takes and gives back the lock in one instruction each, and so that
is how locks are held here; but between a call of `acquire` and the `try` after it. (In Python 3.14
also between a lock's `__enter__` and the block, unless it is a `hybridnet.engine.RLock`.) A
Condition or an Event of `threading` has such places inside: instead of ``with condition:`` one
writes ``with lock:``, of the lock that the Condition was made with, and instead of an Event there
is `hybridnet.engine.Flag`. And CPython 3.12 and 3.13 leave a jump that goes back on a condition out
of what a block protects, so that a handler that raises there passes by its end: such a loop stands
in a function of its own, which is called while the lock is held.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any, Final, TypeVar

_Lock = TypeVar("_Lock")

_locks: Final[weakref.WeakSet[Any]] = weakref.WeakSet()


def free_in_children(lock: _Lock) -> _Lock:
    """Makes a lock free in forked children, whoever holds it at the fork; returns it.

    What it guards must be fit for use at any time: its holder may have been in the midst of it.

    Args:
        lock: an `RLock`.
    """
    _locks.add(lock)
    return lock


def _after_fork_in_child() -> None:
    for lock in _locks:
        lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def if_free(lock: Any, work: Callable[[], object]) -> bool:
    """Does something while holding a lock, unless somebody holds it.

    Args:
        lock: an `RLock`. This thread may hold it as well: it may be a finalizer that asks,
            in the midst of what the lock is held for.
        work: what to do.

    Returns:
        Whether it was done.
    """
    if lock._is_owned():
        return False
    try:
        if not lock.acquire(blocking=False):
            return False
        work()
        return True
    finally:  # also where an exception came as the lock was had
        try:  # noqa: SIM105, `suppress` would be a call, and after a call there may be an exception
            lock.release()
        except RuntimeError:  # another thread has it
            pass
