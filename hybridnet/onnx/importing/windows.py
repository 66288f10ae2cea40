"""ONNX's layers that slide a window: convolution and pooling."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hybridnet.symbol import Symbol

from .arrival import Arrival
from .table import arrives


def _window(arrival: Arrival, kernel: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """Returns strides, dilations and padding (before, then after) of a window."""
    count = len(kernel)
    strides = list(arrival.attrs.get("strides", [1] * count))
    dilations = list(arrival.attrs.get("dilations", [1] * count))
    pads = list(arrival.attrs.get("pads", [0] * 2 * count))
    automatic = arrival.attrs.get("auto_pad", "NOTSET")
    if automatic in ("SAME_UPPER", "SAME_LOWER"):
        before, after = [], []
        for axis, (k, s, d) in enumerate(zip(kernel, strides, dilations, strict=True)):
            size = arrival.size(2 + axis)
            total = max(0, (-(-size // s) - 1) * s + d * (k - 1) + 1 - size)
            small, large = total // 2, total - total // 2
            before.append(small if automatic == "SAME_UPPER" else large)
            after.append(large if automatic == "SAME_UPPER" else small)
        pads = before + after
    return strides, dilations, pads


def _even(arrival: Arrival, pads: Sequence[int], value: float) -> tuple[Symbol, tuple[int, ...]]:
    """Returns the data and the padding of both sides; what is uneven is padded at once."""
    count = len(pads) // 2
    before, after = pads[:count], pads[count:]
    data = arrival.symbol(0)
    if list(before) == list(after):
        return data, tuple(before)
    widths = [0, 0, 0, 0, *(one for pair in zip(before, after, strict=True) for one in pair)]
    padded = arrival.make(
        "Pad", data, mode="constant", pad_width=tuple(widths), constant_value=value
    )
    return padded, (0,) * count


@arrives("Conv")
def _conv(arrival: Arrival) -> Symbol:
    weight = arrival.types(1)[0].shape
    kernel = weight[2:]
    strides, dilations, pads = _window(arrival, kernel)
    data, pad = _even(arrival, pads, 0.0)
    rest = [arrival.symbol(index) for index in (1, 2) if arrival.has(index)]
    return arrival.make(
        "Convolution",
        data,
        *rest,
        kernel=tuple(kernel),
        stride=tuple(strides),
        dilate=tuple(dilations),
        pad=pad,
        num_filter=weight[0],
        num_group=arrival.attrs.get("group", 1),
        no_bias=len(rest) == 1,
    )


@arrives("ConvTranspose")
def _conv_transpose(arrival: Arrival) -> Symbol:
    weight, group = arrival.types(1)[0].shape, arrival.attrs.get("group", 1)
    kernel = weight[2:]
    strides, dilations, pads = _window(arrival, kernel)
    count = len(kernel)
    if pads[:count] != pads[count:] or arrival.attrs.get("auto_pad", "NOTSET") != "NOTSET":
        arrival.fail("padding must be the same on both sides", "slice the result instead")
    rest = [arrival.symbol(index) for index in (1, 2) if arrival.has(index)]
    shape = arrival.attrs.get("output_shape")
    return arrival.make(
        "Deconvolution",
        arrival.symbol(0),
        *rest,
        kernel=tuple(kernel),
        stride=tuple(strides),
        dilate=tuple(dilations),
        pad=tuple(pads[:count]),
        adj=tuple(arrival.attrs.get("output_padding", (0,) * count)),
        target_shape=tuple(shape[-count:]) if shape else None,
        num_filter=weight[1] * group,
        num_group=group,
        no_bias=len(rest) == 1,
    )


@arrives("MaxPool", "AveragePool", "LpPool")
def _pool(arrival: Arrival) -> Symbol:
    kernel = arrival.attrs["kernel_shape"]
    strides, dilations, pads = _window(arrival, kernel)
    if any(one != 1 for one in dilations) or arrival.num_outputs > 1:
        arrival.fail("dilations and positions have no form", "export the model without them")
    kind = {"MaxPool": "max", "AveragePool": "avg", "LpPool": "lp"}[arrival.op]
    counts_padding = bool(arrival.attrs.get("count_include_pad", 0))
    count = len(kernel)
    before, after = pads[:count], pads[count:]
    convention = "full" if arrival.attrs.get("ceil_mode") else "valid"
    data, pad = arrival.symbol(0), tuple(before)
    if kind == "lp":
        if arrival.attrs.get("p", 2) not in (1, 2, 3):
            arrival.fail("p must be 1, 2 or 3", "write it with Pow and AveragePool")
        data = arrival.make("abs", data)
    if convention == "full":
        return _rounded_up(arrival, data, kind, kernel, strides, pads, counts_padding)
    if before != after:
        hangs_over = _hangs_over(arrival, kernel, strides, pads)
        if hangs_over and not (kind == "avg" and counts_padding):
            convention = "full"  # which pads as much after the last element as windows need
        elif kind != "avg" or counts_padding:
            data, pad = _even(arrival, pads, -math.inf if kind == "max" else 0.0)
        else:
            arrival.fail("uneven padding that does not count has no form", "pad evenly")
    return arrival.make(
        "Pooling",
        data,
        kernel=tuple(kernel),
        pool_type=kind,
        stride=tuple(strides),
        pad=pad,
        pooling_convention=convention,
        count_include_pad=counts_padding if kind == "avg" else None,
        p_value=arrival.attrs.get("p", 2) if kind == "lp" else None,
    )


def _rounded_up(
    arrival: Arrival,
    data: Symbol,
    kind: str,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Sequence[int],
    counts_padding: bool,
) -> Symbol:
    """Pooling whose last windows may hang over the end, but begin in the data or before it."""
    count = len(kernel)
    if pads[:count] != pads[count:]:
        arrival.fail("ceil_mode needs the same padding on both sides", "export it without")
    made = arrival.make(
        "Pooling",
        data,
        kernel=tuple(kernel),
        pool_type=kind,
        stride=tuple(strides),
        pad=tuple(pads[:count]),
        pooling_convention="full",
        count_include_pad=counts_padding if kind == "avg" else None,
        p_value=arrival.attrs.get("p", 2) if kind == "lp" else None,
    )
    for axis, (k, s, p) in enumerate(zip(kernel, strides, pads[:count], strict=True)):
        if p + s <= k:
            continue  # no window can begin behind the data
        size = arrival.size(2 + axis)
        if -(-(size + 2 * p - k) // s) * s >= size + p:
            made = arrival.make("slice_axis", made, axis=2 + axis, begin=0, end=-1)
    return made


def _hangs_over(
    arrival: Arrival, kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int]
) -> bool:
    """Whether what is padded more after than before is what the last windows need."""
    count = len(kernel)
    for axis, (k, s) in enumerate(zip(kernel, strides, strict=True)):
        size, before, after = arrival.shape()[2 + axis], pads[axis], pads[axis + count]
        if size is None:
            return False
        windows = (size + before + after - k) // s + 1
        rounded_up = -(-(size + 2 * before - k) // s) + 1
        if windows != rounded_up or after < before:
            return False
    return True


@arrives("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def _global_pool(arrival: Arrival) -> Symbol:
    kind = {"GlobalAveragePool": "avg", "GlobalMaxPool": "max"}.get(arrival.op, "lp")
    return arrival.make(
        "Pooling",
        arrival.symbol(0),
        kernel=(1,) * (arrival.rank() - 2),
        pool_type=kind,
        global_pool=True,
        p_value=arrival.attrs.get("p", 2) if kind == "lp" else None,
    )
