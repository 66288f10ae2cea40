"""Boxes drawn into images, by OpenCV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import MXNetError
from hybridnet.base.lazy import cv2

__all__ = ["draw_boxes", "show"]

_WHITE: Final = (255, 255, 255)
_SCALE: Final = 0.5  # of the letters
_GAP: Final = 5  # pixels between a box and its name


def draw_boxes(
    image: NumpyArray,
    objects: NumpyArray,
    colour: Sequence[float] | None,
    thickness: int,
    names: Mapping[int, str],
) -> None:
    """Draws boxes into an image.

    Args:
        image: uint8 (height, width, 3), blue first; it is changed.
        objects: (objects, 5 or more): class, left, top, right, bottom in parts of the size.
        colour: (red, green, blue), or None: each box has a random one.
        thickness: of the lines, pixels.
        names: class -> what to write into its boxes.
    """
    height, width = image.shape[:2]
    size = np.array([width, height, width, height], np.float32)
    for one in objects:
        left, top, right, bottom = (one[1:5] * size).astype(int).tolist()
        if left < 0:
            continue
        drawn = tuple(colour[::-1]) if colour else tuple((np.random.rand(3) * 255).tolist())
        cv2.rectangle(image, (left, top), (right, bottom), drawn, thickness)
        if int(one[0]) in names:
            text, font = str(names[int(one[0])]), cv2.FONT_HERSHEY_SIMPLEX
            letters = cv2.getTextSize(text, font, _SCALE, 2)[0][1]
            cv2.putText(image, text, (left + _GAP, top + letters + _GAP), font, _SCALE, _WHITE, 2)


def show(image: NumpyArray, title: str, milliseconds: int) -> None:
    """Shows an image in a window.

    Raises:
        MXNetError: this OpenCV has no windows.
    """
    try:
        cv2.imshow(title, image)
        cv2.waitKey(milliseconds)
    except cv2.error as error:
        raise MXNetError(
            "ImageDetIter.draw_next: waitKey needs an OpenCV with windows, which "
            "opencv-python-headless has not; pip install opencv-python, or leave waitKey out"
        ) from error
