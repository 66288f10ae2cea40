"""Images as NumPy arrays (height, width, channels): decoding, resizing, borders; by OpenCV.

OpenCV releases the interpreter's lock while it works, so that threads decode side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import DTypeError, FormatError, ParameterError
from hybridnet.base.lazy import cv2

__all__ = ["add_border", "decode", "resize"]


_PNG: Final = b"\x89PNG"
_JFIF: Final = (b"\xff\xd8\xff\xe0", b"JFIF\0")  # at bytes 0 and 6
#: What OpenCV resizes and frames. It knows a few more, in which MXNet gives wrong numbers.
_DTYPES: Final = frozenset(map(np.dtype, ("uint8", "uint16", "int16", "float32", "float64")))
#: OpenCV's numbers: nearest, linear, cubic, area, Lanczos, exact linear.
_METHODS: Final = range(6)


def decode(
    data: bytes | NumpyArray, flag: int = 1, to_rgb: bool = True, what: str = "image"
) -> NumpyArray:
    """Decodes an image.

    As in MXNet, an orientation in EXIF data turns the image, but for PNG files and for JPEG files
    that begin with a JFIF header.

    Args:
        data: the encoded image: bytes, or uint8 of any shape.
        flag: 0 for grey, 1 for colour.
        to_rgb: red first; False: blue first.
        what: who asks, for messages.

    Returns:
        uint8 (height, width, 1 or 3), in memory of its own.

    Raises:
        FormatError: it is empty, or no image that OpenCV knows.
        ParameterError: `flag` is neither.
        ImportError: OpenCV is not installed.
    """
    if flag not in (0, 1):
        raise ParameterError(f"{what}: flag must be 0 (grey) or 1 (colour), got {flag!r}")
    buffer = np.frombuffer(data, np.uint8)
    if not buffer.size:
        raise FormatError(f"{what}: needs an encoded image, got 0 bytes")
    head = buffer[:11].tobytes()
    mode = cv2.IMREAD_COLOR if flag else cv2.IMREAD_GRAYSCALE
    swap = bool(flag and to_rgb)
    if swap and hasattr(cv2, "IMREAD_COLOR_RGB"):
        mode, swap = cv2.IMREAD_COLOR_RGB, False
    if head.startswith(_PNG) or (head.startswith(_JFIF[0]) and head.endswith(_JFIF[1])):
        mode |= cv2.IMREAD_IGNORE_ORIENTATION
    try:
        image = cv2.imdecode(buffer, mode)
        reason = "OpenCV does not know it, or it is damaged"
    except cv2.error as error:
        image, reason = None, " ".join(str(error).split())
    if image is None:
        raise FormatError(
            f"{what}: needs an image that can be decoded, got {buffer.size} bytes that begin with "
            f"{head[:8].hex(' ')}: {reason}"
        )
    if swap:
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB, dst=image)
    decoded: NumpyArray = image if flag else image[:, :, None]
    return decoded


def resize(
    image: NumpyArray, width: int, height: int, method: int, what: str = "image"
) -> NumpyArray:
    """Returns an image in another size.

    Args:
        image: (height, width, channels).
        width: of the result, pixels.
        height: of the result, pixels.
        method: OpenCV's number of the interpolation, 0 to 5.
        what: who asks, for messages.

    Raises:
        DTypeError: OpenCV does not resize such numbers.
        ParameterError: a size is not positive, the image is empty or has no three axes, or there
            is no such method.
    """
    _check(image, what)
    if width < 1 or height < 1:
        raise ParameterError(f"{what}: w and h must be at least 1, got {width} and {height}")
    if method not in _METHODS:
        raise ParameterError(f"{what}: interp must be 0 to 5, or 9 or 10, got {method!r}")
    if not image.size:
        raise ParameterError(f"{what}: the image must not be empty, got shape {image.shape}")
    made: NumpyArray = cv2.resize(image, (width, height), interpolation=method)
    return made.reshape(height, width, image.shape[2])  # one channel loses its axis


def add_border(
    image: NumpyArray,
    top: int,
    bottom: int,
    left: int,
    right: int,
    kind: int,
    values: Sequence[float],
    what: str = "image",
) -> NumpyArray:
    """Returns an image with a border around it.

    Args:
        image: (height, width, channels).
        top: pixels above; the same for the others.
        bottom: pixels below.
        left: pixels on the left.
        right: pixels on the right.
        kind: OpenCV's number: 0 constant, 1 the last pixel, 2 mirrored with the last pixel, 3 from
            the other side, 4 mirrored without the last pixel.
        values: of the channels, up to 4, where the border is constant.
        what: who asks, for messages.

    Raises:
        DTypeError: OpenCV does not know such numbers.
        ParameterError: a width is negative, or OpenCV refuses the kind.
    """
    _check(image, what)
    if min(top, bottom, left, right) < 0:
        got = (top, bottom, left, right)
        raise ParameterError(f"{what}: the widths of the border must be 0 or more, got {got}")
    try:
        made: NumpyArray = cv2.copyMakeBorder(
            image, top, bottom, left, right, kind, value=[float(one) for one in values]
        )
    except cv2.error as error:
        raise ParameterError(
            f"{what}: type must be 0 to 4 and values up to 4 numbers for an image of up to 4 "
            f"channels, got type {kind!r}, values {values} and shape {image.shape}: "
            f"{' '.join(str(error).split())}"
        ) from error
    return made.reshape(*made.shape[:2], image.shape[2])


def _check(image: NumpyArray, what: str) -> None:
    if image.ndim != 3:
        raise ParameterError(
            f"{what}: an image must have the shape (height, width, channels), got {image.shape}"
        )
    if image.dtype not in _DTYPES:
        known = ", ".join(sorted(dtype.name for dtype in _DTYPES))
        raise DTypeError(f"{what}: the dtype must be one of {known}, got {image.dtype}")
