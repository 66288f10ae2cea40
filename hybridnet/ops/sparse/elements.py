"""Positions of what sparse arrays store, and values at positions."""

from __future__ import annotations

from typing import Any

from hybridnet.base.dtype import INT64
from hybridnet.ops.host.namespace import at, jnp

from ..core.registry import operator
from ..core.rules import refuse_bool
from ._form import Count, elements

_POSITIONS = "its results are positions, which do not depend on the values"


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
    _, row, column = elements(indices, indices, indptr, 0)
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
    return at(data)[indices].get(mode="fill", fill_value=0)


@operator("_put_rows")
def put_rows(data: Any, indices: Any, values: Any) -> Any:
    """A copy of an array with some rows replaced; positions out of range are left out.

    Args:
        data: (rows, ...).
        indices: (n,), which rows.
        values: (n, ...), what they become.
    """
    return at(data)[indices].set(values.astype(data.dtype), mode="drop")


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
    _, row, column = elements(indices, indices, indptr, 0)
    row = row if data.shape[0] > 1 else jnp.zeros_like(row)
    column = column if data.shape[1] > 1 else jnp.zeros_like(column)
    return at(data)[row, column].get(mode="clip")


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
    return at(jnp.zeros((rows, *data.shape[1:]), data.dtype))[indices].add(data, mode="drop")
