"""Convolution and deconvolution: parameters, types and costs. `lowerings` computes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, cast

from hybridnet.base.attrs import Platform, Range, Shape
from hybridnet.base.errors import ParameterError
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.host.namespace import jax

from ...core.checks import require_one_dtype, require_shape
from ...core.registry import operator
from . import lowerings
from ._rules import Filters, filter_inputs, per_axis, split
from .lowerings import convolved_size, deconvolution_padding

Layout = Literal["NCW", "NCHW", "NCDHW", "NWC", "NHWC", "NDHWC"]
Tune = Literal["fastest", "limited_workspace", "off"]


def _convolution_sizes(data: TensorType, params: Mapping[str, Any]) -> tuple[int, ...]:
    _, spatial = split(data.shape, params["layout"])
    settings = [
        per_axis("Convolution", params, name, default)
        for name, default in (("stride", 1), ("dilate", 1), ("pad", 0))
    ]
    axes = zip(spatial, params["kernel"], *settings, strict=True)
    return tuple(convolved_size(*axis) for axis in axes)


_CONVOLUTION: Final = Filters(
    "Convolution",
    _convolution_sizes,
    lambda channel, filters, group: (filters, channel // group),
)


def _convolution_cost(data: TensorType, weight: TensorType, *_: Any, **params: Any) -> float:
    (output,) = _CONVOLUTION.infer(data, weight, **params)
    filters: int = params["num_filter"]
    return 2.0 * output.size * weight.size / filters


@operator(
    "Convolution",
    aliases=("Convolution_v1", "_npx_convolution"),
    takes=filter_inputs,
    check=_CONVOLUTION.check,
    infer=_CONVOLUTION.infer,
    complete=_CONVOLUTION.complete,
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
        pad: the zeros added on both sides of each axis, default 0.
        workspace: without meaning here, like `cudnn_tune` and `cudnn_off`; read for MXNet's sake.
        cudnn_tune: see `workspace`.
        cudnn_off: see `workspace`.

    Returns:
        (batch, num_filter, *output) in the layout and dtype of `data`, where an output size is
        ``(size + 2 * pad - dilate * (kernel - 1) - 1) // stride + 1``.
    """
    return lowerings.convolution(
        data,
        weight,
        bias,
        kernel=kernel,
        stride=stride,
        dilate=dilate,
        pad=pad,
        num_group=num_group,
        layout=layout,
        platform=cast("lowerings.Platform", platform),
    )


def _fused_inputs(*, with_addend: bool, **_: Any) -> Sequence[str]:
    return ("data", "weight", "bias", "addend") if with_addend else ("data", "weight", "bias")


def _fused_check(*types: TensorType, **params: Any) -> None:
    names = _fused_inputs(**params)
    if len(types) != len(names):
        raise ParameterError(f"_fused_convolution: requires {', '.join(names)}, got {len(types)}")
    _CONVOLUTION.check(*types[:3], **params, no_bias=False)
    if params["with_addend"]:
        (output,) = _CONVOLUTION.infer(types[0], **params)
        require_shape("_fused_convolution", "addend", types[3], output.shape, "what it is added to")
        require_one_dtype("_fused_convolution", ("data", "addend"), (types[0], types[3]))


@operator(
    "_fused_convolution",
    takes=_fused_inputs,
    check=_fused_check,
    infer=_CONVOLUTION.infer,
    cost=_convolution_cost,
)
def fused_convolution(
    data: Any,
    weight: Any,
    bias: Any,
    addend: Any = None,
    *,
    kernel: Shape,
    stride: Shape = (),
    dilate: Shape = (),
    pad: Shape = (),
    num_filter: Annotated[int, Range(1)],
    num_group: Annotated[int, Range(1)] = 1,
    layout: Layout | None = None,
    with_addend: bool = False,
    relu: bool = False,
    platform: Platform,
) -> Any:
    """Convolution, then a sum, then ReLU: what libraries of kernels do in one go.

    The pass ``epilogue`` makes it where there is such a library.

    Args:
        data: see `Convolution`, like all that is not said here.
        weight: as there.
        bias: as there, always taken.
        addend: of the shape of the result, added to it; taken with `with_addend`.
        pad: the zeros added on both sides of each axis, default 0.
        with_addend: whether something is added.
        relu: whether negative results become 0.

    Returns:
        (batch, num_filter, *output) in the layout and dtype of `data`.
    """
    y = lowerings.convolution(
        data,
        weight,
        bias,
        kernel=kernel,
        stride=stride,
        dilate=dilate,
        pad=pad,
        num_group=num_group,
        layout=layout,
        platform=cast("lowerings.Platform", platform),
    )
    if with_addend:
        y = y + addend
    return jax.nn.relu(y) if relu else y


def _deconvolution_sizes(data: TensorType, params: Mapping[str, Any]) -> tuple[int, ...]:
    _, spatial = split(data.shape, params["layout"])
    kernel = params["kernel"]
    settings = [
        per_axis("Deconvolution", params, name, default)
        for name, default in (("stride", 1), ("dilate", 1), ("pad", 0), ("adj", 0))
    ]
    stride, adj = settings[0], settings[3]
    replaced = any(params["target_shape"])
    if not replaced and any(a >= s for a, s in zip(adj, stride, strict=True)):
        raise ParameterError(
            f"Deconvolution: adj must be less than stride {stride} along each axis, got {adj}"
        )
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


_DECONVOLUTION: Final = Filters(
    "Deconvolution",
    _deconvolution_sizes,
    lambda channel, filters, group: (channel, filters // group),
)


def _deconvolution_cost(data: TensorType, weight: TensorType, *_: Any, **params: Any) -> float:
    channel, _spatial = split(data.shape, params["layout"])
    return 2.0 * data.size * weight.size / channel


@operator(
    "Deconvolution",
    aliases=("_npx_deconvolution",),
    takes=filter_inputs,
    check=_DECONVOLUTION.check,
    infer=_DECONVOLUTION.infer,
    complete=_DECONVOLUTION.complete,
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
        stride: the distance of two windows in the output, default 1 everywhere.
        pad: what is cut off both ends of the output, default 0.
        adj: what is added at the output's end, less than `stride`; default 0.
        target_shape: the output's spatial shape; replaces `pad` and `adj`.
        workspace: without meaning here, like `cudnn_tune` and `cudnn_off`; read for MXNet's sake.
        cudnn_tune: see `workspace`.
        cudnn_off: see `workspace`.

    Returns:
        (batch, num_filter, *output) in the layout and dtype of `data`, where an output size is
        ``stride * (size - 1) + dilate * (kernel - 1) + 1 - 2 * pad + adj``.
    """
    return lowerings.deconvolution(
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
        platform=cast("lowerings.Platform", platform),
    )
