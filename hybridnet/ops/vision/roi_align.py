"""ROIAlign: regions of feature maps, sampled by bilinear interpolation; see `roi` for regions."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from hybridnet.base.attrs import Shape
from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp, lax

from ..core.checks import wide
from ..core.registry import operator
from ._samples import averages, by_transpose, counted, of_transpose, spread_back
from .roi import grid_of, require_regions


class _Regions(NamedTuple):
    """Regions on a feature map of (height, width): one number each, (regions,)."""

    image: Any
    #: Whether that image is there.
    there: Any
    #: Top and left.
    start: tuple[Any, Any]
    #: Height and width of a part.
    part: tuple[Any, Any]
    #: How many samples of a part there are on each axis.
    samples: tuple[Any, Any]


def _regions(
    rois: Any,
    data: tuple[int, ...],
    pooled: tuple[int, int],
    scale: float,
    ratio: int,
    aligned: bool,
) -> _Regions:
    offset = 0.5 if aligned else 0.0
    image, left, top, right, bottom = rois.T
    start = (top * scale - offset, left * scale - offset)
    stop = (bottom * scale - offset, right * scale - offset)
    part, samples = [], []
    for low, high, count, size in zip(start, stop, pooled, data[2:], strict=True):
        length = high - low if aligned else jnp.maximum(high - low, 1)
        part.append(length / count)
        samples.append(counted(length, count, size, ratio))
    number = image.astype("int32")
    there = (number >= 0) & (number < data[0])
    return _Regions(number, there, start, (part[0], part[1]), (samples[0], samples[1]))


def _on_axis(regions: _Regions, axis: int, count: int, sample: Any, size: int) -> tuple[Any, Any]:
    """Returns the place of one sample of each part on an axis: two neighbors and their weights.

    Both are (2, regions, count); the weights of a sample that is outside are 0.
    """
    parts = jnp.arange(count, dtype=regions.part[axis].dtype)
    within = (sample + 0.5) / jnp.maximum(regions.samples[axis], 1)
    place = regions.start[axis][:, None] + regions.part[axis][:, None] * (parts + within[:, None])
    inside = (place >= -1) & (place <= size)
    inside &= (regions.there & (sample < regions.samples[axis]))[:, None]
    place = jnp.clip(place, 0, size - 1)
    low = jnp.floor(place)
    second = place - low
    neighbors = jnp.stack([low, jnp.minimum(low + 1, size - 1)]).astype("int32")
    return neighbors, jnp.where(inside, jnp.stack([1 - second, second]), 0)


def _each_sample(
    regions: _Regions, pooled: tuple[int, int], size: tuple[int, int], visit: Any, state: Any
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
    taken = jnp.maximum(regions.samples[0] * regions.samples[1], 1)
    image = jnp.where(regions.there, regions.image, 0)[:, None, None]

    def step(number: Any, state: Any) -> Any:
        # One neighbor at a time: of their sum XLA would find the places anew for each channel.
        sample, lower, right = number // 4, number // 2 % 2, number % 2
        row, weight_y = _on_axis(regions, 0, pooled[0], sample // most[1], height)
        column, weight_x = _on_axis(regions, 1, pooled[1], sample % most[1], width)
        pixel = (image * height + row[lower][:, :, None]) * width + column[right][:, None, :]
        weight = weight_y[lower][:, :, None] * weight_x[right][:, None, :]
        return visit(state, pixel, weight / taken[:, None, None])

    return lax.fori_loop(0, 4 * most[0] * most[1], step, state)


def _align_type(
    data: TensorType,
    rois: TensorType,
    *,
    pooled_size: tuple[int, ...],
    position_sensitive: bool,
    **_: Any,
) -> tuple[TensorType, ...]:
    rows, columns = grid_of(pooled_size)
    channels = data.shape[1] // (rows * columns) if position_sensitive else data.shape[1]
    return (tensor_type((rois.shape[0], channels, rows, columns), data.dtype),)


def _align_check(
    data: TensorType,
    rois: TensorType,
    *,
    pooled_size: tuple[int, ...],
    position_sensitive: bool,
    **_: Any,
) -> None:
    require_regions("ROIAlign", data, rois, pooled_size)
    rows, columns = grid_of(pooled_size)
    if position_sensitive and data.shape[1] % (rows * columns):
        raise ShapeError(
            "ROIAlign: with position_sensitive=True the channels must be a multiple of "
            f"{rows * columns}, the parts of a region, got data {data}"
        )


@operator(
    "_contrib_ROIAlign",
    check=_align_check,
    infer=_align_type,
    gradient=by_transpose("_backward_ROIAlign"),
)
def roi_align(
    data: Any,
    rois: Any,
    *,
    pooled_size: Shape,
    spatial_scale: float,
    sample_ratio: int = -1,
    position_sensitive: bool = False,
    aligned: bool = False,
) -> Any:
    """The average of samples in each part of a grid over a region, by bilinear interpolation.

    He et al., "Mask R-CNN", 2017. Nothing is rounded.

    Args:
        data: (batch, channels, height, width).
        rois: (regions, 5): image, left, top, right, bottom.
        pooled_size: rows and columns of the grid; one number for both.
        spatial_scale: the size of the feature map over that of the image.
        sample_ratio: how many samples of a part there are on each axis; 0 or less for as many as
            it has pixels, rounded up.
        position_sensitive: each part has channels of its own (Dai et al., "R-FCN", 2016).
        aligned: pixels have their centers half a pixel from their corners, and regions may be
            smaller than a pixel.

    Returns:
        (regions, channels, rows, columns), the channels being those of `data` over the number of
        parts with `position_sensitive`.
    """
    dtype, pooled = wide(data.dtype), grid_of(pooled_size)
    places = rois.astype(dtype)
    if not data.size or not rois.size:  # there is nothing to sample, or for nothing
        (made,) = _align_type(
            data, rois, pooled_size=pooled_size, position_sensitive=position_sensitive
        )
        return jnp.zeros(made.shape, data.dtype)
    regions = _regions(places, data.shape, pooled, spatial_scale, sample_ratio, aligned)
    visits = partial(_each_sample, regions, pooled, data.shape[2:])
    total = averages(data, visits, (rois.shape[0], *pooled))
    if position_sensitive:
        parted = total.reshape(*total.shape[:3], -1, *pooled)
        return jnp.einsum("rijcij->rcij", parted).astype(data.dtype)
    return jnp.moveaxis(total, 3, 1).astype(data.dtype)


@operator(
    "_backward_ROIAlign",
    infer=lambda grad, rois, data, **_: (data,),
    gradient=of_transpose("_contrib_ROIAlign"),
)
def backward_roi_align(
    grad: Any,
    rois: Any,
    data: Any,
    *,
    pooled_size: Shape,
    spatial_scale: float,
    sample_ratio: int = -1,
    position_sensitive: bool = False,
    aligned: bool = False,
) -> Any:
    """Gradient of ROIAlign by its data.

    Args:
        grad: (regions, channels, rows, columns).
        rois: (regions, 5).
        data: the shape and dtype of the result.
        pooled_size: ROIAlign's parameters, like the following.
        spatial_scale: see there.
        sample_ratio: see there.
        position_sensitive: see there.
        aligned: see there.
    """
    dtype, pooled = wide(data.dtype), grid_of(pooled_size)
    channels = data.shape[1]
    places = rois.astype(dtype)
    if not data.size or not rois.size:
        return jnp.zeros(data.shape, data.dtype)
    regions = _regions(places, data.shape, pooled, spatial_scale, sample_ratio, aligned)
    spread = jnp.moveaxis(grad.astype(dtype), 1, 3)
    if position_sensitive:
        own = (
            jnp.eye(pooled[0], dtype=dtype)[:, None, None, :, None]
            * jnp.eye(pooled[1], dtype=dtype)[:, None, None, :]
        )
        spread = (spread[..., None, None] * own).reshape(*spread.shape[:3], channels)
    visits = partial(_each_sample, regions, pooled, data.shape[2:])
    return spread_back(spread, visits, data)
