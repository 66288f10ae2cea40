"""The characters that a terminal, or a file in its place, can show: some lack Chinese and ticks."""

from __future__ import annotations

import sys
from typing import Final

#: Before a property that holds, and before one that does not; and where these cannot be shown.
_MARKS: Final = {True: ("✓", "+"), False: ("✗", "-")}
_CHINESE: Final = "中文"


def say(text: str) -> None:
    """Prints a text at once, with ``?`` for what cannot be shown."""
    print(text.encode(_encoding(), "replace").decode(_encoding()), flush=True)


def mark(holds: bool) -> str:
    """Returns what stands before a property."""
    usual, plain = _MARKS[holds]
    return usual if _shows(usual) else plain


def shown_language(language: str) -> str:
    """Returns the language, or English where the language cannot be shown."""
    return language if language != "zh" or _shows(_CHINESE) else "en"


def _encoding() -> str:
    return getattr(sys.stdout, "encoding", None) or "utf-8"


def _shows(text: str) -> bool:
    try:
        text.encode(_encoding())
    except UnicodeEncodeError:
        return False
    return True
