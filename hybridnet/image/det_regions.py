"""Random parts and random surroundings of images with boxes."""

from __future__ import annotations

import random
import warnings
from collections.abc import Sequence
from math import sqrt
from numbers import Number
from typing import Any, Final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.ndarray import NDArray

from .cropping import fixed_crop
from .det_augmenters import DetAugmenter
from .resizing import copyMakeBorder

__all__ = ["DetRandomCropAug", "DetRandomPadAug"]

#: Boxes and parts of so many pixels or fewer are none.
_FEWEST_PIXELS: Final = 2
#: OpenCV's number of the border that is constant; in MXNet it is 16, which OpenCV reads as this.
_CONSTANT: Final = 0
#: Rounds to the next smaller number, whatever is rounded: half a pixel, and not quite.
_NEARLY_HALF_SMALL: Final = 0.499999
_NEARLY_HALF: Final = 0.4999999


def _range(given: Any) -> Any:
    return (given, given) if isinstance(given, Number) else given


def _areas(boxes: NumpyArray) -> Any:
    """Returns the area of each box (left, top, right, bottom), which may be empty."""
    return np.maximum(0, boxes[:, 3] - boxes[:, 1]) * np.maximum(0, boxes[:, 2] - boxes[:, 0])


class DetRandomCropAug(DetAugmenter):
    """Takes a random part of an image that covers its boxes well enough.

    Args:
        min_object_covered: how much of each box that it touches a part must cover, at least.
        aspect_ratio_range: (least, most) width / height of the part, or one number.
        area_range: (least, most) part of the image's area, or one number.
        min_eject_coverage: boxes of which no more is left are left out.
        max_attempts: how often a part is drawn; then all of the image is taken.
    """

    def __init__(
        self,
        min_object_covered: float = 0.1,
        aspect_ratio_range: Any = (0.75, 1.33),
        area_range: Any = (0.05, 1.0),
        min_eject_coverage: float = 0.3,
        max_attempts: int = 50,
    ) -> None:
        aspect_ratio_range, area_range = _range(aspect_ratio_range), _range(area_range)
        super().__init__(
            min_object_covered=min_object_covered,
            aspect_ratio_range=aspect_ratio_range,
            area_range=area_range,
            min_eject_coverage=min_eject_coverage,
            max_attempts=max_attempts,
        )
        self.min_object_covered = min_object_covered
        self.min_eject_coverage = min_eject_coverage
        self.max_attempts = max_attempts
        self.aspect_ratio_range = aspect_ratio_range
        self.area_range = area_range
        self.enabled = _is_possible(self, area_range[1] > 0, area_range, aspect_ratio_range)

    def __call__(self, src: NDArray, label: NumpyArray) -> tuple[NDArray, NumpyArray]:
        """Returns the part and the boxes in it."""
        height, width = src.shape[:2]
        for _ in range(self.max_attempts if self.enabled and height > 0 and width > 0 else 0):
            box = self._draw(height, width)
            if box is None or not self._covers(label, box, height, width):
                continue
            inside = self._boxes_inside(label, box, height, width)
            if len(inside):
                return fixed_crop(src, *box, None), inside
        return src, label

    def _draw(self, height: int, width: int) -> tuple[int, int, int, int] | None:
        """Draws (x, y, width, height) of a part; None: it would be too large or too small."""
        least, most = (one * height * width for one in self.area_range)
        ratio = random.uniform(*self.aspect_ratio_range)
        if ratio <= 0:
            return None
        new_height = round(sqrt(least / ratio))
        most_height = round(sqrt(most / ratio))
        if round(most_height * ratio) > width:
            most_height = int((width + _NEARLY_HALF) / ratio)
        most_height = min(most_height, height)
        new_height = min(new_height, most_height)
        if new_height < most_height:
            new_height = random.randint(new_height, most_height)
        new_width = round(new_height * ratio)
        # Rounded, it may have become too small or too large by a row.
        if new_width * new_height < least:
            new_height += 1
            new_width = round(new_height * ratio)
        if new_width * new_height > most:
            new_height -= 1
            new_width = round(new_height * ratio)
        fits = 0 <= new_width <= width and 0 <= new_height <= height
        if not fits or not least <= new_width * new_height <= most:
            return None
        y = random.randint(0, max(0, height - new_height))
        x = random.randint(0, max(0, width - new_width))
        return x, y, new_width, new_height

    def _covers(
        self, label: NumpyArray, box: tuple[int, int, int, int], height: int, width: int
    ) -> bool:
        """Whether a part covers enough of each box that it touches, and touches one."""
        x, y, new_width, new_height = box
        if new_width * new_height < _FEWEST_PIXELS:
            return False
        areas = _areas(label[:, 1:])
        large = areas * width * height > _FEWEST_PIXELS
        if not large.any():
            return False
        low = np.array([x / width, y / height])
        high = np.array([(x + new_width) / width, (y + new_height) / height])
        boxes = label[large, 1:5]
        common = np.concatenate([np.maximum(boxes[:, :2], low), np.minimum(boxes[:, 2:], high)], 1)
        covered = _areas(common) / areas[large]
        covered = covered[covered > 0]
        return bool(covered.size and covered.min() > self.min_object_covered)

    def _boxes_inside(
        self, label: NumpyArray, box: tuple[int, int, int, int], height: int, width: int
    ) -> NumpyArray:
        """Returns the boxes of which enough is in a part, in parts of that."""
        x, y, new_width, new_height = box
        part_width, part_height = new_width / width, new_height / height
        made = label.copy()
        made[:, (1, 3)] = (made[:, (1, 3)] - x / width) / part_width
        made[:, (2, 4)] = (made[:, (2, 4)] - y / height) / part_height
        made[:, 1:5] = made[:, 1:5].clip(0, 1)
        with np.errstate(divide="ignore", invalid="ignore"):  # boxes without an area
            left: NumpyArray = _areas(made[:, 1:]) * part_width * part_height / _areas(label[:, 1:])
        some = (made[:, 3] > made[:, 1]) & (made[:, 4] > made[:, 2])
        return made[some & (left > self.min_eject_coverage)]


class DetRandomPadAug(DetAugmenter):
    """Puts an image somewhere into a larger one, so that its boxes become smaller.

    Args:
        aspect_ratio_range: (least, most) width / height of the larger one, or one number.
        area_range: (least, most) of its area, in areas of the image, or one number.
        max_attempts: how often it is drawn; then the image is left as it is.
        pad_val: of the pixels around, for each channel, or one number for all.
    """

    def __init__(
        self,
        aspect_ratio_range: Any = (0.75, 1.33),
        area_range: Any = (1.0, 3.0),
        max_attempts: int = 50,
        pad_val: Any = (128, 128, 128),
    ) -> None:
        aspect_ratio_range, area_range = _range(aspect_ratio_range), _range(area_range)
        super().__init__(
            aspect_ratio_range=aspect_ratio_range,
            area_range=area_range,
            max_attempts=max_attempts,
            pad_val=pad_val,
        )
        self.pad_val: Any = (pad_val,) * 3 if isinstance(pad_val, Number) else pad_val
        self.aspect_ratio_range = aspect_ratio_range
        self.area_range = area_range
        self.max_attempts = max_attempts
        self.enabled = _is_possible(self, area_range[1] > 1, area_range, aspect_ratio_range)

    def __call__(self, src: NDArray, label: NumpyArray) -> tuple[NDArray, NumpyArray]:
        """Returns the larger image and the boxes in it."""
        height, width = src.shape[:2]
        for _ in range(self.max_attempts if self.enabled and height > 0 and width > 0 else 0):
            box = self._draw(height, width)
            if box is None:
                continue
            x, y, new_width, new_height = box
            made = label.copy()
            made[:, (1, 3)] = (made[:, (1, 3)] * width + x) / new_width
            made[:, (2, 4)] = (made[:, (2, 4)] * height + y) / new_height
            sides = (y, new_height - y - height, x, new_width - x - width)
            return copyMakeBorder(src, *sides, _CONSTANT, values=self.pad_val), made
        return src, label

    def _draw(self, height: int, width: int) -> tuple[int, int, int, int] | None:
        """Draws where the image is, and the size of the larger one; None: too little is added."""
        least, most = (one * height * width for one in self.area_range)
        ratio = random.uniform(*self.aspect_ratio_range)
        if ratio <= 0:
            return None
        new_height = round(sqrt(least / ratio))
        most_height = round(sqrt(most / ratio))
        if round(new_height * ratio) < width:
            new_height = int((width + _NEARLY_HALF_SMALL) / ratio)
        new_height = min(max(new_height, height), most_height)
        if new_height < most_height:
            new_height = random.randint(new_height, most_height)
        new_width = round(new_height * ratio)
        if new_height - height < 2 or new_width - width < 2:
            return None
        y = random.randint(0, new_height - height)
        x = random.randint(0, new_width - width)
        return x, y, new_width, new_height


def _is_possible(
    what: DetAugmenter, area_is_good: bool, area: Sequence[float], ratio: Sequence[float]
) -> bool:
    """Whether the ranges leave something to draw; warns where they do not, as MXNet does."""
    name = type(what).__name__
    if not area_is_good or area[0] > area[1]:
        warnings.warn(f"{name} does nothing: no area is in area_range={area}", stacklevel=3)
        return False
    if ratio[0] <= 0 or ratio[0] > ratio[1]:
        warnings.warn(
            f"{name} does nothing: no form is in aspect_ratio_range={ratio}", stacklevel=3
        )
        return False
    return True
