"""The residuals of 2-bit compression, in files that outlive a killed worker.

A gradient that is compressed leaves a rest, which is added to the next one. A worker that is
started again compresses the pushes of the interrupted step once more, and needs the rests of before
that step: so of each key there are two, as of a server's values (`slots.py`).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import final

import numpy as np

from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.protocol.words import PartRecord
from hybridnet.kvstore.storage.dtypes import Array
from hybridnet.kvstore.storage.slots import ArrayLayout, Slots


@final
class Residuals:
    """The rests of a worker's keys.

    Args:
        folder: where the files are, if there is one: those who share this worker's memory have one
            when a server of the run is among them. Else they are in memory, and die with it.
        rank: of the worker.
    """

    def __init__(self, folder: Path, rank: int) -> None:
        self._folder = folder if folder.exists() else None
        self._rank = rank
        self._slots: dict[int, Slots] = {}

    def begin(self, key: int, size: int, pushes: int) -> Array:
        """Begins to compress a push.

        Args:
            key: the number of the key.
            size: how many elements it has.
            pushes: how many pushes of it came before.

        Returns:
            (size,) float32, the rest of those; to be made that of this push, then `commit` is
            called.
        """
        slots = self._slots.get(key)
        if slots is None:
            slots = self._slots[key] = self._find(key, size, pushes)
        if slots.record.round == pushes:
            rest = slots.current[0]
            made = slots.begin()[0]
            np.copyto(made, rest)
            return made
        # A push that a predecessor made, too: both rests stay, as this process may die as well.
        return slots.previous[0].copy()

    def commit(self, key: int, pushes: int) -> None:
        """Says that the rest is that after so many pushes."""
        slots = self._slots[key]
        if slots.record.round < pushes:
            slots.commit(PartRecord(pushes, ()))

    def _find(self, key: int, size: int, pushes: int) -> Slots:
        """Returns what a predecessor left of a key; else nothing is left to send."""
        path, slots = None, None
        if self._folder is not None:
            path = self._folder / f"residual-worker{self._rank}.{key}"
            if pushes and path.exists():
                try:
                    slots = Slots.open(path)
                except (KVStoreError, OSError):
                    slots = None  # it died while making it
                if slots is not None and _has(slots, pushes) and slots.layout == _layout(size):
                    return slots
        if pushes:
            self._say_lost(key)
        record = PartRecord(pushes, ())
        return Slots.create(path, {}, _layout(size), record, lambda arrays: None)

    def _say_lost(self, key: int) -> None:
        print(
            f"hybridnet: what 2-bit compression had left to send of key number {key} died with the "
            f"worker {self._rank} that this one replaces; training goes on without it",
            file=sys.stderr,
        )

    def close(self) -> None:
        """Removes the files."""
        for slots in self._slots.values():
            slots.remove()
        self._slots.clear()


def _layout(size: int) -> tuple[ArrayLayout, ...]:
    return (((size,), np.dtype(np.float32)),)


def _has(slots: Slots, pushes: int) -> bool:
    """Whether the rest after so many pushes is there."""
    at = slots.record.round
    return at == pushes or (at == pushes + 1 and slots.has_previous)
