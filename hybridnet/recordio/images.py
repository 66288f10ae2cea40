"""Image records from pixels and back, by OpenCV: channels are blue, green, red."""

from __future__ import annotations

from typing import Any, Final

from hybridnet.base.errors import FormatError, ParameterError
from hybridnet.base.lazy import cv2
from hybridnet.base.lazy import numpy as np

from .header import IRHeader, pack, unpack

__all__ = ["encoded", "pack_img", "unpack_img"]

_MOST_PNG: Final = 9  # what OpenCV makes of more, such as the default, with a warning


def pack_img(header: Any, img: Any, quality: int = 95, img_fmt: str = ".jpg") -> bytes:
    """Encodes an image and returns its record.

    Args:
        header: an `IRHeader`.
        img: (height, width) or (height, width, channels), blue first.
        quality: 1 to 100 for JPEG, where more is better; for PNG 0 to 9, where more is smaller.
        img_fmt: the ending of the file format: '.jpg', '.png' or another that OpenCV knows.

    Raises:
        ParameterError: the image cannot be encoded so.
        ImportError: OpenCV is not installed.
    """
    return pack(header, encoded("recordio.pack_img", img, quality, img_fmt))


def encoded(what: str, img: Any, quality: int, img_fmt: str) -> bytes:
    """Returns an image file of pixels; the arguments are those of `pack_img`.

    Args:
        what: the function that was called, for messages.

    Raises:
        ParameterError: the image cannot be encoded so.
        ImportError: OpenCV is not installed.
    """
    kind = img_fmt.lower()
    options = None
    if kind in (".jpg", ".jpeg"):
        options = [cv2.IMWRITE_JPEG_QUALITY, quality]
    elif kind == ".png":
        options = [cv2.IMWRITE_PNG_COMPRESSION, min(quality, _MOST_PNG)]
    pixels = np.asarray(img)
    try:
        done, data = cv2.imencode(img_fmt, pixels, options)
    except cv2.error as error:
        done, reason = False, str(error)
    else:
        reason = "OpenCV refused it"
    if not done:
        raise ParameterError(
            f"{what}: img must be an image that can be written as {img_fmt!r}, got "
            f"{pixels.dtype} of shape {pixels.shape}: {' '.join(reason.split())}"
        )
    file: bytes = data.tobytes()
    return file


def unpack_img(s: bytes, iscolor: int = -1) -> tuple[IRHeader, Any]:
    """Takes a record apart and decodes its image.

    Args:
        s: the record.
        iscolor: OpenCV's flag: -1 as it is stored, 0 grey, 1 colour.

    Returns:
        The header, and the image: (height, width[, channels]), blue first; None where OpenCV knows
        no such image.

    Raises:
        FormatError: the record is too short, or holds no image data at all.
        ImportError: OpenCV is not installed.
    """
    header, data = unpack(s)
    if not data:
        raise FormatError("recordio.unpack_img: the record must hold an image, got 0 bytes of it")
    return header, cv2.imdecode(np.frombuffer(data, np.uint8), iscolor)
