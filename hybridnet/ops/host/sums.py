"""Sums over axes, means and variances.

NumPy adds up neighbours in pairs, but rows one after another: the sum of 1,000 rows of float32 is
off by 4 units in the last place, where XLA's is off by less than one. A product with ones takes
half the time, too, and is off by 2.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from hybridnet.base.array_types import NumpyArray

from .table import named

# Rows and elements from which on a product is quicker.
_MIN_ROWS: Final = 16
_MIN_ELEMENTS: Final = 1 << 10


def _leading(x: NumpyArray, axis: Any) -> int:
    """Returns how many axes are summed over, if these are the first ones, and others are left."""
    if isinstance(axis, (int, np.integer)):
        return 1 if axis == 0 and x.ndim > 1 else 0
    if not isinstance(axis, (tuple, list)) or not 0 < len(axis) < x.ndim:
        return 0
    return len(axis) if [*axis] == [*range(len(axis))] else 0


def is_by_rows(
    x: NumpyArray, axis: Any = None, dtype: Any = None, keepdims: bool = False, **options: Any
) -> bool:
    """Whether a sum is of rows that are so many that a product is quicker, if they lie in order."""
    plain = dtype is None or dtype == x.dtype
    if options or not plain or x.dtype.char not in "fd" or x.size < _MIN_ELEMENTS:
        return False
    count = _leading(x, axis)
    return count > 0 and math.prod(x.shape[:count]) >= _MIN_ROWS


@named("sum")
def _sum(
    x: NumpyArray, axis: Any = None, dtype: Any = None, keepdims: bool = False, **options: Any
) -> Any:
    """As NumPy's, but of rows by a product."""
    if (
        type(x) is np.ndarray
        and is_by_rows(x, axis, dtype, keepdims, **options)
        and x.flags.c_contiguous
    ):
        count = _leading(x, axis)
        rows = math.prod(x.shape[:count])
        total = np.ones(rows, x.dtype) @ x.reshape(rows, -1)
        return total.reshape((1,) * count * keepdims + x.shape[count:])
    return np.sum(x, axis=axis, dtype=dtype, keepdims=keepdims, **options)


@named("mean")
def _mean(x: NumpyArray, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """NaN of nothing, as NumPy's own is, but without a warning."""
    if dtype is None and x.dtype.kind in "iub":
        dtype = np.float64
    total = _sum(x, axis, dtype, keepdims)
    return total / np.asarray(x.size / total.size if total.size else 1, total.dtype)


@named("var")
def _var(
    x: NumpyArray, axis: Any = None, ddof: int = 0, keepdims: bool = False, **kwargs: Any
) -> Any:
    mean = _mean(x, axis, keepdims=True, **kwargs)
    total = _sum(np.square(x - mean), axis, keepdims=keepdims)
    count = x.size / total.size if total.size else 1
    return total / np.asarray(max(count - ddof, 0), total.dtype)
