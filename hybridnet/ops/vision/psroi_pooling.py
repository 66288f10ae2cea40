"""PSROIPooling: the mean of each part of a region, from channels that are that part's own.

Dai et al., "R-FCN: Object Detection via Region-based Fully Convolutional Networks", 2016. See `roi`
for regions.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import numpy as np

from hybridnet.base.attrs import Range
from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp

from ..core.checks import wide
from ..core.registry import operator
from .roi import require_regions, round_half_away

# Of a region that has no pixels, on the feature map.
_MIN_SIDE: Final = 0.1


def _pooling_check(
    data: TensorType,
    rois: TensorType,
    *,
    output_dim: int,
    pooled_size: int,
    group_size: int,
    **_: Any,
) -> None:
    require_regions("PSROIPooling", data, rois, (pooled_size,))
    group = group_size or pooled_size
    least = output_dim * group**2
    if data.shape[1] < least:
        raise ShapeError(
            f"PSROIPooling: data must have at least output_dim * group_size**2 = {least} channels, "
            f"got data {data}"
        )


def _pooling_type(
    data: TensorType, rois: TensorType, *, output_dim: int, pooled_size: int, **_: Any
) -> tuple[TensorType]:
    shape = (rois.shape[0], output_dim, pooled_size, pooled_size)
    return (tensor_type(shape, data.dtype),)


def _parts(low: Any, high: Any, count: int, size: int) -> tuple[Any, Any]:
    """The first pixel of each part of a stretch, and the one after its last: (regions, count)."""
    length = jnp.maximum(high - low, _MIN_SIDE)[:, None]
    index = jnp.arange(count, dtype=low.dtype)
    # (By what XLA knows to be a constant it would multiply, and round some borders past a pixel.)
    part = length / (count + 0 * length)
    start = jnp.floor(index * part + low[:, None])
    stop = jnp.ceil((index + 1) * part + low[:, None])
    return jnp.clip(start, 0, size).astype("int32"), jnp.clip(stop, 0, size).astype("int32")


@operator("_contrib_PSROIPooling", check=_pooling_check, infer=_pooling_type)
def psroi_pooling(
    data: Any,
    rois: Any,
    *,
    spatial_scale: float,
    output_dim: Annotated[int, Range(1)],
    pooled_size: Annotated[int, Range(1)],
    group_size: Annotated[int, Range(0)] = 0,
) -> Any:
    """The mean of each part of a grid over a region, from channels of that part's own.

    Dai et al., "R-FCN", 2016. The corners are rounded to pixels of the image.

    Args:
        data: (batch, output_dim * group_size**2, height, width): for each output channel a square
            of channels, one for each part.
        rois: (regions, 5): image, left, top, right, bottom.
        spatial_scale: the size of the feature map over that of the image.
        output_dim: how many channels the result has.
        pooled_size: rows, and columns, of the grid.
        group_size: rows, and columns, of the squares of channels; 0 for those of the grid. Of fewer
            each is for several parts.

    Returns:
        (regions, output_dim, pooled_size, pooled_size); 0 for a part without a pixel.
    """
    batch, _, height, width = data.shape
    group, kind = group_size or pooled_size, wide(data.dtype)
    if not data.size or not rois.size:
        return jnp.zeros((rois.shape[0], output_dim, pooled_size, pooled_size), data.dtype)
    places = rois.astype(kind)
    left, top = (round_half_away(places[:, 1:3]) * spatial_scale).T
    right, bottom = ((round_half_away(places[:, 3:]) + 1) * spatial_scale).T
    row, row_stop = _parts(top, bottom, pooled_size, height)
    column, column_stop = _parts(left, right, pooled_size, width)
    # Sums of all that is above and to the left; in float64, as small parts are differences of them.
    own = data[:, : output_dim * group**2].astype(np.float64)
    sums = jnp.cumsum(jnp.cumsum(own, 2), 3)
    sums = jnp.pad(sums, ((0, 0), (0, 0), (1, 0), (1, 0)))
    sums = sums.reshape(batch, output_dim, group, group, height + 1, width + 1)
    number = places[:, 0].astype("int32")
    image = jnp.clip(number, 0, batch - 1)[:, None, None, None]
    channel = jnp.arange(output_dim)[:, None, None]
    square = jnp.arange(pooled_size) * group // pooled_size

    def corner(rows: Any, columns: Any) -> Any:
        where = rows[:, None, :, None], columns[:, None, None, :]
        return sums[(image, channel, square[:, None], square, *where)]

    total = corner(row_stop, column_stop) - corner(row, column_stop)
    total = total - corner(row_stop, column) + corner(row, column)
    tall, broad = jnp.maximum(row_stop - row, 0), jnp.maximum(column_stop - column, 0)
    area = tall[:, None, :, None] * broad[:, None, None, :]
    there = (area > 0) & ((number >= 0) & (number < batch))[:, None, None, None]
    return jnp.where(there, total / jnp.maximum(area, 1), 0).astype(data.dtype)
