"""Pooling: parameters, types and costs. `lowerings` computes it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal, cast

from hybridnet.base.attrs import Platform, Shape
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type

from ...core.registry import operator
from . import lowerings
from ._rules import check_data, check_kernel, check_sizes, joined, per_axis, split
from .convolution import Layout
from .lowerings import pooled_size


def _pooling_sizes(data: TensorType, params: Mapping[str, Any]) -> tuple[int, ...]:
    _, spatial = split(data.shape, params["layout"])
    if params["global_pool"]:
        return (1,) * len(spatial)
    stride = per_axis("Pooling", params, "stride", 1)
    pad = per_axis("Pooling", params, "pad", 0)
    axes = zip(spatial, params["kernel"], stride, pad, strict=True)
    return tuple(pooled_size(*axis, params["pooling_convention"]) for axis in axes)


def _pooling_check(data: TensorType, **params: Any) -> None:
    kernel = params["kernel"]
    if not data.size:
        raise ShapeError(f"Pooling: data must have elements, got data {data}")
    if params["global_pool"]:
        check_data("Pooling", data, len(data.shape) - 2, params["layout"], f"data {data}")
        return
    check_kernel("Pooling", kernel)
    check_data("Pooling", data, len(kernel), params["layout"], f"kernel {kernel}")
    pad = per_axis("Pooling", params, "pad", 0)
    if any(p >= k for p, k in zip(pad, kernel, strict=True)):
        raise ParameterError(f"Pooling: pad must be less than kernel {kernel}, got {pad}")
    if params["pool_type"] == "lp" and params["p_value"] not in (1, 2, 3):
        raise ParameterError(
            f"Pooling: p_value must be 1, 2 or 3 for pool_type='lp', got {params['p_value']}"
        )
    check_sizes("Pooling", data, _pooling_sizes(data, params), params)


def _pooling_types(data: TensorType, **params: Any) -> tuple[TensorType]:
    channel, _ = split(data.shape, params["layout"])
    sizes = _pooling_sizes(data, params)
    return (tensor_type(joined(data.shape[0], channel, sizes, params["layout"]), data.dtype),)


def _pooling_cost(data: TensorType, **params: Any) -> float:
    (output,) = _pooling_types(data, **params)
    return float(max(data.size, output.size * math.prod(params["kernel"])))


@operator(
    "Pooling",
    aliases=("Pooling_v1", "_npx_pooling"),
    check=_pooling_check,
    infer=_pooling_types,
    cost=_pooling_cost,
)
def pooling(
    data: Any,
    *,
    kernel: Shape = (),
    pool_type: Literal["avg", "lp", "max", "sum"] = "max",
    global_pool: bool = False,
    cudnn_off: bool = False,
    pooling_convention: Literal["full", "same", "valid"] = "valid",
    stride: Shape = (),
    pad: Shape = (),
    p_value: int | None = None,
    count_include_pad: bool | None = None,
    layout: Layout | None = None,
    platform: Platform,
) -> Any:
    """Reduces each window of 1, 2 or 3 spatial axes to one number.

    Args:
        data: (batch, channel, *spatial), or (batch, *spatial, channel) by `layout`.
        kernel: the window's size along each spatial axis; not needed with `global_pool`.
        pool_type: 'max', 'avg', 'sum', or 'lp', the `p_value`-th root of the sum of powers.
        global_pool: one window over everything; kernel, stride and pad do not count.
        pooling_convention: 'valid' drops the elements that do not fill a window, 'full' keeps
            them, 'same' pads so that the output size is ``ceil(size / stride)``.
        pad: the padding on both sides of each axis, less than `kernel`; default 0.
        p_value: 1, 2 or 3, for 'lp'.
        count_include_pad: whether 'avg' divides by the elements of the padding too; default yes.

    Returns:
        (batch, channel, *output) in the layout and dtype of `data`. The gradient of a maximum
        goes to the first of several greatest elements of a window.
    """
    return lowerings.pooling(
        data,
        kernel=kernel,
        pool_type=pool_type,
        global_pool=global_pool,
        stride=stride,
        pad=pad,
        pooling_convention=pooling_convention,
        p_value=p_value,
        count_include_pad=count_include_pad,
        layout=layout,
        platform=cast("lowerings.Platform", platform),
    )
