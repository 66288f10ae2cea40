"""The progress of something long: a line on standard error that changes, or one now and then."""

from __future__ import annotations

import sys
import time
from typing import Final, final

_EVERY: Final = 0.2  # seconds between two changes of the line on a terminal
_SELDOM: Final = 10.0  # seconds between two lines in a file


@final
class Progress:
    """Counts, and shows the count.

    Args:
        what: the plural of what is counted.
        total: how many there will be, if it is known.
    """

    def __init__(self, what: str, total: int | None = None) -> None:
        self._what = what
        self._total = f" of {total:,}" if total is not None else ""
        self._terminal = sys.stderr.isatty()
        self._begun = self._shown = time.monotonic()
        self.count = 0

    def step(self) -> None:
        """Counts one more."""
        self.count += 1
        now = time.monotonic()
        if now - self._shown >= (_EVERY if self._terminal else _SELDOM):
            self._shown = now
            end = "\r" if self._terminal else "\n"
            print(self._text(now), end=end, file=sys.stderr, flush=True)

    def end(self) -> None:
        """Shows the count for the last time."""
        print(self._text(time.monotonic()), file=sys.stderr, flush=True)

    def _text(self, now: float) -> str:
        rate = self.count / max(now - self._begun, 1e-9)
        return f"{self.count:,}{self._total} {self._what}, {rate:,.0f}/s   "
