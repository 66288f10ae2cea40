"""Convolution: ``tf.nn.conv2d``, ``tf.nn.conv2d_transpose``, in NHWC and NCHW."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...graph import as_floats, convert_to_tensor, renamed, require_same
from ...graph.adding import EdgeHandle, Tensor, fused, handle, name_scope, of_shape, op
from .windows import check_rank, layout_of, numbers_of, padding_of

__all__ = [
    "atrous_conv2d", "conv1d", "conv2d", "conv2d_backprop_input", "conv2d_transpose", "conv3d",
    "convolution", "depthwise_conv2d", "depthwise_conv2d_native", "separable_conv2d",
]  # fmt: skip


def _convolved(
    kind: str,
    spatial: int,
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str | None,
    dilations: Any,
    name: str | None,
) -> Tensor:
    x, w = require_same(kind, ("input", "filter"), (as_floats(kind, input, "input"), filters))
    layout = layout_of(kind, spatial, data_format)
    for one, called in ((x, "input"), (w, "filter")):
        check_rank(kind, called, one, spatial + 2)
    if kind == "Conv2D" and isinstance(strides, (list, tuple)) and len(strides) == 3:
        raise ValueError(f"{kind}: strides must have 1, 2 or 4 numbers, got {strides}")
    params = _window_params(kind, spatial, strides, dilations, padding, layout)
    groups = _groups(x, w, layout)
    return op(kind, "_padded_convolution", [x, w], name=name, num_group=groups, **params)


def _groups(x: Tensor, w: Tensor, layout: str) -> int:
    """Returns how many groups of channels there are: what the filters' channels say."""
    dims, own = x.shape._dims, w.shape._dims
    if dims is None or own is None:
        return 1
    channel, part = dims[-1 if layout.endswith("C") else 1], own[-2]
    if not channel or not part or channel % part:
        return 1
    return channel // part


def conv2d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: Any = None,
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Slides filters over images.

    Args:
        input: (batch, height, width, channel), or (batch, channel, height, width).
        filter: (height, width, channel, filter); fewer channels than the input has, a divisor of
            that, make groups of channels.
        strides: the distance of two windows: one number, two, or one for each dimension.
        padding: 'SAME', 'VALID', or a pair of numbers for each dimension.
        use_cudnn_on_gpu: without meaning here.
        data_format: 'NHWC' or 'NCHW'.
        dilations: the distance of two taps of a window; as `strides`.
        filters: the newer name of `filter`.

    Raises:
        TypeError: the dtypes differ, or are not floating point.
        ValueError: shapes or numbers do not fit.
    """
    weights = renamed("filters", filters, "filter", filter)
    return _convolved("Conv2D", 2, input, weights, strides, padding, data_format, dilations, name)


def conv3d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str | None = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Slides filters over volumes; arguments as those of `conv2d`, with a depth."""
    weights = renamed("filters", filters, "filter", filter)
    return _convolved("Conv3D", 3, input, weights, strides, padding, data_format, dilations, name)


def conv1d(
    value: Any = None,
    filters: Any = None,
    stride: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: Any = None,
    data_format: str | None = None,
    name: str | None = None,
    input: Any = None,
    dilations: Any = None,
) -> Tensor:
    """Slides filters along sequences; arguments as those of `conv2d`, without a height."""
    x = renamed("input", input, "value", value)
    with name_scope(name, "conv1d", [x]):
        return _convolved(
            "Squeeze", 1, x, filters, stride, padding, data_format, dilations, "Squeeze"
        )


def convolution(
    input: Any,
    filter: Any,
    padding: Any,
    strides: Any = None,
    dilation_rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """Slides filters over 1, 2 or 3 spatial axes; arguments as those of `conv2d`."""
    weights = convert_to_tensor(renamed("filters", filters, "filter", filter))
    rank = weights.shape.ndims
    if rank not in (3, 4, 5):
        raise ValueError(f"convolution: filter must have 3 to 5 dimensions, got {weights.shape}")
    rates = renamed("dilations", dilations, "dilation_rate", dilation_rate)
    kind = {3: "Squeeze", 4: "Conv2D", 5: "Conv3D"}[rank]
    with name_scope(name, "convolution", [input]) as scope:
        own = f"{scope}Squeeze/" if rank == 3 else scope
        return _convolved(kind, rank - 2, input, weights, strides, padding, data_format, rates, own)


def atrous_conv2d(
    value: Any, filters: Any, rate: int, padding: str, name: str | None = None
) -> Tensor:
    """Slides filters whose taps are `rate` apart over images; see `conv2d`."""
    with name_scope(name, "convolution", [value]):
        return _convolved(
            "BatchToSpaceND", 2, value, filters, 1, padding, None, rate, "BatchToSpaceND"
        )


def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Slides filters over each channel of images by itself.

    Args:
        input: (batch, height, width, channel), or (batch, channel, height, width).
        filter: (height, width, channel, multiplier).
        strides, padding, name, data_format, dilations: as in `conv2d`.
        rate: the older name of `dilations`.

    Returns:
        (batch, height, width, channel * multiplier), or the channels second.
    """
    kind = "DepthwiseConv2dNative"
    rates = renamed("dilations", dilations, "rate", rate)
    with name_scope(name, "depthwise", [input, filter]) as scope:
        x, w = require_same(kind, ("input", "filter"), (as_floats(kind, input), filter))
        check_rank(kind, "input", x, 4)
        check_rank(kind, "filter", w, 4)
        layout = layout_of(kind, 2, data_format)
        dims = _known_sizes(kind, "filter", w)
        params = _window_params(kind, 2, strides, rates, padding, layout)
        return fused(kind, _depthwise(dims, params), [x, w], name=scope)


def depthwise_conv2d_native(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """An older form of `depthwise_conv2d`."""
    named = name or "DepthwiseConv2dNative"
    return depthwise_conv2d(input, filter, strides, padding, None, named, data_format, dilations)


def _window_params(
    kind: str, spatial: int, strides: Any, rates: Any, padding: Any, layout: str
) -> dict[str, Any]:
    return {
        "strides": numbers_of(kind, "strides", strides, spatial, layout),
        "dilations": numbers_of(kind, "dilations", rates, spatial, layout),
        "layout": layout,
        **padding_of(kind, padding, spatial, layout),
    }


def _known_sizes(kind: str, name: str, x: Tensor) -> Sequence[Any]:
    dims = x.shape._dims
    if dims is None or None in dims:
        raise ValueError(f"{kind}: {name} must have a known shape, got {x.shape}")
    return dims


def _depthwise(dims: Sequence[Any], params: dict[str, Any]) -> Any:
    height, width, channel, multiplier = dims
    shape = (height, width, 1, channel * multiplier)

    def filtered(x: EdgeHandle, w: EdgeHandle) -> EdgeHandle:
        grouped = handle("_np_reshape", w, newshape=shape)
        return handle("_padded_convolution", x, grouped, num_group=channel, **params)

    return filtered


def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Slides filters over each channel, and combines the channels; see `depthwise_conv2d`.

    Args:
        depthwise_filter: (height, width, channel, multiplier).
        pointwise_filter: (1, 1, channel * multiplier, filter).
        input, strides, padding, rate, name, data_format, dilations: as there.
    """
    kind = "Conv2D"
    rates = renamed("dilations", dilations, "rate", rate)
    with name_scope(name, "separable_conv2d", [input]) as scope:
        names = ("input", "depthwise_filter", "pointwise_filter")
        given = (as_floats(kind, input), depthwise_filter, pointwise_filter)
        x, w, p = require_same(kind, names, given)
        layout = layout_of(kind, 2, data_format)
        dims = _known_sizes(kind, "depthwise_filter", w)
        params = _window_params(kind, 2, strides, rates, padding, layout)

        def filtered(x: EdgeHandle, w: EdgeHandle, p: EdgeHandle) -> EdgeHandle:
            inner = _depthwise(dims, params)(x, w)
            unit = {"strides": (1, 1), "dilations": (1, 1), "padding": "VALID", "layout": layout}
            return handle("_padded_convolution", inner, p, **unit)

        return fused(kind, filtered, [x, w, p], name=scope)


def conv2d_transpose(
    value: Any = None,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: Any = "SAME",
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """The gradient of `conv2d` with respect to its input, as a layer.

    Args:
        value: (batch, height, width, channel), or (batch, channel, height, width).
        filter: (height, width, filter, channel).
        output_shape: of the result: a list of numbers (some may be tensors), or a tensor.
        strides, padding, data_format, name, dilations: as in `conv2d`.
        input, filters: the newer names of `value` and `filter`.
    """
    x = renamed("input", input, "value", value)
    weights = renamed("filters", filters, "filter", filter)
    with name_scope(name, "conv2d_transpose", [x]) as scope:
        return _transposed(
            x, weights, output_shape, strides, padding, data_format, dilations, scope
        )


def _transposed(
    value: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any,
    data_format: str | None,
    dilations: Any,
    name: str | None,
) -> Tensor:
    kind = "Conv2DBackpropInput"
    x, w = require_same(kind, ("value", "filter"), (as_floats(kind, value, "value"), filters))
    layout = layout_of(kind, 2, data_format)
    params = _window_params(kind, 2, strides, dilations, padding, layout)
    operator = "_padded_deconvolution"
    return of_shape(kind, operator, [x, w], output_shape, x.dtype, params, name=name)


def conv2d_backprop_input(
    input_sizes: Any,
    filter: Any = None,
    out_backprop: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: Any = None,
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """The gradient of `conv2d` with respect to its input, of the shape `input_sizes`."""
    weights = renamed("filters", filters, "filter", filter)
    return _transposed(
        out_backprop, weights, input_sizes, strides, padding, data_format, dilations, name
    )
