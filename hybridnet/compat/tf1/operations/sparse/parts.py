"""Parts of sparse tensors, and several as one: ``tf.sparse_concat``, ``tf.sparse_retain``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...dtypes import bool as bool_
from ...dtypes import int64
from ...graph import axis_of, compose, constant, convert_to_tensor, known_numbers
from ...graph.adding import EdgeHandle, Tensor, fused, handle, name_scope
from .. import gather, host_call, places_where
from .functions import sparse_reorder
from .tensor import SparseTensor

__all__ = ["sparse_concat", "sparse_fill_empty_rows", "sparse_retain", "sparse_slice"]


def sparse_concat(
    axis: Any,
    sp_inputs: Sequence[SparseTensor],
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: Any = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:
    """Returns sparse tensors joined along an axis.

    Args:
        axis: along which.
        sp_inputs: alike in all dimensions but that one.
        expand_nonconcat_dim, expand_nonconcat_dims: must be False.
        concat_dim: the older name of `axis`.

    Raises:
        ValueError: sizes would have to be made alike.
    """
    if expand_nonconcat_dim or expand_nonconcat_dims:
        raise ValueError("sparse_concat: expand_nonconcat_dim must be False")
    rank = sp_inputs[0].get_shape().ndims
    number = axis_of("SparseConcat", axis if concat_dim is None else concat_dim, rank)
    count = len(sp_inputs)

    def joined(*parts: EdgeHandle) -> list[EdgeHandle]:
        places, values, sizes = parts[:count], parts[count : 2 * count], parts[2 * count :]
        # The size along the axis alone, 0 elsewhere: what the places of the next ones move by.
        own = [_along(one, number, rank or 0) for one in sizes]
        moved, before = [places[0]], own[0]
        for one, size in zip(places[1:], own[1:], strict=True):
            moved.append(one + before)
            before = before + size
        whole = [handle("Concat", *several, dim=0) for several in (moved, values)]
        return [*whole, sizes[0] - own[0] + before]

    names = ("indices", "values", "dense_shape")
    parts = [getattr(one, name) for name in names for one in sp_inputs]
    with name_scope(name, "SparseConcat"):
        places, values, sizes = compose("SparseConcat", joined, parts, name="joined")
        return sparse_reorder(SparseTensor(places, values, sizes))


def _along(sizes: EdgeHandle, axis: int, rank: int) -> EdgeHandle:
    """Returns sizes with 0 in the place of all but one."""
    axis %= max(rank, 1)
    one = sizes.slice_axis(axis=0, begin=axis, end=axis + 1)
    return handle("_npi_pad", one, pad_width=(axis, rank - axis - 1))


def sparse_retain(sp_input: SparseTensor, to_retain: Any) -> SparseTensor:
    """Returns a sparse tensor with those of its elements for which a vector is True."""
    chosen = convert_to_tensor(to_retain, bool_)
    made = places_where(chosen, "SparseRetain")
    values, places = gather(sp_input.values, made), gather(sp_input.indices, made)
    return SparseTensor(places, values, sp_input.dense_shape)


def sparse_slice(
    sp_input: SparseTensor, start: Any, size: Any, name: str | None = None
) -> SparseTensor:
    """Returns a block of a sparse tensor.

    Args:
        sp_input: the sparse tensor, of known shape.
        start: where the block begins along each axis, known numbers.
        size: of the block; what lies beyond the tensor is not there.
    """
    whole, first, count = sp_input.get_shape(), known_numbers(start), known_numbers(size)
    if first is None or count is None or not whole.is_fully_defined():
        raise ValueError("sparse_slice: shape, start and size must be known")
    low = np.array(first, np.int64)
    high = np.minimum(low + np.array(count, np.int64), np.array(whole.as_list(), np.int64))

    def found(places: np.ndarray[Any, Any]) -> list[Any]:
        inside = np.flatnonzero(((places >= low) & (places < high)).all(1)).astype(np.int64)
        return [inside, places[inside] - low]

    rank = sp_input.get_shape().ndims
    chosen, places = host_call(
        "SparseSlice", found, [sp_input.indices], [int64, int64], [(None,), (None, rank)], name=name
    )
    sizes = constant(np.maximum(high - low, 0), int64)
    return SparseTensor(places, gather(sp_input.values, chosen), sizes)


def sparse_fill_empty_rows(
    sp_input: SparseTensor, default_value: Any, name: str | None = None
) -> tuple[SparseTensor, Tensor]:
    """Puts an element at the beginning of each row that has none.

    Args:
        sp_input: (rows, columns).
        default_value: the element.

    Returns:
        The sparse tensor, and for each row whether it had none.
    """
    number = convert_to_tensor(default_value, sp_input.dtype.base_dtype)

    def found(places: np.ndarray[Any, Any], sizes: np.ndarray[Any, Any]) -> list[Any]:
        empty = np.ones(sizes[0], bool)
        empty[places[:, 0]] = False
        added = np.zeros((int(empty.sum()), places.shape[1]), np.int64)
        added[:, 0] = np.flatnonzero(empty)
        every = np.concatenate([places, added])
        order = np.lexsort(every.T[::-1])
        return [every[order], order.astype(np.int64), empty]

    rank = sp_input.get_shape().ndims
    dims = [(None, rank), (None,), (None,)]
    places, order, empty = host_call(
        "SparseFillEmptyRows", found, [sp_input.indices, sp_input.dense_shape],
        [int64, int64, bool_], dims, name=name,
    )  # fmt: skip

    def filled(values: EdgeHandle, order: EdgeHandle, number: EdgeHandle) -> EdgeHandle:
        # Past the end of the values the default stands: once, and the rest is taken from there.
        every = handle("Concat", values, handle("_np_reshape", number, newshape=(1,)), dim=0)
        return every.take(order, axis=0, mode="clip")

    values = fused("GatherV2", filled, [sp_input.values, order, number])
    return SparseTensor(places, values, sp_input.dense_shape), empty
