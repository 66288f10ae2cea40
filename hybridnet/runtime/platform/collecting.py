"""Python's garbage collector: whether it runs, and a block in which it does not.

It does not while graphs and tapes are made, or walked. To trace a function, to differentiate its
graph, to take it apart into steps and to run these makes some ten objects for each operator, of
which none is garbage: they are kept, or are gone when it is done. Collections in the midst of it
find nothing, take what is there for old, and so bring on those of all objects, which take a tenth
of a second each where a program has imported much: a tenth of the time of a recurrent network on
sentences of ever new lengths, a third of the first epoch of a network that is unrolled.
"""

from __future__ import annotations

import gc
import threading
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, Final

from .process_settings import TemporarySetting


class _Running(set[str]):
    """Is not empty while the collector runs, in whichever thread: then it has the keys of `info`.

    The collector calls ``callback("start", info)`` and ``callback("stop", info)``. A callback that
    is written in Python can be ended before its first line, by the exception of a signal handler,
    and the collector drops that exception: then its end would pass unseen. So these callbacks are
    functions in C, in which no handler runs: to set one of these two attributes changes the set.
    """

    start = property(None, set.update)
    stop = property(None, set.difference_update)


#: True in a condition while the collector runs; hot code reads this, and then `is_collecting`.
running: Final = _Running()
_last: Final[dict[str, Any]] = {}  # the `info` of the last start and of the last stop
_own: Final = threading.local()  # those of this thread, as attributes
gc.callbacks += [partial(setattr, running), _last.__setitem__, partial(setattr, _own)]


def is_collecting() -> bool:
    """Whether the collector runs in this thread, and so what calls this is a finalizer."""
    return bool(running) and getattr(_own, "start", None) is _last["start"]


def without_collecting() -> AbstractContextManager[None]:
    """A block of bounded length in which no garbage is collected but on request."""
    return _collector.changed()


def _go_on(was: bool) -> None:
    if was:
        gc.enable()


_collector: Final = TemporarySetting(gc.isenabled, gc.disable, _go_on)
