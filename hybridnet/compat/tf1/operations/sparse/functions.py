"""Functions of sparse tensors: to dense ones, products, sums, other orders and shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dtypes import int64
from ...graph import binary, constant, convert_to_tensor, handle, is_zero, ones_where, require_same
from ...graph.adding import EdgeHandle, Tensor, apply_shaped, fused, name_scope
from ...graph.arguments import known_numbers, static_value, with_default
from ...graph.building import compose
from .. import embedding_lookup, fill, gather_nd, host_call, reduce_sum, shape_of, where
from .tensor import SparseTensor

__all__ = [
    "embedding_lookup_sparse", "sparse_add", "sparse_from_dense", "sparse_reduce_sum",
    "sparse_reorder", "sparse_reshape", "sparse_tensor_dense_matmul", "sparse_tensor_to_dense",
    "sparse_to_dense",
]  # fmt: skip


def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """Returns an array with given elements at some places, and one number elsewhere.

    Args:
        sparse_indices: (n, rank) whole numbers; (n,) for vectors, () for one element of one.
        output_shape: of the result.
        sparse_values: (n,), or one number for all places.
        default_value: the number elsewhere.
        validate_indices: without meaning here.
    """
    with name_scope(name, "SparseToDense") as scope:
        places = convert_to_tensor(sparse_indices, name="sparse_indices")
        values = convert_to_tensor(sparse_values, name="sparse_values")
        number = convert_to_tensor(default_value, values.dtype.base_dtype, name="default_value")
        base = fill(output_shape, number, name="dense")
        rank, one = places.shape.ndims, values.shape.ndims == 0

        def placed(base: EdgeHandle, places: EdgeHandle, values: EdgeHandle) -> EdgeHandle:
            for _ in range(2 - (2 if rank is None else rank)):
                places = places.expand_dims(axis=-1)
            if one:
                first = handle("_np_sum", places.zeros_like(), axis=(-1,), dtype="int64")
                values = handle("Cast", first, dtype=number.dtype.numpy.name) + values
            return handle("_update_tuples", base, places, values, how="set")

        return fused("SparseToDense", placed, [base, places, values], name=scope)


def sparse_tensor_to_dense(
    sp_input: SparseTensor,
    default_value: Any = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """Returns a sparse tensor as a tensor; `default_value` is what is where it has no element."""
    parts = (sp_input.indices, sp_input.dense_shape, sp_input.values)
    return sparse_to_dense(*parts, with_default(default_value, 0), validate_indices, name)


def sparse_from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """Returns the elements of a tensor that are not 0 as a sparse tensor."""
    with name_scope(name, "dense_to_sparse"):
        x = convert_to_tensor(tensor)
        chosen = fused("NotEqual", lambda x: handle("_npi_not_equal_scalar", x, scalar=0.0), [x])
        places = where(chosen)
        return SparseTensor(places, gather_nd(x, places), shape_of(x, out_type=int64))


def _segments(kind: str, data: Tensor, rows: Tensor, count: Any, dims: Any, name: str) -> Tensor:
    """Adds up rows by number; `count` is how many there are, a number or a tensor."""
    operator, given = "_segment_reduce", {"num_segments": count}
    return apply_shaped(kind, operator, [data, rows], given, dtype=data.dtype, dims=dims, name=name)


def _size(sparse: SparseTensor, axis: int) -> Any:
    """Returns a size of a sparse tensor: a number where it is known, else a tensor."""
    known = static_value(sparse.dense_shape)
    if known is not None:
        return int(known[axis])
    return sparse.dense_shape[axis]  # type: ignore[index]  # overloaded


def sparse_tensor_dense_matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Tensor:
    """Returns the product of a sparse matrix and a matrix.

    Args:
        sp_a: (rows, inner).
        b: (inner, columns), of the dtype of `sp_a`.
        adjoint_a: whether `sp_a` is given as (inner, rows).
        adjoint_b: whether `b` is given as (columns, inner).
    """
    kind = "SparseTensorDenseMatMul"
    with name_scope(name, kind, [b]):
        a = SparseTensor.from_value(sp_a)
        values, matrix = require_same(kind, ("a", "b"), (a.values, b))
        outer, inner = (1, 0) if adjoint_a else (0, 1)

        def products(
            places: EdgeHandle, values: EdgeHandle, matrix: EdgeHandle
        ) -> list[EdgeHandle]:
            matrix = handle("transpose", matrix) if adjoint_b else matrix
            rows, columns = (_column(places, axis) for axis in (outer, inner))
            found = matrix.take(columns, axis=0, mode="clip")
            return [found * values.expand_dims(axis=1), rows]

        made, rows = compose("Mul", products, [a.indices, values, matrix], name="products")
        count = _size(a, outer)
        columns = matrix.shape[0 if adjoint_b else 1].value
        size = count if isinstance(count, int) else None
        return _segments(kind, made, rows, count, [size, columns], kind)


def _column(places: EdgeHandle, axis: int) -> EdgeHandle:
    return handle("_np_squeeze", places.slice_axis(axis=1, begin=axis, end=axis + 1), axis=1)


def sparse_reduce_sum(
    sp_input: SparseTensor,
    axis: Any = None,
    keepdims: Any = None,
    reduction_axes: Any = None,
    keep_dims: Any = None,
) -> Tensor:
    """Returns the sum along axes, as a tensor; arguments as those of `tf.reduce_sum`."""
    dense = sparse_tensor_to_dense(sp_input)
    axes = axis if reduction_axes is None else reduction_axes
    keep = keepdims if keep_dims is None else keep_dims
    return reduce_sum(dense, axes, keep, name="SparseReduceSum")


def _linear(places: EdgeHandle, sizes: EdgeHandle) -> EdgeHandle:
    """Returns the numbers of elements in row-major order, of their indices."""
    return handle("_np_sum", places * _steps(sizes), axis=(-1,), dtype="int64")


def _steps(sizes: EdgeHandle) -> EdgeHandle:
    """Returns how many elements one step along each axis is, in row-major order."""
    return handle("_running", sizes, how="prod", exclusive=True, reverse=True)


def sparse_reorder(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """Returns a sparse tensor with its elements in row-major order."""

    def ordered(places: EdgeHandle, values: EdgeHandle, sizes: EdgeHandle) -> list[EdgeHandle]:
        order = _linear(places, sizes).argsort(axis=0, dtype="int64")
        return [one.take(order, axis=0) for one in (places, values)]

    inputs = [sp_input.indices, sp_input.values, sp_input.dense_shape]
    places, values = compose("SparseReorder", ordered, inputs, name=name)
    return SparseTensor(places, values, sp_input.dense_shape)


def sparse_reshape(sp_input: SparseTensor, shape: Any, name: str | None = None) -> SparseTensor:
    """Returns the elements in another shape, known numbers of which one may be -1.

    Raises:
        ValueError: the shapes are not known, or have different numbers of elements.
    """
    with name_scope(name, "SparseReshape", [sp_input.indices]) as scope:
        sizes, total = known_numbers(shape), sp_input.get_shape().num_elements()
        if sizes is None or (-1 in sizes and total is None):
            raise ValueError("sparse_reshape: shapes must be known when the graph is built")
        if -1 in sizes:
            rest = int(np.prod([one for one in sizes if one != -1]))
            sizes = [(total or 0) // rest if one == -1 else one for one in sizes]
        if total is not None and np.prod(sizes) != total:
            raise ValueError(
                f"sparse_reshape: {sp_input.get_shape()} cannot be reshaped to {sizes}"
            )
        made = constant(np.array(sizes, np.int64), name="Const")

        def moved(places: EdgeHandle, old: EdgeHandle, new: EdgeHandle) -> EdgeHandle:
            numbers, steps = _linear(places, old).expand_dims(axis=-1), _steps(new)
            rest = numbers - handle("_npi_mod", numbers, steps)
            return handle("_npi_mod", rest / steps, new)

        inputs = [sp_input.indices, sp_input.dense_shape, made]
        return SparseTensor(
            fused("SparseReshape", moved, inputs, name=scope), sp_input.values, made
        )


def sparse_add(a: Any, b: Any, threshold: Any = None, thresh: Any = None) -> Any:
    """Returns the sum of two sparse tensors, or of a sparse one and a tensor.

    The sum of two sparse ones is sparse; no gradient goes through it.

    Args:
        a: the one.
        b: the other.
        threshold: sums that are not larger than this are left out.
        thresh: the older name of `threshold`.
    """
    if not (isinstance(a, SparseTensor) and isinstance(b, SparseTensor)):
        sparse, dense = (a, b) if isinstance(a, SparseTensor) else (b, a)
        return binary("AddV2", dense, sparse_tensor_to_dense(sparse), "add")
    least = threshold if thresh is None else thresh
    kind = a.dtype.base_dtype

    def added(*parts: np.ndarray[Any, Any]) -> list[Any]:
        places, group = np.unique(np.concatenate(parts[::2]), axis=0, return_inverse=True)
        values = np.zeros(len(places), kind.numpy)
        np.add.at(values, group.reshape(-1), np.concatenate(parts[1::2]))
        kept = slice(None) if least is None else np.abs(values) > least
        return [places[kept], values[kept]]

    inputs = [a.indices, a.values, b.indices, b.values]
    dims = [(None, a.get_shape().ndims), (None,)]
    places, values = host_call("SparseAdd", added, inputs, [int64, kind], dims)
    return SparseTensor(places, values, a.dense_shape)


def embedding_lookup_sparse(
    params: Any,
    sp_ids: SparseTensor,
    sp_weights: SparseTensor | None,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: Any = None,
) -> Tensor:
    """Returns for each row of ids the combination of the rows of a table that they say.

    Args:
        params: the table, (rows, columns), or several; see `embedding_lookup`.
        sp_ids: ids, each with a place in the last dimension; a row may have none, and gives 0.
        sp_weights: what each id counts, at the same places; None for 1.
        partition_strategy: which of several tables has a row; see `embedding_lookup`.
        combiner: 'mean' (the default), 'sum', or 'sqrtn', the sum over the root of the sum of
            squares of the weights.
        max_norm: must be None.

    Raises:
        ValueError: `combiner` is something else.
    """
    how = "mean" if combiner is None else combiner
    if how not in ("mean", "sum", "sqrtn") or max_norm is not None:
        raise ValueError(f"combiner must be mean, sqrtn or sum, and max_norm None, got {combiner}")
    kind = "SparseSegment"
    with name_scope(name, "embedding_lookup_sparse"):
        rows = embedding_lookup(params, sp_ids.values, partition_strategy)
        extra = [] if sp_weights is None else [sp_weights.values]

        def found(
            rows: EdgeHandle, places: EdgeHandle, ids: EdgeHandle, *weights: EdgeHandle
        ) -> list[EdgeHandle]:
            count = weights[0] if weights else _as_floats(ids, rows_type).ones_like()
            count = _as_floats(count, rows_type)
            size = count.square() if how == "sqrtn" else count
            return [rows * count.expand_dims(axis=1), size, _column(places, 0)]

        rows_type = rows.dtype.base_dtype.numpy.name
        inputs = [rows, sp_ids.indices, sp_ids.values, *extra]
        own, size, segments = compose("GatherV2", found, inputs, name="rows")
        count = _size(sp_ids, 0)
        number = count if isinstance(count, int) else None
        columns = rows.shape[1].value
        total = _segments(kind, own, segments, count, [number, columns], "total")
        if how == "sum":
            return total
        sizes = _segments(kind, size, segments, count, [number], "sizes")

        def divided(total: EdgeHandle, sizes: EdgeHandle) -> EdgeHandle:
            by = sizes.sqrt() if how == "sqrtn" else sizes
            return total / handle("expand_dims", ones_where(is_zero(by), by), axis=1)

        return fused("RealDiv", divided, [total, sizes], name="truediv")


def _as_floats(x: EdgeHandle, dtype: str) -> EdgeHandle:
    return handle("Cast", x, dtype=dtype)
