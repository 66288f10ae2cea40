"""Comparing two ways by the clock, on a machine that does other things besides.

Both run by turns, so that whatever else the machine does meets both alike, and it is the ratios of
neighbours that are looked at. A win has to exceed their spread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from statistics import median, quantiles
from time import perf_counter
from typing import Final, final

from hybridnet import engine
from hybridnet.base.host_array import DeviceArray
from hybridnet.base.lazy import jax

from ..programs.executable import Executable, ExecutableWrapper, start

#: Runs something once, to its end; returns the seconds that it took, preparations not counted.
Run = Callable[[], float]
#: Keeps others from computing, within.
Turn = Callable[[], AbstractContextManager[None]]

_MIN_PAIRS: Final = 5
_MAX_PAIRS: Final = 25
# What is gained by less is not worth a program of its own, nor well told from noise.
_LEAST_GAIN: Final = 0.02
# A candidate this many times as slow at the first try is not tried again.
_HOPELESS_RATIO: Final = 1.5


@dataclass(frozen=True, slots=True)
class Comparison:
    """The times of two ways.

    Attributes:
        before: seconds of the one, the median.
        after: seconds of the other, the median.
        ratio: the median of what the other takes as a share of the one, round by round.
        spread: half the distance between the quartiles of these shares.
    """

    before: float
    after: float
    ratio: float
    spread: float

    @property
    def is_win(self) -> bool:
        """Whether the other is the faster, by more than the spread."""
        return self.ratio + self.spread < 1 - _LEAST_GAIN

    @property
    def is_promising(self) -> bool:
        """Whether it would be, if the spread were not."""
        return self.ratio < 1 - _LEAST_GAIN


def compare(present: Run, other: Run, seconds: float, turn: Turn = nullcontext) -> Comparison:
    """Runs two ways by turns; a win has to be won twice.

    Args:
        present: the way things are done now.
        other: the candidate.
        seconds: how long to go on, about; five rounds are made in any case, unless the candidate
            is out of the question after two.
        turn: around each round.

    Returns:
        What was measured, the second time where the first was a win.
    """
    found = _compare(present, other, seconds, turn, _MIN_PAIRS)
    return _compare(present, other, seconds, turn, 2 * _MIN_PAIRS) if found.is_win else found


def _compare(present: Run, other: Run, seconds: float, turn: Turn, fewest: int) -> Comparison:
    end = perf_counter() + seconds
    times: list[tuple[float, float]] = []
    with turn():
        present(), other()  # the first runs pay for what they find cold
    while len(times) < fewest or (perf_counter() < end and len(times) < _MAX_PAIRS):
        with turn():
            if len(times) % 2:  # the first of two finds the caches as the other left them
                after = other()
                before = present()
            else:
                before = present()
                after = other()
        times.append((before, after))
        if len(times) == 2 and all(b > _HOPELESS_RATIO * a for a, b in times):
            break
    ratios = [after / before for before, after in times]
    low, _, high = quantiles(ratios, n=4, method="inclusive")
    return Comparison(
        before=median(before for before, _ in times),
        after=median(after for _, after in times),
        ratio=median(ratios),
        spread=(high - low) / 2,
    )


# Seconds that a launch waits at most, should who measures be stuck.
_MAX_WAIT_SECONDS: Final = 10.0
# Seconds that are waited for a launch after each turn: there need not be one.
_PAUSE_SECONDS: Final = 0.01


@final
class Turns(ExecutableWrapper):
    """An executable that goes on being launched, and stands still while somebody has a turn.

    A loop never pauses, and two programs that share the cores take as long as the scheduler
    pleases. So launches are held up while something is measured, for two runs at a time, and one is
    let through in between: the loop is slower for as long as measuring takes, as it would be if
    both ran at once, and never stands still.

    Args:
        whole: the executable.
    """

    __slots__ = ("_last", "_open", "_passed")

    def __init__(self, whole: Executable) -> None:
        super().__init__(whole)
        # Of the last turn: whether it is over, and a launch has passed since.
        self._open = engine.Flag()
        self._open.set()
        self._passed = engine.Flag()
        self._last: Sequence[DeviceArray] = ()

    def start(self, arguments: Sequence[DeviceArray], made: list[Sequence[DeviceArray]]) -> None:
        """Starts the program once nobody has a turn; arguments and outputs are those of `whole`."""
        self._open.wait(_MAX_WAIT_SECONDS)
        start(self.whole, arguments, made)
        self._last = made[-1]
        self._passed.set()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Holds up launches, once what was launched has ended; lets one through afterwards."""
        is_open = self._open = engine.Flag()
        try:
            with suppress(RuntimeError):  # somebody consumed it: then it had ended, too
                jax.block_until_ready(self._last)
            yield
        finally:
            self._last = ()
            passed = self._passed = engine.Flag()
            is_open.set()
        passed.wait(_PAUSE_SECONDS)
