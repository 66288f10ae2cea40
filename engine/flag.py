"""`Flag`: something that happens once, and that threads can wait for."""

from __future__ import annotations

import threading
from contextlib import suppress
from time import monotonic
from typing import Final, final

#: The longest sleep of a wait, in seconds. A signal that comes after Python has looked for one and
#: before the thread sleeps does not wake it, so it must look again: else a Ctrl-C at that moment
#: would be lost.
LONGEST_SLEEP: Final = 0.5


@final
class Flag:
    """As `threading.Event`, but no exception out of nowhere has anybody wait for ever.

    The handler of a signal may raise in the main thread when a method of an Event has taken its
    lock and has not come to the ``with`` block that gives it back. Whoever sets the Event or waits
    for it then, in this thread as well, never returns. Here the lock only wakes who sleeps: whether
    it has happened is a plain attribute, which they look at again after `LONGEST_SLEEP`.

    Attributes:
        is_set: whether it has happened.
    """

    __slots__ = ("_lock", "is_set")

    def __init__(self) -> None:
        self.is_set = False
        self._lock = threading.Lock()
        self._lock.acquire()

    def set(self) -> None:
        """Says that it has happened; wakes all who wait for it."""
        self.is_set = True
        self._open()

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until it has happened.

        Args:
            timeout: seconds; None waits as long as it takes.

        Returns:
            Whether it has.
        """
        end = None if timeout is None else monotonic() + timeout
        while not self.is_set:
            rest = LONGEST_SLEEP if end is None else min(end - monotonic(), LONGEST_SLEEP)
            if rest < 0:
                break
            if self._lock.acquire(True, rest):  # it has happened: the next one may know
                self._open()
        return self.is_set

    def _open(self) -> None:
        with suppress(RuntimeError):  # it is open
            self._lock.release()
