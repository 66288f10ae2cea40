"""Rows that belong together, reduced to one: `jax.ops.segment_sum` and its kin."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.dtype import is_float

from .table import named

__all__ = ["added_rows"]

_REDUCE: Final[dict[str, np.ufunc]] = {"max": np.maximum, "min": np.minimum, "sum": np.add}
#: How many numbers 16 bits hold.
_UINT16_VALUES: Final = 1 << 16


def _reduced(how: str, rows: Any, places: Any, made: NumpyArray) -> None:
    """Writes what rows of one place are together into the row of that place, which all lie inside.

    Sorted, each place is a run of rows. They are taken in the order in which they come.
    """
    if not len(places):
        return
    if not (places[1:] >= places[:-1]).all():
        # NumPy sorts short numbers by their digits: 8 times as fast.
        keys = places.astype(np.uint16) if len(made) <= _UINT16_VALUES else places
        order = np.argsort(keys, kind="stable")
        places, rows = places.take(order), rows.take(order, 0)
    first = np.flatnonzero(np.concatenate([[True], places[1:] != places[:-1]]))
    # NumPy would add small whole numbers up in wide ones.
    made[places[first]] = _REDUCE[how].reduceat(rows, first, axis=0, dtype=made.dtype)


def added_rows(places: Any, rows: Any, length: int) -> Any:
    """Returns a matrix whose row at each place is the sum of the rows that have that place."""
    if rows.shape[1] == 1:
        return np.bincount(places, weights=rows[:, 0], minlength=length)
    if rows.dtype == np.float16:
        rows = rows.astype(np.float32)
    made = np.zeros((length, rows.shape[1]), rows.dtype)
    _reduced("sum", rows, places, made)
    return made


def _segments(how: str, data: NumpyArray, ids: NumpyArray, num_segments: int) -> NumpyArray:
    # Of narrow floats the sum is kept in float32, as XLA keeps it.
    narrow = how == "sum" and is_float(data.dtype) and data.dtype.itemsize == 2
    dtype = np.dtype(np.float32) if narrow else data.dtype
    made = np.full((num_segments, *data.shape[1:]), _start(how, dtype), dtype)
    inside = (ids >= 0) & (ids < num_segments)
    if not inside.all():
        data, ids = data[inside], ids[inside]
    _reduced(how, data.astype(dtype, copy=False), ids, made)
    return made.astype(data.dtype, copy=False)


def _start(how: str, dtype: Any) -> Any:
    """Returns what nothing at all is reduced to."""
    if how == "sum":
        return 0
    if is_float(dtype):
        return -np.inf if how == "max" else np.inf
    limits = np.iinfo(dtype)
    return limits.min if how == "max" else limits.max


@named("ops.segment_sum")
def _segment_sum(data: NumpyArray, ids: NumpyArray, num_segments: int) -> NumpyArray:
    return _segments("sum", data, ids, num_segments)


@named("ops.segment_max")
def _segment_max(data: NumpyArray, ids: NumpyArray, num_segments: int) -> NumpyArray:
    return _segments("max", data, ids, num_segments)


@named("ops.segment_min")
def _segment_min(data: NumpyArray, ids: NumpyArray, num_segments: int) -> NumpyArray:
    return _segments("min", data, ids, num_segments)
