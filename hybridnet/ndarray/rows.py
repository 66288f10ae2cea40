"""Many arrays of one type as the rows of one array: put together, and taken apart.

Samples are often rows of one array. To gather these is one operator, where stacking them is one
more for each of them, which reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from hybridnet.ops.core import registry
from hybridnet.runtime.recording import Storage, recorder

from .ndarray import NDArray

__all__ = ["rows", "stacked"]


def stacked(arrays: Sequence[NDArray]) -> NDArray:
    """Returns arrays of one type stacked along a new first axis; a copy of them."""
    first = arrays[0]
    if first.offset is not None and recorder.current_trace() is None:
        runs = [[*run] for _, run in groupby(arrays, _memory)]
        if 2 * len(runs) <= len(arrays) and all(map(_are_rows, runs)):
            parts = [*map(_gathered, runs)]
            return parts[0] if len(parts) == 1 else _applied("Concat", parts, dim=0)
    return _applied("stack", arrays, axis=0)


def rows(array: NDArray) -> list[NDArray]:
    """Returns ``[array[0], array[1], ...]``, which are views."""
    count, *rest = array.shape
    shape = tuple(rest)
    size = array.size // count if count else 0
    return [array.view(number * size, shape) for number in range(count)]


def _memory(array: NDArray) -> Storage:
    return array.storage


def _are_rows(run: Sequence[NDArray]) -> bool:
    """Whether arrays of one memory begin where its rows do, and gradients want none of them."""
    size, whole = run[0].size, run[0].storage.type.size
    if not size or whole % size:
        return False
    return not any(x.edge is not None or (x.offset or 0) % size for x in run)


def _gathered(run: Sequence[NDArray]) -> NDArray:
    first = run[0]
    size = first.size
    whole = type(first).from_storage(first.storage)
    places = np.array([(x.offset or 0) // size for x in run])
    part: NDArray = whole.view(0, (whole.size // size, *first.shape))[places]
    return part


def _applied(name: str, arrays: Sequence[NDArray], **options: object) -> NDArray:
    made: NDArray = arrays[0].apply_operator(registry.get(name), list(arrays), options)
    return made
