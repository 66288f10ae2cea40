"""MXNet's default augmenter of record iterators for detection.

Images are uint8 (height, width, channels) with blue first. Numbers are drawn in MXNet's order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import ParameterError
from hybridnet.base.lazy import cv2

from .augmentation import interpolation, resize_shorter, shift_hls
from .boxes import Bounds, Box, areas_of_common, center_in, mirrored, projected
from .mersenne import MersenneTwister

__all__ = ["DetAugmentation", "augment_boxes"]


_MODES: Final = ("force", "shrink", "fit")
_EMITS: Final = ("center", "overlap")
_METHODS: Final = (0, 1, 2, 3, 4, 9, 10)
_LEAST_PADDING: Final = 1.05  # scales below leave the image as it is
_LEAST_CONTRAST: Final = 1e-3
_TINY: Final = 1e-12
_SAMPLED: Final = (
    "min_crop_scales",
    "max_crop_scales",
    "min_crop_aspect_ratios",
    "max_crop_aspect_ratios",
    "min_crop_overlaps",
    "max_crop_overlaps",
    "min_crop_sample_coverages",
    "max_crop_sample_coverages",
    "min_crop_object_coverages",
    "max_crop_object_coverages",
    "max_crop_trials",
)


@dataclass(frozen=True, kw_only=True)
class DetAugmentation:
    """The changes of images with boxes. What is a tuple has one for all samplers, or one for each.

    Attributes:
        resize: of the shorter side, first of all, pixels; -1: not.
        rand_crop_prob: how probably a part is taken.
        min_crop_scales: least side of the part, the root of its share of the area.
        max_crop_scales: most.
        min_crop_aspect_ratios: least width / height.
        max_crop_aspect_ratios: most.
        min_crop_overlaps: least intersection / union of the part and a box.
        max_crop_overlaps: most.
        min_crop_sample_coverages: least share of the part that a box covers.
        max_crop_sample_coverages: most.
        min_crop_object_coverages: least share of a box that the part covers.
        max_crop_object_coverages: most.
        num_crop_sampler: how many samplers there are; they are tried in an order by chance.
        crop_emit_mode: which boxes are left out: 'center': those whose middle is outside;
            'overlap': those of which no more than `emit_overlap_thresh` is inside.
        emit_overlap_thresh: see above.
        max_crop_trials: how often a sampler is tried.
        rand_pad_prob: how probably the image is put into a larger one.
        max_pad_scale: most side of that.
        max_random_hue: most change of hue, in 2 degrees; the next two in 256ths.
        random_hue_prob: how probably it is changed.
        max_random_saturation: of saturation.
        random_saturation_prob: how probably.
        max_random_illumination: of lightness.
        random_illumination_prob: how probably.
        max_random_contrast: most change of contrast, as a part of it.
        random_contrast_prob: how probably.
        rand_mirror_prob: how probably left and right are changed.
        fill_value: of pixels around.
        inter_method: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos, 9 by the sizes, 10 by chance.
        resize_mode: 'force': to the size that is asked for; 'shrink': into it, if it is larger;
            'fit': into it, in its form.
    """

    resize: int = -1
    rand_crop_prob: float = 0.0
    min_crop_scales: tuple[float, ...] = (0.0,)
    max_crop_scales: tuple[float, ...] = (1.0,)
    min_crop_aspect_ratios: tuple[float, ...] = (1.0,)
    max_crop_aspect_ratios: tuple[float, ...] = (1.0,)
    min_crop_overlaps: tuple[float, ...] = (0.0,)
    max_crop_overlaps: tuple[float, ...] = (1.0,)
    min_crop_sample_coverages: tuple[float, ...] = (0.0,)
    max_crop_sample_coverages: tuple[float, ...] = (1.0,)
    min_crop_object_coverages: tuple[float, ...] = (0.0,)
    max_crop_object_coverages: tuple[float, ...] = (1.0,)
    num_crop_sampler: int = 1
    crop_emit_mode: str = "center"
    emit_overlap_thresh: float = 0.3
    max_crop_trials: tuple[int, ...] = (25,)
    rand_pad_prob: float = 0.0
    max_pad_scale: float = 1.0
    max_random_hue: int = 0
    random_hue_prob: float = 0.0
    max_random_saturation: int = 0
    random_saturation_prob: float = 0.0
    max_random_illumination: int = 0
    random_illumination_prob: float = 0.0
    max_random_contrast: float = 0.0
    random_contrast_prob: float = 0.0
    rand_mirror_prob: float = 0.0
    fill_value: int = 127
    inter_method: int = 1
    resize_mode: str = "force"

    def __post_init__(self) -> None:
        for name, allowed in (
            ("resize_mode", _MODES),
            ("crop_emit_mode", _EMITS),
            ("inter_method", _METHODS),
        ):
            if getattr(self, name) not in allowed:
                raise ParameterError(
                    f"{name} must be one of {allowed}, got {getattr(self, name)!r}"
                )
        for name in _SAMPLED:
            count = len(getattr(self, name))
            if self.num_crop_sampler > 0 and count not in (1, self.num_crop_sampler):
                raise ParameterError(
                    f"{name} must have one number, or num_crop_sampler={self.num_crop_sampler} of "
                    f"them, got {count}"
                )
        for number in range(max(self.num_crop_sampler, 0)):
            scales = self.range("crop_scales", number)
            if not 0 <= scales[0] < scales[1] <= 1:
                raise ParameterError(
                    f"crop scales must be from 0 to 1, the least below the most, got {scales}"
                )

    def range(self, name: str, number: int) -> Bounds:
        """Returns the least and the most of something for a sampler."""
        return Bounds(self.one(f"min_{name}", number), self.one(f"max_{name}", number))

    def one(self, name: str, number: int) -> Any:
        """Returns a parameter of a sampler."""
        values = getattr(self, name)
        return values[number] if len(values) > 1 else values[0]


def augment_boxes(
    image: NumpyArray,
    objects: NumpyArray,
    how: DetAugmentation,
    shape: Sequence[int],
    numbers: MersenneTwister,
) -> tuple[NumpyArray, NumpyArray]:
    """Returns an image, which fits into the shape that is asked for, and its objects.

    Args:
        image: uint8 (height, width, channels).
        objects: (objects, 5 or more); see `boxes`.
        how: what to do.
        shape: (channels, height, width).
        numbers: where chance comes from.
    """
    if how.resize != -1:
        image = resize_shorter(image, how.resize, how.inter_method, numbers)
    image = _colours(image, how, numbers)
    if how.rand_mirror_prob > 0 and numbers.unit() < how.rand_mirror_prob:
        image, objects = cv2.flip(image, 1), mirrored(objects)
    if how.rand_pad_prob > 0 and how.max_pad_scale > 1 and numbers.unit() < how.rand_pad_prob:
        image, objects = _padded(image, objects, how, numbers)
    crops = how.rand_crop_prob > 0 and how.num_crop_sampler > 0
    if crops and numbers.unit() < how.rand_crop_prob:
        image, objects = _cropped(image, objects, how, numbers)
    return _resized(image, how, shape, numbers), objects


def _colours(image: NumpyArray, how: DetAugmentation, numbers: MersenneTwister) -> NumpyArray:
    chances = (
        how.random_hue_prob,
        how.random_saturation_prob,
        how.random_illumination_prob,
        how.random_contrast_prob,
    )
    if max(chances) <= 0:
        return image
    most = (how.max_random_hue, how.max_random_saturation, how.max_random_illumination)
    drawn: list[float] = [int(numbers.real(-1, 1) * one) for one in most]
    drawn.append(numbers.real(-1, 1) * how.max_random_contrast)
    hue, saturation, lightness, contrast = (
        one if numbers.unit() < chance else 0 for one, chance in zip(drawn, chances, strict=True)
    )
    if hue or saturation or lightness:
        image = shift_hls(image, int(hue), int(lightness), int(saturation))
    if abs(contrast) > _LEAST_CONTRAST:
        table = np.rint(np.arange(256) * (contrast + 1)).clip(0, 255).astype(np.uint8)
        image = cv2.LUT(image, table)
    return image


def _padded(
    image: NumpyArray, objects: NumpyArray, how: DetAugmentation, numbers: MersenneTwister
) -> tuple[NumpyArray, NumpyArray]:
    scale = numbers.real(1, how.max_pad_scale)
    if scale < _LEAST_PADDING:
        return image, objects
    x, y = numbers.real(0, scale - 1), numbers.real(0, scale - 1)
    rows, columns = image.shape[:2]
    sides = (
        int(y * rows),
        int((scale - y - 1) * rows),
        int(x * columns),
        int((scale - x - 1) * columns),
    )
    fill = (how.fill_value,) * 3
    made = cv2.copyMakeBorder(image, *sides, cv2.BORDER_CONSTANT, value=fill)
    return made, projected(objects, Box(-x, -y, scale, scale))


def _cropped(
    image: NumpyArray, objects: NumpyArray, how: DetAugmentation, numbers: MersenneTwister
) -> tuple[NumpyArray, NumpyArray]:
    """Takes a part that a sampler finds; all of the image where none finds one."""
    rows, columns = image.shape[:2]
    for sampler in numbers.shuffled(how.num_crop_sampler):
        for _ in range(how.one("max_crop_trials", sampler)):
            box = _draw(how, sampler, columns / rows, numbers)
            inside = _objects_inside(objects, box, how, sampler)
            if inside is not None:
                left, top = int(box.x * columns), int(box.y * rows)
                wide, tall = int(box.width * columns), int(box.height * rows)
                if wide and tall:
                    return image[top : top + tall, left : left + wide], inside
    return image, objects


def _draw(how: DetAugmentation, sampler: int, form: float, numbers: MersenneTwister) -> Box:
    """Draws a part of an image whose width / height is `form`."""
    scale = numbers.real(*how.range("crop_scales", sampler)) + _TINY
    least, most = how.range("crop_aspect_ratios", sampler)
    ratio = math.sqrt(numbers.real(max(least / form, scale**2), min(most / form, 1 / scale**2)))
    width, height = min(1.0, scale * ratio), min(1.0, scale / ratio)
    x, y = numbers.real(0, 1 - width), numbers.real(0, 1 - height)
    return Box(x, y, width, height)


def _objects_inside(
    objects: NumpyArray, box: Box, how: DetAugmentation, sampler: int
) -> NumpyArray | None:
    """Returns the objects in a part; None: the part is not allowed, or none is in it."""
    if not len(objects):
        return objects
    common, areas = areas_of_common(objects, box)
    size = box.width * box.height
    allowed = np.ones(len(objects), bool)
    for name, shares in (
        ("crop_overlaps", common / (areas + size - common)),
        ("crop_sample_coverages", common / size),
        ("crop_object_coverages", common / areas),
    ):
        bounds = how.range(name, sampler)
        if bounds.bind:
            allowed &= bounds.hold(shares)
    if not allowed.any():
        return None
    if how.crop_emit_mode == "center":
        kept = center_in(objects, box)
    else:
        kept = common / areas > how.emit_overlap_thresh
    return projected(objects[kept], box) if kept.any() else None


def _resized(
    image: NumpyArray, how: DetAugmentation, shape: Sequence[int], numbers: MersenneTwister
) -> NumpyArray:
    _, height, width = shape
    rows, columns = image.shape[:2]
    if how.resize_mode != "force":
        if how.resize_mode == "shrink" and rows <= height and columns <= width:
            return image
        ratio = min(height / rows, width / columns)
        # A side that fits exactly must not lose a pixel to rounding.
        height, width = int(ratio * rows + _TINY), int(ratio * columns + _TINY)
    method = interpolation(how.inter_method, (columns, rows), (width, height), numbers)
    made: NumpyArray = cv2.resize(image, (max(width, 1), max(height, 1)), interpolation=method)
    return made
