"""Moving batches to devices and results back: cut along the axis of rows, and joined along it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybridnet import ndarray as nd
from hybridnet.ndarray import NDArray

__all__ = ["Parts", "joined", "load", "rows_of"]

#: For each input, and each device: which rows it takes, and the array that they go to.
Parts = Sequence[Sequence[tuple[slice, NDArray]]]


def rows_of(array: NDArray, axis: int, rows: slice) -> NDArray:
    """Returns some rows of an array: itself where they are all, or where no axis is that of rows.

    Args:
        array: any.
        axis: which of its axes is that of rows; negative for none.
        rows: which.
    """
    if axis < 0 or (rows.start == 0 and rows.stop == array.shape[axis]):
        return array
    if axis == 0:
        part: NDArray = array[rows.start : rows.stop]
        return part
    return nd.slice_axis(array, axis=axis, begin=rows.start, end=rows.stop)


def load(batches: Any, kind: str, parts: Parts, axes: Sequence[int]) -> None:
    """Copies a batch into the arrays of the devices.

    Args:
        batches: a batch; or a list of them, one for each device.
        kind: which of its arrays: 'data' or 'label'.
        parts: where to.
        axes: of each input, the axis of rows.
    """
    if isinstance(batches, list):
        for number, targets in enumerate(parts):
            for batch, (_, target) in zip(batches, targets, strict=bool(targets)):
                _copy(getattr(batch, kind)[number], target)
        return
    for source, targets, axis in zip(getattr(batches, kind), parts, axes, strict=False):
        given = source if isinstance(source, NDArray) else nd.array(source)
        for rows, target in targets:
            _copy(rows_of(given, axis, rows), target)


def _copy(source: Any, target: NDArray) -> None:
    if isinstance(source, NDArray):
        source.copyto(target)
    else:
        target[:] = source


def joined(arrays: Sequence[Sequence[NDArray]], axes: Sequence[int]) -> list[NDArray]:
    """Returns what several devices hold, as one array of each; from devices without rows the first.

    Args:
        arrays: of each result, the array of each device.
        axes: of each result, the axis of rows; negative for none.
    """
    whole = []
    for parts, axis in zip(arrays, axes, strict=True):
        first = parts[0]
        if axis >= 0 and len(parts) > 1:
            here = [part.as_in_context(first.context) for part in parts]
            first = nd.concat(*here, dim=axis)
        whole.append(first)
    return whole
