"""Translations of what goes over axes: sums, extremes, positions, orders."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from .place import Place
from .table import Translation, translates

_REDUCTIONS: Final = {
    "sum": "ReduceSum",
    "_np_sum": "ReduceSum",
    "mean": "ReduceMean",
    "_npi_mean": "ReduceMean",
    "prod": "ReduceProd",
    "_np_prod": "ReduceProd",
    "max": "ReduceMax",
    "_np_max": "ReduceMax",
    "min": "ReduceMin",
    "_np_min": "ReduceMin",
    "_square_sum": "ReduceSumSquare",
}


def _axes(place: Place, axis: Any) -> list[int]:
    """Returns the axes that are reduced over."""
    rank = place.rank()
    named = range(rank) if axis is None else [axis] if isinstance(axis, int) else axis
    axes = sorted({one % max(rank, 1) for one in named})
    if place.attrs.get("exclude"):
        axes = [one for one in range(rank) if one not in axes]
    elif axis == () and not place.call.name.startswith("_np"):
        axes = list(range(rank))
    return axes


def _shaped(place: Place, value: str, rank: int, output: int = 0) -> str:
    """MXNet has no arrays without dimensions: what is reduced altogether has one element."""
    wanted = len(place.results[output].shape)
    return place.reshape(value, [1]) if wanted == 1 and rank == 0 else value


def _reduced(place: Place, op: str, data: str, axes: Sequence[int], output: int = 0) -> str:
    keepdims = bool(place.attrs.get("keepdims"))
    value = place.reduce(op, data, axes, keepdims)
    rank = place.rank() if keepdims else place.rank() - len(axes)
    return _shaped(place, value, rank, output)


def _reduction(op: str) -> Translation:
    def translation(place: Place) -> str:
        if place.attrs.get("initial") is not None:
            place.fail("there is no initial value", "add it to the result")
        (data,) = place.operands()
        return _reduced(place, op, data, _axes(place, place.attrs["axis"]))

    return translation


for _name, _op in _REDUCTIONS.items():
    translates(_name)(_reduction(_op))


@translates("norm")
def _norm(place: Place) -> str:
    (data,) = place.operands()
    op = "ReduceL1" if place.attrs["ord"] == 1 else "ReduceL2"
    return _reduced(place, op, data, _axes(place, place.attrs["axis"]))


@translates("moments")
def _moments(place: Place) -> list[str]:
    (data,) = place.operands()
    axes = _axes(place, place.attrs["axes"])
    mean = place.reduce("ReduceMean", data, axes)
    centered = place.add("Sub", data, mean)
    squares = place.add("Mul", centered, centered)
    return [
        _reduced(place, "ReduceMean", source, axes, output)
        for output, source in enumerate((data, squares))
    ]


@translates("argmax", "argmin", "_np_argmax", "_np_argmin")
def _position(place: Place) -> str:
    op = "ArgMax" if place.call.name.endswith("max") else "ArgMin"
    axis, keepdims, data = place.attrs["axis"], bool(place.attrs.get("keepdims")), place.inputs[0]
    if axis is None:
        value = place.add(op, place.reshape(data, [-1]), axis=0, keepdims=0)
        wanted = place.results[0].shape
        value = place.reshape(value, [1] * len(wanted)) if wanted else value
    else:
        value = place.add(op, data, axis=place.axis(axis), keepdims=int(keepdims))
        value = _shaped(place, value, place.rank() - (not keepdims))
    return place.cast(value, np.int64, place.results[0].dtype)


@translates("argmax_channel")
def _best_channel(place: Place) -> str:
    value = place.add("ArgMax", place.inputs[0], axis=1, keepdims=0)
    return place.cast(value, np.int64, place.results[0].dtype)


@translates("_np_cumsum")
def _running_sum(place: Place) -> str:
    (data,) = place.operands()
    axis = place.attrs["axis"]
    if axis is None:
        data, axis = place.reshape(data, [-1]), 0
    return place.add("CumSum", data, place.constant(axis, np.int64))


def _ordered(place: Place, k: int, ascending: bool) -> tuple[str, str, int]:
    """Returns elements in order along an axis, their positions, and the axis."""
    axis, data, sizes = place.attrs["axis"], place.inputs[0], place.sizes[0]
    if axis is None:
        known = [size for size in sizes if size is not None]
        whole = math.prod(known) if len(known) == len(sizes) else None
        data, axis, sizes = place.reshape(data, [-1]), 0, (whole,)
    axis %= len(sizes)
    count = place.ints(k) if k > 0 else place.size(data, sizes, axis)
    values, positions = place.add_several(
        "TopK", 2, data, count, axis=axis, largest=int(not ascending), sorted=1
    )
    return values, positions, axis


@translates("sort")
def _sort(place: Place) -> str:
    return _ordered(place, 0, place.attrs["is_ascend"])[0]


@translates("argsort")
def _order(place: Place) -> str:
    positions = _ordered(place, 0, place.attrs["is_ascend"])[1]
    return place.cast(positions, np.int64, place.results[0].dtype)


@translates("topk")
def _topk(place: Place) -> str | list[str]:
    wanted = place.attrs["ret_typ"]
    values, positions, axis = _ordered(place, place.attrs["k"], place.attrs["is_ascend"])
    if wanted == "value":
        return values
    if wanted == "mask":
        if place.attrs["axis"] is None:
            place.fail("a mask needs an axis", "give axis=")
        return _mask(place, positions, axis)
    found = place.cast(positions, np.int64, place.results[-1].dtype)
    return found if wanted == "indices" else [values, found]


def _mask(place: Place, positions: str, axis: int) -> str:
    dtype = place.results[0].dtype
    zeros = place.add("Mul", place.inputs[0], place.number(0))
    ones = place.add("Expand", place.number(1, dtype), place.add("Shape", positions))
    return place.add("ScatterElements", zeros, positions, ones, axis=axis)
