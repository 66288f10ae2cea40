"""Results kept for inputs that stay the same: one `Version` for each, and the memory of all."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any, Final, final

from hybridnet.base import config

__all__ = ["Version", "memory"]


@final
class Version:
    """The results of the prologue for one version of the inputs.

    Attributes:
        kept: what the prologue made.
        nbytes: of it.
        uses: launches that it served.
        seen: their number when room was last looked for.
        refs: to the arrays that it was made of.
        drop: forgets it.
    """

    __slots__ = ("__weakref__", "drop", "kept", "nbytes", "refs", "seen", "uses")

    def __init__(self, kept: tuple[Any, ...]) -> None:
        self.kept = kept
        self.nbytes = sum(array.nbytes for array in kept)
        self.uses = 0
        self.seen = -1
        self.refs: tuple[Any, ...] = ()
        self.drop: Callable[[], None] = lambda: None


class _VersionMemory:
    """All versions that there are, within HYBRIDNET_CONSTANTS_SIZE."""

    def __init__(self) -> None:
        # Held while the set is gone through or added to, neither of which is one step. Re-entrant,
        # like every lock here: a finalizer may compute with arrays.
        self._lock = threading.RLock()
        self._versions: weakref.WeakSet[Version] = weakref.WeakSet()

    def nbytes(self) -> int:
        """Returns what all versions take."""
        return sum(version.nbytes for version in self._all())

    def has_room(self, nbytes: int) -> bool:
        """Whether there is room for so many bytes; drops what was not used since it was asked."""
        limit = config.constants_size()
        with self._lock:
            if self.nbytes() + nbytes > limit:
                self._drop_unused()
            return self.nbytes() + nbytes <= limit

    def _drop_unused(self) -> None:
        for version in self._all():
            if version.uses == version.seen:
                version.drop()
            version.seen = version.uses

    def add(self, version: Version) -> None:
        """Counts a version for as long as it lives."""
        with self._lock:
            self._versions.add(version)

    def clear(self) -> None:
        """Gives everything back; it is made again where it is needed."""
        for version in self._all():
            version.drop()

    def _all(self) -> list[Version]:
        with self._lock:
            return list(self._versions)

    def reset_after_fork(self) -> None:
        """In a forked child."""
        self._lock = threading.RLock()
        self._versions = weakref.WeakSet()


memory: Final = _VersionMemory()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=memory.reset_after_fork)
