"""The last arrays that were dispatched, for who waits for everything."""

from __future__ import annotations

import os
import weakref
from collections import deque
from contextlib import suppress
from typing import Any, Final

from hybridnet.base.context import Context

__all__ = ["finish_recent", "note_dispatched", "recent"]

# What `wait_all` waits for: on each device, an output of each of the last programs and copies. A
# device runs programs in the order of their dispatch, so the last one would do; more are kept since
# outputs may be dropped.
_recent: Final[dict[Context, deque[weakref.ref[Any]]]] = {}
_RECENT: Final = 32


def note_dispatched(ctx: Context, array: Any) -> None:
    """Notes that a device is making an array, for `wait_all` to wait for."""
    known = _recent.get(ctx)
    if known is None:
        known = _recent.setdefault(ctx, deque(maxlen=_RECENT))
    known.append(weakref.ref(array))


def recent() -> list[weakref.ref[Any]]:
    """Returns the arrays that were noted of late, on all devices."""
    return [ref for known in list(_recent.values()) for ref in known.copy()]


def finish_recent() -> None:
    """Waits until the devices have done what they were given, whatever came of it."""
    for ref in recent():
        array = ref()
        if array is not None:
            with suppress(RuntimeError):  # failed, or donated meanwhile
                array.block_until_ready()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_recent.clear)
