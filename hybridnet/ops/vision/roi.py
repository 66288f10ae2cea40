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
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import at, jnp, lax

from ..core.call import Backward
from ..core.checks import require_one_dtype, wide
from ..core.registry import get, operator
from .resize import require_images


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


def round_half_away(x: Any) -> Any:
    """Rounds half away from zero, as C does."""
    return jnp.sign(x) * jnp.floor(jnp.abs(x) + 0.5)


def _bins(low: Any, high: Any, count: int, size: int) -> tuple[Any, Any]:
    """Returns the begins and ends of `count` parts of pixel ranges, both (regions, count)."""
    length = jnp.maximum(high - low + 1, 1)[:, None]
    index = jnp.arange(count, dtype=low.dtype)
    # XLA would multiply by the inverse of what it knows to be a constant, which rounds some
    # borders past a pixel.
    part = length / (count + 0 * length)
    start = jnp.floor(index * part) + low[:, None]
    stop = jnp.ceil((index + 1) * part) + low[:, None]
    return jnp.clip(start, 0, size).astype("int32"), jnp.clip(stop, 0, size).astype("int32")


def _pool(data: Any, rois: Any, pooled: tuple[int, int], scale: float) -> tuple[Any, Any]:
    """The largest value of each part of a region, and its position in the image, -1 if empty.

    Visits the pixels of all parts at once, one after the other; both results are
    (regions, rows, columns, channels).
    """
    batch, channels, height, width = data.shape
    shape = (rois.shape[0], *pooled, channels)
    if not data.size or not rois.size:  # no part has a pixel, or there is none
        return jnp.zeros(shape, data.dtype), jnp.full(shape, -1, "int32")
    left, top, right, bottom = round_half_away(rois[:, 1:] * scale).T
    row_start, row_stop = _bins(top, bottom, pooled[0], height)
    column_start, column_stop = _bins(left, right, pooled[1], width)
    image = rois[:, 0].astype("int32")
    there = ((image >= 0) & (image < batch))[:, None, None]
    # Channels last, so that a pixel is one run of memory.
    pixels = jnp.moveaxis(data, 1, 3).reshape(-1, channels)
    tallest = jnp.max(row_stop - row_start, initial=0)
    widest = jnp.max(column_stop - column_start, initial=0)

    def step(number: Any, found: tuple[Any, Any]) -> tuple[Any, Any]:
        best, index = found
        row, column = row_start + number // widest, column_start + number % widest
        inside = there & (row < row_stop)[:, :, None] & (column < column_stop)[:, None, :]
        place = row[:, :, None] * width + column[:, None, :]
        pixel = image[:, None, None] * (height * width) + place
        values = jnp.take(pixels, pixel, axis=0, mode="clip")
        better = inside[..., None] & (values > best)
        return jnp.where(better, values, best), jnp.where(better, place[..., None], index)

    start = (jnp.full(shape, -jnp.inf, data.dtype), jnp.full(shape, -1, "int32"))
    best, index = lax.fori_loop(0, tallest * widest, step, start)
    return jnp.where(index < 0, 0, best), index


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
    places = rois.astype(wide(data.dtype))
    best, index = _pool(data, places, grid_of(pooled_size), spatial_scale)
    return jnp.moveaxis(best, 3, 1), jnp.moveaxis(index, 3, 1)


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
    flat = at(flat)[place].add(grad.astype(flat.dtype), mode="drop")
    return flat.reshape(data.shape).astype(data.dtype)
