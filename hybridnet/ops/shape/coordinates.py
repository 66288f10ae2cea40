"""Operators whose positions are coordinates: one row of positions for each dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybridnet.base.attrs import Shape
from hybridnet.base.dtype import INT64
from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import at, jnp

from ..core.call import IndexBound
from ..core.checks import require_some
from ..core.registry import operator
from .indexing import whole


def _depth(name: str, indices: TensorType, shape: Sequence[int]) -> int:
    """The number of leading dimensions that the rows of `indices` select from."""
    depth = indices.shape[0] if indices.shape else 0
    if not 0 < depth <= len(shape):
        raise ShapeError(
            f"{name}: indices must have one row for each leading dimension of an array of shape "
            f"{tuple(shape)}, at most {len(shape)}, got indices {indices}"
        )
    return depth


def _gather_type(data: TensorType, indices: TensorType) -> tuple[TensorType]:
    depth = _depth("gather_nd", indices, data.shape)
    require_some("gather_nd", data, range(depth), indices)
    return (tensor_type(indices.shape[1:] + data.shape[depth:] or (1,), data.dtype),)


def _coordinate_bounds(
    number: int, indices: TensorType, shape: Sequence[int]
) -> Sequence[IndexBound]:
    """Returns the bounds of coordinates in an array of a shape, which are an input's rows."""
    sizes = tuple(shape[: indices.shape[0]])
    return (IndexBound(number, "indices", sizes, tuple(range(len(sizes))), None, always=True),)


@operator(
    "gather_nd",
    infer=_gather_type,
    bounds=lambda data, indices: _coordinate_bounds(1, indices, data.shape),
)
def _gather_nd(data: Any, indices: Any) -> Any:
    """Elements, or slices, of `data` at the given coordinates.

    Args:
        indices: (m, ...): row i holds positions along dimension i; negative ones count from the
            end. One outside is an error, at once or where a value is next read.
    """
    gathered = data[tuple(whole(indices))]
    return gathered if gathered.ndim else gathered.reshape(1)


def _scatter_type(
    data: TensorType, indices: TensorType, *, shape: tuple[int, ...]
) -> tuple[TensorType]:
    depth = _depth("scatter_nd", indices, shape)
    wanted = indices.shape[1:] + shape[depth:]
    if data.shape != wanted:
        raise ShapeError(
            f"scatter_nd: data must have shape {wanted} for indices {indices} and shape {shape}, "
            f"got data {data}"
        )
    return (tensor_type(shape, data.dtype),)


@operator(
    "scatter_nd",
    infer=_scatter_type,
    bounds=lambda data, indices, *, shape: _coordinate_bounds(1, indices, shape),
)
def _scatter_nd(data: Any, indices: Any, *, shape: Shape) -> Any:
    """Zeros, with the elements of `data` put at the given coordinates.

    Args:
        data: the elements, or slices.
        indices: (m, ...): row i holds positions along dimension i. Of equal coordinates, any one
            element stays.
        shape: the shape of the result.
    """
    return at(jnp.zeros(shape, data.dtype))[tuple(whole(indices))].set(data)


def _scatter_set_type(
    lhs: TensorType, rhs: TensorType, indices: TensorType, *, shape: tuple[int, ...]
) -> tuple[TensorType]:
    if shape != lhs.shape:
        raise ShapeError(f"_scatter_set_nd: shape must be that of lhs {lhs}, got {shape}")
    _scatter_type(rhs, indices, shape=shape)
    return (lhs,)


@operator(
    "_scatter_set_nd",
    infer=_scatter_set_type,
    bounds=lambda lhs, rhs, indices, *, shape: _coordinate_bounds(2, indices, shape),
)
def _scatter_set_nd(lhs: Any, rhs: Any, indices: Any, *, shape: Shape) -> Any:
    """An array with some elements replaced, as assignment by coordinates does.

    Args:
        rhs: the elements, or slices, that replace others.
        indices: (m, ...): row i holds positions along dimension i.
        shape: the shape of `lhs`.
    """
    return at(lhs)[tuple(whole(indices))].set(rhs.astype(lhs.dtype))


def _ravel_type(data: TensorType, *, shape: tuple[int, ...]) -> tuple[TensorType]:
    if not data.shape or data.shape[0] != len(shape):
        raise ShapeError(
            f"_ravel_multi_index: data must have one row for each dimension of {shape}, got {data}"
        )
    return (tensor_type(data.shape[1:] or (1,), data.dtype),)


_POSITION = "its result is a position"


@operator(
    "_ravel_multi_index",
    aliases=("ravel_multi_index",),
    infer=_ravel_type,
    no_gradient=_POSITION,
)
def _ravel_multi_index(data: Any, *, shape: Shape) -> Any:
    """Positions in the flattened array of coordinates in an array of this shape.

    Args:
        data: (dimensions, ...): row i holds positions along dimension i.
        shape: the shape of the array; the first size may be -1.
    """
    places = whole(data).astype(INT64)
    flat = jnp.zeros(places.shape[1:], INT64)
    for size, row in zip(shape, places, strict=True):
        flat = flat * size + row
    return flat.reshape(data.shape[1:] or (1,)).astype(data.dtype)


@operator(
    "_unravel_index",
    aliases=("unravel_index",),
    infer=lambda data, *, shape: (tensor_type((len(shape), *data.shape), data.dtype),),
    no_gradient=_POSITION,
)
def _unravel_index(data: Any, *, shape: Shape) -> Any:
    """Coordinates in an array of this shape of positions in the flattened array.

    Args:
        data: positions, of any shape.
        shape: the shape of the array; the first size may be -1.
    """
    left = whole(data).astype(INT64)
    rows = []
    for size in reversed(shape[1:]):
        rows.append(left % size)
        left = left // size
    return jnp.stack([left, *reversed(rows)]).astype(data.dtype)
