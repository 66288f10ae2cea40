"""Whether Python's garbage collector runs: not while graphs and tapes are made, or walked.

To trace a function, to differentiate its graph, to take it apart into steps and to run these makes
some ten objects for each operator, of which none is garbage: they are kept, or are gone when it is
done. Collections in the midst of it find nothing, take what is there for old, and so bring on those
of all objects, which take a tenth of a second each where a program has imported much: a tenth of
the time of a recurrent network on sentences of ever new lengths, a third of the first epoch of a
network that is unrolled.
"""

from __future__ import annotations

import gc
from contextlib import AbstractContextManager
from typing import Final

from .passing import PassingSetting

__all__ = ["without_collecting"]


def without_collecting() -> AbstractContextManager[None]:
    """A block of bounded length in which no garbage is collected but on request."""
    return _collector.changed()


def _stop() -> bool:
    was = gc.isenabled()
    gc.disable()
    return was


def _go_on(was: bool) -> None:
    if was:
        gc.enable()


_collector: Final = PassingSetting(_stop, _go_on)
