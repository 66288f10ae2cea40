"""Between dense arrays and the parts of sparse ones, and MXNet's operators of that in graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from hybridnet.base.dtype import INT64
from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.host.namespace import at, jnp

from ..core.families import convert
from ..core.registry import operator
from ..core.rules import same_type
from ._form import Count, elements


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
    values, row, column = elements(data, indices, indptr, columns)
    dense = jnp.zeros((indptr.shape[0] - 1, columns), data.dtype)
    return at(dense)[row, column].set(values, mode="drop")


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
    return at(dense)[indices].set(data, mode="drop")


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


@operator("cast_storage", aliases=("_sparse_cast_storage",), infer=same_type)
def cast_storage(data: Any, *, stype: Literal["default", "row_sparse", "csr"]) -> Any:
    """The same array in another storage type; in a graph, where all storage is dense, itself.

    Args:
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
    kept = at(jnp.zeros(data.shape[0], np.bool_))[rows].set(True, mode="drop")
    kept = kept.reshape(-1, *(1,) * (data.ndim - 1))
    return jnp.where(kept, data, jnp.zeros((), data.dtype))
