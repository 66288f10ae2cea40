"""Regions of interest: parts of feature maps, pooled to one size.

A region is (image, left, top, right, bottom): which image of the batch it is in, and its corners in
pixels of the image, of which `spatial_scale` makes those of the feature map. A region of an image
that is not there gives zeros. Regions have no gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybridnet.base.attrs import Shape
from hybridnet.base.dtype import INT32
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.lazy import jnp, lax
from hybridnet.base.tensor_type import TensorType, tensor_type

from ._checks import require_one_dtype, wide
from .call import Backward
from .registry import get, operator
from .resize import require_images

__all__ = ["grid_of", "require_regions"]


def require_regions(
    op: str, data: TensorType, rois: TensorType, pooled_size: tuple[int, ...]
) -> None:
    """Raises unless the inputs are a batch of images and regions, and the size one of a grid."""
    require_images(op, "data", data)
    require_one_dtype(op, ("data", "rois"), (data, rois))
    if len(rois.shape) != 2 or rois.shape[1] != 5:
        raise ShapeError(f"{op}: rois must have shape (regions, 5), got rois {rois}")
    if len(pooled_size) not in (1, 2) or min(pooled_size) < 1:
        raise ParameterError(
            f"{op}: pooled_size must be (height, width), each at least 1, got {pooled_size}"
        )


def grid_of(pooled_size: tuple[int, ...]) -> tuple[int, int]:
    """Returns the rows and columns of the grid."""
    return pooled_size[0], pooled_size[-1]


def _round(x: Any) -> Any:
    """Rounds half away from zero, as C does."""
    return jnp.sign(x) * jnp.floor(jnp.abs(x) + 0.5)


def _bins(low: Any, high: Any, count: int, size: int) -> Any:
    """Whether pixels (size) are in each of `count` parts, which overlap, of a stretch of them."""
    length = jnp.maximum(high - low + 1, 1)
    index = jnp.arange(count, dtype=low.dtype)
    # XLA would multiply by the inverse of a constant, which rounds some borders past a pixel.
    part = length / lax.optimization_barrier(jnp.asarray(count, low.dtype))
    start = jnp.floor(index * part) + low
    stop = jnp.ceil((index + 1) * part) + low
    pixels = jnp.arange(size, dtype=low.dtype)
    return (pixels >= start[:, None]) & (pixels < stop[:, None])


def _pool_region(data: Any, roi: Any, pooled: tuple[int, int], scale: float) -> tuple[Any, Any]:
    """The largest value of each part of a region, and its position in the image, -1 if empty.

    The maximum is taken along rows first: of a part there are then as many as columns.
    """
    height, width = data.shape[2:]
    left, top, right, bottom = _round(roi[1:] * scale)
    rows, columns = _bins(top, bottom, pooled[0], height), _bins(left, right, pooled[1], width)
    image = roi[0].astype("int32")
    there = (image >= 0) & (image < data.shape[0])
    pixels = data[jnp.clip(image, 0, data.shape[0] - 1)]

    by_row = jnp.where(columns[:, None, None, :], pixels, -jnp.inf)
    column = jnp.argmax(by_row, -1)  # (columns of the grid, channels, height)
    best = jnp.where(rows[:, None, None, :], by_row.max(-1), -jnp.inf)
    row = jnp.argmax(best, -1)  # (rows of the grid, columns of the grid, channels)
    column = jnp.take_along_axis(jnp.broadcast_to(column, best.shape), row[..., None], -1)
    index = row * width + column[..., 0]
    best, index = jnp.moveaxis(best.max(-1), -1, 0), jnp.moveaxis(index, -1, 0)
    found = there & (rows.any(1)[:, None] & columns.any(1))
    return jnp.where(found, best, 0), jnp.where(found, index, -1).astype("int32")


def _pooling_types(
    data: TensorType, rois: TensorType, *, pooled_size: tuple[int, ...], **_: Any
) -> Sequence[TensorType]:
    shape = (rois.shape[0], data.shape[1], *grid_of(pooled_size))
    return tensor_type(shape, data.dtype), tensor_type(shape, INT32)


def _pooling_gradient(back: Backward) -> Sequence[Any]:
    call, _ = get("_backward_ROIPooling").bind({})
    data, rois = back.inputs
    return [*back.apply(call, [back.grads[0], back.outputs[1], rois, data]), None]


@operator(
    "ROIPooling",
    outputs=2,
    visible=1,
    check=lambda data, rois, *, pooled_size, **_: require_regions(
        "ROIPooling", data, rois, pooled_size
    ),
    infer=_pooling_types,
    gradient=_pooling_gradient,
)
def roi_pooling(data: Any, rois: Any, *, pooled_size: Shape, spatial_scale: float) -> Any:
    """The largest value in each part of a grid over a region.

    Girshick, "Fast R-CNN", 2015. The corners are rounded to pixels.

    Args:
        data: (batch, channels, height, width).
        rois: (regions, 5): image, left, top, right, bottom.
        pooled_size: rows and columns of the grid; one number for both.
        spatial_scale: the size of the feature map over that of the image.

    Returns:
        (regions, channels, rows, columns); 0 for a part without a pixel. Hidden: where in its
        image each value is from, for the gradient.
    """
    pooled = grid_of(pooled_size)
    dtype = wide(data.dtype)
    fixed, places = lax.stop_gradient(data), rois.astype(dtype)
    if not rois.shape[0]:
        shape = (0, data.shape[1], *pooled)
        return jnp.zeros(shape, data.dtype), jnp.zeros(shape, "int32")
    return lax.map(lambda roi: _pool_region(fixed, roi, pooled, spatial_scale), places)


@operator(
    "_backward_ROIPooling",
    infer=lambda grad, index, rois, data: (data,),
)
def backward_roi_pooling(grad: Any, index: Any, rois: Any, data: Any) -> Any:
    """Gradient of ROIPooling by its data: what a value's gradient is goes where it was from.

    Args:
        grad: (regions, channels, rows, columns).
        index: the positions, in the same shape.
        rois: (regions, 5).
        data: the shape and dtype of the result.
    """
    _, channels, height, width = data.shape
    image = rois[:, 0].astype("int32")[:, None, None, None]
    channel = jnp.arange(channels)[:, None, None]
    place = (image * channels + channel) * (height * width) + index
    place = jnp.where(index < 0, data.size, place)
    flat = jnp.zeros(data.size, wide(data.dtype))
    flat = flat.at[place].add(grad.astype(flat.dtype), mode="drop")
    return flat.reshape(data.shape).astype(data.dtype)
