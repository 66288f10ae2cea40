"""Translations of convolution, pooling and resizing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hybridnet.base.array_types import NumpyArray

from .place import Place
from .table import translates

_CHANNELS_FIRST: Final = (None, "NCW", "NCHW", "NCDHW")


def _require_layout(place: Place) -> None:
    layout = place.attrs["layout"]
    if layout not in _CHANNELS_FIRST:
        place.fail(f"layout {layout} has no form", "build the network with channels first (NCHW)")


def _window(place: Place) -> dict[str, Any]:
    """Returns kernel, strides, dilations and padding as ONNX has them."""
    attrs = place.attrs
    count = len(attrs["kernel"])
    pad = list(attrs["pad"] or (0,) * count)
    return {
        "kernel_shape": list(attrs["kernel"]),
        "strides": list(attrs["stride"] or (1,) * count),
        "dilations": list(attrs.get("dilate") or (1,) * count),
        "pads": pad + pad,
    }


@translates("Convolution")
def _convolution(place: Place) -> str:
    _require_layout(place)
    return place.add("Conv", *place.inputs, **_window(place), group=place.attrs["num_group"])


@translates("Deconvolution")
def _deconvolution(place: Place) -> str:
    _require_layout(place)
    window = _window(place)
    count = len(window["kernel_shape"])
    extra = list(place.attrs["adj"] or (0,) * count)
    if place.attrs["target_shape"]:
        # Padding follows from the size that is wanted; what is odd of it is missing at the end.
        sizes = place.fixed(place.sizes[0][2:], "the sizes of its data")
        axes = zip(sizes, *(window[name] for name in _SPANS), strict=True)
        whole = [s * (n - 1) + d * (k - 1) + 1 for n, k, s, d in axes]
        cut = [a - b for a, b in zip(whole, place.attrs["target_shape"], strict=True)]
        if min(cut) < 0:
            place.fail("target_shape is larger than the whole result", "give a smaller one")
        window["pads"] = [-(-one // 2) for one in cut] * 2
        extra = [one % 2 for one in cut]
    group = place.attrs["num_group"]
    return place.add("ConvTranspose", *place.inputs, **window, output_padding=extra, group=group)


_SPANS: Final = ("kernel_shape", "strides", "dilations")


@translates("Pooling")
def _pooling(place: Place) -> str:
    _require_layout(place)
    attrs, data = place.attrs, place.inputs[0]
    kind = attrs["pool_type"]
    if attrs["global_pool"]:
        return _global_pooling(place, kind, data)
    if attrs["pooling_convention"] == "same":
        place.fail("pooling_convention='same' has no form", "give pad, and 'valid' or 'full'")
    window = _window(place)
    del window["dilations"]
    over = _overhang(place, window)
    if over is None:  # of unknown size
        window["ceil_mode"], over = 1, (0,) * len(attrs["kernel"])
    count = len(over)
    pads = window["pads"]
    window["pads"] = pads[:count] + [pad + one for pad, one in zip(pads[count:], over, strict=True)]
    if kind == "max":
        return place.add("MaxPool", data, **window)
    if kind == "lp":
        return place.add("LpPool", data, **window, p=attrs["p_value"] or 2)
    elements = math.prod(window["kernel_shape"])
    if kind == "sum":
        mean = place.add("AveragePool", data, **window, count_include_pad=1)
        return place.add("Mul", mean, place.number(elements))
    if attrs["count_include_pad"] is False:
        return place.add("AveragePool", data, **window, count_include_pad=0)
    mean = place.add("AveragePool", data, **window, count_include_pad=1)
    if not any(over):
        return mean
    # What hangs over the padding counts in ONNX, and does not in MXNet.
    return place.add("Mul", mean, place.constant(_corrections(place, window, pads), _dtype(place)))


def _dtype(place: Place) -> np.dtype[np.generic]:
    return place.results[0].dtype


def _overhang(place: Place, window: dict[str, Any]) -> tuple[int, ...] | None:
    """Returns by how much the last windows hang over the padded data; None if nobody knows."""
    count = len(window["kernel_shape"])
    if place.attrs["pooling_convention"] == "valid":
        return (0,) * count
    sizes, wanted = place.sizes[0][2:], place.result_sizes[0][2:]
    if None in sizes or None in wanted:
        return None
    spans = (window["kernel_shape"], window["strides"], window["pads"][:count])
    axes = zip(sizes, wanted, *spans, strict=True)
    return tuple(
        max(0, (new - 1) * stride + kernel - (size + 2 * pad))
        for size, new, kernel, stride, pad in axes
        if size is not None and new is not None
    )


def _corrections(place: Place, window: dict[str, Any], pads: Sequence[int]) -> NumpyArray:
    """Returns for each window its elements, by those of them that lie in the padded data."""
    result = np.ones((1, 1))
    for axis, kernel in enumerate(window["kernel_shape"]):
        size, new = place.types[0].shape[2 + axis], place.results[0].shape[2 + axis]
        starts = np.arange(new) * window["strides"][axis]
        inside = np.minimum(starts + kernel, size + 2 * pads[axis]) - starts
        result = result[..., None] * (kernel / inside)
    return result


def _global_pooling(place: Place, kind: str, data: str) -> str:
    if kind == "sum":
        return place.reduce("ReduceSum", data, range(2, place.rank()))
    if kind == "lp":
        return place.add("GlobalLpPool", data, p=place.attrs["p_value"] or 2)
    return place.add("GlobalMaxPool" if kind == "max" else "GlobalAveragePool", data)


def _by_matrices(place: Place, rows: NumpyArray, columns: NumpyArray) -> str:
    """Makes each pixel a weighted sum: ``rows @ image @ columns.T``."""
    left = place.constant(rows, _dtype(place))
    right = place.constant(columns.T, _dtype(place))
    return place.add("MatMul", place.add("MatMul", left, place.inputs[0]), right)


def _region_means(size: int, count: int) -> NumpyArray:
    """Returns the means of `count` regions that cover an axis."""
    edges = [(i * size // count, -(-(i + 1) * size // count)) for i in range(count)]
    return np.array([[(a <= j < b) / (b - a) for j in range(size)] for a, b in edges])


@translates("_contrib_AdaptiveAvgPooling2D")
def _adaptive_pooling(place: Place) -> str:
    wanted = place.results[0].shape[2:]
    if wanted == (1, 1):
        return place.add("GlobalAveragePool", place.inputs[0])
    sizes = place.fixed(place.sizes[0][2:], "the sizes of its images")
    rows, columns = (_region_means(*pair) for pair in zip(sizes, wanted, strict=True))
    return _by_matrices(place, rows, columns)


@translates("_contrib_BilinearResize2D")
def _bilinear_resize(place: Place) -> str:
    wanted = place.fixed(place.result_sizes[0][2:], "the sizes of its result")
    batch_and_channels = place.vector(
        [place.size(place.inputs[0], place.sizes[0], i) for i in (0, 1)]
    )
    sizes = place.vector([batch_and_channels, place.ints(*wanted)])
    corners = place.attrs["align_corners"] or min(wanted) == 1
    return place.add(
        "Resize",
        place.inputs[0],
        "",
        "",
        sizes,
        mode="linear",
        coordinate_transformation_mode="align_corners" if corners else "half_pixel",
    )


@translates("UpSampling")
def _upsampling(place: Place) -> str:
    scale = place.attrs["scale"]
    if place.attrs["sample_type"] == "bilinear":
        pad = math.ceil((scale - 1) / 2)
        return place.add(
            "ConvTranspose",
            *place.inputs,
            kernel_shape=[2 * scale - scale % 2] * 2,
            strides=[scale] * 2,
            pads=[pad] * 4,
            group=place.types[0].shape[1],
        )
    if len(place.inputs) > 1:
        place.fail("several inputs have no form", "upsample each, and join or add the results")
    scales = place.constant([1, 1, scale, scale], np.float32)
    return place.add(
        "Resize",
        place.inputs[0],
        "",
        scales,
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )


@translates("ROIPooling")
def _roi_pooling(place: Place) -> str:
    scale = place.attrs["spatial_scale"]
    shape = list(place.attrs["pooled_size"])
    return place.add("MaxRoiPool", *place.inputs, pooled_shape=shape, spatial_scale=scale)


@translates("_contrib_ROIAlign")
def _roi_align(place: Place) -> str:
    if place.attrs["position_sensitive"]:
        place.fail("position_sensitive has no form", "leave it out")
    data, rois = place.inputs
    numbers = place.squeeze(place.cut(rois, 1, 0, 1), 1)
    images = place.cast(numbers, place.types[1].dtype, np.int64)
    # A negative number is that of no image; ONNX takes none.
    inside = place.add("GreaterOrEqual", images, place.constant(0, np.int64))
    height, width = place.results[0].shape[2:]
    aligned = place.attrs["aligned"]
    made = place.add(
        "RoiAlign",
        data,
        place.cut(rois, 1, 1, 5),
        place.add("Max", images, place.constant(0, np.int64)),
        output_height=height,
        output_width=width,
        spatial_scale=place.attrs["spatial_scale"],
        sampling_ratio=max(place.attrs["sample_ratio"], 0),
        coordinate_transformation_mode="half_pixel" if aligned else "output_half_pixel",
    )
    return place.add("Where", place.unsqueeze(inside, 1, 2, 3), made, place.number(0))


@translates("BilinearSampler")
def _sampler(place: Place) -> str:
    grid = place.transpose(place.inputs[1], [0, 2, 3, 1])
    return place.add("GridSample", place.inputs[0], grid, mode="linear", align_corners=1)
