"""Arrays whose memory somebody outside may write to, by DLPack.

What is made of inputs that stay the same would be wrong after such a write, which nobody sees.
"""

from __future__ import annotations

from typing import Any, Final
from weakref import WeakValueDictionary

from hybridnet.base.host_array import DeviceArray

# By identity: JAX's arrays have no hash.
_lent: Final[WeakValueDictionary[int, Any]] = WeakValueDictionary()


def note_lent(array: DeviceArray) -> None:
    """Notes that an array's memory may change from outside, as long as it lives."""
    _lent[id(array)] = array


def is_lent(array: DeviceArray) -> bool:
    """Whether an array's memory may change from outside."""
    return bool(_lent) and _lent.get(id(array)) is array
