"""Rotated images."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Number
from typing import Any

import numpy as np

from hybridnet import ndarray as nd
from hybridnet.base.array_types import ArrayLike, NumpyArray
from hybridnet.base.errors import DTypeError, ParameterError, ShapeError
from hybridnet.ndarray import NDArray

__all__ = ["imrotate", "random_rotate"]


def imrotate(
    src: NDArray, rotation_degrees: float | ArrayLike, zoom_in: bool = False, zoom_out: bool = False
) -> NDArray:
    """Rotates an image, or each of a batch, about its middle; outside of it there is 0.

    Args:
        src: float32 (channels, height, width) or (batch, channels, height, width).
        rotation_degrees: a number; for a batch also an array (batch,).
        zoom_in: enlarge the image so that nothing outside of it is seen.
        zoom_out: make it smaller so that all of it is seen.

    Returns:
        The same shape.

    Raises:
        ParameterError: both zooms are asked for.
        DTypeError: `src` is not float32, or one image has several angles.
        ShapeError: `src` has another number of axes, or there is not an angle for each image.
    """
    what = "image.imrotate"
    if zoom_in and zoom_out:
        raise ParameterError(f"{what}: zoom_in and zoom_out exclude each other, got both")
    if np.dtype(src.dtype) != np.float32:
        raise DTypeError(f"{what}: src must be float32, got {np.dtype(src.dtype)}")
    if src.ndim == 3:
        if not isinstance(rotation_degrees, Number):
            got = type(rotation_degrees).__name__
            raise DTypeError(f"{what}: the angle of one image must be a number, got {got}")
        return imrotate(src.expand_dims(axis=0), rotation_degrees, zoom_in, zoom_out)[0]
    if src.ndim != 4:
        raise ShapeError(f"{what}: src must have 3 or 4 axes, got shape {src.shape}")
    count, _, height, width = src.shape
    if isinstance(rotation_degrees, Number):
        degrees = np.full(count, rotation_degrees, np.float32)
    else:
        degrees = np.asarray(rotation_degrees, np.float32)
    if degrees.shape != (count,):
        raise ShapeError(f"{what}: needs {count} angles, got shape {degrees.shape}")
    grid = _grid(degrees * np.float32(np.pi / 180), height, width)
    if zoom_in or zoom_out:
        grid *= _zoom(degrees * np.float32(np.pi / 180), height, width, zoom_out)
    return nd.BilinearSampler(src, nd.array(grid, src.context))


def _grid(angles: NumpyArray, height: int, width: int) -> NumpyArray:
    """Returns where each pixel comes from: (batch, 2, height, width), x and y from -1 to 1."""
    middle_y, middle_x = np.float32((height - 1) / 2), np.float32((width - 1) / 2)
    y = (np.arange(height, dtype=np.float32) - middle_y)[:, None]
    x = (np.arange(width, dtype=np.float32) - middle_x)[None, :]
    cos, sin = np.cos(angles)[:, None, None], np.sin(angles)[:, None, None]
    # Rotated in pixels and only then scaled, or else what is not square would be sheared.
    with np.errstate(divide="ignore", invalid="ignore"):  # a side of one pixel
        return np.stack([(x * cos - y * sin) / middle_x, (x * sin + y * cos) / middle_y], axis=1)


def _zoom(angles: NumpyArray, height: int, width: int, out: bool) -> Any:
    """Returns the factor of each grid, (batch, 1, 1, 1): of the farthest rotated corner."""
    turned = np.abs(angles)
    diagonal, corner = np.hypot(height, width), np.arctan(height / width)
    corners = [corner + turned, corner - turned]
    far_x = np.max([np.abs(diagonal * np.cos(one)) for one in corners], axis=0)
    far_y = np.max([np.abs(diagonal * np.sin(one)) for one in corners], axis=0)
    if out:
        factor = np.maximum(far_x / width, far_y / height)
    else:
        factor = np.minimum(width / far_x, height / far_y)
    return factor.astype(np.float32)[:, None, None, None]


def random_rotate(
    src: NDArray, angle_limits: Sequence[float], zoom_in: bool = False, zoom_out: bool = False
) -> NDArray:
    """Rotates an image, or each of a batch, by an angle that NumPy's generator draws.

    Args:
        src: as for `imrotate`.
        angle_limits: (least, most) degrees.
        zoom_in: see `imrotate`.
        zoom_out: see `imrotate`.

    Raises:
        MXNetError: as `imrotate`.
    """
    least, most = angle_limits
    angles: float | NumpyArray
    if isinstance(src, NDArray) and src.ndim == 4:
        angles = np.random.uniform(least, most, size=src.shape[0])
    else:
        angles = np.random.uniform(least, most)
    return imrotate(src, angles, zoom_in, zoom_out)
