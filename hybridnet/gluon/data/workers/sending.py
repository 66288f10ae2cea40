"""Objects for another process: what they are made of, and the memory of their arrays apart.

What the other process can import goes by its name, and everything else (what is defined in the
script that runs, in a notebook, in a function, and lambdas) by its code, which is cloudpickle's
work. The bytes of arrays are not copied into the pickle: they go through shared memory.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Iterable
from typing import Any, NamedTuple


class Packed(NamedTuple):
    """An object that was taken apart.

    Attributes:
        data: what it is made of.
        buffers: the memory of its arrays.
        modules: the names of the modules that are imported when it is put together.
    """

    data: bytes
    buffers: list[memoryview]
    modules: list[str]


def pack(what: Any) -> Packed:
    """Takes an object apart.

    Raises:
        Exception: something in it cannot be sent; the message says what.
    """
    from .pickler import Pickler

    buffers: list[pickle.PickleBuffer] = []
    file = io.BytesIO()
    pickler = Pickler(file, buffers.append)
    pickler.dump(what)
    return Packed(file.getvalue(), [buffer.raw() for buffer in buffers], pickler.modules)


def unpack(data: bytes | memoryview, buffers: Iterable[Any]) -> Any:
    """Returns the object; its arrays are on the memory given, which nobody else writes to."""
    return pickle.loads(data, buffers=buffers)
