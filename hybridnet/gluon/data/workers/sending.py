"""Objects for another process: what they are made of, and the memory of their arrays apart.

What the other process can import goes by its name, and everything else (what is defined in the
script that runs, in a notebook, in a function, and lambdas) by its code, which is cloudpickle's
work. The bytes of arrays are not copied into the pickle: they go through shared memory.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable
from typing import Any

__all__ = ["pack", "unpack"]


def pack(what: Any) -> tuple[bytes, list[memoryview]]:
    """Returns an object as bytes, and the memory of its arrays.

    Raises:
        Exception: something in it cannot be sent; the message says what.
    """
    from .pickler import Pickler

    buffers: list[pickle.PickleBuffer] = []
    file = io.BytesIO()
    Pickler(file, buffers.append).dump(what)
    return file.getvalue(), [buffer.raw() for buffer in buffers]


def unpack(data: bytes | memoryview, buffers: Iterable[Any]) -> Any:
    """Returns the object; its arrays are on the memory given, which nobody else writes to."""
    return pickle.loads(data, buffers=buffers)
