"""Arrays whose memory somebody outside may write to, by DLPack.

What is made of inputs that stay the same would be wrong after such a write, which nobody sees.
"""

from __future__ import annotations

from typing import Any, Final
from weakref import WeakValueDictionary

from hybridnet.base.host_array import DeviceArray

# By identity: JAX's arrays have no hash.
_exported: Final[WeakValueDictionary[int, Any]] = WeakValueDictionary()


def note_exported(array: DeviceArray) -> None:
    """Notes that an array's memory may change from outside, as long as it lives."""
    _exported[id(array)] = array


def is_exported(array: DeviceArray) -> bool:
    """Whether an array's memory may change from outside."""
    return bool(_exported) and _exported.get(id(array)) is array
