"""Whole numbers that stand for floating-point elements when they are sorted.

XLA:CPU calls a comparison of floats that knows NaN and the two zeros for each pair it compares; one
of whole numbers compiles to an instruction. And one array is sorted several times as fast as two
side by side, so that an element and its position are packed into one number.

The bits of IEEE 754 numbers, read as whole numbers, are in order among the positive; among the
negative the other bits are turned over.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hybridnet.base.dtype import FLOAT32, INT32, INT64, is_float
from hybridnet.ops.host.namespace import jax, jnp, lax


def plain_zeros(x: Any) -> Any:
    """Makes all zeros +0 and all NaN one NaN, which are equal when they are sorted."""
    return jnp.where(x != x, np.asarray(np.nan, x.dtype), jnp.where(x == 0, 0, x))


def _turned(bits: Any) -> Any:
    """Turns bits over so that they are in order; is its own inverse."""
    return jnp.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


def _keys(x: Any) -> Any:
    """Returns int64 for float64, else int32, of the same order; NaN is the greatest."""
    if not is_float(x.dtype):
        return x.astype(INT32)
    x = plain_zeros(x if x.dtype.itemsize == 8 else x.astype(FLOAT32))
    return _turned(lax.bitcast_convert_type(x, INT64 if x.dtype.itemsize == 8 else INT32))


def sorted_floats(x: Any, descending: bool) -> Any:
    """Sorts along the last axis; has no gradient.

    Args:
        x: floating point. A zero comes out as +0.
        descending: the largest, and NaN before it, come first.
    """
    keys = _keys(x)
    # Turning all bits over turns the order over.
    keys = ~lax.sort(~keys, is_stable=False) if descending else lax.sort(keys, is_stable=False)
    wide = np.dtype(np.float64) if keys.dtype == INT64 else FLOAT32
    return lax.bitcast_convert_type(_turned(keys), wide).astype(x.dtype)


def order(x: Any, descending: bool) -> Any:
    """Returns the positions of the elements in order along the last axis; equal ones keep theirs.

    Args:
        x: of a dtype of which int32 can hold the keys: floats of up to 32 bits, and whole numbers
            that int32 holds.
        descending: see `sorted_floats`.

    Returns:
        int32, the shape of `x`.
    """
    keys = _keys(lax.stop_gradient(x))
    keys = ~keys if descending else keys
    places = lax.broadcasted_iota(INT32, x.shape, x.ndim - 1)
    with jax.enable_x64(True):
        packed = (keys.astype(INT64) << 32) | places.astype(INT64)
        return lax.sort(packed, is_stable=False).astype(INT32)
