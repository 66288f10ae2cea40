"""Pictures sampled at given places: grids of places, and bilinear interpolation there.

Jaderberg et al., "Spatial transformer networks", 2015. Places are (x, y) from -1, the center of the
first pixel of a row or column, to 1, that of the last.
"""

from __future__ import annotations

from typing import Any, Literal

from hybridnet.base.attrs import Shape
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp, lax

from ..core.checks import require_floats, require_one_dtype, wide
from ..core.operator import describe
from ..core.registry import operator
from .resize import require_images


def _places(size: int, dtype: Any) -> Any:
    """The places of the pixels of a row; the one pixel there is is in the middle."""
    return jnp.linspace(-1, 1, size, dtype=dtype) if size > 1 else jnp.zeros(size, dtype)


def _target_check(op: str, target_shape: tuple[int, ...]) -> None:
    if len(target_shape) != 2 or min(target_shape) < 1:
        raise ParameterError(
            f"{op}: target_shape must be (height, width), each at least 1, got {target_shape}"
        )


def _affine_check(op: str, name: str, matrix: TensorType, target_shape: tuple[int, ...]) -> None:
    require_floats(op, (name,), (matrix,))
    if len(matrix.shape) != 2 or matrix.shape[1] != 6:
        raise ShapeError(f"{op}: {name} must have shape (batch, 6), got {name} {matrix}")
    _target_check(op, target_shape)


def _grid_check(data: TensorType, *, transform_type: str, target_shape: tuple[int, ...]) -> None:
    if transform_type == "affine":
        _affine_check("GridGenerator", "data", data, target_shape)
        return
    require_images("GridGenerator", "data", data)
    if data.shape[1] != 2:
        raise ShapeError(
            "GridGenerator: data must have shape (batch, 2, height, width) with "
            f"transform_type='warp', got data {data}"
        )


def _grid_type(
    data: TensorType, *, transform_type: str, target_shape: tuple[int, ...]
) -> tuple[TensorType, ...]:
    if transform_type == "warp":
        return (data,)
    return (tensor_type((data.shape[0], 2, *target_shape), data.dtype),)


def _affine_grid(matrix: Any, target_shape: tuple[int, ...]) -> Any:
    """The places of a picture's pixels, moved by affine maps: (batch, 2, height, width)."""
    height, width = target_shape
    y, x = jnp.meshgrid(_places(height, matrix.dtype), _places(width, matrix.dtype), indexing="ij")
    points = jnp.stack([x, y, jnp.ones_like(x)])
    maps = matrix.reshape(-1, 2, 3)
    return jnp.einsum("nij,jhw->nihw", maps, points, precision=lax.Precision.HIGHEST)


@operator("GridGenerator", check=_grid_check, infer=_grid_type)
def grid_generator(
    data: Any, *, transform_type: Literal["affine", "warp"], target_shape: Shape = (0, 0)
) -> Any:
    """Makes the grid of places for `BilinearSampler`.

    Args:
        data: with transform_type='affine' (batch, 6), the rows of the map from new places to old
            ones, ``[[a, b, c], [d, e, f]]``; with 'warp' (batch, 2, height, width), how many
            pixels to the right and down each pixel's value comes from.
        transform_type: see `data`.
        target_shape: (height, width) of the grid, with 'affine' alone. A size of 1 is the middle
            (MXNet divides by zero).

    Returns:
        (batch, 2, height, width), x and then y.
    """
    if transform_type == "affine":
        return _affine_grid(data.astype(wide(data.dtype)), target_shape).astype(data.dtype)
    height, width = data.shape[2:]
    # Pixels to places: the distance of two pixels is 2 / (size - 1).
    steps = jnp.asarray([2 / max(width - 1, 1), 2 / max(height - 1, 1)], data.dtype)
    identity = jnp.stack(
        jnp.meshgrid(_places(width, data.dtype), _places(height, data.dtype), indexing="xy")
    )
    return data * steps[:, None, None] + identity


def _sampler_check(data: TensorType, grid: TensorType, **_: Any) -> None:
    require_images("BilinearSampler", "data", data)
    require_one_dtype("BilinearSampler", ("data", "grid"), (data, grid))
    if len(grid.shape) != 4 or grid.shape[:2] != (data.shape[0], 2):
        raise ShapeError(
            "BilinearSampler: grid must have shape (batch, 2, height, width) for the batch of "
            f"data, got {describe(('data', 'grid'), (data, grid))}"
        )


def _sample(data: Any, grid: Any) -> Any:
    """Interpolates images at the places of a grid; outside of an image all is zero."""
    batch, channels, height, width = data.shape
    x = (grid[:, 0] + 1) * ((width - 1) / 2)
    y = (grid[:, 1] + 1) * ((height - 1) / 2)
    # The four pixels around each place, (2, 2, batch, height, width) with those of the grid.
    column = jnp.floor(x) + jnp.arange(2)[:, None, None, None]
    row = jnp.floor(y) + jnp.arange(2)[:, None, None, None, None]
    inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
    weight = jnp.where(inside, (1 - jnp.abs(x - column)) * (1 - jnp.abs(y - row)), 0)
    image = jnp.arange(batch)[:, None, None]
    pixel = jnp.where(inside, (image * height + row) * width + column, 0).astype("int32")
    # Channels last, so that a pixel is one run of memory.
    pixels = jnp.moveaxis(data, 1, 3).reshape(-1, channels)
    return jnp.einsum("abnhwc,abnhw->nchw", pixels[pixel], weight)


@operator(
    "BilinearSampler",
    check=_sampler_check,
    infer=lambda data, grid, **_: (tensor_type((*data.shape[:2], *grid.shape[2:]), data.dtype),),
)
def bilinear_sampler(data: Any, grid: Any, *, cudnn_off: bool | None = None) -> Any:
    """Samples images at given places by bilinear interpolation.

    Args:
        data: (batch, channels, height, width).
        grid: (batch, 2, new height, new width), x and then y of each place, from -1 to 1 inside
            the image. Outside of it all is zero.

    Returns:
        (batch, channels, new height, new width).
    """
    dtype = wide(data.dtype)
    return _sample(data.astype(dtype), grid.astype(dtype)).astype(data.dtype)


def _transformer_check(
    data: TensorType, loc: TensorType, *, target_shape: tuple[int, ...], **_: Any
) -> None:
    require_images("SpatialTransformer", "data", data)
    require_one_dtype("SpatialTransformer", ("data", "loc"), (data, loc))
    _affine_check("SpatialTransformer", "loc", loc, target_shape)
    if loc.shape[0] != data.shape[0]:
        raise ShapeError(
            "SpatialTransformer: data and loc must have one batch size, got "
            f"{describe(('data', 'loc'), (data, loc))}"
        )


@operator(
    "SpatialTransformer",
    check=_transformer_check,
    infer=lambda data, *_, target_shape, **__: (
        tensor_type((*data.shape[:2], *target_shape), data.dtype),
    ),
)
def spatial_transformer(
    data: Any,
    loc: Any,
    *,
    target_shape: Shape = (0, 0),
    transform_type: Literal["affine"],
    sampler_type: Literal["bilinear"],
    cudnn_off: bool | None = None,
) -> Any:
    """Moves images by affine maps: `GridGenerator` and `BilinearSampler` in one.

    Args:
        data: (batch, channels, height, width).
        loc: (batch, 6), the maps from new places to old ones.
        target_shape: (height, width) of the result.
        transform_type: 'affine' is the only one.
        sampler_type: 'bilinear' is the only one.

    Returns:
        (batch, channels, *target_shape).
    """
    dtype = wide(data.dtype)
    grid = _affine_grid(loc.astype(dtype), target_shape)
    return _sample(data.astype(dtype), grid).astype(data.dtype)
