"""The type of an array: its shape and dtype, as one shared immutable object."""

from __future__ import annotations

import math
import weakref
from typing import Final

from hybridnet.base.array_types import DType
from hybridnet.base.dtype import is_float
from hybridnet.base.locks import free_in_children
from hybridnet.engine import RLock


class TensorType:
    """A shape and a dtype. Made by `tensor_type`: equal types are one object.

    Identity being equality is what makes the keys of the program cache cheap to hash and compare.

    Attributes:
        shape: the dimensions.
        dtype: the element type.
        size: the number of elements.
        nbytes: the bytes that an array of this type takes.
        mebibytes: the same in units of 2**20, rounded down.
        is_float: whether its elements are floating point; see the function of the name.
    """

    __slots__ = ("__weakref__", "dtype", "is_float", "mebibytes", "nbytes", "shape", "size")

    def __init__(self, shape: tuple[int, ...], dtype: DType) -> None:
        self.shape = shape
        self.dtype = dtype
        self.size = math.prod(shape)
        self.nbytes = self.size * dtype.itemsize
        self.mebibytes = self.nbytes >> 20
        self.is_float = is_float(dtype)

    def __repr__(self) -> str:
        return f"{self.dtype.name}[{','.join(map(str, self.shape))}]"


_made: Final[weakref.WeakValueDictionary[tuple[tuple[int, ...], DType], TensorType]] = (
    weakref.WeakValueDictionary()
)
# The last ones: to look into a weak dictionary takes a function of Python's.
_recent: Final[dict[tuple[tuple[int, ...], DType], TensorType]] = {}
_MOST_RECENT: Final = 4096
_lock: Final = free_in_children(RLock())  # re-entrant, since finalizers may run anywhere


def tensor_type(shape: tuple[int, ...], dtype: DType) -> TensorType:
    """Returns the one type object with this shape and dtype."""
    key = (shape, dtype)
    found = _recent.get(key)
    if found is None:
        found = _of(key)
        if len(_recent) >= _MOST_RECENT:
            _recent.clear()
        _recent[key] = found
    return found


def _of(key: tuple[tuple[int, ...], DType]) -> TensorType:
    found = _made.get(key)
    if found is None:
        with _lock:  # `setdefault` of a weak dictionary is not one step
            found = _made.get(key)
            if found is None:
                found = _made[key] = TensorType(*key)
    return found
