"""Colours of images: other dtypes, brightness, contrast, hue: ``tf.image.adjust_contrast``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..dtypes import as_dtype, float32
from ..graph import Tensor, TensorShape, cast_to, convert_to_tensor, name_scope
from ..operations import random_uniform, shape_of, stack, tensordot, tile, unstack, where_v2
from ..operations.elementwise import (
    abs,
    cast,
    equal,
    floordiv,
    floormod,
    maximum,
    minimum,
    pow,
    rsqrt,
    saturate_cast,
    sqrt,
    square,
)
from ..operations.reduction import reduce_max, reduce_mean, reduce_min, reduce_prod, reduce_sum

__all__ = [
    "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue", "adjust_saturation",
    "convert_image_dtype", "grayscale_to_rgb", "hsv_to_rgb", "per_image_standardization",
    "random_brightness", "random_contrast", "random_hue", "random_saturation",
    "rgb_to_grayscale", "rgb_to_hsv", "total_variation",
]  # fmt: skip

#: How bright red, green and blue are.
_GREY: Final = (0.2989, 0.5870, 0.1140)


def convert_image_dtype(
    image: Any, dtype: Any, saturate: bool = False, name: str | None = None
) -> Tensor:
    """Returns an image in another dtype: floating ones go from 0 to 1, others to their largest.

    Args:
        image: an image.
        dtype: the dtype.
        saturate: whether numbers that are too large become the largest.
    """
    given = convert_to_tensor(image, name="image")
    kind, source = as_dtype(dtype).base_dtype, given.dtype.base_dtype
    if kind is source:
        return given
    x: Any = given
    change: Callable[..., Any] = saturate_cast if saturate else cast
    with name_scope(name, "convert_image", [x]):
        if source.is_floating:
            made = cast(x, kind) if kind.is_floating else change(x * (kind.max + 0.5), kind)
        else:
            made = change(x, kind)
            if kind.is_floating:
                made = made * (1.0 / source.max)
            elif source.max > kind.max:
                made = cast(floordiv(x, (source.max + 1) // (kind.max + 1)), kind)
            else:
                made = made * ((kind.max + 1) // (source.max + 1))
    found: Tensor = made
    return found


def _in_floats(image: Any, scope: str, change: Callable[[Any], Any]) -> Tensor:
    """Returns what a function of floats makes of an image, in the image's own dtype."""
    x = convert_to_tensor(image, name="image")
    with name_scope(None, scope, [x]):
        kind = x.dtype.base_dtype
        floats = x if kind.is_floating else convert_image_dtype(x, float32)
        return convert_image_dtype(change(floats), kind, saturate=True)


def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """Returns an image with a number added to it; pixels of whole numbers count as 0 to 1."""
    return _in_floats(image, "adjust_brightness", lambda x: x + cast(delta, x.dtype))


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """Returns images whose pixels are so many times as far from the mean of their channel."""

    def change(x: Any) -> Any:
        mean: Any = reduce_mean(x, axis=[-3, -2], keepdims=True)
        return (x - mean) * cast(contrast_factor, x.dtype) + mean

    return _in_floats(images, "adjust_contrast", change)


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """Returns ``gain * image ** gamma``; pixels of whole numbers count as 0 to 1."""
    return _in_floats(
        image, "adjust_gamma", lambda x: pow(x, cast(gamma, x.dtype)) * cast(gain, x.dtype)
    )


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """Returns an image whose hue, from 0 to 1, has a number added to it."""

    def change(x: Any) -> Any:
        hue, saturation, value = _parts(rgb_to_hsv(x))
        hue = floormod(hue + cast(delta, x.dtype), 1.0)
        return hsv_to_rgb(stack([hue, saturation, value], -1))

    return _in_floats(image, name or "adjust_hue", change)


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """Returns an image that is so many times as colourful, up to pure colours."""

    def change(x: Any) -> Any:
        hue, saturation, value = _parts(rgb_to_hsv(x))
        more = minimum(maximum(saturation * cast(saturation_factor, x.dtype), 0.0), 1.0)
        return hsv_to_rgb(stack([hue, more, value], -1))

    return _in_floats(image, name or "adjust_saturation", change)


def _parts(x: Any) -> list[Any]:
    """Returns the three channels of images."""
    return list(unstack(x, 3, axis=-1))


def rgb_to_hsv(images: Any, name: str | None = None) -> Tensor:
    """Returns hue, saturation and value, from 0 to 1, of red, green and blue from 0 to 1."""
    x = convert_to_tensor(images, name="images")
    with name_scope(name, "RGBToHSV", [x]):
        red, green, blue = _parts(x)
        value: Any = reduce_max(x, axis=-1)
        span = value - reduce_min(x, axis=-1)
        one: Any = where_v2(equal(span, 0.0), span + 1.0, span)
        one = one * 6.0
        hue: Any = where_v2(
            equal(value, red),
            (green - blue) / one,
            where_v2(
                equal(value, green), (blue - red) / one + 2.0 / 6, (red - green) / one + 4.0 / 6
            ),
        )
        hue = where_v2(equal(span, 0.0), hue * 0.0, floormod(hue, 1.0))
        above = where_v2(equal(value, 0.0), value + 1.0, value)
        return stack([hue, span / above, value], -1)


def hsv_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Returns red, green and blue of hue, saturation and value; all from 0 to 1."""
    x = convert_to_tensor(images, name="images")
    with name_scope(name, "HSVToRGB", [x]):
        hue, saturation, value = _parts(x)
        turn = hue * 6.0
        far: list[Any] = [abs(turn - middle) for middle in (3.0, 2.0, 4.0)]
        pure: list[Any] = [far[0] - 1.0, 2.0 - far[1], 2.0 - far[2]]
        pure = [minimum(maximum(one, 0.0), 1.0) for one in pure]
        parts = [value * (1.0 - saturation * (1.0 - one)) for one in pure]
        return stack(parts, -1)


def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """Returns images of colours in grey, with one channel."""

    def change(x: Any) -> Any:
        weights = np.array([_GREY], x.dtype.as_numpy_dtype).T
        return tensordot(x, weights, 1)

    return _in_floats(images, name or "rgb_to_grayscale", change)


def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Returns grey images with three channels."""
    x = convert_to_tensor(images, name="images")
    with name_scope(name, "grayscale_to_rgb", [x]):
        rank = x.shape.ndims
        if rank is None:
            raise ValueError("grayscale_to_rgb: the number of dimensions must be known")
        TensorShape([x.shape[-1]]).assert_is_compatible_with([1])
        return tile(x, [1] * (rank - 1) + [3])


def per_image_standardization(image: Any) -> Tensor:
    """Returns images with mean 0 and variance 1 each; of pixels that are alike zeros."""
    x: Any = convert_to_tensor(image, name="image")
    with name_scope(None, "per_image_standardization", [x]):
        x = x if x.dtype.is_floating else cast_to(x, float32)
        axes = [-3, -2, -1]
        mean = reduce_mean(x, axis=axes, keepdims=True)
        spread = sqrt(reduce_mean(square(x - mean), axis=axes, keepdims=True))
        count = cast(reduce_prod(shape_of(x)[-3:]), x.dtype)  # type: ignore[index]  # overloaded
        made: Tensor = (x - mean) / maximum(spread, rsqrt(count))
        return made


def total_variation(images: Any, name: str | None = None) -> Tensor:
    """Returns the sum of the sizes of the steps between neighbouring pixels, of each image."""
    x = convert_to_tensor(images, name="images")
    with name_scope(name, "total_variation", [x]):
        axes = list(range(1, x.shape.ndims)) if x.shape.ndims == 4 else None
        whole: Any = x
        down = whole[..., 1:, :, :] - whole[..., :-1, :, :]
        right = whole[..., :, 1:, :] - whole[..., :, :-1, :]
        steps: Any = reduce_sum(abs(down), axis=axes)
        made: Tensor = steps + reduce_sum(abs(right), axis=axes)
        return made


# At random ----------------------------------------------------------------------------------------


def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """Returns an image with a number between ``-max_delta`` and ``max_delta`` added."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta))


def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """Returns `adjust_contrast` by a number between two."""
    return adjust_contrast(image, _factor(lower, upper))


def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """Returns `adjust_hue` by a number between ``-max_delta`` and ``max_delta``."""
    if not 0 <= max_delta <= 0.5:
        raise ValueError(f"max_delta must be from 0 to 0.5, got {max_delta}")
    return adjust_hue(image, random_uniform([], -max_delta, max_delta))


def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """Returns `adjust_saturation` by a number between two."""
    return adjust_saturation(image, _factor(lower, upper))


def _factor(lower: float, upper: float) -> Tensor:
    """Returns a number between two at random."""
    if upper <= lower or lower < 0:
        raise ValueError(f"upper must be > lower, and lower not negative, got {lower}, {upper}")
    return random_uniform([], lower, upper)
