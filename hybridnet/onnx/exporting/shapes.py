"""Translations of what moves elements: reshaping, joining, cutting, repeating, broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from ..draft import Sizes
from .place import Place
from .table import translates

#: The end of an axis, where a cut goes to the front or the back of it.
_END_OF_AXIS: Final = np.iinfo(np.int64).max


@translates("Reshape", "_np_reshape", "_npx_reshape")
def _reshape(place: Place) -> str:
    sizes, before = place.result_sizes[0], place.sizes[0]
    if sizes.count(None) > 1 and place.call.name == "Reshape":
        vector = _by_codes(place)
        if vector is not None:
            return place.add("Reshape", place.inputs[0], vector)
    return place.reshape_to(place.inputs[0], sizes, before)


def _by_codes(place: Place) -> str | None:
    """Returns the new shape, computed as MXNet's codes say; None where the codes do not tell."""
    codes, data, sizes = list(place.attrs["shape"]), place.inputs[0], place.sizes[0]
    if place.attrs["reverse"] or not codes or -4 in codes:
        return None
    parts, at = [], 0
    for code in codes:
        if code == -2:
            parts += [place.size(data, sizes, axis) for axis in range(at, len(sizes))]
            at = len(sizes)
        elif code == -3:
            pair = [place.size(data, sizes, axis) for axis in (at, at + 1)]
            parts.append(place.add("Mul", *pair))
            at += 2
        else:
            parts.append(place.size(data, sizes, at) if code == 0 else place.ints(code))
            at += 1
    return place.vector(parts)


@translates("Flatten")
def _flatten(place: Place) -> str:
    return place.add("Flatten", place.inputs[0], axis=1)


@translates("expand_dims")
def _expand_dims(place: Place) -> str:
    rank, axis = place.rank(), place.attrs["axis"]
    return place.unsqueeze(place.inputs[0], axis % (rank + 1))


@translates("squeeze", "_np_squeeze")
def _squeeze(place: Place) -> str:
    axis, shape = place.attrs["axis"], place.types[0].shape
    if axis is None:
        axes = [i for i, size in enumerate(shape) if size == 1]
    else:
        axes = [one % len(shape) for one in ((axis,) if isinstance(axis, int) else axis)]
    if len(axes) == len(shape) and place.results[0].shape:
        axes = axes[1:]  # MXNet keeps one dimension
    return place.squeeze(place.inputs[0], *axes)


@translates("reshape_like")
def _reshape_like(place: Place) -> str:
    if all(place.attrs[name] is None for name in ("lhs_begin", "lhs_end", "rhs_begin", "rhs_end")):
        shape = place.shape_vector(place.inputs[1], place.sizes[1])
        return place.add("Reshape", place.inputs[0], shape)
    return place.reshape_to(place.inputs[0], place.result_sizes[0], place.sizes[0])


@translates("shape_array")
def _shape(place: Place) -> str:
    return place.add("Shape", place.inputs[0])


@translates("size_array")
def _size(place: Place) -> str:
    return place.reshape(place.add("Size", place.inputs[0]), [1])


@translates("transpose", "_np_transpose")
def _transpose(place: Place) -> str:
    axes = place.attrs["axes"] or range(place.rank())[::-1]
    return place.transpose(place.inputs[0], [place.axis(axis) for axis in axes])


@translates("SwapAxis")
def _swap(place: Place) -> str:
    axes = list(range(place.rank()))
    first, second = (place.axis(place.attrs[name]) for name in ("dim1", "dim2"))
    axes[first], axes[second] = second, first
    return place.transpose(place.inputs[0], axes)


@translates("reverse", "_npi_flip")
def _reverse(place: Place) -> str:
    named = place.attrs["axis"]
    every = range(place.rank()) if named is None else [named] if isinstance(named, int) else named
    axes = [place.axis(axis) for axis in every]
    count = len(axes)
    vectors = [[-1] * count, [-_END_OF_AXIS] * count, axes, [-1] * count]
    return place.add("Slice", place.inputs[0], *(place.ints(*numbers) for numbers in vectors))


@translates("Concat", "_npi_concatenate", "_rnn_param_concat")
def _concat(place: Place) -> str:
    axis = place.attrs.get("dim", place.attrs.get("axis"))
    return place.add("Concat", *place.operands(), axis=place.axis(axis))


@translates("stack", "_npi_stack")
def _stack(place: Place) -> str:
    axis = place.attrs["axis"] % (place.rank() + 1)
    return place.add("Concat", *(place.unsqueeze(one, axis) for one in place.operands()), axis=axis)


@translates("tile")
def _tile(place: Place) -> str:
    reps, rank = list(place.attrs["reps"]), place.rank()
    data = place.unsqueeze(place.inputs[0], *range(len(reps) - rank))
    reps = [1] * (rank - len(reps)) + reps
    return place.add("Tile", data, place.ints(*reps))


@translates("repeat")
def _repeat(place: Place) -> str:
    axis, data, repeats = place.attrs["axis"], place.inputs[0], place.attrs["repeats"]
    rank = place.rank()
    if axis is None:
        data, axis, rank = place.reshape(data, [-1]), 0, 1
    axis %= rank
    reps = [repeats if i == axis + 1 else 1 for i in range(rank + 1)]
    wide = place.add("Tile", place.unsqueeze(data, axis + 1), place.ints(*reps))
    if place.attrs["axis"] is None:
        return place.reshape(wide, [-1])
    shape = place.sizes[0]
    parts = [place.size(data, shape, i) if i != axis else place.ints(-1) for i in range(rank)]
    return place.add("Reshape", wide, place.vector(parts))


@translates("Pad")
def _pad(place: Place) -> str:
    widths = place.attrs["pad_width"]
    pads = place.ints(*widths[::2], *widths[1::2])
    value = place.number(place.attrs["constant_value"])
    return place.add("Pad", place.inputs[0], pads, value, mode=place.attrs["mode"])


@translates("slice")
def _slice(place: Place) -> str:
    begin, end = place.attrs["begin"], place.attrs["end"]
    step = [one or 1 for one in place.attrs["step"]]
    step += [1] * (len(begin) - len(step))
    firsts = [(0 if s > 0 else -1) if b is None else b for b, s in zip(begin, step, strict=True)]
    lasts = [
        (_END_OF_AXIS if s > 0 else -_END_OF_AXIS) if e is None else e
        for e, s in zip(end, step, strict=True)
    ]
    vectors = (firsts, lasts, list(range(len(step))), step)
    return place.add("Slice", place.inputs[0], *(place.ints(*numbers) for numbers in vectors))


@translates("slice_axis")
def _slice_axis(place: Place) -> str:
    end = place.attrs["end"]
    axis = place.axis(place.attrs["axis"])
    return place.cut(
        place.inputs[0], axis, place.attrs["begin"], _END_OF_AXIS if end is None else end
    )


@translates("slice_like")
def _slice_like(place: Place) -> str:
    axes = [place.axis(axis) for axis in place.attrs["axes"] or range(place.rank())]
    other, sizes = place.inputs[1], place.sizes[1]
    ends = place.vector([place.size(other, sizes, axis) for axis in axes])
    return place.add(
        "Slice", place.inputs[0], place.ints(*[0] * len(axes)), ends, place.ints(*axes)
    )


def _parts(place: Place, axis: int, sizes: Sequence[int]) -> list[str]:
    found = place.add_several("Split", len(sizes), place.inputs[0], place.ints(*sizes), axis=axis)
    if place.attrs["squeeze_axis"] and len(place.results[0].shape) < place.rank():
        return [place.squeeze(part, axis) for part in found]
    return found


@translates("SliceChannel")
def _split(place: Place) -> list[str]:
    axis, count = place.axis(place.attrs["axis"]), place.attrs["num_outputs"]
    (size,) = place.fixed([place.sizes[0][axis]], f"the size of axis {axis}")
    return _parts(place, axis, [size // count] * count)


@translates("_split_v2")
def _split_at(place: Place) -> list[str]:
    axis = place.axis(place.attrs["axis"])
    (size,) = place.fixed([place.sizes[0][axis]], f"the size of axis {axis}")
    sections, indices = place.attrs["sections"], place.attrs["indices"]
    if sections:
        return _parts(place, axis, [size // sections] * sections)
    ends = [*indices[1:], size]
    sizes = [end - begin for begin, end in zip(indices, ends, strict=True)]
    if indices[0] == 0:
        return _parts(place, axis, sizes)
    return [
        place.cut(place.inputs[0], axis, begin, end)
        for begin, end in zip(indices, ends, strict=True)
    ]


@translates("broadcast_to", "broadcast_axis", "_npi_broadcast_to")
def _broadcast(place: Place) -> str:
    data, before, sizes = place.inputs[0], place.sizes[0], place.result_sizes[0]
    before = (*[1] * (len(sizes) - len(before)), *before)
    # A size of 1 broadcasts to that which is there.
    wanted = [
        1 if new is None and old is None else new for old, new in zip(before, sizes, strict=True)
    ]
    return place.add("Expand", data, place.ints(*place.fixed(wanted, "the sizes of its result")))


@translates("broadcast_like")
def _broadcast_like(place: Place) -> str:
    left, right = place.attrs["lhs_axes"], place.attrs["rhs_axes"]
    other, sizes = place.inputs[1], place.sizes[1]
    if left is None:
        return place.add("Expand", place.inputs[0], place.shape_vector(other, sizes))
    pairs = zip(*((one,) if isinstance(one, int) else one for one in (left, right)), strict=True)
    taken = {place.axis(mine): place.axis(theirs, 1) for mine, theirs in pairs}
    parts = [
        place.size(other, sizes, taken[i]) if i in taken else place.ints(1)
        for i in range(place.rank())
    ]
    return place.add("Expand", place.inputs[0], place.vector(parts))


@translates("depth_to_space")
def _depth_to_space(place: Place) -> str:
    block = place.attrs["block_size"]
    return place.add("DepthToSpace", place.inputs[0], blocksize=block, mode="DCR")


@translates("space_to_depth")
def _space_to_depth(place: Place) -> str:
    return place.add("SpaceToDepth", place.inputs[0], blocksize=place.attrs["block_size"])


@translates("Crop")
def _crop(place: Place) -> str:
    sizes = place.result_sizes[0][2:]
    height, width = place.fixed(sizes, "the sizes of its result")
    if place.attrs["center_crop"]:
        whole = place.fixed(place.sizes[0][2:], "the sizes of its data")
        top, left = ((old - new) // 2 for old, new in zip(whole, (height, width), strict=True))
    else:
        top, left = place.attrs["offset"]
    cut = place.cut(place.inputs[0], 2, top, top + height)
    return place.cut(cut, 3, left, left + width)


@translates("zeros_like", "ones_like")
def _filled(place: Place) -> str:
    return _constant_like(place, float(place.call.name == "ones_like"), place.sizes[0])


def _constant_like(place: Place, value: float, sizes: Sizes) -> str:
    shape = place.shape_vector(place.inputs[0], sizes)
    return place.add("Expand", place.number(value), shape)


@translates("_contrib_arange_like")
def _arange_like(place: Place) -> str:
    if place.attrs["repeat"] != 1:
        place.fail("repeat must be 1", "repeat the result")
    axis, start, step = (place.attrs[name] for name in ("axis", "start", "step"))
    data = place.inputs[0]
    if axis is None:
        count = place.reshape(place.add("Size", data), [])
    else:
        count = place.squeeze(place.size(data, place.sizes[0], place.axis(axis)), 0)
    ends = [place.constant(0, np.int64), count, place.constant(1, np.int64)]
    numbers = place.cast(place.add("Range", *ends), np.int64, place.results[0].dtype)
    scaled = place.add("Add", place.add("Mul", numbers, place.number(step)), place.number(start))
    if axis is not None:
        return scaled
    return place.add("Reshape", scaled, place.shape_vector(data, place.sizes[0]))
