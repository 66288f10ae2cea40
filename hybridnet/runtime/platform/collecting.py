"""Whether Python's garbage collector runs: not while a pass back over a tape is recorded.

That makes some ten objects for each operator, of which none is garbage and most are gone when it is
done. Collections in the midst of it find nothing, take what is there for old, and so bring on those
of all objects: a tenth of the time of a recurrent network on sentences of ever new lengths.
"""

from __future__ import annotations

import gc
from contextlib import AbstractContextManager
from typing import Final

from .passing import PassingSetting

__all__ = ["without_collecting"]


def without_collecting() -> AbstractContextManager[None]:
    """A block, of milliseconds, in which no garbage is collected but on request."""
    return _collector.changed()


def _stop() -> bool:
    was = gc.isenabled()
    gc.disable()
    return was


def _go_on(was: bool) -> None:
    if was:
        gc.enable()


_collector: Final = PassingSetting(_stop, _go_on)
