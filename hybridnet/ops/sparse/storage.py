"""What sparse arrays are computed with: operators on the dense arrays that they are made of.

A row-sparse array is values (n, ...) and the rows (n,) they stand in, ascending; a CSR matrix is
values (n,), their columns (n,), and where each row begins and ends among them (rows + 1,). Either
may have room for more than it holds, so that the sizes of programs depend on no values: unused
rows have the number of rows as their position, and unused elements come after the last row's end.
Positions out of range are dropped or read as something that is dropped later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np

from hybridnet.base.attrs import Range
from hybridnet.base.dtype import INT64
from hybridnet.base.errors import ShapeError
from hybridnet.base.lazy import jnp
from hybridnet.base.tensor_type import TensorType

from ..core.backward import vjp_gradient
from ..core.call import Backward
from ..core.families import convert
from ..core.registry import get, operator
from ..core.rules import refuse_bool, same_type

__all__: list[str] = []

_POSITIONS = "its results are positions, which do not depend on the values"
Count = Annotated[int, Range(0)]


def _elements(data: Any, indices: Any, indptr: Any, columns: int) -> tuple[Any, Any, Any]:
    """Returns value, row and column of each element; 0 and positions out of range for room."""
    rows = indptr.shape[0] - 1
    place = jnp.arange(data.shape[0], dtype=INT64)
    used = place < indptr[-1]
    row = jnp.searchsorted(indptr, place, side="right").astype(INT64) - 1
    return (
        jnp.where(used, data, jnp.zeros((), data.dtype)),
        jnp.where(used, row, rows),
        jnp.where(used, indices, columns),
    )


# To and from dense ------------------------------------------------------------------------------


@operator("_csr_dense")
def csr_dense(data: Any, indices: Any, indptr: Any, *, columns: Count) -> Any:
    """The dense matrix that a CSR matrix stands for.

    Args:
        data: (n,), the values.
        indices: (n,), their columns.
        indptr: (rows + 1,), where each row begins and the last one ends.
        columns: how many columns there are.

    Returns:
        (rows, columns), 0 where nothing is stored.
    """
    values, row, column = _elements(data, indices, indptr, columns)
    dense = jnp.zeros((indptr.shape[0] - 1, columns), data.dtype)
    return dense.at[row, column].set(values, mode="drop")


@operator("_rows_dense")
def rows_dense(data: Any, indices: Any, *, rows: Count) -> Any:
    """The dense array that a row-sparse array stands for.

    Args:
        data: (n, ...), the rows that are stored.
        indices: (n,), where they stand.
        rows: how many rows there are.

    Returns:
        (rows, ...), 0 where nothing is stored.
    """
    dense = jnp.zeros((rows, *data.shape[1:]), data.dtype)
    return dense.at[indices].set(data, mode="drop")


def _count_elements(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> int:
    return int(np.count_nonzero(inputs[0].asnumpy()))


def _count_rows(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> int:
    host = inputs[0].asnumpy()
    return int(np.count_nonzero((host != 0).reshape(host.shape[0], -1).any(1)))


def _check_matrix(data: TensorType, **_: Any) -> None:
    if len(data.shape) != 2:
        raise ShapeError(f"cast_storage: a csr array must have 2 dimensions, got {data}")


@operator("_dense_csr", outputs=3, check=_check_matrix, sizes={"size": _count_elements})
def dense_csr(data: Any, *, size: Count | None = None) -> Any:
    """Values, columns and row ends of the elements of a matrix that are not zero.

    Args:
        data: (rows, columns).
        size: how many there are; measured on arrays, which waits for them.

    Returns:
        (size,), (size,) int64 and (rows + 1,) int64.
    """
    stored = data != 0
    row, column = jnp.nonzero(stored, size=size, fill_value=0)
    counts = jnp.cumsum(jnp.sum(stored, axis=1, dtype=INT64), dtype=INT64)
    indptr = jnp.concatenate([jnp.zeros(1, INT64), counts])
    return data[row, column], column.astype(INT64), indptr


@operator("_dense_rows", outputs=2, sizes={"size": _count_rows})
def dense_rows(data: Any, *, size: Count | None = None) -> Any:
    """The rows of an array that are not all zero, and where they stand.

    Args:
        data: any shape of 1 dimension or more.
        size: how many there are; measured on arrays, which waits for them.

    Returns:
        (size, ...) and (size,) int64.
    """
    stored = jnp.any((data != 0).reshape(data.shape[0], -1), axis=1)
    (rows,) = jnp.nonzero(stored, size=size, fill_value=data.shape[0])
    return jnp.take(data, rows, axis=0, mode="fill", fill_value=0), rows.astype(INT64)


# Positions --------------------------------------------------------------------------------------


@operator("_distinct", no_gradient=_POSITIONS)
def distinct(data: Any, *, bound: Count) -> Any:
    """The distinct numbers in an array, ascending.

    Args:
        data: positions, any shape; those that are not from 0 to `bound` count as `bound`.
        bound: what fills the room that is left.

    Returns:
        (size,) int64, where size is that of `data`, but not more than `bound`.
    """
    whole = data.reshape(-1).astype(INT64)
    inside = jnp.where((whole < 0) | (whole > bound), bound, whole)
    return jnp.unique(inside, size=min(data.size, bound), fill_value=bound).astype(INT64)


@operator("_csr_keys", no_gradient=_POSITIONS)
def csr_keys(indices: Any, indptr: Any, *, columns: Count) -> Any:
    """The position of each element of a CSR matrix as one number, ``row * columns + column``.

    Args:
        indices: (n,), the columns.
        indptr: (rows + 1,), where rows begin and end.
        columns: how many columns there are.

    Returns:
        (n,) int64, ascending.
    """
    _, row, column = _elements(indices, indices, indptr, 0)
    return row * columns + column


@operator("_keys_csr", outputs=2, no_gradient=_POSITIONS)
def keys_csr(data: Any, *, rows: Count, columns: Count) -> Any:
    """Columns and row ends from ascending positions; the inverse of `_csr_keys`.

    Args:
        data: (n,) int64.
        rows: how many rows the matrix has.
        columns: how many columns.

    Returns:
        (n,) int64 and (rows + 1,) int64.
    """
    starts = jnp.arange(rows + 1, dtype=INT64) * columns
    indptr = jnp.searchsorted(data, starts, side="left").astype(INT64)
    return jnp.mod(data, max(columns, 1)), indptr


# Values at positions ----------------------------------------------------------------------------


@operator("_lookup")
def lookup(data: Any, indices: Any, wanted: Any) -> Any:
    """The values that belong to some positions among those stored; 0 where one is not stored.

    Args:
        data: (n, ...), the values stored.
        indices: (n,), where; ascending.
        wanted: (m,), positions.

    Returns:
        (m, ...).
    """
    shape = (wanted.shape[0], *data.shape[1:])
    if not indices.shape[0]:
        return jnp.zeros(shape, data.dtype)
    wanted = wanted.astype(INT64)
    place = jnp.minimum(jnp.searchsorted(indices, wanted), indices.shape[0] - 1)
    found = (indices[place] == wanted).reshape(-1, *(1,) * (data.ndim - 1))
    return jnp.where(found, data[place], jnp.zeros((), data.dtype))


@operator("_take_rows")
def take_rows(data: Any, indices: Any) -> Any:
    """Some rows of an array; 0 for positions out of range.

    Args:
        data: (rows, ...).
        indices: (n,), which rows.

    Returns:
        (n, ...).
    """
    return data.at[indices].get(mode="fill", fill_value=0)


@operator("_put_rows")
def put_rows(data: Any, indices: Any, values: Any) -> Any:
    """A copy of an array with some rows replaced; positions out of range are left out.

    Args:
        data: (rows, ...).
        indices: (n,), which rows.
        values: (n, ...), what they become.
    """
    return data.at[indices].set(values.astype(data.dtype), mode="drop")


@operator("_csr_pick")
def csr_pick(data: Any, indices: Any, indptr: Any) -> Any:
    """The elements of a dense matrix at the positions that a CSR matrix stores.

    Args:
        data: (rows or 1, columns or 1).
        indices: (n,), the columns.
        indptr: (rows + 1,), where rows begin and end.

    Returns:
        (n,).
    """
    _, row, column = _elements(indices, indices, indptr, 0)
    row = row if data.shape[0] > 1 else jnp.zeros_like(row)
    column = column if data.shape[1] > 1 else jnp.zeros_like(column)
    return data.at[row, column].get(mode="clip")


@operator("_rows_sum", check=refuse_bool("_rows_sum"))
def rows_sum(data: Any, indices: Any, *, rows: Count) -> Any:
    """The rows of an array, those of one position added; `indices` need not ascend.

    Args:
        data: (n, ...).
        indices: (n,), the position of each; those out of range are left out.
        rows: how many positions there are.

    Returns:
        (rows, ...).
    """
    return jnp.zeros((rows, *data.shape[1:]), data.dtype).at[indices].add(data, mode="drop")


# Products and sums ------------------------------------------------------------------------------


def _dot_gradient(back: Backward) -> list[Any]:
    """Of the dense side: stored sparsely where asked for, as only the columns in use have one."""
    if not back.attrs["sparse_grad"] or any(back.wanted[:3]):
        return vjp_gradient(back)
    data, indices, indptr, rhs = back.inputs
    call, _ = get("_csr_dot_rows").bind({"columns": back.attrs["columns"]})
    values, rows = back.apply(call, (data, indices, indptr, back.grads[0]))
    return [None, None, None, type(rhs).from_rows(values, rows, back.attrs["columns"])]


@operator("_csr_dot", gradient=_dot_gradient)
def csr_dot(
    data: Any,
    indices: Any,
    indptr: Any,
    rhs: Any,
    *,
    columns: Count,
    transpose_a: bool = False,
    sparse_grad: bool = False,
) -> Any:
    """The product of a CSR matrix, or of its transpose, and a dense matrix.

    Args:
        data: (n,), the values.
        indices: (n,), their columns.
        indptr: (rows + 1,), where rows begin and end.
        rhs: (columns, k); (rows, k) with `transpose_a`.
        columns: how many columns the CSR matrix has.
        transpose_a: whether it is the transpose.
        sparse_grad: whether the gradient of `rhs` is stored as row-sparse array.

    Returns:
        (rows, k); (columns, k) with `transpose_a`.
    """
    rows = indptr.shape[0] - 1
    values, row, column = _elements(data, indices, indptr, columns)
    into, taken, count = (column, row, columns) if transpose_a else (row, column, rows)
    terms = values[:, None] * rhs.at[taken].get(mode="fill", fill_value=0)
    return jnp.zeros((count, rhs.shape[1]), terms.dtype).at[into].add(terms, mode="drop")


@operator("_csr_dot_rows", outputs=2)
def csr_dot_rows(data: Any, indices: Any, indptr: Any, rhs: Any, *, columns: Count) -> Any:
    """The product of a transposed CSR matrix and a dense one, as row-sparse array.

    Args:
        data: (n,), the values.
        indices: (n,), their columns.
        indptr: (rows + 1,), where rows begin and end.
        rhs: (rows, k).
        columns: how many columns the CSR matrix has.

    Returns:
        (m, k) and (m,) int64: a row for each column with an element, and its position. m is the
        smaller of n and `columns`.
    """
    values, row, column = _elements(data, indices, indptr, columns)
    size = min(data.shape[0], columns)
    rows = jnp.unique(column, size=size, fill_value=columns).astype(INT64)
    terms = values[:, None] * rhs.at[row].get(mode="fill", fill_value=0)
    place = jnp.searchsorted(rows, column)
    return jnp.zeros((size, rhs.shape[1]), terms.dtype).at[place].add(terms, mode="drop"), rows


@operator("_csr_sum", check=refuse_bool("sum"))
def csr_sum(
    data: Any, indices: Any, indptr: Any, *, columns: Count, axis: Literal[0, 1] | None = None
) -> Any:
    """The sum of a CSR matrix over an axis, or of all its elements.

    Args:
        data: (n,), the values.
        indices: (n,), their columns.
        indptr: (rows + 1,), where rows begin and end.
        columns: how many columns there are.
        axis: 0 sums each column, 1 each row; None all.

    Returns:
        (columns,), (rows,) or (1,).
    """
    values, row, column = _elements(data, indices, indptr, columns)
    if axis is None:
        return jnp.sum(values, dtype=data.dtype).reshape(1)
    into, size = (row, indptr.shape[0] - 1) if axis else (column, columns)
    return jnp.zeros(size, data.dtype).at[into].add(values, mode="drop")


# MXNet's operators, of which a graph computes the dense form ------------------------------------


@operator("cast_storage", aliases=("_sparse_cast_storage",), infer=same_type)
def cast_storage(data: Any, *, stype: Literal["default", "row_sparse", "csr"]) -> Any:
    """The same array in another storage type; in a graph, where all storage is dense, itself.

    Args:
        data: the array.
        stype: the storage type.
    """
    return data


@operator("_sparse_retain")
def sparse_retain(data: Any, indices: Any) -> Any:
    """An array with some of its rows, and 0 in all others.

    Args:
        data: any shape of 1 dimension or more.
        indices: (n,), the rows that stay.
    """
    rows = convert(indices, INT64)
    kept = jnp.zeros(data.shape[0], np.bool_).at[rows].set(True, mode="drop")
    kept = kept.reshape(-1, *(1,) * (data.ndim - 1))
    return jnp.where(kept, data, jnp.zeros((), data.dtype))
