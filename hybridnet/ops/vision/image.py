"""Operators on images: (height, width, channel), or (batch, height, width, channel).

They prepare pictures for networks, which take (channel, height, width).
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from hybridnet.base.attrs import Floats, Range, Shape
from hybridnet.base.dtype import FLOAT32, is_float
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp

from ..core.checks import wide
from ..core.registry import operator
from ..core.rules import refuse_bool, same_type
from ._resize_weights import resize_weights


def image_names(name: str) -> tuple[str, str]:
    """Returns the names under which MXNet keeps an image operator in `nd` and in `npx`."""
    return f"_image_{name}", f"_npx__image_{name}"


def require_image(op: str, data: TensorType, *, batch: bool, channels: bool = False) -> None:
    """Raises unless the data are an image, or a batch of them.

    Args:
        op: the operator, for the message.
        data: the type of the input.
        batch: whether a batch is accepted.
        channels: whether there must be 1 or 3 channels.
    """
    refuse_bool(op)(data)
    if len(data.shape) != 3 and not (batch and len(data.shape) == 4):
        also = ", or (batch, height, width, channel)" if batch else ""
        raise ShapeError(f"{op}: data must be (height, width, channel){also}, got data {data}")
    if channels and data.shape[-1] not in (1, 3):
        raise ShapeError(f"{op}: data must have 1 or 3 channels, the last axis, got data {data}")


def _tensor_type(data: TensorType) -> tuple[TensorType]:
    *batch, height, width, channel = data.shape
    return (tensor_type((*batch, channel, height, width), FLOAT32),)


@operator(
    "_image_to_tensor",
    aliases=image_names("to_tensor")[1:],
    check=lambda data: require_image("_image_to_tensor", data, batch=True),
    infer=_tensor_type,
)
def to_tensor(data: Any) -> Any:
    """Turns an image of numbers up to 255 into what networks take.

    Args:
        data: (height, width, channel) or (batch, height, width, channel).

    Returns:
        float32 of shape (channel, height, width), or that with the batch in front; divided by 255.
    """
    planes = jnp.moveaxis(data, -1, -3)
    if isinstance(planes, np.ndarray):
        # NumPy would keep the order in memory, in which what comes next takes four times as long.
        made = planes.astype(FLOAT32, order="C")
        made /= np.float32(255)
        return made
    return planes.astype(FLOAT32) / np.float32(255)


def _check_normalize(data: TensorType, *, mean: tuple[float, ...], std: tuple[float, ...]) -> None:
    op = "_image_normalize"
    refuse_bool(op)(data)
    if len(data.shape) not in (3, 4) or data.shape[-3] not in (1, 3):
        raise ShapeError(
            f"{op}: data must be (channel, height, width) or (batch, channel, height, width) with "
            f"1 or 3 channels, got data {data}"
        )
    for name, value in (("mean", mean), ("std", std)):
        # 4 numbers are MXNet's default, of which those of the channels are taken.
        if len(value) not in (1, data.shape[-3], 4):
            raise ParameterError(
                f"{op}: {name} must be one number, or one for each of the {data.shape[-3]} "
                f"channels of data {data}, got {value}"
            )


@operator(
    "_image_normalize",
    aliases=image_names("normalize")[1:],
    check=_check_normalize,
    infer=same_type,
)
def normalize(data: Any, *, mean: Floats = (0, 0, 0, 0), std: Floats = (1, 1, 1, 1)) -> Any:
    """Subtracts a number from each channel and divides by another.

    Args:
        data: (channel, height, width) or (batch, channel, height, width).
        mean: what is subtracted: a number for all channels, or one for each.
        std: what is divided by: a number for all channels, or one for each.

    Returns:
        The shape and dtype of `data`; whole numbers are cut off.
    """
    kind = wide(data.dtype) if is_float(np.dtype(data.dtype)) else FLOAT32
    shift, scale = (
        np.asarray(values[: data.shape[-3]], kind).reshape(-1, 1, 1) for values in (mean, std)
    )
    # What XLA makes of a division by numbers; said here, so that NumPy rounds alike.
    factor = 1 / scale
    made = (data if data.dtype == kind else data.astype(kind)) - shift
    if isinstance(made, np.ndarray):
        made *= factor  # without memory for another image
    else:
        made = made * factor
    return made if data.dtype == kind else made.astype(data.dtype)


def _check_crop(data: TensorType, *, x: int, y: int, width: int, height: int) -> None:
    require_image("_image_crop", data, batch=True)
    rows, columns = data.shape[-3:-1]
    if y + height > rows or x + width > columns:
        raise ParameterError(
            f"_image_crop: x + width must be at most {columns} and y + height at most {rows} for "
            f"data {data}, got x={x}, width={width}, y={y}, height={height}"
        )


def _crop_type(data: TensorType, *, x: int, y: int, width: int, height: int) -> tuple[TensorType]:
    return (tensor_type((*data.shape[:-3], height, width, data.shape[-1]), data.dtype),)


_Place = Annotated[int, Range(0)]
_Size = Annotated[int, Range(1)]


@operator("_image_crop", aliases=image_names("crop")[1:], check=_check_crop, infer=_crop_type)
def crop(data: Any, *, x: _Place, y: _Place, width: _Size, height: _Size) -> Any:
    """Cuts a rectangle out of an image.

    Args:
        data: (height, width, channel) or (batch, height, width, channel).
        x: the first column.
        y: the first row.
        width: how many columns.
        height: how many rows.
    """
    return data[..., y : y + height, x : x + width, :]


def _resized(data: Any, size: tuple[int, ...], keep_ratio: bool) -> tuple[int, int]:
    """Returns the new height and width."""
    height, width = data.shape[-3:-1]
    if len(size) == 2:
        return size[1], size[0]
    if not keep_ratio:
        return size[0], size[0]
    if height > width:
        return max(height * size[0] // width, 1), size[0]
    return size[0], max(width * size[0] // height, 1)


def _check_resize(
    data: TensorType, *, size: tuple[int, ...], keep_ratio: bool, interp: int
) -> None:
    require_image("_image_resize", data, batch=True)
    if not 1 <= len(size) <= 2 or min(size) < 1:
        raise ParameterError(
            "_image_resize: size must be (width, height) or one number for both, from 1 on, got "
            f"{size}"
        )
    if 0 in data.shape[-3:-1]:
        raise ShapeError(f"_image_resize: data must not be empty, got data {data}")


def _resize_type(
    data: TensorType, *, size: tuple[int, ...], keep_ratio: bool, interp: int
) -> tuple[TensorType]:
    sizes = _resized(data, size, keep_ratio)
    return (tensor_type((*data.shape[:-3], *sizes, data.shape[-1]), data.dtype),)


@operator(
    "_image_resize", aliases=image_names("resize")[1:], check=_check_resize, infer=_resize_type
)
def resize(
    data: Any,
    *,
    size: Shape = (),
    keep_ratio: bool = False,
    interp: Annotated[int, Range(0, 4)] = 1,
) -> Any:
    """Resizes an image. Whole numbers are rounded; they may differ by one from OpenCV's.

    Args:
        data: (height, width, channel) or (batch, height, width, channel).
        size: (width, height), or one number for both.
        keep_ratio: with one number, that it is the shorter side, and the longer one in proportion.
        interp: 0 takes the nearest pixel, 1 interpolates linearly, 2 cubically, 3 averages areas,
            and 4 is Lanczos over 8 pixels.
    """
    source = data.shape[-3:-1]
    target = _resized(data, size, keep_ratio)
    kind = np.dtype(data.dtype)
    inner = wide(kind) if is_float(kind) else FLOAT32
    shrinks = target[0] <= source[0] and target[1] <= source[1]
    rows, columns = (
        resize_weights(before, after, interp, shrinks).astype(inner)
        for before, after in zip(source, target, strict=True)
    )
    image = jnp.einsum(
        "yh,...hwc,xw->...yxc", rows, data.astype(inner), columns, precision="highest"
    )
    if is_float(kind):
        return image.astype(kind)
    limits = np.iinfo(kind)
    return jnp.clip(jnp.floor(image + 0.5), limits.min, limits.max).astype(kind)
