"""Elements and slices found by tuples of indices, and sums of those that share one.

TensorFlow's forms: the last axis of `indices` holds the tuples (that of MXNet's ``gather_nd`` and
``scatter_nd`` is the first), and what is put at one place several times is added up. Indices below
0 count from the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np

from hybridnet.base.attrs import Range, Shape
from hybridnet.base.dtype import is_float
from hybridnet.base.errors import DTypeError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import at, jax, jnp, lax

from ..core.backward import vjp_gradient
from ..core.call import Backward
from ..core.operator import describe
from ..core.registry import get, operator


def _check_indices(op: str, indices: TensorType, shape: tuple[int, ...]) -> int:
    """Returns how many axes the tuples are for."""
    if indices.dtype.kind not in "iu":
        raise DTypeError(f"{op}: indices must be whole numbers, got indices {indices}")
    if not indices.shape or indices.shape[-1] > len(shape):
        raise ShapeError(
            f"{op}: the last axis of indices must hold at most {len(shape)} numbers, one for each "
            f"of the first dimensions of {shape}, got indices {indices}"
        )
    return indices.shape[-1]


def _columns(indices: Any) -> tuple[Any, ...]:
    return tuple(indices[..., axis] for axis in range(indices.shape[-1]))


def _gathered_type(data: TensorType, indices: TensorType) -> tuple[TensorType]:
    depth = _check_indices("_gather_tuples", indices, data.shape)
    return (tensor_type(indices.shape[:-1] + data.shape[depth:], data.dtype),)


@operator("_gather_tuples", infer=_gathered_type)
def gather_tuples(data: Any, indices: Any) -> Any:
    """The elements, or slices, of `data` at tuples of indices.

    Args:
        indices: (..., depth) whole numbers, for the first `depth` axes of `data`; those out of
            range are moved to the nearest that is not.

    Returns:
        (..., *rest), where `rest` are the dimensions of `data` after the first `depth`.
    """
    if not indices.shape[-1]:
        return jnp.broadcast_to(data, indices.shape[:-1] + data.shape)
    return at(data)[_columns(indices)].get(mode="clip")


def _check_part(data: TensorType, begin: TensorType, *, size: tuple[int, ...]) -> None:
    if begin.dtype.kind not in "iu":
        raise DTypeError(f"_dynamic_slice: begin must be whole numbers, got begin {begin}")
    if begin.shape != (len(data.shape),) or len(size) != len(data.shape):
        raise ShapeError(
            "_dynamic_slice: begin and size must have one number for each dimension of data, got "
            f"{describe(('data', 'begin'), (data, begin))} and size {size}"
        )
    if any(not -1 <= n <= whole for n, whole in zip(size, data.shape, strict=True)):
        raise ShapeError(f"_dynamic_slice: size must lie within data {data}, got {size}")


@operator(
    "_dynamic_slice",
    check=_check_part,
    infer=lambda data, begin, *, size: (
        tensor_type(
            tuple(whole if n == -1 else n for n, whole in zip(size, data.shape, strict=True)),
            data.dtype,
        ),
    ),
)
def dynamic_slice(data: Any, begin: Any, *, size: Shape) -> Any:
    """A block of `data` that begins where an array says.

    Args:
        begin: (rank,) where the block begins; moved so that the block lies within `data`.
        size: of the block; -1 for a whole axis.
    """
    sizes = [whole if n == -1 else n for n, whole in zip(size, data.shape, strict=True)]
    return lax.dynamic_slice(data, [begin[axis] for axis in range(len(sizes))], sizes)


def _check_updates(
    op: str, indices: TensorType, updates: TensorType, shape: tuple[int, ...]
) -> None:
    depth = _check_indices(op, indices, shape)
    if updates.dtype.kind == "b":
        raise DTypeError(f"{op}: updates must be numbers, got updates {updates}; cast them first")
    wanted = indices.shape[:-1] + shape[depth:]
    if updates.shape != wanted:
        raise ShapeError(
            f"{op}: updates must have shape {wanted} for indices {indices} and shape {shape}, got "
            f"updates {updates}"
        )


def _check_scattered(indices: TensorType, updates: TensorType, *, shape: tuple[int, ...]) -> None:
    _check_updates("_scatter_tuples", indices, updates, shape)


@operator(
    "_scatter_tuples",
    check=_check_scattered,
    infer=lambda indices, updates, *, shape: (tensor_type(shape, updates.dtype),),
)
def scatter_tuples(indices: Any, updates: Any, *, shape: Shape) -> Any:
    """An array of zeros to which slices are added at tuples of indices.

    Args:
        indices: (..., depth) whole numbers, for the first `depth` axes; what is out of range is
            left out.
        updates: (..., *rest), what is added.
    """
    zeros = jnp.zeros(shape, updates.dtype)
    return at(zeros)[_columns(indices)].add(updates, mode="drop")


def _check_changed(data: TensorType, indices: TensorType, updates: TensorType, *, how: str) -> None:
    _check_updates("_update_tuples", indices, updates, data.shape)
    if data.dtype != updates.dtype:
        raise DTypeError(
            "_update_tuples: data and updates must have one dtype, got "
            f"{describe(('data', 'indices', 'updates'), (data, indices, updates))}"
        )


@operator("_update_tuples", check=_check_changed, infer=lambda data, indices, updates, **_: (data,))
def update_tuples(
    data: Any,
    indices: Any,
    updates: Any,
    *,
    how: Literal["add", "max", "min", "set", "sub"] = "set",
) -> Any:
    """`data` with slices at tuples of indices replaced, or combined with others.

    Args:
        indices: (..., depth) whole numbers, as for `_scatter_tuples`.
        updates: (..., *rest).
        how: 'set' replaces (by which, where an index is there twice, is not said); 'add', 'sub',
            'max' and 'min' combine.
    """
    places = at(data)[_columns(indices)]
    if how == "sub":
        return places.add(-updates, mode="drop")
    change = {"add": places.add, "max": places.max, "min": places.min, "set": places.set}[how]
    return change(updates, mode="drop")


def _check_row(data: TensorType, index: TensorType, row: TensorType) -> None:
    if index.dtype.kind not in "iu" or index.shape:
        raise DTypeError(f"_write_row: index must be one whole number, got index {index}")
    if not data.shape or row != tensor_type(data.shape[1:], data.dtype):
        raise ShapeError(
            "_write_row: row must be of the type of the rows of data, got "
            f"{describe(('data', 'index', 'row'), (data, index, row))}"
        )


@operator("_write_row", check=_check_row, infer=lambda data, *_: (data,))
def write_row(data: Any, index: Any, row: Any) -> Any:
    """`data` with one row replaced: what a loop does that fills an array.

    Args:
        data: (rows, *rest).
        index: () a whole number, which row; one out of range changes nothing.
        row: (*rest).
    """
    if not data.shape[0]:
        return data
    starts = [index] + [jnp.zeros((), index.dtype)] * (data.ndim - 1)  # all of one dtype
    old = lax.dynamic_slice(data, starts, (1, *data.shape[1:]))
    is_row = (index >= 0) & (index < data.shape[0])
    return lax.dynamic_update_slice(data, jnp.where(is_row, row[None], old), starts)


def _segments_type(
    data: TensorType, segment_ids: TensorType, *, num_segments: int, **_: Any
) -> tuple[TensorType]:
    rank = len(segment_ids.shape)
    got = describe(("data", "segment_ids"), (data, segment_ids))
    if data.dtype.kind == "b":
        raise DTypeError(f"_segment_reduce: data must be numbers, got {got}; cast them first")
    if segment_ids.dtype.kind not in "iu":
        raise DTypeError(f"_segment_reduce: segment_ids must be whole numbers, got {got}")
    if data.shape[:rank] != segment_ids.shape:
        raise ShapeError(
            f"_segment_reduce: data must begin with the dimensions of segment_ids, got {got}"
        )
    return (tensor_type((num_segments, *data.shape[rank:]), data.dtype),)


def _segments_gradient(back: Backward) -> Sequence[Any]:
    if back.attrs["how"] != "sum":
        return vjp_gradient(back)
    call, _ = get("_backward_segment_sum").bind({})
    return [*back.apply(call, [back.grads[0], back.inputs[1]]), None]


@operator("_segment_reduce", infer=_segments_type, gradient=_segments_gradient)
def segment_reduce(
    data: Any,
    segment_ids: Any,
    *,
    num_segments: Annotated[int, Range(0)],
    how: Literal["max", "min", "sum"] = "sum",
) -> Any:
    """Reduces the slices of each segment to one.

    Args:
        data: (*ids, *rest).
        segment_ids: (*ids) whole numbers, which segment a slice belongs to; with one below 0 it
            belongs to none.
        num_segments: how many there are.
        how: 'sum', 'max' or 'min'; of nothing they are 0, and the dtype's lowest and highest
            value.

    Returns:
        (num_segments, *rest).
    """
    rank = segment_ids.ndim
    ids = segment_ids.reshape(-1)
    slices = data.reshape(math.prod(segment_ids.shape), *data.shape[rank:])
    ids = jnp.where(ids < 0, num_segments, ids)
    reduce = getattr(jax.ops, f"segment_{how}")
    found = reduce(slices, ids, num_segments)
    if how == "sum" or not is_float(np.dtype(data.dtype)):
        return found
    limits = jnp.finfo(data.dtype)
    return jnp.astype(jnp.clip(found, limits.min, limits.max), data.dtype)


@operator(
    "_backward_segment_sum",
    infer=lambda grad, segment_ids: (
        tensor_type((*segment_ids.shape, *grad.shape[1:]), grad.dtype),
    ),
)
def backward_segment_sum(grad: Any, segment_ids: Any) -> Any:
    """Gradient of _segment_reduce's sum: each slice has that of its segment, or 0 without one."""
    count = grad.shape[0]
    rows = jnp.concatenate([grad, jnp.zeros((1, *grad.shape[1:]), grad.dtype)])
    inside = (segment_ids >= 0) & (segment_ids < count)
    return jnp.take(rows, jnp.where(inside, segment_ids, count), axis=0, mode="clip")
