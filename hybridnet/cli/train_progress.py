"""The progress of training: a line that changes on a terminal, or one every ten seconds in a file.

Both tell of compilations, which may take longer than many steps, and so does a thread of its own:
while a program is compiled nothing else would say anything.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from time import monotonic
from typing import Final, final

from rich.console import Console
from rich.live import Live
from rich.text import Text

from hybridnet.engine import Flag
from hybridnet.runtime.watching import events

_SELDOM: Final = 10.0  # seconds between two lines in a file
_A_SECOND: Final = 5  # how often the line on a terminal is drawn anew
_BAR: Final = 40  # characters of the longest bar
_SHORT_BAR: Final = 8  # of the shortest that says something


@contextmanager
def progress(steps: int) -> Iterator[Callable[[str, int, float], None]]:
    """Shows on standard error how far training has come; gives the function that is told.

    Args:
        steps: of all ways together.
    """
    count = Count(steps)
    console = Console(stderr=True)
    if not sys.stderr.isatty() or console.is_dumb_terminal:
        with _lines(count):
            yield count.advance
        return
    # What is printed to a file meanwhile must not go to the terminal of the line.
    with Live(
        console=console,
        get_renderable=lambda: Text(count.short(console.width - 1), no_wrap=True),
        refresh_per_second=_A_SECOND,
        redirect_stdout=sys.stdout.isatty(),
    ):
        yield count.advance


@contextmanager
def _lines(count: Count) -> Iterator[None]:
    """A block during which the count is printed now and then, and once more at its end."""
    ended = Flag()

    def say() -> None:
        while not ended.wait(_SELDOM):
            print(count.long(), file=sys.stderr, flush=True)

    thread = threading.Thread(target=say, name="hybridnet-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        print(count.long(), file=sys.stderr, flush=True)


@final
class Count:
    """The steps that are done, and words for them.

    Args:
        steps: how many there will be.
        clock: tells the time in seconds, as `time.monotonic` does.
    """

    def __init__(self, steps: int, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._steps = steps
        self._title = ""
        self._loss: float | None = None
        self._done = 0
        # The steps that were done when it was told first, and when; and when it was told last.
        self._first = 0, 0.0
        self._told = 0.0

    def advance(self, title: str, count: int, loss: float) -> None:
        """Takes in that steps are done.

        Args:
            title: of what does them.
            count: how many more.
            loss: of the last one.
        """
        self._done += count
        self._told = self._clock()
        if not self._title:
            self._first = self._done, self._told
        self._title, self._loss = title, loss

    def long(self) -> str:
        """Returns all there is to say, as a line of a file."""
        words = (f"{self._done:,} of {self._steps:,} steps", self._loss_words(), self._time_words())
        start = f"{self._title}: " if self._title else ""
        return start + ", ".join(filter(None, words))

    def short(self, width: int) -> str:
        """Returns what there is room for in a number of characters, the most important first.

        Where all does not fit the bar goes first, then the title, the time and the loss.
        """
        count = f"{self._done:,}/{self._steps:,}"
        loss, time = self._loss_words(), self._time_words()
        room = width - len("  ".join(filter(None, (self._title, "", count, loss, time)))) - 2
        if room >= _SHORT_BAR:
            bar = self._bar(min(room, _BAR))
            return "  ".join(filter(None, (self._title, bar, count, loss, time)))
        for words in ((self._title, count, loss, time), (count, loss, time), (count, loss)):
            line = "  ".join(filter(None, words))
            if len(line) <= width:
                return line
        return count

    def _bar(self, length: int) -> str:
        done = length * self._done // max(self._steps, 1)
        return "━" * done + "─" * (length - done)

    def _loss_words(self) -> str:
        return "" if self._loss is None else f"loss {self._loss:.4f}"

    def _time_words(self) -> str:
        """Returns what is being waited for, or how much longer it will take."""
        now = self._clock()
        compilation = events.compilation()
        if compilation is not None:
            how = "" if compilation.awaited else " beside"
            return f"compiling{how} {max(now - compilation.since, 0):.0f} s"
        done, begun = self._first
        left = self._steps - self._done
        if self._done <= done or not left:
            return ""
        # The first step is left out: much is made there that later ones find.
        seconds = (self._told - begun) / (self._done - done) * left - (now - self._told)
        return f"{timedelta(seconds=round(max(seconds, 0)))} left"
