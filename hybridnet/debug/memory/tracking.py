"""Scopes in which all arrays know their lines, and snapshots are kept."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, final

from hybridnet.runtime.watching import note_all_origins

from .growth import MemoryGrowth
from .page import memory_page
from .snapshot import MemorySnapshot, take

__all__ = ["MemoryTrack", "memory", "tracking_memory"]


class _Tracks(threading.local):
    """The scopes that the thread is in, the innermost last."""

    def __init__(self) -> None:
        self.open: list[MemoryTrack] = []


_tracks: Final = _Tracks()


@final
class MemoryTrack:
    """The snapshots that were taken in a scope of `tracking_memory`; printed, what grew in it.

    Attributes:
        snapshots: in the order in which they were taken. The first is of the beginning; that of the
            end is there when the scope has ended.
    """

    def __init__(self) -> None:
        self.snapshots: list[MemorySnapshot] = [take()]

    def growth(self) -> MemoryGrowth:
        """Returns what grew from the first snapshot to the last, by line."""
        return self.snapshots[-1].growth(self.snapshots[0])

    def __str__(self) -> str:
        return str(self.growth())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a page of HTML, whole in one file: the arrays over time, by line and by name.

        Args:
            path: the file, such as "memory.html".

        Raises:
            OSError: it cannot be written.
        """
        memory_page([one.arrays for one in self.snapshots]).save(path)

    def _repr_html_(self) -> str:
        return memory_page([one.arrays for one in self.snapshots])._repr_html_()


def memory() -> MemorySnapshot:
    """Takes a snapshot of the arrays that are alive: by line, and with the names of parameters.

    It waits for nothing and launches nothing; operators that are recorded and were not launched yet
    have no memory. It takes some tens of milliseconds. The lines of arrays of a mebibyte and more
    are always known, those of all others in `tracking_memory` and with HYBRIDNET_DEBUG=memory.

    In a scope of `tracking_memory` in this thread, the snapshot is also kept there.

    Examples:
        >>> x = nd.ones((1024, 1024))
        >>> x.wait_to_read()
        >>> hn.debug.memory().nbytes >= 4 * 1024 * 1024
        True
    """
    snapshot = take()
    for track in _tracks.open:
        track.snapshots.append(snapshot)
    return snapshot


@contextmanager
def tracking_memory() -> Iterator[MemoryTrack]:
    """A scope in which it is noted for all arrays, and in all threads, which line made them.

    That takes one or two microseconds an operator. A snapshot is taken as it begins, at each call
    of `memory` in it, and as it ends, also by an error. Scopes may be nested.

    Examples:
        >>> kept = []
        >>> with hn.debug.tracking_memory() as seen:
        ...     for _ in range(3):
        ...         kept.append(nd.ones((256, 1024)) + 1)
        ...         nd.waitall()
        >>> seen.growth().lines[0].number
        3
    """
    note_all_origins(1)
    try:
        track = MemoryTrack()
        _tracks.open.append(track)
        try:
            yield track
        finally:
            _tracks.open.remove(track)
            track.snapshots.append(take())
    finally:
        note_all_origins(-1)
