"""Convolution and deconvolution: parameters, types and costs. `_conv_pool` computes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, cast

from hybridnet.base.attrs import Platform, Range, Shape
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type

from . import _conv_pool
from ._checks import fill, require_floats, require_one_dtype, require_shape
from ._conv_pool import convolved_size, deconvolution_padding
from .operator import Shapes, describe
from .registry import operator

__all__ = [
    "Layout",
    "check_data",
    "check_kernel",
    "check_sizes",
    "joined",
    "per_axis",
    "split",
]

Layout = Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"]
Tune = Literal["fastest", "limited_workspace", "off"]

_CHANNEL_FIRST: Final = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
_CHANNEL_LAST: Final = {1: "NWC", 2: "NHWC", 3: "NDHWC"}


def _is_channel_last(layout: str | None) -> bool:
    return layout is not None and layout.endswith("C")


def split(shape: tuple[int, ...], layout: str | None) -> tuple[int, tuple[int, ...]]:
    """Returns the channels and the spatial shape of (batch, channel, *spatial) by layout."""
    return (shape[-1], shape[1:-1]) if _is_channel_last(layout) else (shape[1], shape[2:])


def joined(batch: int, channel: int, spatial: Sequence[int], layout: str | None) -> Shape:
    """The inverse of `_split`, for data and, its filters as the batch, for weights."""
    if _is_channel_last(layout):
        return (batch, *spatial, channel)
    return (batch, channel, *spatial)


def check_data(op: str, data: TensorType, ndim: int, layout: str | None, why: str) -> None:
    """Checks dtype, rank and layout; `ndim` counts the spatial axes, `why` says what set it."""
    require_floats(op, ("data",), (data,))
    if ndim not in _CHANNEL_FIRST:
        raise ShapeError(f"{op}: must slide along 1, 2 or 3 axes, got {ndim} for {why}")
    if len(data.shape) != ndim + 2:
        raise ShapeError(f"{op}: data must have {ndim + 2} dimensions for {why}, got data {data}")
    if layout not in (None, _CHANNEL_FIRST[ndim], _CHANNEL_LAST[ndim]):
        raise ParameterError(
            f"{op}: layout must be {_CHANNEL_FIRST[ndim]} or {_CHANNEL_LAST[ndim]} for {why}, "
            f"got {layout!r}"
        )


def per_axis(op: str, params: Mapping[str, Any], name: str, default: int) -> tuple[int, ...]:
    """Returns a parameter with one number for each axis of the kernel."""
    kernel, value = params["kernel"], params[name]
    value = value or (default,) * len(kernel)
    least = 0 if default == 0 else 1
    if len(value) != len(kernel) or min(value) < least:
        raise ParameterError(
            f"{op}: {name} must have one number >= {least} for each axis of kernel {kernel}, "
            f"got {value}"
        )
    return tuple(value)


def check_kernel(op: str, kernel: tuple[int, ...]) -> None:
    """Checks that the kernel was given, and is not empty along any axis."""
    if not kernel or min(kernel) < 1:
        raise ParameterError(f"{op}: kernel must be a tuple of numbers >= 1, got {kernel}")


def check_sizes(op: str, data: TensorType, sizes: Sequence[int], params: Any) -> None:
    """Checks that the output's spatial sizes are not empty."""
    if min(sizes) < 1:
        got = ", ".join(
            f"{one} {params[one]}" for one in ("kernel", "pad", "dilate") if one in params
        )
        raise ShapeError(
            f"{op}: the window must fit into the padded data, got data {data} with {got}, "
            f"which gives an output of {tuple(sizes)}"
        )


def _check_weights(
    op: str, types: Sequence[TensorType], names: Sequence[str], weight: Shape, params: Any
) -> None:
    """Checks the weight and the bias, given the weight's shape."""
    if len(types) != len(names):
        raise ParameterError(
            f"{op}: requires a bias unless no_bias=True, got {describe(names, types)}"
        )
    require_one_dtype(op, names, types)
    because = f"kernel {params['kernel']}, num_filter={params['num_filter']}, " + (
        f"num_group={params['num_group']} and data {types[0]}"
    )
    require_shape(op, "weight", types[1], weight, because)
    if len(types) > 2:
        filters = params["num_filter"]
        require_shape(op, "bias", types[2], (filters,), f"num_filter={filters}")


def _check_groups(op: str, channel: int, data: TensorType, params: Any) -> None:
    group, filters = params["num_group"], params["num_filter"]
    if channel % group or filters % group:
        raise ParameterError(
            f"{op}: num_group must divide the {channel} channels of data {data} and "
            f"num_filter={filters}, got {group}"
        )


def _inputs(*, no_bias: bool, **_: Any) -> Sequence[str]:
    return ("data", "weight") if no_bias else ("data", "weight", "bias")


# Convolution ------------------------------------------------------------------------------------


def _convolution_sizes(data: TensorType, params: Mapping[str, Any]) -> tuple[int, ...]:
    _, spatial = split(data.shape, params["layout"])
    settings = [
        per_axis("Convolution", params, name, default)
        for name, default in (("stride", 1), ("dilate", 1), ("pad", 0))
    ]
    axes = zip(spatial, params["kernel"], *settings, strict=True)
    return tuple(convolved_size(*axis) for axis in axes)


def _convolution_check(*types: TensorType, **params: Any) -> None:
    data, kernel, layout = types[0], params["kernel"], params["layout"]
    check_kernel("Convolution", kernel)
    check_data("Convolution", data, len(kernel), layout, f"kernel {kernel}")
    channel, _ = split(data.shape, layout)
    _check_groups("Convolution", channel, data, params)
    check_sizes("Convolution", data, _convolution_sizes(data, params), params)
    weight = joined(params["num_filter"], channel // params["num_group"], kernel, layout)
    _check_weights("Convolution", types, _inputs(**params), weight, params)


def _convolution_types(data: TensorType, *_: TensorType, **params: Any) -> tuple[TensorType]:
    sizes = _convolution_sizes(data, params)
    shape = joined(data.shape[0], params["num_filter"], sizes, params["layout"])
    return (tensor_type(shape, data.dtype),)


def _convolution_shapes(shapes: Shapes, **params: Any) -> Shapes:
    data, weight, *bias = shapes
    kernel, layout, filters = params["kernel"], params["layout"], params["num_filter"]
    known = data is not None and len(data) == len(kernel) + 2
    channel = split(data, layout)[0] if data is not None and known else 0
    wanted = joined(filters, channel // params["num_group"], kernel, layout)
    return [data, fill(weight, wanted), *(fill(one, (filters,)) for one in bias)]


def _convolution_cost(data: TensorType, weight: TensorType, *_: Any, **params: Any) -> float:
    (output,) = _convolution_types(data, weight, **params)
    filters: int = params["num_filter"]
    return 2.0 * output.size * weight.size / filters


@operator(
    "Convolution",
    aliases=("Convolution_v1", "_npx_convolution"),
    takes=_inputs,
    check=_convolution_check,
    infer=_convolution_types,
    complete=_convolution_shapes,
    cost=_convolution_cost,
)
def convolution(
    data: Any,
    weight: Any,
    bias: Any = None,
    *,
    kernel: Shape,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
    num_filter: Annotated[int, Range(1)],
    num_group: Annotated[int, Range(1)] = 1,
    workspace: Annotated[int, Range(0)] = 1024,
    no_bias: bool = False,
    cudnn_tune: Tune | None = None,
    cudnn_off: bool = False,
    layout: Layout | None = None,
    platform: Platform,
) -> Any:
    """Slides filters over 1, 2 or 3 spatial axes (and, like every framework, does not flip them).

    Args:
        data: (batch, channel, *spatial), or (batch, *spatial, channel) by `layout`.
        weight: (num_filter, channel / num_group, *kernel), or
            (num_filter, *kernel, channel / num_group).
        bias: (num_filter,); not taken with no_bias=True.
        kernel: the window's size along each spatial axis.
        stride: the distance of two windows, default 1 everywhere.
        dilate: the distance of two taps of a window, default 1 everywhere.
        pad: the zeros added on both sides of each axis, default 0.
        num_filter: how many channels the output has.
        num_group: how many groups of channels there are, each with its own filters.
        workspace: without meaning here, like `cudnn_tune` and `cudnn_off`; read for MXNet's sake.
        no_bias: leave the bias out.
        cudnn_tune: see `workspace`.
        cudnn_off: see `workspace`.
        layout: NCW, NCHW or NCDHW (the defaults), or NWC, NHWC or NDHWC.

    Returns:
        (batch, num_filter, *output) in the layout and dtype of `data`, where an output size is
        ``(size + 2 * pad - dilate * (kernel - 1) - 1) // stride + 1``.
    """
    return _conv_pool.convolution(
        data,
        weight,
        bias,
        kernel=kernel,
        stride=stride,
        dilate=dilate,
        pad=pad,
        num_group=num_group,
        layout=layout,
        platform=cast("_conv_pool.Platform", platform),
    )


# Deconvolution ----------------------------------------------------------------------------------


def _deconvolution_sizes(data: TensorType, params: Mapping[str, Any]) -> tuple[int, ...]:
    _, spatial = split(data.shape, params["layout"])
    kernel = params["kernel"]
    settings = [
        per_axis("Deconvolution", params, name, default)
        for name, default in (("stride", 1), ("dilate", 1), ("pad", 0), ("adj", 0))
    ]
    targets = _targets(kernel, params["target_shape"])
    axes = zip(spatial, kernel, *settings, targets, strict=True)
    return tuple(deconvolution_padding(*axis)[1] for axis in axes)


def _targets(kernel: tuple[int, ...], target_shape: tuple[int, ...]) -> Sequence[int | None]:
    if not any(target_shape):
        return (None,) * len(kernel)
    if len(target_shape) != len(kernel) or min(target_shape) < 1:
        raise ParameterError(
            "Deconvolution: target_shape must have one number >= 1 for each axis of kernel "
            f"{kernel}, got {target_shape}"
        )
    return target_shape


def _deconvolution_check(*types: TensorType, **params: Any) -> None:
    data, kernel, layout = types[0], params["kernel"], params["layout"]
    check_kernel("Deconvolution", kernel)
    check_data("Deconvolution", data, len(kernel), layout, f"kernel {kernel}")
    channel, _ = split(data.shape, layout)
    _check_groups("Deconvolution", channel, data, params)
    stride = per_axis("Deconvolution", params, "stride", 1)
    adj = per_axis("Deconvolution", params, "adj", 0)
    if any(a >= s for a, s in zip(adj, stride, strict=True)):
        raise ParameterError(
            f"Deconvolution: adj must be less than stride {stride} along each axis, got {adj}"
        )
    check_sizes("Deconvolution", data, _deconvolution_sizes(data, params), params)
    weight = joined(channel, params["num_filter"] // params["num_group"], kernel, layout)
    _check_weights("Deconvolution", types, _inputs(**params), weight, params)


def _deconvolution_types(data: TensorType, *_: TensorType, **params: Any) -> tuple[TensorType]:
    sizes = _deconvolution_sizes(data, params)
    shape = joined(data.shape[0], params["num_filter"], sizes, params["layout"])
    return (tensor_type(shape, data.dtype),)


def _deconvolution_shapes(shapes: Shapes, **params: Any) -> Shapes:
    data, weight, *bias = shapes
    kernel, layout, filters = params["kernel"], params["layout"], params["num_filter"]
    known = data is not None and len(data) == len(kernel) + 2
    channel = split(data, layout)[0] if data is not None and known else 0
    wanted = joined(channel, filters // params["num_group"], kernel, layout)
    return [data, fill(weight, wanted), *(fill(one, (filters,)) for one in bias)]


def _deconvolution_cost(data: TensorType, weight: TensorType, *_: Any, **params: Any) -> float:
    channel, _spatial = split(data.shape, params["layout"])
    return 2.0 * data.size * weight.size / channel


@operator(
    "Deconvolution",
    aliases=("_npx_deconvolution",),
    takes=_inputs,
    check=_deconvolution_check,
    infer=_deconvolution_types,
    complete=_deconvolution_shapes,
    cost=_deconvolution_cost,
)
def deconvolution(
    data: Any,
    weight: Any,
    bias: Any = None,
    *,
    kernel: Shape,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
    adj: Shape = (),
    target_shape: Shape = (),
    num_filter: Annotated[int, Range(1)],
    num_group: Annotated[int, Range(1)] = 1,
    workspace: Annotated[int, Range(0)] = 512,
    no_bias: bool = True,
    cudnn_tune: Tune | None = None,
    cudnn_off: bool = False,
    layout: Layout | None = None,
    platform: Platform,
) -> Any:
    """Transposed convolution: what the gradient of a convolution does to its output's gradient.

    Args:
        data: (batch, channel, *spatial), or (batch, *spatial, channel) by `layout`.
        weight: (channel, num_filter / num_group, *kernel), or
            (channel, *kernel, num_filter / num_group).
        bias: (num_filter,); not taken with no_bias=True, the default.
        kernel: the window's size along each spatial axis.
        stride: the distance of two windows in the output, default 1 everywhere.
        dilate: the distance of two taps of a window, default 1 everywhere.
        pad: what is cut off both ends of the output, default 0.
        adj: what is added at the output's end, less than `stride`; default 0.
        target_shape: the output's spatial shape; replaces `pad` and `adj`.
        num_filter: how many channels the output has.
        num_group: how many groups of channels there are, each with its own filters.
        workspace: without meaning here, like `cudnn_tune` and `cudnn_off`; read for MXNet's sake.
        no_bias: leave the bias out.
        cudnn_tune: see `workspace`.
        cudnn_off: see `workspace`.
        layout: NCW, NCHW or NCDHW (the defaults), or NWC, NHWC or NDHWC.

    Returns:
        (batch, num_filter, *output) in the layout and dtype of `data`, where an output size is
        ``stride * (size - 1) + dilate * (kernel - 1) + 1 - 2 * pad + adj``.
    """
    return _conv_pool.deconvolution(
        data,
        weight,
        bias,
        kernel=kernel,
        stride=stride,
        dilate=dilate,
        pad=pad,
        adj=adj,
        target_shape=target_shape,
        num_group=num_group,
        layout=layout,
        platform=cast("_conv_pool.Platform", platform),
    )
