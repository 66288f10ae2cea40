"""Noting the lines of all arrays, and not of large ones only."""

from __future__ import annotations

from typing import Final

from hybridnet.base import config
from hybridnet.base.locks import free_in_children
from hybridnet.engine import RLock

from ..segments.segment import origins

__all__ = ["note_all_origins", "notes_all"]


class _Wanted:
    """The number of those who want the lines of all arrays."""

    count = 0


_wanted: Final = _Wanted()
_lock: Final = free_in_children(RLock())


def note_all_origins(change: int) -> None:
    """Notes that one more wants the lines of all arrays made from now on (-1: one less)."""
    with _lock:
        _wanted.count += change
        origins.least = 0 if _wanted.count else origins.usual


def notes_all() -> bool:
    """Whether the lines of all arrays are noted now."""
    return _wanted.count > 0


if "memory" in config.debug():
    note_all_origins(1)
