"""Making sparse arrays: from parts, from dense arrays and SciPy's, and ones that store nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hybridnet.base.array_types import ArrayLike, Dims, DTypeLike, NumpyArray
from hybridnet.base.context import Context, current_context
from hybridnet.base.dtype import FLOAT32, INT64, as_dtype
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.sparse_parts import SparseParts

from .. import create
from ..blank import zeros_of
from ..copies import host_array
from ..ndarray import NDArray
from ..storage_types import STORAGE_TYPES, StorageType, storage_type
from .base import BaseSparseNDArray, apply, upload
from .csr import CSRNDArray
from .row_sparse import RowSparseNDArray

__all__ = ["array", "csr_matrix", "empty", "row_sparse_array", "zeros"]


def csr_matrix(
    arg1: object, shape: Dims | None = None, ctx: Context | None = None, dtype: DTypeLike = None
) -> CSRNDArray:
    """Makes a matrix in compressed sparse rows.

    Args:
        arg1: one of

            * ``(data, indices, indptr)``: values, columns, and where rows begin and end;
            * ``(data, (row, col))``: values and their positions; those of one position are added;
            * ``(rows, columns)``: a matrix that stores nothing;
            * a CSRNDArray, a matrix of ``scipy.sparse``, or a dense array or nested lists: copied.

            Positions that are given are waited for; they are sorted where they do not ascend.
        shape: (rows, columns); default the least that holds all positions.
        ctx: where to; default the current context, or where a CSRNDArray is.
        dtype: default that of the values, and float32 for Python's numbers.

    Raises:
        ShapeError: the parts do not fit each other or the shape.
        ParameterError: `arg1` is none of these.
    """
    if isinstance(arg1, tuple) and len(arg1) == 3:
        return _csr_from_parts(*arg1, shape, ctx, dtype)
    if isinstance(arg1, tuple) and len(arg1) == 2:
        if not _is_dims(arg1):
            return _csr_from_positions(*arg1, shape, ctx, dtype)
        _check_shape("csr_matrix", arg1, shape)
        return _csr_zeros(_dims(arg1, "csr_matrix"), ctx or current_context(), dtype)
    if hasattr(arg1, "tocsr"):  # of scipy.sparse, all kinds of which have it
        matrix = arg1.tocsr().copy()
        matrix.sum_duplicates()  # sorts, too
        parts = (matrix.data, matrix.indices, matrix.indptr)
        _check_shape("csr_matrix", matrix.shape, shape)
        return _csr_from_parts(*parts, matrix.shape, ctx, dtype)
    made = _from_array("csr_matrix", arg1, "csr", shape, ctx, dtype)
    assert isinstance(made, CSRNDArray)
    return made


def row_sparse_array(
    arg1: object, shape: Dims | None = None, ctx: Context | None = None, dtype: DTypeLike = None
) -> RowSparseNDArray:
    """Makes an array of which some rows are stored.

    Args:
        arg1: one of

            * ``(data, indices)``: the rows, (n, ...), and where they stand, (n,);
            * a shape, ``(rows, ...)``: an array that stores nothing;
            * a RowSparseNDArray, a dense array or nested lists: copied.

            Positions that are given are waited for; they are sorted where they do not ascend.
        shape: (rows, ...); default the least that holds all positions.
        ctx: where to; default the current context, or where a RowSparseNDArray is.
        dtype: default that of the values, and float32 for Python's numbers.

    Raises:
        ShapeError: the parts do not fit each other or the shape.
        ParameterError: `arg1` is none of these.
    """
    if isinstance(arg1, tuple) and arg1 and not _is_dims(arg1):
        if len(arg1) != 2:
            raise ParameterError(
                "row_sparse_array: a tuple must be (data, indices) or a shape, got "
                f"{len(arg1)} elements"
            )
        return _rows_from_parts(*arg1, shape, ctx, dtype)
    if isinstance(arg1, tuple):
        _check_shape("row_sparse_array", arg1, shape)
        return _rows_zeros(_dims(arg1, "row_sparse_array"), ctx or current_context(), dtype)
    made = _from_array("row_sparse_array", arg1, "row_sparse", shape, ctx, dtype)
    assert isinstance(made, RowSparseNDArray)
    return made


def array(
    source_array: object, ctx: Context | None = None, dtype: DTypeLike = None
) -> BaseSparseNDArray:
    """Makes a sparse array from a sparse NDArray or a matrix of ``scipy.sparse``.

    Args:
        source_array: the array; copied.
        ctx: where to; default the current context.
        dtype: default that of the source.

    Raises:
        ParameterError: it is dense; use `nd.array`.
    """
    if hasattr(source_array, "tocsr"):
        return csr_matrix(source_array, ctx=ctx, dtype=dtype)
    if not isinstance(source_array, BaseSparseNDArray):
        raise ParameterError(
            "nd.sparse.array: needs a sparse NDArray or a matrix of scipy.sparse, got "
            f"{type(source_array).__name__}; use nd.array, csr_matrix or row_sparse_array"
        )
    moved = source_array.copyto(ctx or current_context())
    assert isinstance(moved, BaseSparseNDArray)
    return moved if dtype is None else moved.astype(dtype, copy=False)


def zeros(
    stype: str, shape: Dims, ctx: Context | None = None, dtype: DTypeLike = None, **kwargs: object
) -> NDArray:
    """Returns an array of zeros: one that stores nothing.

    Args:
        stype: 'csr', 'row_sparse' or 'default' (dense).
        shape: its dimensions.
        ctx: where; default the current context.
        dtype: default float32.
        kwargs: nothing.
    """
    if kwargs:
        raise ParameterError(f"nd.sparse.zeros: unknown arguments {', '.join(kwargs)}")
    if stype == "default":
        return create.zeros(shape, ctx, dtype)
    kind = storage_type(stype, "nd.sparse.zeros")
    dims = _dims(shape, "nd.sparse.zeros")
    made: NDArray = kind.zeros(dims, ctx or current_context(), dtype)
    return made


def empty(stype: str, shape: Dims, ctx: Context | None = None, dtype: DTypeLike = None) -> NDArray:
    """Returns an array to be overwritten; it stores nothing. See `zeros`."""
    return zeros(stype, shape, ctx, dtype)


# Parts ------------------------------------------------------------------------------------------


def _is_dims(given: Sequence[object]) -> bool:
    return all(isinstance(value, (int, np.integer)) for value in given)


def _dims(shape: Dims, what: str) -> tuple[int, ...]:
    dims = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if not dims or not _is_dims(dims) or min(dims) < 0:
        raise ShapeError(f"{what}: the shape must be whole numbers >= 0, got {shape!r}")
    return tuple(int(size) for size in dims)


def _check_shape(what: str, found: Sequence[int], shape: Dims | None) -> None:
    if shape is not None and tuple(found) != _dims(shape, what):
        raise ShapeError(f"{what}: shape must be {tuple(found)}, that of the source, got {shape}")


def _values(data: ArrayLike, ctx: Context | None, dtype: DTypeLike, what: str) -> NDArray:
    """Returns values as a dense array of its own."""
    if isinstance(data, NDArray):
        moved = data.copyto(ctx or current_context())
        return moved if dtype is None else moved.astype(dtype, copy=False)
    if dtype is None:
        dtype = data.dtype if isinstance(data, np.ndarray) else FLOAT32
    return upload(host_array(data, as_dtype(dtype), what), ctx or current_context())


def _positions(given: ArrayLike, what: str) -> NumpyArray:
    host = given.asnumpy() if isinstance(given, NDArray) else host_array(given, INT64, what)
    if host.ndim != 1:
        raise ShapeError(f"{what}: must have 1 dimension, got shape {host.shape}")
    return host.astype(np.int64)


def _extent(what: str, positions: NumpyArray, size: int | None) -> int:
    """Returns how many rows or columns there are; raises where a position is not among them."""
    least = int(positions.max()) + 1 if len(positions) else 0
    size = least if size is None else size
    if least > size or (len(positions) and positions.min() < 0):
        raise ShapeError(
            f"{what}: must be from 0 to {size - 1}, the shape's last, got {positions.min()} to "
            f"{positions.max()}"
        )
    return size


def _csr_from_parts(
    data: ArrayLike,
    indices: ArrayLike,
    indptr: ArrayLike,
    shape: Dims | None,
    ctx: Context | None,
    dtype: DTypeLike,
) -> CSRNDArray:
    values = _values(data, ctx, dtype, "csr_matrix: data")
    columns = _positions(indices, "csr_matrix: indices")
    ends = _positions(indptr, "csr_matrix: indptr")
    dims = (None, None) if shape is None else _matrix(_dims(shape, "csr_matrix"))
    rows = len(ends) - 1 if dims[0] is None else dims[0]
    fits = len(ends) == rows + 1 and ends[0] == 0 and ends[-1] == len(columns)
    if not fits or (np.diff(ends) < 0).any() or values.shape != columns.shape:
        raise ShapeError(
            "csr_matrix: indptr must have a number more than there are rows, begin with 0, not "
            "decrease, and end with the number of values and columns, got data of shape "
            f"{values.shape}, indices of shape {columns.shape}, indptr {ends.tolist()[:20]} and "
            f"shape {shape}"
        )
    if dims[1] is None and not len(columns):
        raise ShapeError("csr_matrix: shape must be given where no position tells it, got None")
    width = _extent("csr_matrix: indices", columns, dims[1])
    row = np.repeat(np.arange(rows), np.diff(ends))
    order = np.lexsort((columns, row))
    if (np.diff(order) < 0).any():
        columns = columns[order]
        values = apply("take", values, upload(order, values.context))
    aux = [upload(host, values.context) for host in (columns, ends)]
    return CSRNDArray.of(values, aux, (rows, width))


def _csr_from_positions(
    data: ArrayLike, positions: ArrayLike, shape: Dims | None, ctx: Context | None, dtype: DTypeLike
) -> CSRNDArray:
    if not isinstance(positions, (tuple, list)) or len(positions) != 2:
        raise ParameterError(
            "csr_matrix: a tuple must be (data, indices, indptr), (data, (row, col)) or "
            f"(rows, columns), got {positions!r} in the second place"
        )
    values = _values(data, ctx, dtype, "csr_matrix: data")
    row = _positions(positions[0], "csr_matrix: row")
    column = _positions(positions[1], "csr_matrix: col")
    if not values.shape == row.shape == column.shape:
        raise ShapeError(
            "csr_matrix: data, row and col must have equal lengths, got shapes "
            f"{values.shape}, {row.shape} and {column.shape}"
        )
    dims = (None, None) if shape is None else _matrix(_dims(shape, "csr_matrix"))
    rows = _extent("csr_matrix: row", row, dims[0])
    width = _extent("csr_matrix: col", column, dims[1])
    keys, place = np.unique(row * width + column, return_inverse=True)
    if len(values):
        target = upload(place.reshape(-1), values.context)
        values = apply("_rows_sum", values, target, rows=len(keys))
    ends = np.searchsorted(keys, np.arange(rows + 1) * width)
    positions = (keys % max(width, 1), ends)
    aux = [upload(host.astype(np.int64), values.context) for host in positions]
    return CSRNDArray.of(values, aux, (rows, width))


def _rows_from_parts(
    data: ArrayLike, indices: ArrayLike, shape: Dims | None, ctx: Context | None, dtype: DTypeLike
) -> RowSparseNDArray:
    values = _values(data, ctx, dtype, "row_sparse_array: data")
    rows = _positions(indices, "row_sparse_array: indices")
    if not values.shape or len(values) != len(rows):
        raise ShapeError(
            "row_sparse_array: data must be (n, ...) and indices (n,), got shapes "
            f"{values.shape} and {rows.shape}"
        )
    dims = None if shape is None else _dims(shape, "row_sparse_array")
    if dims is not None and dims[1:] != values.shape[1:]:
        raise ShapeError(
            f"row_sparse_array: rows must have the shape {dims[1:]}, got data of {values.shape}"
        )
    count = _extent("row_sparse_array: indices", rows, None if dims is None else dims[0])
    order = np.argsort(rows, kind="stable")
    if (np.diff(rows[order]) == 0).any():
        raise ParameterError("row_sparse_array: indices must be distinct, got one more than once")
    if (np.diff(order) < 0).any():
        values = apply("take", values, upload(order, values.context))
    aux = [upload(rows[order], values.context)]
    return RowSparseNDArray.of(values, aux, (count, *values.shape[1:]))


def _from_array(
    what: str, source: Any, stype: str, shape: Dims | None, ctx: Context | None, dtype: DTypeLike
) -> NDArray:
    """Returns a dense array, or one of this storage, in this storage."""
    if isinstance(source, NDArray) and source.stype not in ("default", stype):
        raise ParameterError(
            f"{what}: needs a dense array or one of storage {stype!r}, got {source.stype!r}; "
            "make it dense with tostype('default')"
        )
    given = isinstance(source, NDArray)
    made = _values(source, ctx or (source.context if given else None), dtype, what).tostype(stype)
    _check_shape(what, made.shape, shape)
    return made


# Storage types ----------------------------------------------------------------------------------


def _matrix(shape: tuple[int, ...]) -> tuple[int, ...]:
    if len(shape) != 2:
        raise ShapeError(f"csr: a csr array must have 2 dimensions, got shape {shape}")
    return shape


def _csr_zeros(shape: tuple[int, ...], ctx: Context, dtype: DTypeLike) -> CSRNDArray:
    data = zeros_of(0, ctx, dtype)
    sizes = (0, _matrix(shape)[0] + 1)
    return CSRNDArray.of(data, [zeros_of(size, ctx, INT64) for size in sizes], shape)


def _rows_zeros(shape: tuple[int, ...], ctx: Context, dtype: DTypeLike) -> RowSparseNDArray:
    data = zeros_of((0, *shape[1:]), ctx, dtype)
    return RowSparseNDArray.of(data, [zeros_of(0, ctx, INT64)], shape)


def _to_csr(source: NDArray) -> CSRNDArray:
    data, *aux = apply("_dense_csr", source)
    return CSRNDArray.of(data, aux, source.shape)


def _to_rows(source: NDArray) -> RowSparseNDArray:
    if not source.shape:
        raise ShapeError("cast_storage: a row_sparse array must have a dimension, got shape ()")
    data, rows = apply("_dense_rows", source)
    return RowSparseNDArray.of(data, [rows], source.shape)


def _of_rows(values: NDArray, indices: NDArray, rows: int) -> RowSparseNDArray:
    return RowSparseNDArray.of(values, [indices], (rows, *values.shape[1:]), exact=False)


def _parts_of(source: BaseSparseNDArray) -> SparseParts:
    source.trimmed()
    # A file has a CSR matrix' row ends before its columns.
    aux = [array.asnumpy() for array in reversed(source._aux)]
    return SparseParts(source.stype, source.shape, source._data.asnumpy(), aux)


def _from_parts(parts: SparseParts, ctx: Context) -> BaseSparseNDArray:
    kind = CSRNDArray if parts.stype == "csr" else RowSparseNDArray
    aux = [upload(host, ctx) for host in reversed(parts.aux)]
    return kind.of(upload(parts.data, ctx), aux, parts.shape)


def _of_matrix(matrix: object, ctx: Context, dtype: DTypeLike) -> CSRNDArray:
    return csr_matrix(matrix, ctx=ctx, dtype=dtype)


STORAGE_TYPES["csr"] = StorageType(
    _to_csr, _csr_zeros, _parts_of, _from_parts, of_matrix=_of_matrix
)
STORAGE_TYPES["row_sparse"] = StorageType(_to_rows, _rows_zeros, _parts_of, _from_parts, _of_rows)
