"""Products and sums of sparse arrays."""

from __future__ import annotations

from typing import Any, Literal

from hybridnet.base.dtype import INT64
from hybridnet.ops.host.namespace import at, jnp

from ..core.backward import vjp_gradient
from ..core.call import Backward
from ..core.registry import get, operator
from ..core.rules import refuse_bool
from ._form import Count, elements


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
    values, row, column = elements(data, indices, indptr, columns)
    into, taken, count = (column, row, columns) if transpose_a else (row, column, rows)
    terms = values[:, None] * at(rhs)[taken].get(mode="fill", fill_value=0)
    return at(jnp.zeros((count, rhs.shape[1]), terms.dtype))[into].add(terms, mode="drop")


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
    values, row, column = elements(data, indices, indptr, columns)
    size = min(data.shape[0], columns)
    rows = jnp.unique(column, size=size, fill_value=columns).astype(INT64)
    terms = values[:, None] * at(rhs)[row].get(mode="fill", fill_value=0)
    place = jnp.searchsorted(rows, column)
    return at(jnp.zeros((size, rhs.shape[1]), terms.dtype))[place].add(terms, mode="drop"), rows


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
    values, row, column = elements(data, indices, indptr, columns)
    if axis is None:
        return jnp.sum(values, dtype=data.dtype).reshape(1)
    into, size = (row, indptr.shape[0] - 1) if axis else (column, columns)
    return at(jnp.zeros(size, data.dtype))[into].add(values, mode="drop")
