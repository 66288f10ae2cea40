"""How long the turns are in which Python's threads run, beside a compilation.

An operation of NumPy on large arrays lets other threads run, and then waits until the turn of the
one that does is over: 5 ms, by default. A step of some hundred such operations waits for seconds
where a compilation traces beside it. With short turns, it waits for tenths.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["short_turns"]

#: Seconds. (Steps of a transformer beside their compilation took 1.8 s more than without it at
#: 5 ms, and 1.4 at this; shorter ones win nothing.)
_SHORT: Final = 2e-4
_lock: Final = threading.RLock()


class _Turns:
    """How many want short turns, and how long they were before."""

    wanting = 0
    before = 0.0


@contextmanager
def short_turns() -> Iterator[None]:
    """A block beside which other threads wait for a short time only."""
    with _lock:
        _Turns.wanting += 1
        if _Turns.wanting == 1:
            _Turns.before = sys.getswitchinterval()
            sys.setswitchinterval(min(_SHORT, _Turns.before))
    try:
        yield
    finally:
        with _lock:
            _Turns.wanting -= 1
            # Who has set another since then wants that.
            if not _Turns.wanting and sys.getswitchinterval() <= _SHORT:
                sys.setswitchinterval(_Turns.before)
