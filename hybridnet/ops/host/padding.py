"""`lax.pad` for NumPy arrays; for a small array `np.pad` takes ten times as long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hybridnet.base.array_types import NumpyArray

from .table import named


@named("lax.pad")
def pad(x: NumpyArray, value: Any, widths: Sequence[tuple[int, int, int]]) -> NumpyArray:
    """Returns an array with so much of a value before, behind and between its elements."""
    shape, into, of = padded_places(x.shape, widths)
    padded = np.full_like(x, value, shape=shape)  # in memory in the order of the array
    padded[into] = x[of]
    return padded


def padded_places(
    sizes: Sequence[int], widths: Sequence[tuple[int, int, int]]
) -> tuple[list[int], tuple[slice, ...], tuple[slice, ...]]:
    """Returns what `lax.pad` makes: its shape, where elements come to be in it, and which do."""
    shape, into, of = [], [], []
    for size, (low, high, inner) in zip(sizes, widths, strict=True):
        step = inner + 1
        spread = max(0, (size - 1) * step + 1) if size else 0
        whole = low + spread + high
        taken = range(max(0, -(low // step)), min(size, -((low - whole) // step)))
        first = taken[0] if taken else 0
        shape.append(whole)
        of.append(slice(first, first + len(taken)))
        begin = low + first * step
        into.append(slice(begin, begin + len(taken) * step, step) if taken else slice(0, 0))
    return shape, tuple(into), tuple(of)
