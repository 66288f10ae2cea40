"""Parts of images: given, from the middle, or by chance. Python's `random` decides."""

from __future__ import annotations

import random
import warnings
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray

from .arrays import require_image
from .resizing import choose_method, imresize, scale_down

__all__ = [
    "center_crop",
    "fixed_crop",
    "random_crop",
    "random_size_crop",
    "without_min_area",
]

Box = tuple[int, int, int, int]

#: How often a random part is drawn before the middle is taken.
_ATTEMPTS: Final = 10


def fixed_crop(
    src: NDArray,
    x0: int,
    y0: int,
    w: int,
    h: int,
    size: Sequence[int] | None = None,
    interp: int = 2,
) -> NDArray:
    """Returns a part of an image.

    Args:
        src: (height, width, channels).
        x0: its left edge.
        y0: its upper edge.
        w: its width.
        h: its height.
        size: (width, height) that it is resized to, or None.
        interp: see `resize_short`.

    Raises:
        MXNetError: as `imresize`.
    """
    part: NDArray = src[y0 : y0 + h, x0 : x0 + w]
    if size is not None and (w, h) != size:
        width, height = size
        method = choose_method(interp, (h, w, height, width))
        part = imresize(part, width, height, interp=method)
    return part


def random_crop(src: NDArray, size: Sequence[int], interp: int = 2) -> tuple[NDArray, Box]:
    """Returns a part of an image from anywhere in it.

    Args:
        src: (height, width, channels).
        size: (width, height); from an image that is smaller, what fits of this form is enlarged.
        interp: see `resize_short`.

    Returns:
        The part, and (x, y, width, height) of where it was.

    Raises:
        MXNetError: as `imresize`.
    """
    height, width, _ = require_image(src, "image.random_crop").shape
    new_width, new_height = scale_down((width, height), size)
    x0 = random.randint(0, width - new_width)
    y0 = random.randint(0, height - new_height)
    part = fixed_crop(src, x0, y0, new_width, new_height, size, interp)
    return part, (x0, y0, new_width, new_height)


def center_crop(src: NDArray, size: Sequence[int], interp: int = 2) -> tuple[NDArray, Box]:
    """Returns the middle of an image.

    Args:
        src: (height, width, channels).
        size: (width, height); from an image that is smaller, what fits of this form is enlarged.
        interp: see `resize_short`.

    Returns:
        The part, and (x, y, width, height) of where it was.

    Raises:
        MXNetError: as `imresize`.
    """
    height, width, _ = require_image(src, "image.center_crop").shape
    new_width, new_height = scale_down((width, height), size)
    x0 = (width - new_width) // 2
    y0 = (height - new_height) // 2
    part = fixed_crop(src, x0, y0, new_width, new_height, size, interp)
    return part, (x0, y0, new_width, new_height)


def random_size_crop(
    src: NDArray,
    size: Sequence[int],
    area: float | Sequence[float],
    ratio: Sequence[float],
    interp: int = 2,
    **kwargs: float | Sequence[float],
) -> tuple[NDArray, Box]:
    """Returns a part of an image of random area, form and place, in one size.

    Args:
        src: (height, width, channels).
        size: (width, height) of the result.
        area: (least, most) part of the image's area; a number: the least, and the most is 1.
        ratio: (least, most) width / height of the part, drawn evenly in its logarithm.
        interp: see `resize_short`.
        kwargs: ``min_area``, an old name of `area`.

    Returns:
        The part, and (x, y, width, height) of where it was. Where none fits in ten attempts, it is
        `center_crop`'s.

    Raises:
        MXNetError: as `imresize`.
    """
    height, width, _ = require_image(src, "image.random_size_crop").shape
    area = without_min_area(area, kwargs, "image.random_size_crop")
    least, most = area if isinstance(area, Sequence) else (area, 1.0)
    logs = np.log(ratio[0]), np.log(ratio[1])
    for _ in range(_ATTEMPTS):
        pixels = random.uniform(least, most) * (height * width)
        form = np.exp(random.uniform(*logs))
        new_width = round(np.sqrt(pixels * form))
        new_height = round(np.sqrt(pixels / form))
        if new_width <= width and new_height <= height:
            x0 = random.randint(0, width - new_width)
            y0 = random.randint(0, height - new_height)
            part = fixed_crop(src, x0, y0, new_width, new_height, size, interp)
            return part, (x0, y0, new_width, new_height)
    return center_crop(src, size, interp)


def without_min_area(
    area: float | Sequence[float], extra: Mapping[str, float | Sequence[float]], what: str
) -> float | Sequence[float]:
    """Returns `area`, or what is given by its old name.

    Raises:
        ParameterError: there is something else in `extra`.
    """
    rest = dict(extra)
    if "min_area" in rest:
        warnings.warn(f"{what}: min_area is now called area", DeprecationWarning, stacklevel=3)
        area = rest.pop("min_area")
    if rest:
        raise ParameterError(f"{what}: knows no argument {next(iter(rest))!r}")
    return area
