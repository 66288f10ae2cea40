"""MXNet's default augmenter of record iterators: resizing, affine changes, parts, colours.

Images are uint8 (height, width, channels) with blue first, as OpenCV decodes them. Numbers are
drawn in MXNet's order, so that equal seeds give equal images.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.base.lazy import cv2

from .mersenne import MersenneTwister

__all__ = ["Augmentation", "augment", "interpolation", "resize_shorter", "shift_hls"]


_F: Final = np.float32
_UNLIMITED: Final = 1e10  # MXNet's max_img_size
_ATTEMPTS: Final = 10
_AUTOMATIC, _RANDOM = 9, 10
_METHODS: Final = (0, 1, 2, 3, 4, _AUTOMATIC, _RANDOM)
#: Where OpenCV's 8-bit hue, lightness and saturation end.
_HLS_LIMITS: Final = np.array([180, 255, 255])
_VALUES: Final = np.arange(256)[:, None]
#: Principal axes of ImageNet's colours times their variances: rows are red, green, blue.
_PCA: Final = np.array(
    [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]], _F
) * np.array([55.46, 4.794, 1.148], _F)


@dataclass(frozen=True, kw_only=True)
class Augmentation:
    """The changes that are made to images.

    Attributes:
        resize: of the shorter side, first of all, pixels; -1: not.
        rand_crop: take the part from anywhere, not from the middle.
        random_resized_crop: take a part of random area and form, and resize it.
        max_rotate_angle: rotate by up to so many degrees either way.
        max_aspect_ratio: most width / height, or the most that it differs from 1.
        min_aspect_ratio: least width / height; None: see above.
        max_shear_ratio: shear by up to this either way.
        max_crop_size: largest side of a random square part, pixels; -1: none.
        min_crop_size: smallest side of it.
        max_random_scale: largest scale.
        min_random_scale: smallest scale.
        max_random_area: largest part of the area, for `random_resized_crop`.
        min_random_area: smallest part of the area.
        max_img_size: largest side after scaling.
        min_img_size: smallest side after scaling.
        brightness: most change of brightness, as a part of it; likewise the next two.
        contrast: of contrast.
        saturation: of saturation.
        pca_noise: standard deviation of noise along the principal axes of colour.
        random_h: most change of hue, in 2 degrees; the next two in 256ths.
        random_s: of saturation.
        random_l: of lightness.
        rotate: rotate by this angle, degrees; -1: not.
        fill_value: of pixels outside of the image.
        inter_method: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos, 9 by the sizes, 10 by chance.
        pad: pixels added on each side.
    """

    resize: int = -1
    rand_crop: bool = False
    random_resized_crop: bool = False
    max_rotate_angle: int = 0
    max_aspect_ratio: float = 0.0
    min_aspect_ratio: float | None = None
    max_shear_ratio: float = 0.0
    max_crop_size: int = -1
    min_crop_size: int = -1
    max_random_scale: float = 1.0
    min_random_scale: float = 1.0
    max_random_area: float = 1.0
    min_random_area: float = 1.0
    max_img_size: float = _UNLIMITED
    min_img_size: float = 0.0
    brightness: float = 0.0
    contrast: float = 0.0
    saturation: float = 0.0
    pca_noise: float = 0.0
    random_h: int = 0
    random_s: int = 0
    random_l: int = 0
    rotate: int = -1
    fill_value: int = 255
    inter_method: int = 1
    pad: int = 0

    def __post_init__(self) -> None:
        if self.inter_method not in _METHODS:
            raise ParameterError(f"inter_method must be 0 to 4, 9 or 10, got {self.inter_method}")
        least, most = self.forms
        others = (
            self.min_random_scale,
            self.max_random_scale,
            self.min_crop_size,
            self.max_crop_size,
            self.rand_crop,
        )
        if self.random_resized_crop and others != (1, 1, -1, -1, False):
            raise ParameterError(
                "random_resized_crop=True excludes min_random_scale, max_random_scale, "
                f"min_crop_size, max_crop_size and rand_crop, got {others}"
            )
        if self.random_resized_crop and not (
            0 < least <= most and self.min_random_area <= self.max_random_area
        ):
            raise ParameterError(
                "random_resized_crop needs 0 < least width / height <= most, and min_random_area "
                f"<= max_random_area, got {least} to {most} and {self.min_random_area} to "
                f"{self.max_random_area}"
            )

    @functools.cached_property
    def forms(self) -> tuple[float, float]:
        """The least and the most width / height."""
        if self.min_aspect_ratio is not None:
            return self.min_aspect_ratio, self.max_aspect_ratio
        return 1 - self.max_aspect_ratio, 1 + self.max_aspect_ratio

    @functools.cached_property
    def is_affine(self) -> bool:
        """Whether images are rotated, sheared, scaled or bounded in size."""
        return (
            self.max_rotate_angle > 0
            or self.max_shear_ratio > 0
            or self.rotate > 0
            or (self.min_random_scale, self.max_random_scale) != (1, 1)
            or (not self.random_resized_crop and self.forms != (1, 1))
            or (self.min_img_size, self.max_img_size) != (0, _UNLIMITED)
        )


def augment(
    image: NumpyArray, how: Augmentation, shape: tuple[int, ...], numbers: MersenneTwister
) -> NumpyArray:
    """Returns an image as it goes into a batch, but for mirroring and scaling of its values.

    Args:
        image: uint8 (height, width, channels).
        how: what to do.
        shape: (channels, height, width) of the result, which is (height, width, channels).
        numbers: where chance comes from.

    Raises:
        MXNetError: the image is smaller than the parts that are to be taken.
    """
    if how.resize != -1:
        image = resize_shorter(image, how.resize, how.inter_method, numbers)
    if how.is_affine:
        image = _affine(image, how, numbers)
    if how.pad > 0:
        fill = (how.fill_value,) * 3
        image = cv2.copyMakeBorder(image, *(how.pad,) * 4, cv2.BORDER_CONSTANT, value=fill)
    _, height, width = shape
    part = None
    if how.random_resized_crop:
        part = _resized_part(image, how, height, width, numbers)
    elif how.max_crop_size != -1 or how.min_crop_size != -1:
        part = _square_part(image, how, height, width, numbers)
    image = _plain_part(image, how, height, width, numbers) if part is None else part
    return _colours(image, how, numbers)


def interpolation(
    method: int, old: tuple[int, int], new: tuple[int, int], numbers: MersenneTwister
) -> int:
    """Returns OpenCV's number of a method, for sizes (width, height)."""
    if method == _AUTOMATIC:
        if new[0] > old[0] and new[1] > old[1]:
            return 2
        return 3 if new[0] < old[0] and new[1] < old[1] else 1
    return numbers.integer(0, 4) if method == _RANDOM else method


def _resize(
    image: NumpyArray, width: int, height: int, method: int, numbers: MersenneTwister
) -> NumpyArray:
    rows, columns = image.shape[:2]
    method = interpolation(method, (columns, rows), (width, height), numbers)
    made: NumpyArray = cv2.resize(image, (width, height), interpolation=method)
    return made


def resize_shorter(
    image: NumpyArray, size: int, method: int, numbers: MersenneTwister
) -> NumpyArray:
    """Resizes an image so that its shorter side has so many pixels."""
    rows, columns = image.shape[:2]
    if rows > columns:
        return _resize(image, size, size * rows // columns, method, numbers)
    return _resize(image, size * columns // rows, size, method, numbers)


def _affine(image: NumpyArray, how: Augmentation, numbers: MersenneTwister) -> NumpyArray:
    """Shears, rotates, scales and stretches about the middle, in this order of chance."""
    rows, columns = image.shape[:2]
    shear = numbers.real(-how.max_shear_ratio, how.max_shear_ratio)
    angle = numbers.integer(-how.max_rotate_angle, how.max_rotate_angle)
    angle = how.rotate if how.rotate > 0 else angle
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    scale = ratio = 1.0
    if not how.random_resized_crop:
        scale = numbers.real(how.min_random_scale, how.max_random_scale)
        ratio = numbers.real(*how.forms)
    high = 2 * scale / (1 + ratio)
    wide = ratio * high
    new_width, new_height = (
        max(how.min_img_size, min(how.max_img_size, scale * size)) for size in (columns, rows)
    )
    x_of_x, x_of_y = high * cos - shear * sin * wide, high * sin + shear * cos * wide
    y_of_x, y_of_y = -sin * wide, cos * wide
    matrix = np.array(
        [
            [x_of_x, x_of_y, (new_width - x_of_x * columns - x_of_y * rows) / 2],
            [y_of_x, y_of_y, (new_height - y_of_x * columns - y_of_y * rows) / 2],
        ],
        _F,
    )
    size = int(new_width), int(new_height)
    method = interpolation(how.inter_method, (columns, rows), size, numbers)
    fill = (how.fill_value,) * 3
    made: NumpyArray = cv2.warpAffine(
        image, matrix, size, flags=method, borderMode=cv2.BORDER_CONSTANT, borderValue=fill
    )
    return made


def _resized_part(
    image: NumpyArray, how: Augmentation, height: int, width: int, numbers: MersenneTwister
) -> NumpyArray | None:
    """Takes a part of random area and form, resized; None: no such part fits."""
    rows, columns = image.shape[:2]
    least, most = how.forms
    areas = how.min_random_area, how.max_random_area
    if (*areas, least, most) == (1, 1, 1, 1):
        return None
    for _ in range(_ATTEMPTS):
        area = numbers.real(*areas)
        ratio = numbers.real(least, most)
        target = rows * columns * area
        tall, wide = _round(math.sqrt(target / ratio)), _round(math.sqrt(target * ratio))
        if numbers.unit() > 0.5:
            tall, wide = wide, tall
        if tall <= rows and wide <= columns:
            y = numbers.integer(0, rows - tall)
            x = numbers.integer(0, columns - wide)
            part = image[y : y + tall, x : x + wide]
            return _resize(part, width, height, how.inter_method, numbers)
    return None


def _round(value: float) -> int:
    return math.floor(value + 0.5)


def _square_part(
    image: NumpyArray, how: Augmentation, height: int, width: int, numbers: MersenneTwister
) -> NumpyArray:
    rows, columns = image.shape[:2]
    if min(rows, columns) < how.max_crop_size or how.max_crop_size < how.min_crop_size:
        raise MXNetError(
            f"max_crop_size must be at least min_crop_size={how.min_crop_size} and at most the "
            f"sides of the image, {columns} x {rows} after resizing, got {how.max_crop_size}"
        )
    side = numbers.integer(how.min_crop_size, how.max_crop_size)
    x, y = _place(rows - side, columns - side, how.rand_crop, numbers)
    part = image[y : y + side, x : x + side]
    return _resize(part, width, height, how.inter_method, numbers)


def _place(rows: int, columns: int, anywhere: bool, numbers: MersenneTwister) -> tuple[int, int]:
    if not anywhere:
        return columns // 2, rows // 2
    y = numbers.integer(0, rows)
    return numbers.integer(0, columns), y


def _plain_part(
    image: NumpyArray, how: Augmentation, height: int, width: int, numbers: MersenneTwister
) -> NumpyArray:
    """Takes a part of the size that is asked for, of an image that is enlarged if need be."""
    rows, columns = image.shape[:2]
    method = interpolation(how.inter_method, (columns, rows), (width, height), numbers)
    if rows < height:
        columns = int(height / rows * columns)
        rows = height
        image = cv2.resize(image, (columns, rows), interpolation=method)
    if columns < width:
        rows = int(width / columns * rows)
        columns = width
        image = cv2.resize(image, (columns, rows), interpolation=method)
    x, y = _place(rows - height, columns - width, how.rand_crop, numbers)
    return image[y : y + height, x : x + width]


def _colours(image: NumpyArray, how: Augmentation, numbers: MersenneTwister) -> NumpyArray:
    if how.brightness > 0 or how.contrast > 0 or how.saturation > 0:
        image = _jitter(image, how, numbers)
    if how.random_h or how.random_s or how.random_l:
        most = (how.random_h, how.random_s, how.random_l)
        # Two numbers each, so that extremes are rare.
        drawn = [(numbers.unit() + 4 * numbers.unit()) / 5 for _ in most]
        hue, saturation, lightness = (
            int(one * limit * 2 - limit) for one, limit in zip(drawn, most, strict=True)
        )
        image = shift_hls(image, hue, lightness, saturation)
    if how.pca_noise > 0:
        shift = _PCA @ np.array(numbers.normals(3, how.pca_noise), _F)
        table = np.trunc(_VALUES + shift[::-1]).clip(0, 255).astype(np.uint8)
        image = cv2.LUT(image, table[None])
    return image


def _jitter(image: NumpyArray, how: Augmentation, numbers: MersenneTwister) -> NumpyArray:
    factors = [
        1.0 + numbers.real(-most, most) for most in (how.brightness, how.contrast, how.saturation)
    ]
    for which in numbers.shuffled(3):
        factor = factors[which]
        if which == 0:
            image = cv2.LUT(image, _linear(factor, 0.0))
            continue
        # MXNet weighs blue as if it were red.
        grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
        if which == 1:
            image = cv2.LUT(image, _linear(factor, (1 - factor) * cv2.mean(grey)[0]))
        else:
            grey = cv2.cvtColor(grey, cv2.COLOR_GRAY2BGR)
            image = cv2.addWeighted(image, factor, grey, 1 - factor, 0.0)
    return image


def _linear(factor: float, shift: float) -> NumpyArray:
    """Returns a table of ``value * factor + shift``, rounded and cut off as OpenCV does."""
    made: NumpyArray = np.rint(_VALUES[:, 0] * factor + shift).clip(0, 255).astype(np.uint8)
    return made


def shift_hls(image: NumpyArray, hue: int, lightness: int, saturation: int) -> NumpyArray:
    """Adds numbers to hue, lightness and saturation, cut off where they end."""
    table = np.add(_VALUES, (hue, lightness, saturation))
    np.maximum(table, 0, out=table)
    np.minimum(table, _HLS_LIMITS, out=table)
    turned = cv2.LUT(cv2.cvtColor(image, cv2.COLOR_BGR2HLS), table.astype(np.uint8)[None])
    made: NumpyArray = cv2.cvtColor(turned, cv2.COLOR_HLS2BGR)
    return made
