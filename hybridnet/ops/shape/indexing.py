"""Operators that select elements by positions held in arrays, and their inverses.

Positions outside an array are clipped or wrapped, as in MXNet. Where MXNet raises (``take`` with
``mode='raise'``), or reads what is not there, `IndexBound` says so, and it is an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np

from hybridnet.base.attrs import DType, Range
from hybridnet.base.dtype import INT32, INT64, as_dtype
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import at, jnp

from ..core.backward import vjp_gradient
from ..core.call import Backward, IndexBound
from ..core.checks import require_some
from ..core.families import promoted
from ..core.operator import Shapes, describe
from ..core.registry import get, operator
from ..core.rules import one_axis, promote_types, reduced_shape

Mode = Literal["clip", "wrap"]


def whole(indices: Any) -> Any:
    """Positions as integers: MXNet's are often float32, and are truncated."""
    return indices if indices.dtype == INT64 else indices.astype(INT32)


def _within(indices: Any, size: int, mode: str) -> Any:
    """Brings positions into the range from 0 to size - 1."""
    indices = whole(indices)
    if mode == "wrap":
        return jnp.mod(indices, max(size, 1))
    return jnp.clip(indices, 0, max(size - 1, 0))


def _take_type(a: TensorType, indices: TensorType, *, axis: int, mode: str) -> tuple[TensorType]:
    position = one_axis("take", axis, a)
    require_some("take", a, [position], indices)
    shape = (*a.shape[:position], *indices.shape, *a.shape[position + 1 :])
    return (tensor_type(shape, a.dtype),)


def _take_bounds(a: TensorType, _: TensorType, *, axis: int, mode: str) -> Sequence[IndexBound]:
    axis %= len(a.shape)
    bound = IndexBound(1, "indices", (a.shape[axis],), (axis,), always=mode == "raise")
    return () if mode == "wrap" else (bound,)


@operator("take", infer=_take_type, bounds=_take_bounds)
def _take(
    a: Any, indices: Any, *, axis: int = 0, mode: Literal["clip", "raise", "wrap"] = "clip"
) -> Any:
    """Slices of `a` at the given positions along an axis.

    Args:
        indices: positions, of any shape, which replaces the axis in the result.
        mode: what happens to positions outside: "clip" to the nearest, "wrap" around, or "raise":
            an error, at once or where a value is next read. Until then the result is NaN there
            (of integers, the least of the dtype).
    """
    size = a.shape[axis]
    if mode == "raise":
        indices = whole(indices)
        # Python's negative positions would count from the end here.
        return jnp.take(a, jnp.where(indices < 0, size, indices), axis=axis, mode="fill")
    return jnp.take(a, _within(indices, size, mode), axis=axis)


def _batch_take_type(a: TensorType, indices: TensorType) -> tuple[TensorType]:
    if len(a.shape) != 2 or indices.shape != a.shape[:1]:
        raise ShapeError(
            "batch_take: a must be (rows, columns) and indices (rows,), got "
            f"{describe(('a', 'indices'), (a, indices))}"
        )
    return (tensor_type(indices.shape, a.dtype),)


def _column_bounds(a: TensorType, _: TensorType) -> Sequence[IndexBound]:
    return (IndexBound(1, "indices", (a.shape[1],), (1,)),)


@operator("batch_take", infer=_batch_take_type, bounds=_column_bounds)
def _batch_take(a: Any, indices: Any) -> Any:
    """One element of each row of a matrix: ``a[i, indices[i]]``; positions are clipped."""
    columns = _within(indices, a.shape[1], "clip")
    return jnp.take_along_axis(a, columns[:, None], axis=1)[:, 0]


def _pick_type(
    data: TensorType, index: TensorType, *, axis: int | None, keepdims: bool, mode: str
) -> tuple[TensorType]:
    if axis is None:
        raise ParameterError("pick: axis must be an integer, got None")
    position = one_axis("pick", axis, data)
    kept = reduced_shape(data.shape, (position,), True)
    dropped = reduced_shape(data.shape, (position,), False)
    if index.shape not in (kept, dropped):
        raise ShapeError(
            f"pick: index must have shape {dropped} or {kept}, that of data without axis {axis}, "
            f"got {describe(('data', 'index'), (data, index))}"
        )
    return (tensor_type(kept if keepdims else dropped, data.dtype),)


def _pick_bounds(
    data: TensorType, _: TensorType, *, axis: int, keepdims: bool, mode: str
) -> Sequence[IndexBound]:
    axis %= len(data.shape)
    return () if mode == "wrap" else (IndexBound(1, "index", (data.shape[axis],), (axis,)),)


@operator("pick", aliases=("choose_element_0index",), infer=_pick_type, bounds=_pick_bounds)
def _pick(
    data: Any,
    index: Any,
    *,
    axis: int | None = -1,
    keepdims: bool = False,
    mode: Mode = "clip",
) -> Any:
    """One element along an axis for each place of the others: ``data[i, index[i]]``.

    Args:
        index: positions; the shape of `data` without the axis, or with size 1 there.
        keepdims: keep the axis with size 1.
        mode: positions outside are clipped or wrap around.
    """
    axis = axis or 0
    kept = reduced_shape(data.shape, (axis % data.ndim,), True)
    places = _within(index, data.shape[axis], mode).reshape(kept)
    picked = jnp.take_along_axis(data, places, axis=axis)
    return (
        picked
        if keepdims
        else picked.reshape(reduced_shape(data.shape, (axis % data.ndim,), False))
    )


def _one_hot_type(indices: TensorType, *, depth: int, dtype: str, **_: Any) -> tuple[TensorType]:
    return (tensor_type((*indices.shape, depth), as_dtype(dtype)),)


@operator(
    "one_hot",
    infer=_one_hot_type,
    bounds=lambda _, *, depth, **__: (IndexBound(0, "indices", (depth,), ()),),
    no_gradient="its result depends on positions, which are whole numbers",
)
def _one_hot(
    indices: Any,
    *,
    depth: Annotated[int, Range(0)],
    on_value: float = 1.0,
    off_value: float = 0.0,
    dtype: DType = "float32",
) -> Any:
    """A vector for each position, with `on_value` there and `off_value` elsewhere.

    Args:
        indices: positions, of any shape; one outside gives a vector without `on_value`.
        depth: the length of the vectors, which become the last axis.
        on_value: the value at the position.
        off_value: the value elsewhere.
        dtype: the element type of the result.
    """
    kind = as_dtype(dtype)
    hot = whole(indices)[..., None] == jnp.arange(depth, dtype=INT32)
    return jnp.where(hot, np.asarray(on_value, kind), np.asarray(off_value, kind))


def _where_type(condition: TensorType, x: TensorType, y: TensorType) -> tuple[TensorType]:
    if x.shape != y.shape or condition.shape not in (x.shape, x.shape[:1]):
        raise ShapeError(
            "where: x and y must have equal shapes, and condition the same or that of their first "
            f"dimension, got {describe(('condition', 'x', 'y'), (condition, x, y))}"
        )
    return (tensor_type(x.shape, promote_types((x, y))),)


def _where_shapes(shapes: Shapes, **_: Any) -> Shapes:
    """The shapes of x and y are one; the condition's could be either."""
    condition, x, y = shapes
    return [condition, y if x is None else x, x if y is None else y]


@operator("where", infer=_where_type, complete=_where_shapes)
def _where(condition: Any, x: Any, y: Any) -> Any:
    """Elements of `x` where the condition is not zero, otherwise of `y`.

    Args:
        condition: of the shape of `x`, or of that of its first dimension, to choose whole rows.
        y: an array of the same shape.
    """
    x, y = promoted(x, y)
    chosen = condition != 0
    if chosen.ndim < x.ndim:
        chosen = chosen.reshape(chosen.shape + (1,) * (x.ndim - 1))
    return jnp.where(chosen, x, y)


def _embedding_type(
    data: TensorType, weight: TensorType, *, input_dim: int, output_dim: int, **_: Any
) -> tuple[TensorType]:
    if weight.shape != (input_dim, output_dim):
        raise ShapeError(
            f"Embedding: weight must be (input_dim, output_dim) = {(input_dim, output_dim)}, got "
            f"weight {weight}"
        )
    return (tensor_type((*data.shape, output_dim), weight.dtype),)


@operator("_embedding_rows", outputs=2)
def _embedding_rows(data: Any, grad: Any, *, input_dim: Annotated[int, Range(1)]) -> Any:
    """The gradient of the table of `Embedding`: the rows that were looked up, and which they are.

    Args:
        data: positions, of any shape; those outside are clipped.
        grad: (*data.shape, output_dim), the gradient of the output.
        input_dim: how many rows the table has.

    Returns:
        (m, output_dim) and (m,) int64, where m is the size of `data`, but at most `input_dim`;
        the positions ascend, and those of rows that are not needed are `input_dim`.
    """
    place = _within(data, input_dim, "clip").reshape(-1)
    size = min(data.size, input_dim)
    rows = jnp.unique(place, size=size, fill_value=input_dim)
    values = jnp.zeros((size, grad.shape[-1]), grad.dtype)
    added = grad.reshape(-1, grad.shape[-1])
    return at(values)[jnp.searchsorted(rows, place)].add(added, mode="drop"), rows.astype(INT64)


def _embedding_shapes(shapes: Shapes, *, input_dim: int, output_dim: int, **_: Any) -> Shapes:
    """Completes the shapes of positions and of a table."""
    return [shapes[0], (input_dim, output_dim)]


def _embedding_gradient(back: Backward) -> Sequence[Any]:
    """With `sparse_grad`, the rows that were looked up; otherwise the default rule."""
    data, weight = back.inputs
    if not back.attrs.get("sparse_grad", True) or list(back.wanted) != [False, True]:
        return vjp_gradient(back)
    count = back.attrs["input_dim"]
    call, _ = get("_embedding_rows").bind({"input_dim": count})
    values, rows = back.apply(call, (data, back.grads[0]))
    return [None, type(weight).from_rows(values, rows, count)]


def _row_bounds(_: TensorType, weight: TensorType, **__: Any) -> Sequence[IndexBound]:
    return (IndexBound(0, "data", (weight.shape[0],), (0,)),)


@operator(
    "Embedding",
    bounds=_row_bounds,
    infer=_embedding_type,
    complete=_embedding_shapes,
    gradient=_embedding_gradient,
)
def _embedding(
    data: Any,
    weight: Any,
    *,
    input_dim: Annotated[int, Range(1)],
    output_dim: Annotated[int, Range(1)],
    dtype: DType = "float32",
    sparse_grad: bool = False,
) -> Any:
    """Rows of a table, one for each whole number in `data`.

    Args:
        data: positions, of any shape; those outside are clipped.
        weight: (input_dim, output_dim).
        input_dim: how many rows the table has.
        output_dim: the length of each.
        dtype: the element type of a weight that is made for this operator.
        sparse_grad: whether the gradient of the weight is a row-sparse array, which holds only
            the rows that were looked up. It is kept so by a variable with
            ``attach_grad(stype='row_sparse')``; in graphs all gradients are dense.
    """
    return jnp.take(weight, _within(data, weight.shape[0], "clip"), axis=0)


@operator(
    "_contrib_SparseEmbedding",
    bounds=_row_bounds,
    infer=_embedding_type,
    complete=_embedding_shapes,
    gradient=_embedding_gradient,
)
def _sparse_embedding(
    data: Any,
    weight: Any,
    *,
    input_dim: Annotated[int, Range(1)],
    output_dim: Annotated[int, Range(1)],
    dtype: DType = "float32",
    deterministic: bool = False,
) -> Any:
    """Rows of a table, whose gradient is row-sparse; `Embedding` with `sparse_grad`.

    Args:
        data: positions, of any shape; those outside are clipped.
        weight: (input_dim, output_dim).
        input_dim: how many rows the table has.
        output_dim: the length of each.
        dtype: the element type of a weight that is made for this operator.
        deterministic: without meaning here: sums are always in the same order.
    """
    return _embedding(data, weight, input_dim=input_dim, output_dim=output_dim)
