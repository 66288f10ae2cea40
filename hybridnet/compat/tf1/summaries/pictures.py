"""Images for summaries: pixels from numbers, and PNG files of them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from hybridnet.recordio.images import encoded

__all__ = ["as_pixels", "as_png"]

#: Number of channels -> their places, blue before green before red.
_BLUE_FIRST: Final = {1: [0], 3: [2, 1, 0], 4: [2, 1, 0, 3]}
#: What a pixel becomes that is not finite: red, and white where there is one channel.
_BAD: Final = (255, 0, 0, 255)
#: Images whose numbers are no larger are taken for 0.
_NOTHING: Final = 1e-6


def as_pixels(image: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns an image in whole numbers from 0 to 255.

    Numbers that are not negative are scaled so that the largest is 255; where some are negative, 0
    becomes 128, and the largest size 127 more or less.

    Args:
        image: (height, width, channels), floats or uint8; the latter are pixels already.
    """
    if image.dtype == np.uint8:
        return image
    values = image.astype(np.float32)
    good = np.isfinite(values).all(axis=-1)
    seen = values[good]
    low, high = (float(np.min(seen)), float(np.max(seen))) if seen.size else (0.0, 0.0)
    largest, most, offset = (max(-low, high), 127, 128) if low < 0 else (high, 255, 0)
    scale = np.float32(0 if largest < _NOTHING else most / largest)
    pixels = np.empty(values.shape, np.uint8)
    pixels[good] = (seen * scale + np.float32(offset)).astype(np.uint8)
    pixels[~good] = _BAD[: image.shape[-1]]
    return pixels


def as_png(pixels: np.ndarray[Any, Any]) -> bytes:
    """Returns a PNG file of (height, width, channels) pixels; 1, 3 or 4 channels, red first.

    Raises:
        ImportError: OpenCV, of the extra ``image``, is not installed.
    """
    blue_first = pixels[..., _BLUE_FIRST[pixels.shape[-1]]]  # the order that OpenCV has
    return encoded("tf.summary.image", blue_first, quality=3, img_fmt=".png")
