"""Translations of what picks elements by position."""

from __future__ import annotations

import numpy as np

from .place import Place
from .table import translates


def _inside(place: Place, positions: str, mode: str, axis: int) -> str:
    """Brings positions into an axis of the first input: by clipping, or round and round."""
    if mode == "raise":
        return positions
    size = place.size(place.inputs[0], place.sizes[0], axis)
    if mode == "wrap":
        return place.add("Mod", positions, size)
    last = place.add("Sub", size, place.ints(1))
    bounds = [place.constant(0, np.int64), place.squeeze(last, 0)]
    return place.add("Clip", positions, *bounds)


@translates("take", "_npi_take")
def _take(place: Place) -> str:
    axis, data = place.attrs["axis"], place.inputs[0]
    if axis is None:
        place.fail("needs an axis", "give axis=, or flatten the array first")
    axis = place.axis(axis)
    positions = _inside(place, place.positions(1), place.attrs["mode"], axis)
    return place.add("Gather", data, positions, axis=axis)


@translates("Embedding", "_contrib_SparseEmbedding")
def _embedding(place: Place) -> str:
    rows = place.add("Gather", place.inputs[1], place.positions(0), axis=0)
    return place.cast(rows, place.types[1].dtype, place.results[0].dtype)


@translates("pick")
def _pick(place: Place) -> str:
    axis, mode, keepdims = (place.attrs[name] for name in ("axis", "mode", "keepdims"))
    if axis is None:
        place.fail("needs an axis", "give axis=, or flatten the array first")
    axis = place.axis(axis)
    positions = _inside(place, place.positions(1), mode, axis)
    if place.rank(1) < place.rank():
        positions = place.unsqueeze(positions, axis)
    found = place.add("GatherElements", place.inputs[0], positions, axis=axis)
    if keepdims or len(place.results[0].shape) == place.rank():
        return found
    return place.squeeze(found, axis)


@translates("batch_take")
def _batch_take(place: Place) -> str:
    positions = place.unsqueeze(_inside(place, place.positions(1), "clip", 1), 1)
    return place.squeeze(place.add("GatherElements", place.inputs[0], positions, axis=1), 1)


@translates("one_hot")
def _one_hot(place: Place) -> str:
    values = [place.attrs["off_value"], place.attrs["on_value"]]
    # ONNX counts negative positions from the end, MXNet takes them as outside; so they are.
    positions, depth = place.positions(0), place.attrs["depth"]
    outside = place.add("Less", positions, place.constant(0, np.int64))
    positions = place.add("Where", outside, place.constant(depth, np.int64), positions)
    pair = place.constant(values, place.results[0].dtype)
    return place.add("OneHot", positions, place.constant(depth, np.int64), pair, axis=-1)


@translates("gather_nd")
def _gather_nd(place: Place) -> str:
    rank = place.rank(1)
    tuples = place.transpose(place.positions(1), [*range(1, rank), 0])
    return place.add("GatherND", place.inputs[0], tuples)


@translates("scatter_nd")
def _scatter_nd(place: Place) -> str:
    dtype = place.results[0].dtype
    zeros = place.constant(np.zeros(place.attrs["shape"]), dtype)
    rank = place.rank(1)
    tuples = place.transpose(place.positions(1), [*range(1, rank), 0])
    return place.add("ScatterND", zeros, tuples, place.inputs[0])


def _steps(place: Place, axis: int) -> str:
    """Returns the number of each step of a sequence, as a vector."""
    count = place.squeeze(place.size(place.inputs[0], place.sizes[0], axis), 0)
    zero, one = place.constant(0, np.int64), place.constant(1, np.int64)
    return place.add("Range", zero, count, one)


@translates("SequenceMask")
def _sequence_mask(place: Place) -> str:
    if not place.attrs["use_sequence_length"]:
        return place.inputs[0]
    axis, rank = place.axis(place.attrs["axis"]), place.rank()
    steps = place.unsqueeze(_steps(place, axis), 1 - axis)
    lengths = place.unsqueeze(place.positions(1), axis)
    inside = place.add("Less", steps, lengths)
    inside = place.unsqueeze(inside, *range(2, rank))
    return place.add("Where", inside, place.inputs[0], place.number(place.attrs["value"]))


@translates("SequenceLast")
def _sequence_last(place: Place) -> str:
    axis = place.axis(place.attrs["axis"])
    if not place.attrs["use_sequence_length"]:
        return place.add("Gather", place.inputs[0], place.constant(-1, np.int64), axis=axis)
    data = place.transpose(place.inputs[0], [1, 0, *range(2, place.rank())])
    data = place.inputs[0] if axis == 1 else data
    last = place.add("Sub", place.positions(1), place.constant(1, np.int64))
    return place.add("GatherND", data, place.unsqueeze(last, 1), batch_dims=1)


@translates("SequenceReverse")
def _sequence_reverse(place: Place) -> str:
    axis = place.axis(place.attrs["axis"])
    if not place.attrs["use_sequence_length"]:
        far = int(np.iinfo(np.int64).min) + 1
        return place.cut(place.inputs[0], axis, -1, far, -1)
    lengths = place.positions(1)
    return place.add(
        "ReverseSequence", place.inputs[0], lengths, time_axis=axis, batch_axis=1 - axis
    )


@translates("_contrib_boolean_mask")
def _boolean_mask(place: Place) -> str:
    condition = place.cast(place.inputs[1], place.types[1].dtype, bool)
    return place.add("Compress", place.inputs[0], condition, axis=place.axis(place.attrs["axis"]))
