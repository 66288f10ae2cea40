"""Images in other sizes, and with borders."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from hybridnet.base.errors import ParameterError
from hybridnet.io.pixels import add_border, resize
from hybridnet.ndarray import NDArray

from .arrays import apply, require_image

__all__ = ["choose_method", "copyMakeBorder", "imresize", "resize_short", "scale_down"]

_LINEAR, _CUBIC, _AREA, _LANCZOS = 1, 2, 3, 4
_AUTOMATIC: Final = 9
_RANDOM: Final = 10


def choose_method(interp: int, sizes: Sequence[int] = ()) -> int:
    """Returns OpenCV's number of an interpolation.

    Args:
        interp: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos; 9: cubic where both sides grow,
            area where both shrink, linear else; 10: one of 0 to 4 by chance.
        sizes: (height, width, new height, new width), for 9; without them that is cubic.

    Raises:
        ParameterError: there is no such number.
    """
    if interp == _AUTOMATIC:
        if not sizes:
            return _CUBIC
        height, width, new_height, new_width = sizes
        if new_height > height and new_width > width:
            return _CUBIC
        return _AREA if new_height < height and new_width < width else _LINEAR
    if interp == _RANDOM:
        return random.randint(0, _LANCZOS)
    if interp not in range(_LANCZOS + 1):
        raise ParameterError(
            f"image: interp must be 0 to 4, 9 (by the sizes) or 10 (by chance), got {interp!r}"
        )
    return interp


def imresize(src: NDArray, w: int, h: int, interp: int = 1, out: NDArray | None = None) -> NDArray:
    """Resizes an image.

    Args:
        src: (height, width, channels): uint8, uint16, int16, float32 or float64.
        w: the new width, pixels.
        h: the new height, pixels.
        interp: see `resize_short`; 5 is OpenCV's bit-exact linear one.
        out: an array for the result.

    Returns:
        (h, w, channels) of the same dtype.

    Raises:
        ShapeError: `src` has another number of axes.
        DTypeError: OpenCV does not resize such numbers.
        ParameterError: a size is not positive, or there is no such `interp`.
        ImportError: OpenCV is not installed.
    """
    width, height = int(w), int(h)
    if interp in (_AUTOMATIC, _RANDOM):
        sizes = (*require_image(src, "image.imresize").shape[:2], height, width)
        interp = choose_method(interp, sizes)
    what = "image.imresize"
    return apply(lambda image: resize(image, width, height, interp, what), src, out, what)


def resize_short(src: NDArray, size: int, interp: int = 2) -> NDArray:
    """Resizes an image so that its shorter side has `size` pixels; its form stays.

    Args:
        src: (height, width, channels).
        size: pixels.
        interp: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos; 9: cubic where both sides grow,
            area where both shrink, linear else; 10: one of 0 to 4 by chance.

    Raises:
        MXNetError: as `imresize`.
    """
    height, width, _ = require_image(src, "image.resize_short").shape
    if height > width:
        new_height, new_width = size * height // width, size
    else:
        new_height, new_width = size, size * width // height
    method = choose_method(interp, (height, width, new_height, new_width))
    return imresize(src, new_width, new_height, interp=method)


def scale_down(src_size: Sequence[int], size: Sequence[int]) -> tuple[int, int]:
    """Returns a (width, height) of the form of `size` that fits into an image of `src_size`."""
    width: float
    height: float
    width, height = size
    most_width, most_height = src_size
    if most_height < height:
        width, height = float(width * most_height) / height, most_height
    if most_width < width:
        width, height = most_width, float(height * most_width) / width
    return int(width), int(height)


def copyMakeBorder(
    src: NDArray,
    top: int,
    bot: int,
    left: int,
    right: int,
    type: int = 0,
    value: float = 0,
    values: Sequence[float] = (),
    out: NDArray | None = None,
) -> NDArray:
    """Adds a border to an image.

    Args:
        src: (height, width, channels).
        top: pixels above.
        bot: pixels below.
        left: pixels on the left.
        right: pixels on the right.
        type: 0: a constant, 1: the last pixel, 2: mirrored with the last pixel, 3: from the other
            side, 4: mirrored without the last pixel.
        value: of every channel, for a constant border.
        values: of each channel, up to 4; without them `value`.
        out: an array for the result.

    Returns:
        (top + height + bot, left + width + right, channels) of the same dtype.

    Raises:
        MXNetError: as `imresize`; or OpenCV knows no such border.
        ImportError: OpenCV is not installed.
    """
    numbers = tuple(values) if isinstance(values, Sequence) else (values,)
    what = "image.copyMakeBorder"
    sides = (int(top), int(bot), int(left), int(right))
    filled = numbers or (value,) * 3
    return apply(lambda image: add_border(image, *sides, int(type), filled, what), src, out, what)
