"""The last arrays that programs and copies make, so that `wait_all` can wait for them."""

from __future__ import annotations

import os
import weakref
from collections import deque
from contextlib import suppress
from typing import Any, Final

from hybridnet.base.context import Context
from hybridnet.base.host_array import DeviceArray

__all__ = ["finish_recent", "note_dispatched", "recent"]

# For each device, an output of each of the last programs and copies. A device runs programs in the
# order in which they were dispatched, so it would do to wait for the last one; but its outputs may
# have been dropped by then (these are weak references), so that some more are kept.
_recent: Final[dict[Context, deque[weakref.ref[Any]]]] = {}
_MAX_RECENT: Final = 32


def note_dispatched(ctx: Context, array: DeviceArray) -> None:
    """Notes that a device is making an array, for `wait_all` to wait for."""
    known = _recent.get(ctx)
    if known is None:
        known = _recent.setdefault(ctx, deque(maxlen=_MAX_RECENT))
    known.append(weakref.ref(array))


def recent() -> list[weakref.ref[Any]]:
    """Returns the arrays that were noted last, of all devices."""
    return [ref for known in list(_recent.values()) for ref in known.copy()]


def finish_recent() -> None:
    """Waits until all devices are idle; passes over errors."""
    for ref in recent():
        array = ref()
        if array is not None:
            with suppress(RuntimeError):  # failed, or donated meanwhile
                array.block_until_ready()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_recent.clear)
