"""Parts of arrays at fixed positions: slices, splits, and assignment to slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from hybridnet.base.attrs import Range, Scalar, Shape
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import at, jnp, lax

from ..core.backward import vjp_gradient
from ..core.call import Backward
from ..core.registry import get, operator
from ..core.rules import one_axis

Bounds = tuple[int | None, ...]


def basic_slices(
    name: str, shape: Sequence[int], begin: Bounds, end: Bounds, step: Bounds
) -> tuple[slice, ...]:
    """Returns Python slices from MXNet's begin, end and step, one for each leading dimension.

    Raises:
        ParameterError: they differ in length, are too many, or a step is 0.
    """
    if all(size is None for size in step):
        step = ()
    if len(begin) != len(end) or (step and len(step) != len(begin)):
        raise ParameterError(
            f"{name}: begin, end and step must have equal lengths, got {begin}, {end} and {step}"
        )
    if len(begin) > len(shape):
        raise ParameterError(
            f"{name}: begin must have at most one entry for each dimension, got {begin} for data "
            f"of shape {tuple(shape)}"
        )
    if 0 in step:
        raise ParameterError(f"{name}: step must not be 0, got {step}")
    return tuple(map(slice, begin, end, step or (None,) * len(begin)))


def _sliced(shape: Sequence[int], slices: Sequence[slice]) -> tuple[int, ...]:
    front = tuple(len(range(*s.indices(n))) for s, n in zip(slices, shape, strict=False))
    return (*front, *shape[len(front) :])


def _slice_type(data: TensorType, *, begin: Bounds, end: Bounds, step: Bounds) -> tuple[TensorType]:
    slices = basic_slices("slice", data.shape, begin, end, step)
    return (tensor_type(_sliced(data.shape, slices), data.dtype),)


@operator("slice", aliases=("crop",), infer=_slice_type)
def _slice(data: Any, *, begin: Bounds, end: Bounds, step: Bounds = ()) -> Any:
    """A region of the array, as Python's ``data[begin0:end0:step0, begin1:end1:step1]``.

    Args:
        begin: where each slice begins; None for its natural begin, negative from the end.
        end: where each slice ends, not included.
        step: the step of each slice, may be negative; empty for 1.
    """
    return data[basic_slices("slice", data.shape, begin, end, step)]


def _slice_axis_bounds(data: Any, axis: int, begin: int, end: int | None) -> tuple[int, int, int]:
    """Returns axis, begin and end counted from the front."""
    axis = one_axis("slice_axis", axis, data)
    size = data.shape[axis]
    first = begin + size if begin < 0 else begin
    last = size if end is None else end + size if end < 0 else end
    if not 0 <= first < last <= size:
        raise ShapeError(
            f"slice_axis: begin and end must select a part of axis {axis} of size {size}, got "
            f"begin={begin} and end={end}"
        )
    return axis, first, last


def _slice_axis_type(data: TensorType, *, axis: int, begin: int, end: Any) -> tuple[TensorType]:
    axis, first, last = _slice_axis_bounds(data, axis, begin, end)
    shape = (*data.shape[:axis], last - first, *data.shape[axis + 1 :])
    return (tensor_type(shape, data.dtype),)


@operator("slice_axis", infer=_slice_axis_type)
def _slice_axis(data: Any, *, axis: int, begin: int, end: int | None) -> Any:
    """The part of the array from `begin` up to, not including, `end` along one axis.

    Args:
        begin: the first position, negative from the end.
        end: the position after the last, negative from the end; None for the end.
    """
    axis, first, last = _slice_axis_bounds(data, axis, begin, end)
    return lax.slice_in_dim(data, first, last, axis=axis)


def _slice_like_shape(data: Any, shape_like: Any, axes: Sequence[int]) -> tuple[int, ...]:
    if not axes:
        if len(data.shape) != len(shape_like.shape):
            raise ShapeError(
                "slice_like: data and shape_like must have as many dimensions, unless axes says "
                f"which to slice, got data {data} and shape_like {shape_like}"
            )
        axes = range(len(data.shape))
    shape = list(data.shape)
    for axis in axes:
        mine = one_axis("slice_like", axis, data)
        # As in MXNet, an axis from the end counts in data, whatever rank shape_like has.
        size = shape_like.shape[one_axis("slice_like", mine, shape_like)]
        if size > shape[mine]:
            raise ShapeError(
                f"slice_like: shape_like must not be larger than data, got data {data} and "
                f"shape_like {shape_like} at axis {axis}"
            )
        shape[mine] = size
    return tuple(shape)


def _slice_like_type(data: TensorType, shape_like: TensorType, *, axes: Any) -> tuple[TensorType]:
    return (tensor_type(_slice_like_shape(data, shape_like, axes), data.dtype),)


@operator("slice_like", infer=_slice_like_type)
def _slice_like(data: Any, shape_like: Any, *, axes: Shape = ()) -> Any:
    """The leading part of `data` that has the size of `shape_like` along some axes.

    Args:
        shape_like: only its shape counts.
        axes: the axes; empty for all.
    """
    return data[tuple(map(slice, _slice_like_shape(data, shape_like, axes)))]


def _split_type(
    data: TensorType, *, num_outputs: int, axis: int, squeeze_axis: bool
) -> tuple[TensorType, ...]:
    position = one_axis("split", axis, data)
    size = data.shape[position]
    if size % num_outputs or (squeeze_axis and size != num_outputs):
        what = "equal" if squeeze_axis else "a multiple of"
        raise ShapeError(
            f"split: the size of axis {axis} must be {what} num_outputs={num_outputs}, got {data}"
        )
    middle = () if squeeze_axis else (size // num_outputs,)
    shape = (*data.shape[:position], *middle, *data.shape[position + 1 :]) or (1,)
    return (tensor_type(shape, data.dtype),) * num_outputs


def _split_gradient(back: Backward) -> Sequence[Any]:
    """The parts' gradients side by side, where each has one."""
    axis, squeeze = back.attrs["axis"], back.attrs["squeeze_axis"]
    if squeeze or None in back.grads or len(back.grads) == 1:
        return vjp_gradient(back)
    call = get("Concat").bind({"num_args": len(back.grads), "dim": axis})[0]
    return back.apply(call, back.grads)


@operator(
    "SliceChannel",
    aliases=("split",),
    outputs=lambda num_outputs, **_: num_outputs,
    infer=_split_type,
    gradient=_split_gradient,
)
def _split(
    data: Any, *, num_outputs: Annotated[int, Range(1)], axis: int = 1, squeeze_axis: bool = False
) -> Any:
    """Splits the array into equal parts along an axis.

    Args:
        num_outputs: how many parts.
    """
    parts = jnp.split(data, num_outputs, axis)
    return tuple(_squeezed(part, axis) for part in parts) if squeeze_axis else tuple(parts)


def _squeezed(part: Any, axis: int) -> Any:
    """Removes an axis, but not the last one: MXNet has no 0-d arrays."""
    return jnp.squeeze(part, axis) if part.ndim > 1 else part


def _cuts(data: Any, indices: Sequence[int], axis: int, sections: int) -> list[tuple[int, int]]:
    """Returns the begin and the end of each part of `_split_v2`."""
    size = data.shape[one_axis("_split_v2", axis, data)]
    if sections:
        if size % sections:
            raise ShapeError(
                f"_split_v2: the size of axis {axis} must be a multiple of sections={sections}, "
                f"got {size}"
            )
        width = size // sections
        return [(i * width, (i + 1) * width) for i in range(sections)]
    if not indices:
        raise ParameterError("_split_v2: requires sections, or indices where the parts begin")
    ends = [*indices[1:], size]
    cuts = list(zip(indices, ends, strict=True))
    if any(not 0 <= begin <= end <= size for begin, end in cuts):
        raise ShapeError(
            f"_split_v2: indices must not decrease, from 0 to {size} (the size of axis {axis}), "
            f"got {tuple(indices)}"
        )
    return cuts


def _split_v2_type(
    data: TensorType, *, indices: Any, axis: int, squeeze_axis: bool, sections: int
) -> tuple[TensorType, ...]:
    cuts = _cuts(data, indices, axis, sections)
    axis = one_axis("_split_v2", axis, data)
    types = []
    for begin, end in cuts:
        if squeeze_axis and end - begin != 1:
            raise ShapeError(
                f"_split_v2: with squeeze_axis every part must have size 1 along axis {axis}, got "
                f"a part of {end - begin} of {data}"
            )
        middle = () if squeeze_axis else (end - begin,)
        shape = (*data.shape[:axis], *middle, *data.shape[axis + 1 :]) or (1,)
        types.append(tensor_type(shape, data.dtype))
    return tuple(types)


@operator(
    "_split_v2",
    outputs=lambda indices, sections, **_: sections or len(indices),
    infer=_split_v2_type,
)
def _split_v2(
    data: Any,
    *,
    indices: Shape,
    axis: int = 1,
    squeeze_axis: bool = False,
    sections: Annotated[int, Range(0)] = 0,
) -> Any:
    """Splits the array along an axis into parts that begin at given positions.

    Args:
        indices: where the parts begin; the first is usually 0.
        sections: if not 0, so many equal parts instead.
    """
    parts = (
        lax.slice_in_dim(data, begin, end, axis=axis)
        for begin, end in _cuts(data, indices, axis, sections)
    )
    return tuple(_squeezed(part, axis) if squeeze_axis else part for part in parts)


def _assign_type(
    lhs: TensorType, rhs: TensorType, *, begin: Bounds, end: Bounds, step: Bounds
) -> tuple[TensorType]:
    region = _sliced(lhs.shape, basic_slices("_slice_assign", lhs.shape, begin, end, step))
    if rhs.shape != region:
        raise ShapeError(
            f"_slice_assign: rhs must have the shape of the region, {region}, got {rhs}"
        )
    return (lhs,)


@operator("_slice_assign", aliases=("_crop_assign",), infer=_assign_type)
def _slice_assign(lhs: Any, rhs: Any, *, begin: Bounds, end: Bounds, step: Bounds = ()) -> Any:
    """`lhs` with a region, given as for `slice`, replaced by `rhs`."""
    region = basic_slices("_slice_assign", lhs.shape, begin, end, step)
    return at(lhs)[region].set(rhs.astype(lhs.dtype))


def _assign_scalar_type(
    data: TensorType, *, begin: Bounds, end: Bounds, step: Bounds
) -> tuple[TensorType]:
    basic_slices("_slice_assign_scalar", data.shape, begin, end, step)
    return (data,)


@operator("_slice_assign_scalar", aliases=("_crop_assign_scalar",), infer=_assign_scalar_type)
def _slice_assign_scalar(
    data: Any, *, scalar: Scalar = 0.0, begin: Bounds, end: Bounds, step: Bounds = ()
) -> Any:
    """`data` with a region, given as for `slice`, filled with a number."""
    region = basic_slices("_slice_assign_scalar", data.shape, begin, end, step)
    return at(data)[region].set(jnp.asarray(scalar).astype(data.dtype))
