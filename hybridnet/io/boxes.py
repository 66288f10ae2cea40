"""Labels with boxes, as record iterators for detection have them.

A label is a row of numbers: the length of its header (2 or more), the length of an object (5 or
more), the rest of the header, and the objects: class, left, top, right, bottom in parts of the
image's size, and what else there is.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import FormatError

__all__ = ["Bounds", "Box", "areas_of_common", "center_in", "mirrored", "objects_of", "projected"]


_SHORTEST: Final = 7  # a header of 2 and an object of 5


class Box(NamedTuple):
    """A rectangle, in parts of the image's size."""

    x: float
    y: float
    width: float
    height: float


class Bounds(NamedTuple):
    """Least and most of a share; from 0 to 1 anything is allowed."""

    least: float
    most: float

    @property
    def bind(self) -> bool:
        """Whether something is refused."""
        return self.least > 0 or self.most < 1

    def hold(self, shares: NumpyArray) -> NumpyArray:
        """Returns which shares are allowed."""
        allowed: NumpyArray = (shares >= self.least) & (shares <= self.most)
        return allowed


def objects_of(label: NumpyArray) -> tuple[NumpyArray, NumpyArray]:
    """Takes a label apart.

    Returns:
        The header, and the objects that have an area, (objects, length).

    Raises:
        FormatError: it is no such row.
    """
    if len(label) < _SHORTEST:
        raise FormatError(f"a label of boxes must have 7 numbers or more, got {len(label)}")
    header, length = int(label[0]), int(label[1])
    if header < 2 or length < 5 or header > len(label) or (len(label) - header) % length:
        raise FormatError(
            "a label must be the length of its header (2 or more), the length of an object (5 or "
            f"more), and whole objects, got {len(label)} numbers, the first {header} and {length}"
        )
    objects = label[header:].reshape(-1, length)
    real = (objects[:, 3] > objects[:, 1]) & (objects[:, 4] > objects[:, 2])
    return label[:header], objects[real]


def areas_of_common(objects: NumpyArray, box: Box) -> tuple[NumpyArray, NumpyArray]:
    """Returns the areas of what objects have in common with a box, and of the objects."""
    left, top, right, bottom = objects[:, 1:5].T
    wide = np.minimum(right, box.x + box.width) - np.maximum(left, box.x)
    tall = np.minimum(bottom, box.y + box.height) - np.maximum(top, box.y)
    return np.maximum(wide, 0) * np.maximum(tall, 0), (right - left) * (bottom - top)


def center_in(objects: NumpyArray, box: Box) -> NumpyArray:
    """Returns which objects have their middle in a box."""
    x = (objects[:, 1] + objects[:, 3]) / 2
    y = (objects[:, 2] + objects[:, 4]) / 2
    inside: NumpyArray = (
        (box.x <= x) & (x < box.x + box.width) & (box.y <= y) & (y < box.y + box.height)
    )
    return inside


def projected(objects: NumpyArray, box: Box) -> NumpyArray:
    """Returns objects in parts of a box, cut off at its edges."""
    made = objects.copy()
    for low, high, start, length in ((1, 3, box.x, box.width), (2, 4, box.y, box.height)):
        made[:, low] = np.maximum(0, (made[:, low] - start) / length)
        made[:, high] = np.minimum(1, (made[:, high] - start) / length)
    return made


def mirrored(objects: NumpyArray) -> NumpyArray:
    """Returns objects in an image whose left and right are changed."""
    made = objects.copy()
    made[:, 1], made[:, 3] = 1 - objects[:, 3], 1 - objects[:, 1]
    return made
