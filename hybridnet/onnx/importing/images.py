"""ONNX's layers on images: resizing, pooling of regions, sampling on a grid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.symbol import Symbol

from .arrival import Arrival
from .table import arrives


@arrives("Resize", "Upsample")
def _resize(arrival: Arrival) -> Symbol:
    old = arrival.shape()
    if len(old) != 4:
        arrival.fail("resizes batches of images only", "reshape the data")
    scales, sizes = _new_sizes(arrival, old)
    if list(scales[:2]) != [1, 1]:
        arrival.fail("resizes height and width only", "use Tile for other axes")
    known = [arrival.size(axis) for axis in (2, 3)]
    mode = arrival.attrs.get("mode", "nearest")
    how = arrival.attrs.get("coordinate_transformation_mode", "half_pixel")
    if arrival.op == "Upsample" or arrival.opset < 11:
        how = "asymmetric"
    if mode == "nearest":
        return _nearest(arrival, known, sizes, scales[2:], how)
    exact = all(abs(n * s - new) < 1e-3 for n, s, new in zip(known, scales[2:], sizes, strict=True))
    plain = (
        exact and not arrival.attrs.get("antialias") and not arrival.attrs.get("exclude_outside")
    )
    if mode != "linear" or not plain or how not in ("align_corners", "half_pixel", _PYTORCH):
        arrival.fail(
            f"mode {mode!r} with {how!r} and scales {list(scales)} has no form",
            "use 'nearest', or 'linear' without antialias to a whole size",
        )
    return arrival.make(
        "_contrib_BilinearResize2D",
        arrival.symbol(0),
        height=sizes[0],
        width=sizes[1],
        align_corners=how == "align_corners",
    )


_PYTORCH: Final = "pytorch_half_pixel"
#: How places between pixels are rounded.
_ROUNDINGS: Final[dict[str, Any]] = {
    "floor": np.floor,
    "ceil": np.ceil,
    "round_prefer_floor": lambda x: np.ceil(x - 0.5),
    "round_prefer_ceil": lambda x: np.floor(x + 0.5),
}


def _nearest(
    arrival: Arrival,
    known: Sequence[int],
    sizes: Sequence[int],
    scales: Sequence[float],
    how: str,
) -> Symbol:
    """Repeats pixels, or picks those that are nearest."""
    default = "floor" if how == "asymmetric" and arrival.opset < 11 else "round_prefer_floor"
    rounding = _ROUNDINGS[arrival.attrs.get("nearest_mode", default)]
    places = []
    for old, new, scale in zip(known, sizes, scales, strict=True):
        steps: NumpyArray = np.arange(new)
        middle: NumpyArray
        if how == "asymmetric":
            middle = steps / scale
        elif how == "align_corners":
            middle = steps * ((old - 1) / max(new - 1, 1))
        elif how in ("half_pixel", _PYTORCH):
            middle = (steps + 0.5) / scale - 0.5 if new > 1 or how != _PYTORCH else steps * 0.0
        else:
            arrival.fail(f"{how!r} has no form", "use 'asymmetric' or 'half_pixel'")
        places.append(np.clip(rounding(middle), 0, old - 1).astype(np.int64))
    scale = sizes[0] // known[0]
    repeated = [np.repeat(np.arange(old), scale) for old in known]
    if all(np.array_equal(*pair) for pair in zip(places, repeated, strict=True)):
        return arrival.make(
            "UpSampling", arrival.symbol(0), scale=scale, sample_type="nearest", num_args=1
        )
    data = arrival.symbol(0)
    for axis, vector in zip((2, 3), places, strict=True):
        data = arrival.make("take", data, arrival.parameter(vector, f"places{axis}"), axis=axis)
    return data


def _new_sizes(arrival: Arrival, old: Sequence[int | None]) -> tuple[list[float], list[int]]:
    """Returns the factors of all axes, and the new height and width."""
    axes = list(arrival.attrs.get("axes", range(4)))
    stretches = arrival.attrs.get("keep_aspect_ratio_policy", "stretch") == "stretch"
    if axes not in ([0, 1, 2, 3], [2, 3]) or not stretches:
        arrival.fail("axes must be height and width, each by itself", "give all sizes")
    place = 1 if arrival.op == "Upsample" or arrival.opset < 11 else 2
    known = [arrival.size(axis) for axis in (2, 3)]
    if arrival.has(3):
        new = arrival.vector(3)[-2:]
        sizes = [one for one in new if one is not None]
        if len(sizes) != 2:
            arrival.fail("the new sizes must be known", "export it with fixed shapes")
        return [1, 1, sizes[0] / known[0], sizes[1] / known[1]], sizes
    given = arrival.attrs.get("scales")
    scales = [float(s) for s in (arrival.constant(place, "scales") if given is None else given)]
    scales = [1.0] * (4 - len(scales)) + scales
    return scales, [int(size * scale) for size, scale in zip(known, scales[2:], strict=True)]


@arrives("MaxRoiPool")
def _roi_pool(arrival: Arrival) -> Symbol:
    return arrival.make(
        "ROIPooling",
        arrival.symbol(0),
        arrival.symbol(1),
        pooled_size=tuple(arrival.attrs["pooled_shape"]),
        spatial_scale=arrival.attrs.get("spatial_scale", 1.0),
    )


@arrives("RoiAlign")
def _roi_align(arrival: Arrival) -> Symbol:
    attrs = arrival.attrs
    how = attrs.get("coordinate_transformation_mode", "half_pixel")
    if attrs.get("mode", "avg") != "avg":
        arrival.fail("mode must be avg", "use MaxRoiPool")
    numbers = arrival.make("Cast", arrival.symbol(2), dtype=arrival.dtype(1).name)
    column = arrival.make("expand_dims", numbers, axis=1)
    rois = arrival.make("Concat", column, arrival.symbol(1), dim=1, num_args=2)
    return arrival.make(
        "_contrib_ROIAlign",
        arrival.symbol(0),
        rois,
        pooled_size=(attrs.get("output_height", 1), attrs.get("output_width", 1)),
        spatial_scale=attrs.get("spatial_scale", 1.0),
        sample_ratio=attrs.get("sampling_ratio", 0) or -1,
        aligned=how == "half_pixel",
    )


@arrives("GridSample")
def _grid_sample(arrival: Arrival) -> Symbol:
    attrs = arrival.attrs
    if arrival.rank() != 4:
        arrival.fail("samples images only", "write it with Gather")
    usual = attrs.get("mode", "linear") in ("linear", "bilinear") and attrs.get("align_corners")
    if not usual or attrs.get("padding_mode", "zeros") != "zeros":
        arrival.fail("only linear sampling with align_corners and zeros has a form", "use it")
    grid = arrival.make("transpose", arrival.symbol(1), axes=(0, 3, 1, 2))
    return arrival.make("BilinearSampler", arrival.symbol(0), grid)
