"""Numbers in words."""

from __future__ import annotations

from typing import Final

__all__ = ["size_words"]

_UNITS: Final = (("GiB", 30), ("MiB", 20), ("KiB", 10))


def size_words(size: int) -> str:
    """Returns a number of bytes in words: ``1.5 MiB``."""
    for unit, scale in _UNITS:
        if size >= 1 << scale:
            return f"{size / (1 << scale):.1f} {unit}"
    return f"{size} B"
