"""ONNX's operators that move elements, and those that pick some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hybridnet.symbol import Symbol

from .arrival import Arrival
from .table import arrives

#: A bound that is larger is the end of the axis.
_END_OF_AXIS: Final = 2**31 - 2


def _reshaped(arrival: Arrival, wanted: Sequence[tuple[int, int]]) -> Symbol:
    """Reshapes to sizes, given for both of the sizes in the place of open ones."""
    data, types = arrival.symbol(0), arrival.types(0)
    before = list(zip(types[0].shape, types[1].shape, strict=True))
    codes: list[int] = []
    for place, pair in enumerate(wanted):
        if pair[0] == pair[1]:
            codes.append(pair[0])
        else:  # the size at this place, or whatever is left
            codes.append(0 if place < len(before) and before[place] == pair else -1)
    if codes.count(-1) > 1:
        arrival.fail("several sizes of its result are left open", "fix all but one of them")
    if not codes:
        codes = [1]  # there are no arrays without dimensions
    return arrival.make("Reshape", data, shape=tuple(codes))


@arrives("Reshape")
def _reshape(arrival: Arrival) -> Symbol:
    given = arrival.attrs.get("shape")
    wanted = arrival.pairs(1) if given is None else [(int(size), int(size)) for size in given]
    if arrival.attrs.get("allowzero") and (0, 0) in wanted:
        arrival.fail("its result has no elements", "leave it out")
    return _reshaped(arrival, wanted)


@arrives("Flatten")
def _flatten(arrival: Arrival) -> Symbol:
    axis = arrival.attrs.get("axis", 1)
    axis = axis if axis >= 0 else axis + arrival.rank()
    data, shape = arrival.symbol(0), arrival.shape()
    if axis == 1:
        return arrival.make("Flatten", data)
    front, back = shape[:axis], shape[axis:]
    if None in front:
        return arrival.make("Reshape", data, shape=(-1, int(np.prod([n or 1 for n in back]))))
    return arrival.make("Reshape", data, shape=(int(np.prod([n or 1 for n in front])), -1))


@arrives("Transpose")
def _transpose(arrival: Arrival) -> Symbol:
    axes = arrival.attrs.get("perm", range(arrival.rank())[::-1])
    return arrival.make("transpose", arrival.symbol(0), axes=tuple(axes))


@arrives("Squeeze")
def _squeeze(arrival: Arrival) -> Symbol:
    axes = arrival.numbers(1, "axes")
    shape = arrival.shape()
    rank = len(shape)
    if axes is None:
        axes = [axis for axis, size in enumerate(shape) if size == 1]
    axes = [axis % rank for axis in axes]
    if len(axes) == rank:
        return arrival.make("Reshape", arrival.symbol(0), shape=(1,))
    return arrival.make("squeeze", arrival.symbol(0), axis=tuple(axes))


@arrives("Unsqueeze")
def _unsqueeze(arrival: Arrival) -> Symbol:
    axes = arrival.numbers(1, "axes") or []
    value = arrival.symbol(0)
    rank = arrival.rank() + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        value = arrival.make("expand_dims", value, axis=axis)
    return value


@arrives("Concat")
def _concat(arrival: Arrival) -> Symbol:
    axis = arrival.axis(1)
    return arrival.make("Concat", *arrival.symbols(), dim=axis, num_args=len(arrival.inputs))


@arrives("Split")
def _split(arrival: Arrival) -> Symbol:
    axis, data = arrival.axis(0), arrival.symbol(0)
    sizes = arrival.numbers(1, "split")
    if sizes is None:
        whole, count = arrival.size(axis), arrival.num_outputs
        width = -(-whole // count)
        sizes = [min(width, whole - i * width) for i in range(count)]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return arrival.make("_split_v2", data, indices=tuple(starts), axis=axis)


@arrives("Slice")
def _slice(arrival: Arrival) -> Symbol:
    starts, ends = arrival.numbers(1, "starts"), arrival.numbers(2, "ends")
    assert starts is not None and ends is not None
    axes = arrival.numbers(3, "axes") or list(range(len(starts)))
    steps = arrival.numbers(4, "steps") or [1] * len(starts)
    rank, shape = arrival.rank(), arrival.shape()
    begin: list[int | None] = [None] * rank
    end: list[int | None] = [None] * rank
    step: list[int | None] = [None] * rank
    for first, last, axis, stride in zip(starts, ends, axes, steps, strict=True):
        axis %= rank
        size = shape[axis]
        begin[axis], end[axis] = _bounds(first, last, stride, size)
        step[axis] = stride
    return arrival.make(
        "slice", arrival.symbol(0), begin=tuple(begin), end=tuple(end), step=tuple(step)
    )


def _bounds(first: int, last: int, stride: int, size: int | None) -> tuple[int | None, int | None]:
    """Returns bounds within an axis, None for its ends."""
    if size is not None:
        picked = range(size)[slice(first, last if abs(last) < _END_OF_AXIS else None, stride)]
        if not picked:
            return 0, 0
        stop: int | None = picked[-1] + (1 if stride > 0 else -1)
        return picked[0], None if stop in (-1, size) else stop
    return (None if abs(first) >= _END_OF_AXIS else first), (
        None if abs(last) >= _END_OF_AXIS else last
    )


@arrives("Pad")
def _pad(arrival: Arrival) -> Symbol:
    pads = arrival.numbers(1, "pads")
    assert pads is not None
    rank = arrival.rank()
    axes = [int(one) % rank for one in arrival.constant(3)] if arrival.has(3) else range(rank)
    widths = [0] * (2 * rank)
    for place, axis in enumerate(axes):
        widths[2 * axis] = pads[place]
        widths[2 * axis + 1] = pads[place + len(pads) // 2]
    if min(widths, default=0) < 0:
        arrival.fail("negative pads have no form", "use Slice")
    value = arrival.attrs.get("value", 0.0)
    if arrival.has(2):
        value = float(arrival.constant(2, "the constant").reshape(()))
    mode = arrival.attrs.get("mode", "constant")
    if mode == "wrap":
        arrival.fail("mode='wrap' has no form", "use Concat of slices")
    return arrival.make(
        "Pad", arrival.symbol(0), mode=mode, pad_width=tuple(widths), constant_value=value
    )


@arrives("Tile")
def _tile(arrival: Arrival) -> Symbol:
    reps = arrival.numbers(1, "repeats")
    return arrival.make("tile", arrival.symbol(0), reps=tuple(reps or ()))


@arrives("Expand")
def _expand(arrival: Arrival) -> Symbol:
    wanted: list[int | None] = list(arrival.vector(1))
    rank = max(len(wanted), arrival.rank())
    data = arrival.symbol(0, rank)
    wanted = [*[1] * (rank - len(wanted)), *wanted]
    before = arrival.sizes(data)
    target = []
    for old, new in zip(before, wanted, strict=True):
        if old == 1 and new is None:
            arrival.fail("an open size has no form here", "export it with fixed shapes")
        target.append(new if old == 1 and new is not None else old or 0)
    return arrival.make("broadcast_to", data, shape=tuple(target))


@arrives("DepthToSpace")
def _depth_to_space(arrival: Arrival) -> Symbol:
    block, data = arrival.attrs["blocksize"], arrival.symbol(0)
    if arrival.attrs.get("mode", "DCR") == "DCR":
        return arrival.make("depth_to_space", data, block_size=block)
    split = arrival.make("Reshape", data, shape=(0, -4, -1, block * block, -2))
    split = arrival.make("Reshape", split, shape=(0, 0, -4, block, block, -2))
    turned = arrival.make("transpose", split, axes=(0, 1, 4, 2, 5, 3))
    return arrival.make("Reshape", turned, shape=(0, 0, -3, -3))


@arrives("SpaceToDepth")
def _space_to_depth(arrival: Arrival) -> Symbol:
    if arrival.attrs.get("mode", "DCR") != "DCR":
        arrival.fail("mode must be DCR", "write it with Reshape and Transpose")
    block = arrival.attrs["blocksize"]
    return arrival.make("space_to_depth", arrival.symbol(0), block_size=block)


@arrives("Trilu")
def _triangle(arrival: Arrival) -> Symbol:
    diagonal = int(arrival.constant(1, "k").reshape(())) if arrival.has(1) else 0
    op = "_npi_triu" if arrival.attrs.get("upper", 1) else "_npi_tril"
    return arrival.make(op, arrival.symbol(0), k=diagonal)


@arrives("Gather")
def _gather(arrival: Arrival) -> Symbol:
    axis = arrival.axis(0)
    if arrival.is_constant(1) and arrival.rank(1) == 0:
        place = int(arrival.constant(1))
        end = None if place == -1 else place + 1
        part = arrival.make("slice_axis", arrival.symbol(0), axis=axis, begin=place, end=end)
        if arrival.rank() == 1:
            return part
        return arrival.make("squeeze", part, axis=(axis,))
    data = arrival.symbol(0)
    if arrival.is_constant(0) and axis == 0 and arrival.rank() == 2:
        rows, width = arrival.types(0)[0].shape
        dtype = arrival.dtype().name
        return arrival.make(
            "Embedding", arrival.symbol(1), data, input_dim=rows, output_dim=width, dtype=dtype
        )
    # Negative positions count from the end.
    return arrival.make("take", data, arrival.symbol(1), axis=axis, mode="wrap")


@arrives("GatherElements")
def _gather_elements(arrival: Arrival) -> Symbol:
    axis = arrival.axis(0)
    if arrival.shape(1)[axis] != 1:
        arrival.fail("several positions along the axis have no form", "use GatherND")
    return arrival.make(
        "pick", arrival.symbol(0), arrival.symbol(1), axis=axis, keepdims=True, mode="wrap"
    )


@arrives("GatherND")
def _gather_nd(arrival: Arrival) -> Symbol:
    if arrival.attrs.get("batch_dims"):
        arrival.fail("batch_dims has no form", "give positions along the batch, too")
    rank = arrival.rank(1)
    tuples = arrival.make("transpose", arrival.symbol(1), axes=(rank - 1, *range(rank - 1)))
    return arrival.make("gather_nd", arrival.symbol(0), tuples)


@arrives("ScatterND")
def _scatter_nd(arrival: Arrival) -> Symbol:
    if arrival.attrs.get("reduction", "none") != "none":
        arrival.fail("reduction has no form", "add what is scattered")
    rank = arrival.rank(1)
    tuples = arrival.make("transpose", arrival.symbol(1), axes=(rank - 1, *range(rank - 1)))
    shape = tuple(arrival.size(axis) for axis in range(arrival.rank()))
    return arrival.make(
        "_scatter_set_nd", arrival.symbol(0), arrival.symbol(2), tuples, shape=shape
    )


@arrives("OneHot")
def _one_hot(arrival: Arrival) -> Symbol:
    depth = int(arrival.constant(1, "the depth").reshape(()))
    off, on = (float(one) for one in arrival.constant(2, "the values"))
    dtype = arrival.dtype(2).name
    data = arrival.symbol(0)  # whose negative numbers count from the end
    turns = arrival.make(
        "_mul_scalar", arrival.make("_lesser_scalar", data, scalar=0), scalar=depth
    )
    data = arrival.make("elemwise_add", data, turns)
    made = arrival.make("one_hot", data, depth=depth, on_value=on, off_value=off, dtype=dtype)
    rank = arrival.rank() + 1
    axis = arrival.attrs.get("axis", -1) % rank
    if axis == rank - 1:
        return made
    axes = [*range(rank - 1)]
    axes.insert(axis, rank - 1)
    return arrival.make("transpose", made, axes=tuple(axes))


@arrives("ReverseSequence")
def _reverse_sequence(arrival: Arrival) -> Symbol:
    batch = arrival.attrs.get("batch_axis", 1)
    if arrival.attrs.get("time_axis", 0) != 1 - batch:
        arrival.fail("time and batch must be the first two axes", "transpose the array")
    data, lengths = arrival.symbol(0), arrival.symbol(1)
    options: dict[str, Any] = {"use_sequence_length": True}
    if batch == 1:
        return arrival.make("SequenceReverse", data, lengths, **options)
    turned = arrival.make("SwapAxis", data, dim1=0, dim2=1)
    made = arrival.make("SequenceReverse", turned, lengths, **options)
    return arrival.make("SwapAxis", made, dim1=0, dim2=1)


@arrives("Compress")
def _compress(arrival: Arrival) -> Symbol:
    kept = np.flatnonzero(arrival.constant(1, "the condition"))
    data = arrival.symbol(0)
    if "axis" not in arrival.attrs:
        data = arrival.make("Reshape", data, shape=(-1,))
    positions = arrival.parameter(kept.astype(np.int64), "positions")
    return arrival.make("take", data, positions, axis=arrival.attrs.get("axis", 0), mode="wrap")
