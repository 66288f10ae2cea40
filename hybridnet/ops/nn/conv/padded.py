"""Convolution and pooling whose padding is a rule, not a number: what TensorFlow calls SAME, VALID.

The padding may differ at the two ends of an axis, and follows from the size of the data; filters
are (*kernel, channel, filter). What is computed, and how, is the business of `lowerings`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, Literal, cast

import numpy as np

from hybridnet.base.attrs import Platform, Range, Shape
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jax, jnp

from ...core.checks import require_one_dtype
from ...core.operator import describe
from ...core.registry import operator
from . import lowerings
from ._rules import check_data, joined, split
from ._sliding import WindowAxis, max_windows, sum_windows
from .convolution import Layout

Padding = Literal["SAME", "VALID"]
_NAMES: Final = ("data", "filters")


def _pads(
    sizes: Sequence[int], windows: Sequence[int], params: Mapping[str, Any]
) -> list[tuple[int, int]]:
    """Returns the padding before and after each axis.

    Args:
        sizes: of the data along each axis.
        windows: of the windows, with what lies between their taps.
        params: those of the operator.
    """
    explicit = params["pads"]
    if explicit:
        return list(zip(explicit[::2], explicit[1::2], strict=True))
    if params["padding"] == "VALID":
        return [(0, 0)] * len(sizes)
    found = []
    for size, window, stride in zip(sizes, windows, params["strides"], strict=True):
        missing = max((-(-size // stride) - 1) * stride + window - size, 0)
        found.append((missing // 2, missing - missing // 2))
    return found


def _spread(kernel: Sequence[int], dilations: Sequence[int]) -> list[int]:
    return [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]


def _output_sizes(
    op: str, sizes: Sequence[int], windows: Sequence[int], params: Mapping[str, Any]
) -> tuple[int, ...]:
    pads = _pads(sizes, windows, params)
    found = tuple(
        (size + low + high - window) // stride + 1
        for size, window, stride, (low, high) in zip(
            sizes, windows, params["strides"], pads, strict=True
        )
    )
    if min(found, default=1) < 1:
        raise ShapeError(
            f"{op}: the data must be at least as large as a window, got sizes {tuple(sizes)} with "
            f"padding {pads} and windows {tuple(windows)}"
        )
    return found


def _check_numbers(op: str, count: int, params: Mapping[str, Any], names: Sequence[str]) -> None:
    for name in names:
        if len(params[name]) != count or min(params[name], default=1) < 1:
            raise ParameterError(
                f"{op}: {name} must have one number >= 1 for each of the {count} spatial axes, "
                f"got {params[name]}"
            )
    if params["pads"] and (len(params["pads"]) != 2 * count or min(params["pads"]) < 0):
        raise ParameterError(
            f"{op}: pads must have two numbers >= 0 for each of the {count} spatial axes, got "
            f"{params['pads']}"
        )


def _check_filters(op: str, data: TensorType, filters: TensorType, **params: Any) -> None:
    count = len(filters.shape) - 2
    got = describe(_NAMES, (data, filters))
    check_data(op, data, count, params["layout"], f"filters {filters}")
    require_one_dtype(op, _NAMES, (data, filters))
    _check_numbers(op, count, params, ("strides", "dilations"))
    if min(filters.shape) < 1:
        raise ShapeError(f"{op}: filters must have elements, got {got}")


def _check_convolution(data: TensorType, filters: TensorType, **params: Any) -> None:
    op = "_padded_convolution"
    _check_filters(op, data, filters, **params)
    channel, _ = split(data.shape, params["layout"])
    group = params["num_group"]
    if filters.shape[-2] * group != channel or filters.shape[-1] % group:
        raise ShapeError(
            f"{op}: filters must be (*kernel, channel / num_group, filter), filter a multiple of "
            f"num_group, got {describe(_NAMES, (data, filters))} and num_group {group}"
        )


def _convolution_type(data: TensorType, filters: TensorType, **params: Any) -> tuple[TensorType]:
    _, sizes = split(data.shape, params["layout"])
    windows = _spread(filters.shape[:-2], params["dilations"])
    made = _output_sizes("_padded_convolution", sizes, windows, params)
    shape = joined(data.shape[0], filters.shape[-1], made, params["layout"])
    return (tensor_type(shape, data.dtype),)


def _convolution_cost(data: TensorType, filters: TensorType, **params: Any) -> float:
    (output,) = _convolution_type(data, filters, **params)
    return 2.0 * output.size * filters.size / filters.shape[-1]


def _convolved(data: Any, filters: Any, params: Mapping[str, Any], platform: Any) -> Any:
    layout = params["layout"]
    last = layout.endswith("C")
    sizes = data.shape[1:-1] if last else data.shape[2:]
    kernel = filters.shape[:-2]
    pads = _pads(sizes, _spread(kernel, params["dilations"]), params)
    if any(low != high for low, high in pads):
        around = [(0, 0), *pads, (0, 0)] if last else [(0, 0), (0, 0), *pads]
        data, pads = jnp.pad(data, around), [(0, 0)] * len(pads)
    weight = jnp.moveaxis(filters, -1, 0)
    if not last:
        weight = jnp.moveaxis(weight, -1, 1)
    return lowerings.convolution(
        data,
        weight,
        kernel=kernel,
        stride=params["strides"],
        dilate=params["dilations"],
        pad=[low for low, _ in pads],
        num_group=params["num_group"],
        layout=layout,
        platform=cast("lowerings.Platform", platform),
    )


@operator(
    "_padded_convolution",
    check=_check_convolution,
    infer=_convolution_type,
    cost=_convolution_cost,
)
def padded_convolution(
    data: Any,
    filters: Any,
    *,
    strides: Shape,
    dilations: Shape,
    padding: Padding = "SAME",
    pads: Shape = (),
    num_group: Annotated[int, Range(1)] = 1,
    layout: Layout = "NHWC",
    platform: Platform,
) -> Any:
    """Slides filters over 1, 2 or 3 spatial axes.

    Args:
        data: (batch, *spatial, channel), or (batch, channel, *spatial) by `layout`.
        filters: (*kernel, channel / num_group, filter).
        strides: the distance of two windows along each spatial axis.
        dilations: the distance of two taps of a window along each spatial axis.
        padding: 'SAME' for an output of ``ceil(size / stride)``, the odd element of padding at the
            end; 'VALID' for none.
        pads: if given, the zeros before and after the first axis, the second and so on.
        layout: NWC, NHWC or NDHWC, or NCW, NCHW or NCDHW.

    Returns:
        (batch, *output, filter), or (batch, filter, *output), of the dtype of `data`.
    """
    params = {
        "strides": strides, "dilations": dilations, "padding": padding, "pads": pads,
        "num_group": num_group, "layout": layout,
    }  # fmt: skip
    return _convolved(data, filters, params, platform)


def _check_transposed(data: TensorType, filters: TensorType, **params: Any) -> None:
    op = "_padded_deconvolution"
    _check_filters(op, data, filters, **params)
    channel, sizes = split(data.shape, params["layout"])
    shape = params["shape"]
    got = f"{describe(_NAMES, (data, filters))} and shape {shape}"
    if len(shape) != len(data.shape) or min(shape) < 0:
        raise ShapeError(f"{op}: shape must have one size for each dimension of data, got {got}")
    made, target = split(shape, params["layout"])
    if filters.shape[-1] != channel or filters.shape[-2] != made or shape[0] != data.shape[0]:
        raise ShapeError(
            f"{op}: for data (batch, *spatial, channel) filters must be (*kernel, filter, channel) "
            f"and shape (batch, *output, filter) in its layout, got {got}"
        )
    windows = _spread(filters.shape[:-2], params["dilations"])
    wanted = _output_sizes(op, target, windows, params)
    if wanted != sizes:
        raise ShapeError(
            f"{op}: a convolution of data of shape {shape} must give data of the sizes that are "
            f"given, got sizes {sizes}, and it gives {wanted}"
        )


@operator(
    "_padded_deconvolution",
    check=_check_transposed,
    infer=lambda data, filters, *, shape, **_: (tensor_type(shape, data.dtype),),
)
def padded_deconvolution(
    data: Any,
    filters: Any,
    *,
    shape: Shape,
    strides: Shape,
    dilations: Shape,
    padding: Padding = "SAME",
    pads: Shape = (),
    layout: Layout = "NHWC",
    platform: Platform,
) -> Any:
    """Transposed convolution: the gradient of `_padded_convolution` with respect to its data.

    Args:
        data: (batch, *spatial, channel), or (batch, channel, *spatial) by `layout`.
        filters: (*kernel, filter, channel).
        shape: of the result; a convolution of that gives the sizes of `data`.
        strides: as in `_padded_convolution`.
        dilations: as there.
        padding: as there.
        pads: as there.
        layout: as there.

    Returns:
        An array of `shape` and the dtype of `data`.
    """
    params = {
        "strides": strides, "dilations": dilations, "padding": padding, "pads": pads,
        "num_group": 1, "layout": layout,
    }  # fmt: skip

    def forward(source: Any) -> Any:
        return _convolved(source, filters, params, platform)

    return jax.linear_transpose(forward, jax.ShapeDtypeStruct(shape, data.dtype))(data)[0]


def _check_pooling(data: TensorType, **params: Any) -> None:
    op = "_padded_pooling"
    count = len(params["kernel"])
    check_data(op, data, count, params["layout"], f"kernel {params['kernel']}")
    _check_numbers(op, count, params, ("kernel", "strides"))
    if not data.size:
        raise ShapeError(f"{op}: data must have elements, got data {data}")


def _pooling_type(data: TensorType, **params: Any) -> tuple[TensorType]:
    channel, sizes = split(data.shape, params["layout"])
    made = _output_sizes("_padded_pooling", sizes, params["kernel"], params)
    return (tensor_type(joined(data.shape[0], channel, made, params["layout"]), data.dtype),)


@operator("_padded_pooling", check=_check_pooling, infer=_pooling_type)
def padded_pooling(
    data: Any,
    *,
    kernel: Shape,
    strides: Shape,
    padding: Padding = "SAME",
    pads: Shape = (),
    pool_type: Literal["avg", "max"] = "max",
    layout: Layout = "NHWC",
    platform: Platform,
) -> Any:
    """The maximum or mean of each window over 1, 2 or 3 spatial axes; padding does not count.

    Args:
        data: (batch, *spatial, channel), or (batch, channel, *spatial) by `layout`.
        strides: the distance of two windows.
        padding: as in `_padded_convolution`.
        pads: as there.
        pool_type: 'max' or 'avg'.
        layout: as there.

    Returns:
        (batch, *output, channel), or (batch, channel, *output), of the dtype of `data`.
    """
    last = layout.endswith("C")
    sizes = data.shape[1:-1] if last else data.shape[2:]
    params = {"strides": strides, "padding": padding, "pads": pads}
    outputs = _output_sizes("_padded_pooling", sizes, kernel, params)
    axes = [
        WindowAxis(size, window, stride, low, size + high, output)
        for size, window, stride, (low, high), output in zip(
            sizes, kernel, strides, _pads(sizes, kernel, params), outputs, strict=True
        )
    ]
    where = cast("lowerings.Platform", platform)
    if pool_type == "max":
        return max_windows(data, axes, last, where)
    counts: Any = np.ones(())
    for axis in axes:
        counts = counts[..., None] * axis.counts(include_pad=False)
    if last:
        counts = counts[..., None]
    return sum_windows(data, axes, last, where) / jnp.asarray(counts, data.dtype)
