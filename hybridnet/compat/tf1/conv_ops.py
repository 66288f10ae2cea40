"""Convolution and pooling: ``tf.nn.conv2d``, ``tf.nn.max_pool``, in NHWC and NCHW."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybridnet.graph.gradient import EdgeHandle

from .arguments import (
    apply_shaped,
    as_floats,
    as_shape,
    dims_of,
    fused,
    known_numbers,
    op,
    renamed,
    with_default,
)
from .control import name_scope
from .core import convert_to_tensor, require_same
from .operators import handle
from .tensor import Tensor

__all__ = [
    "atrous_conv2d", "avg_pool", "avg_pool2d", "conv1d", "conv2d", "conv2d_backprop_input",
    "conv2d_transpose", "conv3d", "convolution", "depthwise_conv2d", "depthwise_conv2d_native",
    "max_pool", "max_pool2d", "pool", "separable_conv2d",
]  # fmt: skip

_FORMATS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def _layout(kind: str, spatial: int, data_format: str | None) -> str:
    allowed = _FORMATS[spatial]
    found = with_default(data_format, allowed[0])
    if found not in allowed:
        raise ValueError(f"{kind}: data_format must be one of {', '.join(allowed)}, got {found}")
    return str(found)


def _numbers(kind: str, what: str, value: Any, spatial: int, layout: str) -> tuple[int, ...]:
    """Returns the number for each spatial axis, of one number, one each, or one for all axes."""
    found = known_numbers(with_default(value, 1))
    listed = found if isinstance(found, list) else [found]
    if len(listed) == 1:
        return tuple(listed * spatial)
    if len(listed) == spatial:
        return tuple(listed)
    if len(listed) != spatial + 2:
        raise ValueError(
            f"{kind}: {what} must have 1, {spatial} or {spatial + 2} numbers, got {value}"
        )
    inner = listed[1:-1] if layout.endswith("C") else listed[2:]
    outer = [listed[0], listed[-1] if layout.endswith("C") else listed[1]]
    if outer != [1, 1]:
        raise ValueError(f"{kind}: {what} must be 1 along batch and channel, got {value}")
    return tuple(inner)


def _padding(kind: str, padding: Any, spatial: int, layout: str) -> dict[str, Any]:
    """Returns the parameters that a padding stands for: by name, or as pairs of numbers."""
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise ValueError(
                f"{kind}: padding must be SAME, VALID or pairs of numbers, got {padding}"
            )
        return {"padding": padding.upper()}
    pairs = known_numbers(padding)
    if pairs is None or len(pairs) != spatial + 2:
        raise ValueError(f"{kind}: padding must have a pair for each dimension, got {padding}")
    inner = pairs[1:-1] if layout.endswith("C") else pairs[2:]
    return {"padding": "VALID", "pads": tuple(one for pair in inner for one in pair)}


def _check_rank(kind: str, name: str, x: Tensor, rank: int) -> None:
    if x.shape.ndims not in (None, rank):
        raise ValueError(f"{kind}: {name} must have {rank} dimensions, got shape {x.shape}")


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
    layout = _layout(kind, spatial, data_format)
    for one, called in ((x, "input"), (w, "filter")):
        _check_rank(kind, called, one, spatial + 2)
    if kind == "Conv2D" and isinstance(strides, (list, tuple)) and len(strides) == 3:
        raise ValueError(f"{kind}: strides must have 1, 2 or 4 numbers, got {strides}")
    return op(
        kind,
        "_padded_convolution",
        [x, w],
        name=name,
        strides=_numbers(kind, "strides", strides, spatial, layout),
        dilations=_numbers(kind, "dilations", dilations, spatial, layout),
        layout=layout,
        num_group=_groups(x, w, layout),
        **_padding(kind, padding, spatial, layout),
    )


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
        name: of the Operation.
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
        strides: as in `conv2d`.
        padding: as there.
        rate: the older name of `dilations`.
        name: of the Operation.
        data_format: as in `conv2d`.
        dilations: as there.

    Returns:
        (batch, height, width, channel * multiplier), or the channels second.
    """
    kind = "DepthwiseConv2dNative"
    rates = renamed("dilations", dilations, "rate", rate)
    with name_scope(name, "depthwise", [input, filter]) as scope:
        x, w = require_same(kind, ("input", "filter"), (as_floats(kind, input), filter))
        _check_rank(kind, "input", x, 4)
        _check_rank(kind, "filter", w, 4)
        layout = _layout(kind, 2, data_format)
        dims = w.shape._dims
        if dims is None or None in dims:
            raise ValueError(f"{kind}: filter must have a known shape, got {w.shape}")
        params = _window_params(kind, strides, rates, padding, layout)
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
    kind: str, strides: Any, rates: Any, padding: Any, layout: str
) -> dict[str, Any]:
    return {
        "strides": _numbers(kind, "strides", strides, 2, layout),
        "dilations": _numbers(kind, "dilations", rates, 2, layout),
        "layout": layout,
        **_padding(kind, padding, 2, layout),
    }


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
        input: as there.
        depthwise_filter: (height, width, channel, multiplier).
        pointwise_filter: (1, 1, channel * multiplier, filter).
        strides: as there.
        padding: as there.
        rate: as there.
        name: of the Operation.
        data_format: as there.
        dilations: as there.
    """
    kind = "Conv2D"
    rates = renamed("dilations", dilations, "rate", rate)
    with name_scope(name, "separable_conv2d", [input]) as scope:
        names = ("input", "depthwise_filter", "pointwise_filter")
        given = (as_floats(kind, input), depthwise_filter, pointwise_filter)
        x, w, p = require_same(kind, names, given)
        layout = _layout(kind, 2, data_format)
        dims = w.shape._dims
        if dims is None or None in dims:
            raise ValueError(f"{kind}: depthwise_filter must have a known shape, got {w.shape}")
        params = _window_params(kind, strides, rates, padding, layout)

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
        strides: as in `conv2d`.
        padding: as there.
        data_format: as there.
        name: of the Operation.
        input: the newer name of `value`.
        filters: the newer name of `filter`.
        dilations: as in `conv2d`.
    """
    kind = "Conv2DBackpropInput"
    x = renamed("input", input, "value", value)
    weights = renamed("filters", filters, "filter", filter)
    with name_scope(name, "conv2d_transpose", [x]) as scope:
        return _transposed(
            kind, x, weights, output_shape, strides, padding, data_format, dilations, scope
        )


def _transposed(
    kind: str,
    value: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any,
    data_format: str | None,
    dilations: Any,
    name: str | None,
) -> Tensor:
    x, w = require_same(kind, ("value", "filter"), (as_floats(kind, value, "value"), filters))
    layout = _layout(kind, 2, data_format)
    params = _window_params(kind, strides, dilations, padding, layout)
    return apply_shaped(
        kind, "_padded_deconvolution", [x, w], {"shape": as_shape(output_shape)}, params,
        dtype=x.dtype, dims=dims_of(output_shape), name=name,
    )  # fmt: skip


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
    kind = "Conv2DBackpropInput"
    weights = renamed("filters", filters, "filter", filter)
    return _transposed(
        kind, out_backprop, weights, input_sizes, strides, padding, data_format, dilations,
        name or kind,
    )  # fmt: skip


# Pooling ------------------------------------------------------------------------------------------


def _pooled(
    kind: str,
    pool_type: str,
    value: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None,
    name: str | None,
    spatial: int = 2,
) -> Tensor:
    x = as_floats(kind, value, "value")
    _check_rank(kind, "value", x, spatial + 2)
    layout = _layout(kind, spatial, data_format)
    return op(
        kind,
        "_padded_pooling",
        [x],
        name=name,
        kernel=_numbers(kind, "ksize", ksize, spatial, layout),
        strides=_numbers(kind, "strides", strides, spatial, layout),
        pool_type=pool_type,
        layout=layout,
        **_padding(kind, padding, spatial, layout),
    )


def max_pool(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """Returns the greatest element of each window of images.

    Args:
        value: (batch, height, width, channel), or (batch, channel, height, width).
        ksize: the window: one number, two, or one for each dimension.
        strides: the distance of two windows, likewise.
        padding: 'SAME', 'VALID', or a pair of numbers for each dimension.
        data_format: 'NHWC' or 'NCHW'.
        name: of the Operation.
        input: the newer name of `value`.
    """
    with name_scope(name, "MaxPool", [value]) as scope:
        x = renamed("input", input, "value", value)
        return _pooled("MaxPool", "max", x, ksize, strides, padding, data_format, scope)


def avg_pool(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """Returns the mean of each window of images, without the padding; see `max_pool`."""
    with name_scope(name, "AvgPool", [value]) as scope:
        x = renamed("input", input, "value", value)
        return _pooled("AvgPool", "avg", x, ksize, strides, padding, data_format, scope)


def max_pool2d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The newer name of `max_pool`, for images."""
    return max_pool(input, ksize, strides, padding, data_format, name or "MaxPool2d")


avg_pool2d = avg_pool


def pool(
    input: Any,
    window_shape: Sequence[int],
    pooling_type: str,
    padding: Any,
    dilation_rate: Any = None,
    strides: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Returns the maximum ('MAX') or mean ('AVG') of each window over 1, 2 or 3 spatial axes."""
    spatial = len(window_shape)
    if pooling_type not in ("MAX", "AVG"):
        raise ValueError(f"pool: pooling_type must be MAX or AVG, got {pooling_type}")
    rate = renamed("dilations", dilations, "dilation_rate", dilation_rate)
    if any(one != 1 for one in known_numbers(with_default(rate, [1] * spatial))):
        raise ValueError(f"pool: dilations must be 1, got {rate}")
    kind, ours = {"MAX": ("MaxPool", "max"), "AVG": ("AvgPool", "avg")}[pooling_type]
    with name_scope(name, f"{ours}_pool", [input]) as scope:
        step = with_default(strides, [1] * spatial)
        return _pooled(
            kind, ours, input, list(window_shape), step, padding, data_format, scope, spatial
        )
