"""The weights with which an image's rows or columns are combined when it is resized.

The positions and kernels are those of OpenCV's `resize`, so that images come out as MXNet's do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from hybridnet.base.array_types import NumpyArray

#: MXNet's numbers for the ways to interpolate.
INTERPOLATIONS: Final = {0: "nearest", 1: "linear", 2: "cubic", 3: "area", 4: "Lanczos"}


def _taps(
    source: int, target: int, offsets: range, kernel: Callable[[NumpyArray], NumpyArray]
) -> NumpyArray:
    """Combines neighbors of each target's center; beyond the border the outermost one counts."""
    center = (np.arange(target) + 0.5) * (source / target) - 0.5
    first = np.floor(center).astype(int)
    weights = np.zeros((target, source))
    values = np.stack([kernel(center - first - offset) for offset in offsets], 1)
    values /= values.sum(1, keepdims=True)
    for column, offset in enumerate(offsets):
        place = np.clip(first + offset, 0, source - 1)
        np.add.at(weights, (np.arange(target), place), values[:, column])
    return weights


def _linear(distance: NumpyArray) -> NumpyArray:
    tent: NumpyArray = np.maximum(1 - np.abs(distance), 0)
    return tent


def _cubic(distance: NumpyArray) -> NumpyArray:
    """Keys' cubic convolution (1981) with OpenCV's parameter -0.75."""
    a, t = -0.75, np.abs(distance)
    near = ((a + 2) * t - (a + 3)) * t * t + 1
    far = ((a * t - 5 * a) * t + 8 * a) * t - 4 * a
    curve: NumpyArray = np.where(t <= 1, near, np.where(t < 2, far, 0))
    return curve


def _lanczos(distance: NumpyArray) -> NumpyArray:
    window: NumpyArray = np.sinc(distance / 4)
    return np.sinc(distance) * window


def _nearest(source: int, target: int) -> NumpyArray:
    place = np.minimum(np.floor(np.arange(target) * (source / target)).astype(int), source - 1)
    chosen: NumpyArray = np.eye(source)[place]
    return chosen


def _area(source: int, target: int) -> NumpyArray:
    """Averages the source pixels that each target pixel covers."""
    scale = source / target
    left = np.arange(target)[:, None] * scale
    pixels = np.arange(source)[None]
    covered = np.minimum(left + scale, pixels + 1) - np.maximum(left, pixels)
    weights: NumpyArray = np.maximum(covered, 0)
    weights /= weights.sum(1, keepdims=True)
    return weights


def _area_enlarged(source: int, target: int) -> NumpyArray:
    """Repeats the pixels of a side that grows, with one mixture of two neighbors between them."""
    scale = source / target
    first = np.floor(np.arange(target) * scale).astype(int)
    part = np.arange(target) + 1 - (first + 1) / scale
    part = np.where(part <= 0, 0, part - np.floor(part))
    weights = np.zeros((target, source))
    rows = np.arange(target)
    np.add.at(weights, (rows, np.minimum(first, source - 1)), 1 - part)
    np.add.at(weights, (rows, np.minimum(first + 1, source - 1)), part)
    return weights


def resize_weights(source: int, target: int, interpolation: int, shrinks: bool) -> NumpyArray:
    """Returns the weights of the source's pixels in each target pixel, (target, source).

    Args:
        source: pixels along a side before.
        target: pixels along it after.
        interpolation: see `INTERPOLATIONS`.
        shrinks: whether no side of the image grows, which decides how areas are averaged.
    """
    name = INTERPOLATIONS[interpolation]
    if name == "nearest":
        return _nearest(source, target)
    if name == "area":
        return _area(source, target) if shrinks else _area_enlarged(source, target)
    offsets, kernel = {
        "linear": (range(2), _linear),
        "cubic": (range(-1, 3), _cubic),
        "Lanczos": (range(-3, 5), _lanczos),
    }[name]
    return _taps(source, target, offsets, kernel)
