"""RROIAlign: turned regions of feature maps, sampled by bilinear interpolation.

Ma et al., "Arbitrary-Oriented Scene Text Detection via Rotation Proposals", 2018. A region is
(image, x and y of its middle, width, height, angle in degrees), in pixels of the image.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from hybridnet.base.attrs import Shape
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp, lax

from ..core.checks import require_one_dtype, wide
from ..core.registry import operator
from ._samples import averages, by_transpose, counted, of_transpose, spread_back
from .resize import require_images
from .roi import grid_of


class _Turned(NamedTuple):
    """Turned regions on a feature map: of each (regions,), and of pairs (vertical, horizontal)."""

    image: Any
    #: Whether that image is there.
    there: Any
    middle: tuple[Any, Any]
    #: Height and width.
    size: tuple[Any, Any]
    #: Sine and cosine of the angle.
    turn: tuple[Any, Any]
    #: How many samples of a part there are on each axis.
    samples: tuple[Any, Any]


def _regions(
    rois: Any, data: tuple[int, ...], pooled: tuple[int, int], scale: float, ratio: int
) -> _Turned:
    image, x, y, width, height, angle = rois.T
    size = (jnp.maximum(height * scale, 1), jnp.maximum(width * scale, 1))
    samples = [
        counted(length, count, pixels, ratio)
        for length, count, pixels in zip(size, pooled, data[2:], strict=True)
    ]
    number, radians = image.astype("int32"), angle * (np.pi / 180)
    return _Turned(
        number,
        (number >= 0) & (number < data[0]),
        (y * scale, x * scale),
        size,
        (jnp.sin(radians), jnp.cos(radians)),
        (samples[0], samples[1]),
    )


def _along(regions: _Turned, axis: int, count: int, sample: Any) -> Any:
    """The distance of one sample of each part from the middle of its region: (regions, count)."""
    parts = jnp.arange(count, dtype=regions.size[axis].dtype)
    within = (sample + 0.5) / jnp.maximum(regions.samples[axis], 1)
    length = regions.size[axis][:, None]
    return length * ((parts + within[:, None]) / count - 0.5)


def _neighbor(place: Any, second: Any, size: int) -> tuple[Any, Any]:
    """The pixel before places on an axis, or the second one, and what it counts for."""
    place = jnp.clip(place, 0, size - 1)
    low = jnp.floor(place)
    rest = place - low
    pixel = jnp.minimum(low.astype("int32") + second, size - 1)
    return pixel, jnp.where(second > 0, rest, 1 - rest)


def _each_sample(
    regions: _Turned,
    pooled: tuple[int, int],
    size: tuple[int, int],
    visit: Callable[[Any, Any, Any], Any],
    state: Any,
) -> Any:
    """Visits the pixels around the samples of all parts at once, one neighbor after the other.

    Args:
        pooled: rows and columns of parts.
        size: height and width of the feature map.
        visit: see `Visits`, like `state`.
        state: at the start.
    """
    height, width = size
    most = [jnp.max(counts, initial=0) for counts in regions.samples]
    taken = jnp.maximum(regions.samples[0] * regions.samples[1], 1)[:, None, None]
    image = jnp.where(regions.there, regions.image, 0)[:, None, None]
    sine, cosine = (turn[:, None, None] for turn in regions.turn)

    def step(number: Any, state: Any) -> Any:
        sample, lower, right = number // 4, number // 2 % 2, number % 2
        down, across = sample // most[1], sample % most[1]
        v = _along(regions, 0, pooled[0], down)[:, :, None]
        u = _along(regions, 1, pooled[1], across)[:, None, :]
        y = v * cosine - u * sine + regions.middle[0][:, None, None]
        x = u * cosine + v * sine + regions.middle[1][:, None, None]
        inside = (y >= -1) & (y <= height) & (x >= -1) & (x <= width)
        drawn = (down < regions.samples[0]) & (across < regions.samples[1]) & regions.there
        row, weight_y = _neighbor(y, lower, height)
        column, weight_x = _neighbor(x, right, width)
        weight = jnp.where(inside & drawn[:, None, None], weight_y * weight_x, 0)
        return visit(state, (image * height + row) * width + column, weight / taken)

    return lax.fori_loop(0, 4 * most[0] * most[1], step, state)


def _align_check(
    data: TensorType, rois: TensorType, *, pooled_size: tuple[int, ...], **_: Any
) -> None:
    require_images("RROIAlign", "data", data)
    require_one_dtype("RROIAlign", ("data", "rois"), (data, rois))
    if len(rois.shape) != 2 or rois.shape[1] != 6:
        raise ShapeError(f"RROIAlign: rois must have shape (regions, 6), got rois {rois}")
    if len(pooled_size) not in (1, 2) or min(pooled_size) < 1:
        raise ParameterError(
            f"RROIAlign: pooled_size must be (height, width), each at least 1, got {pooled_size}"
        )


def _align_type(
    data: TensorType, rois: TensorType, *, pooled_size: tuple[int, ...], **_: Any
) -> tuple[TensorType]:
    shape = (rois.shape[0], data.shape[1], *grid_of(pooled_size))
    return (tensor_type(shape, data.dtype),)


@operator(
    "_contrib_RROIAlign",
    check=_align_check,
    infer=_align_type,
    gradient=by_transpose("_backward_RROIAlign"),
)
def rroi_align(
    data: Any,
    rois: Any,
    *,
    pooled_size: Shape,
    spatial_scale: float,
    sampling_ratio: int = -1,
) -> Any:
    """The average of samples in each part of a grid over a turned region.

    Ma et al., "Arbitrary-Oriented Scene Text Detection via Rotation Proposals", 2018. Nothing is
    rounded. Regions have no gradient.

    Args:
        data: (batch, channels, height, width).
        rois: (regions, 6): image, x and y of the middle, width, height, angle in degrees.
        pooled_size: rows and columns of the grid; one number for both.
        spatial_scale: the size of the feature map over that of the image.
        sampling_ratio: how many samples of a part there are on each axis; 0 or less for as many as
            it has pixels, rounded up.

    Returns:
        (regions, channels, rows, columns).
    """
    dtype, pooled = wide(data.dtype), grid_of(pooled_size)
    if not data.size or not rois.size:  # there is nothing to sample, or for nothing
        return jnp.zeros((rois.shape[0], data.shape[1], *pooled), data.dtype)
    regions = _regions(rois.astype(dtype), data.shape, pooled, spatial_scale, sampling_ratio)
    visits = partial(_each_sample, regions, pooled, data.shape[2:])
    total = averages(data, visits, (rois.shape[0], *pooled))
    return jnp.moveaxis(total, 3, 1).astype(data.dtype)


@operator(
    "_backward_RROIAlign",
    infer=lambda grad, rois, data, **_: (data,),
    gradient=of_transpose("_contrib_RROIAlign"),
)
def backward_rroi_align(
    grad: Any,
    rois: Any,
    data: Any,
    *,
    pooled_size: Shape,
    spatial_scale: float,
    sampling_ratio: int = -1,
) -> Any:
    """Gradient of RROIAlign by its data.

    Args:
        grad: (regions, channels, rows, columns).
        rois: (regions, 6).
        data: the shape and dtype of the result.
        pooled_size: RROIAlign's parameters, like the following.
        spatial_scale: see there.
        sampling_ratio: see there.
    """
    dtype, pooled = wide(data.dtype), grid_of(pooled_size)
    if not data.size or not rois.size:
        return jnp.zeros(data.shape, data.dtype)
    regions = _regions(rois.astype(dtype), data.shape, pooled, spatial_scale, sampling_ratio)
    visits = partial(_each_sample, regions, pooled, data.shape[2:])
    return spread_back(jnp.moveaxis(grad.astype(dtype), 1, 3), visits, data)
