"""Random shapes, arrays and matrices for tests, drawn from NumPy's global generator."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from hybridnet.base.array_types import DTypeLike, NumpyArray
from hybridnet.base.context import Context
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray, array

from .defaults import default_context, default_dtype

__all__ = [
    "assign_each",
    "assign_each2",
    "collapse_sum_like",
    "create_2d_tensor",
    "create_vector",
    "get_identity_mat",
    "get_identity_mat_batch",
    "new_matrix_with_real_eigvals_2d",
    "new_matrix_with_real_eigvals_nd",
    "new_orthonormal_matrix_2d",
    "new_sym_matrix_with_real_eigvals_2d",
    "new_sym_matrix_with_real_eigvals_nd",
    "np_reduce",
    "rand_coord_2d",
    "rand_ndarray",
    "rand_shape_2d",
    "rand_shape_3d",
    "rand_shape_nd",
    "rand_sparse_ndarray",
    "random_arrays",
    "random_sample",
    "random_uniform_arrays",
]

_Item = TypeVar("_Item")


def random_arrays(*shapes: Sequence[int]) -> Any:
    """Returns a float32 array of normal numbers for each shape; one alone is not in a list."""
    made = [np.asarray(np.random.normal(size=shape)).astype(default_dtype()) for shape in shapes]
    return made[0] if len(made) == 1 else made


def random_uniform_arrays(
    *shapes: Sequence[int], low: float = 0.0, high: float = 1.0, dtype: DTypeLike = None
) -> list[NumpyArray]:
    """Returns an array of numbers between `low` and `high` for each shape; float32 by default."""
    dtype = dtype or default_dtype()
    return [np.asarray(np.random.uniform(low, high, size=shape)).astype(dtype) for shape in shapes]


def random_sample(population: Sequence[_Item], k: int) -> list[_Item]:
    """Returns k different elements, in the order they have in the population."""
    places = sorted(random.sample(range(len(population)), k))
    return [population[place] for place in places]


def rand_shape_nd(num_dim: int, dim: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """Returns `num_dim` dimensions from 1 (or 0) to `dim`."""
    least = 0 if allow_zero_size else 1
    return tuple(int(size) for size in np.random.randint(least, dim + 1, size=num_dim))


def rand_shape_2d(dim0: int = 10, dim1: int = 10, allow_zero_size: bool = False) -> tuple[int, ...]:
    """Returns two dimensions from 1 (or 0) to `dim0` and `dim1`."""
    return tuple(rand_shape_nd(1, dim, allow_zero_size)[0] for dim in (dim0, dim1))


def rand_shape_3d(
    dim0: int = 10, dim1: int = 10, dim2: int = 10, allow_zero_size: bool = False
) -> tuple[int, ...]:
    """Returns three dimensions from 1 (or 0) to `dim0`, `dim1` and `dim2`."""
    return tuple(rand_shape_nd(1, dim, allow_zero_size)[0] for dim in (dim0, dim1, dim2))


def rand_coord_2d(x_low: int, x_high: int, y_low: int, y_high: int) -> tuple[int, int]:
    """Returns whole x and y with ``x_low <= x < x_high`` and ``y_low <= y < y_high``."""
    return int(np.random.randint(x_low, x_high)), int(np.random.randint(y_low, y_high))


def rand_ndarray(
    shape: Sequence[int],
    stype: str = "default",
    density: float | None = None,
    dtype: DTypeLike = None,
    modifier_func: Callable[[float], float] | None = None,
    shuffle_csr_indices: bool = False,
    distribution: str | None = None,
    ctx: Context | None = None,
) -> NDArray:
    """Returns an array of random numbers: normal ones, or for sparse storage as below.

    Args:
        shape, density, dtype, modifier_func, shuffle_csr_indices, distribution, ctx: as for
            `rand_sparse_ndarray`.
        stype: 'default', 'csr' or 'row_sparse'.
    """
    if stype == "default":
        return array(random_arrays(tuple(shape)), ctx or default_context(), dtype)
    made, _ = rand_sparse_ndarray(
        shape,
        stype,
        density,
        dtype,
        distribution,
        modifier_func=modifier_func,
        shuffle_csr_indices=shuffle_csr_indices,
        ctx=ctx,
    )
    return made


def rand_sparse_ndarray(
    shape: Sequence[int],
    stype: str,
    density: float | None = None,
    dtype: DTypeLike = None,
    distribution: str | None = None,
    data_init: float | None = None,
    rsp_indices: Sequence[int] | None = None,
    modifier_func: Callable[[float], float] | None = None,
    shuffle_csr_indices: bool = False,
    ctx: Context | None = None,
) -> tuple[NDArray, tuple[NumpyArray, ...]]:
    """Returns a random array in sparse storage, and what is stored.

    Args:
        shape: its shape; two dimensions for csr.
        stype: 'csr' or 'row_sparse'.
        density: the chance of an element (of a row, for row_sparse) to be stored; default random.
        dtype: float32 by default.
        distribution: 'uniform' (the default), or 'powerlaw' for csr: rows are filled from the
            left, each with twice the elements of the one before, until `density` is reached.
        data_init: what all stored elements are; default random from 0 to 1.
        rsp_indices: the rows that are stored, for row_sparse.
        modifier_func: what each stored element is put through.
        shuffle_csr_indices: without meaning here: the columns of a row are kept in order.
        ctx: where; default the default context.

    Returns:
        The array, and its stored data and indices (and for csr, last, indptr) as NumPy arrays.

    Raises:
        ParameterError: the storage type, the distribution or the density is unknown.
    """
    density = float(np.random.rand()) if density is None else density
    if not 0 <= density <= 1:
        raise ParameterError(f"rand_sparse_ndarray: density must be from 0 to 1, got {density}")
    kept = _kept(tuple(shape), stype, density, distribution or "uniform", rsp_indices)
    values = np.random.uniform(0.001, 1, size=tuple(shape))  # a stored zero would be dropped
    if data_init is not None:
        values[...] = data_init
    if modifier_func is not None:
        values = np.vectorize(modifier_func, otypes=[float])(values)
    dense = np.where(kept, values, 0).astype(dtype or default_dtype())
    made = array(dense, ctx or default_context(), dense.dtype).tostype(stype)
    names = ("data", "indices", "indptr") if stype == "csr" else ("data", "indices")
    return made, tuple(getattr(made, name).asnumpy() for name in names)


def _kept(
    shape: tuple[int, ...],
    stype: str,
    density: float,
    distribution: str,
    rows: Sequence[int] | None,
) -> NumpyArray:
    """Returns which elements of a sparse array are stored."""
    if stype == "row_sparse" and distribution == "uniform":
        chosen = np.random.rand(shape[0]) < density
        if rows is not None:
            chosen = np.isin(np.arange(shape[0]), rows)
        return np.broadcast_to(chosen.reshape(-1, *[1] * (len(shape) - 1)), shape)
    if stype == "csr" and distribution == "uniform":
        return np.random.rand(*shape) < density
    if stype == "csr" and distribution == "powerlaw":
        left = int(density * np.prod(shape))
        kept = np.zeros(shape, bool)
        for row in range(shape[0]):
            count = min(2**row, shape[1], left)
            kept[row, :count] = True
            left -= count
        return kept
    raise ParameterError(
        "rand_sparse_ndarray: stype must be 'csr' or 'row_sparse', and distribution 'uniform' or, "
        f"for csr, 'powerlaw'; got {stype!r} and {distribution!r}"
    )


def assign_each(the_input: NumpyArray, function: Callable[[float], float] | None) -> NumpyArray:
    """Returns the array with each element put through a function; None: as it is."""
    source = np.array(the_input)
    if function is None:
        return source
    return np.asarray(np.vectorize(function, otypes=[source.dtype])(source))


def assign_each2(
    input1: NumpyArray, input2: NumpyArray, function: Callable[[float, float], float] | None
) -> NumpyArray:
    """Returns a function of each pair of elements of two arrays; None: the first array."""
    source = np.array(input1)
    if function is None:
        return source
    return np.asarray(np.vectorize(function, otypes=[source.dtype])(source, input2))


def create_2d_tensor(rows: int, columns: int, dtype: DTypeLike = np.int64) -> NDArray:
    """Returns an array whose every element is the number of its row."""
    return array(np.repeat(np.arange(rows), columns).reshape(rows, columns), dtype=dtype)


def create_vector(size: int, dtype: DTypeLike = np.int64) -> NDArray:
    """Returns the array 0, 1, ..., size - 1."""
    return array(np.arange(size), dtype=dtype)


def get_identity_mat(size: int) -> NumpyArray:
    """Returns the unit matrix, float32."""
    return np.eye(size, dtype=np.float32)


def get_identity_mat_batch(size: int) -> NumpyArray:
    """Returns two unit matrices, float32 (2, size, size)."""
    return np.stack([get_identity_mat(size)] * 2)


def np_reduce(
    dat: NumpyArray,
    axis: int | Sequence[int] | None,
    keepdims: bool,
    numpy_reduce_func: Callable[..., NumpyArray],
) -> NumpyArray:
    """Returns a NumPy reduction over one axis, several, or all (None)."""
    axes = (axis,) if isinstance(axis, int) else axis
    axes = range(dat.ndim) if axes is None else [axis % dat.ndim for axis in axes]
    result = np.asarray(dat)
    for dim in sorted(axes, reverse=True):
        result = numpy_reduce_func(result, axis=dim)
    if keepdims:
        result = result.reshape([1 if i in axes else n for i, n in enumerate(dat.shape)])
    return result


def collapse_sum_like(a: NumpyArray, shape: Sequence[int]) -> NumpyArray:
    """Returns the sum of an array over the axes along which `shape` broadcasts to it."""
    wide = (1,) * (a.ndim - len(shape)) + tuple(shape)
    axes = tuple(i for i, (n, m) in enumerate(zip(a.shape, wide, strict=True)) if n != m)
    return np.asarray(a.sum(axis=axes)).reshape(tuple(shape))


def new_orthonormal_matrix_2d(n: int) -> NumpyArray:
    """Returns a random matrix (n, n) whose rows are orthonormal."""
    return np.asarray(np.linalg.qr(np.random.randn(n, n))[0])


def new_matrix_with_real_eigvals_2d(n: int) -> NumpyArray:
    """Returns a random well-conditioned matrix (n, n) with real eigenvalues of different sizes."""
    basis = new_orthonormal_matrix_2d(n)
    upper = np.triu(np.random.uniform(-0.5, 0.5, (n, n)), 1)
    return basis @ (np.diag(np.arange(1.0, n + 1)) + upper) @ basis.T


def new_sym_matrix_with_real_eigvals_2d(n: int) -> NumpyArray:
    """Returns a random symmetric matrix (n, n) with eigenvalues 1, 2, ..., n."""
    basis = new_orthonormal_matrix_2d(n)
    made = basis @ np.diag(np.arange(1.0, n + 1)) @ basis.T
    return np.asarray((made + made.T) / 2)


def new_matrix_with_real_eigvals_nd(shape: Sequence[int]) -> NumpyArray:
    """Returns matrices of `new_matrix_with_real_eigvals_2d`, the last two axes being a matrix."""
    return _stacked(new_matrix_with_real_eigvals_2d, shape)


def new_sym_matrix_with_real_eigvals_nd(shape: Sequence[int]) -> NumpyArray:
    """Returns matrices of `new_sym_matrix_with_real_eigvals_2d`, the last two axes being one."""
    return _stacked(new_sym_matrix_with_real_eigvals_2d, shape)


def _stacked(make: Callable[[int], NumpyArray], shape: Sequence[int]) -> NumpyArray:
    count = int(np.prod(shape[:-2]))
    return np.stack([make(shape[-1]) for _ in range(count)]).reshape(tuple(shape))
