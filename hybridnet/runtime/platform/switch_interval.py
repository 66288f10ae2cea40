"""The length of the turns in which Python's threads run, beside a compilation.

An operation of NumPy on large arrays lets other threads run, and then waits until the turn of the
one that does is over: 5 ms, by default. A step has hundreds of such operations, and a compilation
traces beside it for half a second.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from typing import Final

from .process_settings import TemporarySetting

#: Seconds. (The first 14 steps of a transformer, its compilation among them, take 1.76 s at 5 ms,
#: 1.64 at 1 ms, 1.46 at this and 1.58 at 0.05 ms, each three times.)
_SHORT_SECONDS: Final = 2e-4


def short_switch_interval() -> AbstractContextManager[None]:
    """A block beside which other threads wait for a short time only."""
    return _interval.changed()


def _shorten() -> None:
    sys.setswitchinterval(min(_SHORT_SECONDS, sys.getswitchinterval()))


def _restore(before: float) -> None:
    if sys.getswitchinterval() <= _SHORT_SECONDS:  # who has set another since then wants that
        sys.setswitchinterval(before)


_interval: Final = TemporarySetting(sys.getswitchinterval, _shorten, _restore)
