"""Histograms for TensorBoard."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from .messages import Histogram

#: Where the buckets of histograms end, on the side above 0: from, to, and how they grow.
_FIRST, _LAST, _GROWTH = 1e-12, 1e20, 1.1
_LARGEST: Final = float(np.finfo(np.float64).max)


def histogram_of(values: Any, bins: Any = None) -> Histogram:
    """Counts numbers.

    Args:
        values: an array of numbers, of any shape; without one, the histogram has one empty bucket.
        bins: of `numpy.histogram`: how many buckets of one width, where they begin and end, or the
            name of a rule; None: TensorFlow's buckets, each a tenth wider than the one before it,
            with one bucket for each row of empty ones.
    """
    flat = np.asarray(values, np.float64).reshape(-1)
    if not flat.size:
        return Histogram(_LARGEST, -_LARGEST, bucket_limit=[_LARGEST], bucket=[0])
    if bins is None:
        ends, counts = _in_tenths(flat)
    else:
        found, edges = np.histogram(flat, bins)
        ends, counts = edges[1:].tolist(), found.astype(float).tolist()
    seen = (flat.min(), flat.max(), flat.size, flat.sum(), (flat * flat).sum())
    least, most, size, total, squares = (float(one) for one in seen)
    return Histogram(least, most, size, total, squares, ends, counts)


def _in_tenths(flat: np.ndarray[Any, Any]) -> tuple[list[float], list[float]]:
    """Returns where TensorFlow's buckets end, and how many numbers are in each."""
    limits = _limits()
    places = np.minimum(np.searchsorted(limits, flat, side="right"), len(limits) - 1)
    counts = np.bincount(places, minlength=len(limits))
    ends: list[float] = []
    numbers: list[float] = []
    for limit, count in zip(limits, counts, strict=True):
        if numbers and not count and not numbers[-1]:
            ends[-1] = float(limit)  # empty buckets beside one another are one
        else:
            ends.append(float(limit))
            numbers.append(float(count))
    return ends, numbers


@cache
def _limits() -> np.ndarray[Any, Any]:
    """Returns where the buckets of a histogram end."""
    above = []
    limit = _FIRST
    while limit < _LAST:
        above.append(limit)
        limit *= _GROWTH
    above.append(_LARGEST)
    return np.array([*(-one for one in above[::-1]), 0.0, *above])
