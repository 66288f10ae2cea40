"""The type of an array: its shape and dtype, as one shared immutable object."""

from __future__ import annotations

import math
import weakref
from typing import Any, Final

import numpy as np

__all__ = ["TensorType", "tensor_type"]


class TensorType:
    """A shape and a dtype. Made by `tensor_type`: equal types are one object.

    Identity being equality is what makes the keys of the program cache cheap to hash and compare.

    Attributes:
        shape: the dimensions.
        dtype: the element type.
        size: the number of elements.
    """

    __slots__ = ("__weakref__", "dtype", "shape", "size")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self.dtype = dtype
        self.size = math.prod(shape)

    @property
    def nbytes(self) -> int:
        """The bytes that an array of this type takes."""
        return self.size * self.dtype.itemsize

    def __repr__(self) -> str:
        return f"{self.dtype.name}[{','.join(map(str, self.shape))}]"


_made: Final[weakref.WeakValueDictionary[Any, TensorType]] = weakref.WeakValueDictionary()


def tensor_type(shape: tuple[int, ...], dtype: np.dtype[Any]) -> TensorType:
    """Returns the one type object with this shape and dtype."""
    key = (shape, dtype)
    found = _made.get(key)
    if found is None:
        # Of two threads that make it at once, both get the one that was kept.
        found = _made.setdefault(key, TensorType(shape, dtype))
    return found
