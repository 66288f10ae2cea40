"""Images in another size: upsampling, bilinear resizing, and averages of a grid of regions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.attrs import Platform, Range, Shape
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp, lax

from ..core.checks import fill, require_floats, require_one_dtype, require_shape, wide
from ..core.operator import Shapes, describe
from ..core.registry import operator
from ..nn.conv.convolution import deconvolution

ResizeMode = Literal[
    "like", "odd_scale", "size", "to_even_down", "to_even_up", "to_odd_down", "to_odd_up"
]


def require_images(op: str, name: str, data: TensorType) -> None:
    """Raises unless an input is a batch of images: (batch, channels, height, width) of floats."""
    require_floats(op, (name,), (data,))
    if len(data.shape) != 4 or 0 in data.shape[1:]:
        raise ShapeError(
            f"{op}: {name} must have shape (batch, channels, height, width) with no size 0 after "
            f"the batch, got {name} {data}"
        )


def _separable(data: Any, rows: NumpyArray, columns: NumpyArray) -> Any:
    """Makes each pixel a weighted sum: ``rows @ image @ columns.T``.

    A matrix product beats gathering on CPU and GPU alike once the gradient counts too, which is
    the product with the transposed matrices where gathering has a scatter.
    """
    dtype = wide(data.dtype)
    highest = lax.Precision.HIGHEST
    made = jnp.einsum("nchw,yh->ncyw", data.astype(dtype), rows.astype(dtype), precision=highest)
    made = jnp.einsum("ncyw,xw->ncyx", made, columns.astype(dtype), precision=highest)
    return made.astype(data.dtype)


def _grid_of(output_size: tuple[int, ...]) -> tuple[int, int]:
    if len(output_size) > 2 or any(size < 1 for size in output_size):
        raise ParameterError(
            "AdaptiveAvgPooling2D: output_size must be () or one or two numbers from 1, got "
            f"{output_size}"
        )
    return (output_size[0], output_size[-1]) if output_size else (1, 1)


def _region_weights(size: int, count: int) -> NumpyArray:
    """The averages of `count` regions that cover an axis, which overlap where they must."""
    weights = np.zeros((count, size))
    for index in range(count):
        start, stop = index * size // count, -(-(index + 1) * size // count)
        weights[index, start:stop] = 1 / (stop - start)
    return weights


def _adaptive_type(data: TensorType, *, output_size: tuple[int, ...]) -> tuple[TensorType, ...]:
    return (tensor_type((*data.shape[:2], *_grid_of(output_size)), data.dtype),)


@operator(
    "_contrib_AdaptiveAvgPooling2D",
    check=lambda data, **_: require_images("AdaptiveAvgPooling2D", "data", data),
    infer=_adaptive_type,
)
def adaptive_avg_pooling(data: Any, *, output_size: Shape = ()) -> Any:
    """Averages a grid of regions, whatever the size of the image.

    Region i of n on an axis of size s goes from ``floor(i * s / n)`` to ``ceil((i + 1) * s / n)``.

    Args:
        data: (batch, channels, height, width).
        output_size: rows and columns of the grid; one number for both; () for 1 x 1.

    Returns:
        (batch, channels, rows, columns).
    """
    rows, columns = _grid_of(output_size)
    height, width = data.shape[2:]
    return _separable(data, _region_weights(height, rows), _region_weights(width, columns))


def _resized(size: int, mode: str, wanted: int, scale: float | None) -> int:
    """Returns the new size of an axis.

    Args:
        size: its size before.
        mode: 'size': as `wanted` or `scale` say. 'odd_scale': likewise, but an odd size n
            becomes (n - 1) * scale + 1. 'to_even_down', 'to_even_up', 'to_odd_down' and
            'to_odd_up': the next even or odd size, which is the old one or differs by 1.
        wanted: the new size, if there is no `scale`.
        scale: the factor, or None.
    """
    if mode in ("size", "odd_scale"):
        if scale is None:
            return wanted
        even = mode == "size" or size % 2 == 0
        return int(size * scale) if even else int((size - 1) * scale) + 1
    parity = 0 if "even" in mode else 1
    if size % 2 == parity:
        return size
    return size - 1 if mode.endswith("down") else size + 1


def _resize_inputs(*, mode: str, **_: Any) -> Sequence[str]:
    return ("data", "like") if mode == "like" else ("data",)


def _new_size(
    types: Sequence[Any],
    height: int,
    width: int,
    scale_height: float | None,
    scale_width: float | None,
    mode: str,
) -> tuple[int, int]:
    if mode == "like":
        return types[1].shape[2], types[1].shape[3]
    old_height, old_width = types[0].shape[2:]
    return (
        _resized(old_height, mode, height, scale_height),
        _resized(old_width, mode, width, scale_width),
    )


def _resize_check(*types: TensorType, mode: str, align_corners: bool, **params: Any) -> None:
    require_images("BilinearResize2D", "data", types[0])
    names = _resize_inputs(mode=mode)
    if len(types) != len(names):
        raise ParameterError(
            f"BilinearResize2D: mode={mode!r} takes the inputs {', '.join(names)}, got "
            f"{describe(('data', 'like'), types)}"
        )
    if mode == "like":
        require_images("BilinearResize2D", "like", types[1])
    if (params["scale_height"] is None) != (params["scale_width"] is None):
        raise ParameterError(
            "BilinearResize2D: scale_height and scale_width must be given together, got "
            f"scale_height={params['scale_height']}, scale_width={params['scale_width']}"
        )
    size = _new_size(types, mode=mode, **params)
    if min(size) < 1:
        raise ParameterError(
            f"BilinearResize2D: the new height and width must be at least 1, got {size} from "
            f"data {types[0]} with mode={mode!r}"
        )


def _resize_type(*types: TensorType, align_corners: bool, **params: Any) -> tuple[TensorType, ...]:
    return (tensor_type((*types[0].shape[:2], *_new_size(types, **params)), types[0].dtype),)


def _bilinear_weights(size: int, count: int, align_corners: bool) -> NumpyArray:
    """The weight of each old element in each of `count` new ones, (count, size)."""
    if align_corners:
        place = np.arange(count) * ((size - 1) / (count - 1) if count > 1 else 0.0)
    else:
        # A single new pixel is the first old one, as in MXNet, and not one in the middle.
        scale = size / count if count > 1 else 0.0
        place = np.maximum((np.arange(count) + 0.5) * scale - 0.5, 0)
    low = np.minimum(place.astype(int), size - 1)
    part = place - low
    weights = np.zeros((count, size))
    np.add.at(weights, (np.arange(count), low), 1 - part)
    np.add.at(weights, (np.arange(count), np.minimum(low + 1, size - 1)), part)
    return weights


@operator(
    "_contrib_BilinearResize2D", takes=_resize_inputs, check=_resize_check, infer=_resize_type
)
def bilinear_resize(
    data: Any,
    like: Any = None,
    *,
    height: int = 1,
    width: int = 1,
    scale_height: float | None = None,
    scale_width: float | None = None,
    mode: ResizeMode = "size",
    align_corners: bool = True,
) -> Any:
    """Resizes images by bilinear interpolation.

    Args:
        data: (batch, channels, height, width).
        like: (any, any, height, width), the new size; with mode='like' alone.
        height: the new height, with mode='size' and no scales.
        width: the new width, likewise.
        scale_height: new height over old, rounded down, with mode='size' and 'odd_scale', which
            keeps an odd size odd: one less is scaled, and one added.
        scale_width: likewise.
        mode: where the new size comes from; the last four change each size by at most 1 to be
            even or odd.
        align_corners: whether the corner pixels keep their places, or else the image's borders.

    Returns:
        (batch, channels, new height, new width).
    """
    types = (data,) if like is None else (data, like)
    rows, columns = _new_size(types, height, width, scale_height, scale_width, mode)
    return _separable(
        data,
        _bilinear_weights(data.shape[2], rows, align_corners),
        _bilinear_weights(data.shape[3], columns, align_corners),
    )


def _bilinear_kernel(scale: int) -> int:
    return 2 * scale - scale % 2


def _upsampling_check(
    *types: TensorType,
    scale: int,
    num_filter: int,
    sample_type: str,
    multi_input_mode: str,
    **_: Any,
) -> None:
    require_images("UpSampling", "data", types[0])
    require_one_dtype("UpSampling", [f"arg{i}" for i in range(len(types))], types)
    if sample_type == "bilinear":
        if len(types) != 2:
            raise ParameterError(
                "UpSampling: sample_type='bilinear' takes the inputs data, weight, got "
                f"{len(types)} inputs"
            )
        kernel = _bilinear_kernel(scale)
        channels = types[0].shape[1]
        because = f"scale={scale} and data {types[0]}"
        if num_filter != channels:
            raise ParameterError(
                f"UpSampling: num_filter must be the number of channels, {channels}, got "
                f"{num_filter}"
            )
        require_shape("UpSampling", "weight", types[1], (channels, 1, kernel, kernel), because)
        return
    size = tuple(length * scale for length in types[0].shape[2:])
    for index, type_ in enumerate(types[1:], 1):
        require_images("UpSampling", f"arg{index}", type_)
        factors = {big / small for big, small in zip(size, type_.shape[2:], strict=True)}
        channels_fit = multi_input_mode == "concat" or type_.shape[1] == types[0].shape[1]
        whole = len(factors) == 1 and factors.pop().is_integer()
        if not whole or type_.shape[0] != types[0].shape[0] or not channels_fit:
            raise ShapeError(
                f"UpSampling: arg{index} must have the batch of arg0 (and with 'sum' its "
                f"channels), and a height and width of which {size} is one multiple, got "
                f"arg0 {types[0]} and arg{index} {type_}"
            )


def _upsampling_type(
    *types: TensorType, scale: int, sample_type: str, multi_input_mode: str, **_: Any
) -> tuple[TensorType, ...]:
    batch, channels, *size = types[0].shape
    if sample_type == "nearest" and multi_input_mode == "concat":
        channels = sum(type_.shape[1] for type_ in types)
    return (tensor_type((batch, channels, *(length * scale for length in size)), types[0].dtype),)


def _upsampling_shapes(shapes: Shapes, *, scale: int, sample_type: str, **_: Any) -> Shapes:
    data = shapes[0]
    if sample_type == "nearest" or len(shapes) != 2 or data is None or len(data) != 4:
        return shapes
    kernel = _bilinear_kernel(scale)
    return [data, fill(shapes[1], (data[1], 1, kernel, kernel))]


def _nearest(data: Any, height: int) -> Any:
    """Repeats each pixel in a square, so that the image has this height."""
    batch, channels, rows, columns = data.shape
    scale = height // rows
    shape = (batch, channels, rows, scale, columns, scale)
    grown = jnp.broadcast_to(data[:, :, :, None, :, None], shape)
    return grown.reshape(batch, channels, rows * scale, columns * scale)


@operator(
    "UpSampling",
    takes=lambda *, sample_type, **_: ("data", "weight") if sample_type == "bilinear" else (),
    check=_upsampling_check,
    infer=_upsampling_type,
    complete=_upsampling_shapes,
)
def upsampling(
    *data: Any,
    scale: Annotated[int, Range(1)],
    num_filter: int = 0,
    sample_type: Literal["bilinear", "nearest"],
    multi_input_mode: Literal["concat", "sum"] = "concat",
    workspace: int = 512,
    platform: Platform,
) -> Any:
    """Enlarges images.

    Args:
        data: with sample_type='nearest' any number of (batch, channels, height, width), which all
            grow to the size that the first has times `scale`; with 'bilinear' one of these, and
            then the weight of the transposed convolution, (channels, 1, k, k) with
            ``k = 2 * scale - scale % 2``.
        scale: the factor.
        num_filter: the number of channels, with 'bilinear' alone.
        sample_type: repeat each pixel, or apply the transposed convolution, which interpolates
            with the weight that the initializer `Bilinear` makes.
        multi_input_mode: how several images become one: side by side as channels, or summed.

    Returns:
        (batch, channels, scale * height, scale * width).
    """
    if sample_type == "bilinear":
        kernel, pad = _bilinear_kernel(scale), math.ceil((scale - 1) / 2)
        return deconvolution(
            *data,
            kernel=(kernel, kernel),
            stride=(scale, scale),
            pad=(pad, pad),
            num_filter=num_filter,
            num_group=num_filter,
            no_bias=True,
            platform=platform,
        )
    grown = [_nearest(array, data[0].shape[2] * scale) for array in data]
    return jnp.concatenate(grown, 1) if multi_input_mode == "concat" else sum(grown)
