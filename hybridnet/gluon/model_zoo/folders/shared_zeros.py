"""Gradients of a network that is not trained yet, or never: zeros, all in the same memory.

A parameter has a gradient from the beginning, and most of those of large networks are of few
shapes. So each shape has its zeros once, in memory that is marked as shared: nobody writes to it,
and the first backward pass gives each gradient memory of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hybridnet.base.context import Context
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.adopt import adopt
from hybridnet.runtime.recording import Value


class SharedZeros:
    """Makes arrays of zeros that share memory, as `Parameter.take_over` asks for them."""

    def __init__(self) -> None:
        self._made: dict[tuple[TensorType, Context], Value] = {}

    def __call__(self, array: NDArray) -> NDArray:
        """Returns zeros of the shape, the dtype and the context of an array."""
        dtype: np.dtype[Any] = array.inferred_dtype
        key = tensor_type(array.shape, dtype), array.context
        value = self._made.get(key)
        if value is None:
            value = self._made[key] = adopt(np.zeros(array.shape, dtype), array.context).stamp()
            value.shared = self
        return type(array).from_value(value, array.context)
