"""Settings of the whole process that are others for a time, while anybody wants it so."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, final

from hybridnet.base.locks import free_in_children

__all__ = ["PassingSetting"]


@final
class PassingSetting:
    """One such setting, which several threads may want at a time.

    Args:
        change: changes it, and returns what it was.
        restore: given that, sets it back.

    Attributes:
        lock: held while it is changed.
    """

    def __init__(self, change: Callable[[], Any], restore: Callable[[Any], None]) -> None:
        self.lock: Final = free_in_children(threading.RLock())
        self._change = change
        self._restore = restore
        self._wanting = 0
        self._before: Any = None

    @contextmanager
    def changed(self) -> Iterator[None]:
        """A block in which it is changed."""
        with self.lock:
            self._wanting += 1
            if self._wanting == 1:
                self._before = self._change()
        try:
            yield
        finally:
            with self.lock:
                self._wanting -= 1
                if not self._wanting:
                    self._restore(self._before)
