"""The functions of `np` that choose, sort, compare and multiply arrays, and those like others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsFloat, cast

import numpy as onp

from hybridnet.base.array_types import Dims, DTypeLike
from hybridnet.base.context import Context
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray

from .calls import apply, apply_all, dtype_name, operand, shape_of
from .fallback import on_host
from .manipulation import ravel
from .multiarray import array, ndarray
from .operands import ArrayLike

__all__ = [
    "argsort",
    "diag",
    "diag_indices_from",
    "diagflat",
    "diagonal",
    "dot",
    "einsum",
    "empty_like",
    "full_like",
    "inner",
    "matmul",
    "may_share_memory",
    "nonzero",
    "ones_like",
    "outer",
    "polyval",
    "set_printoptions",
    "shape",
    "shares_memory",
    "sort",
    "take",
    "tensordot",
    "trace",
    "tril",
    "triu",
    "unique",
    "unravel_index",
    "vdot",
    "where",
    "zeros_like",
]


# Like another array -------------------------------------------------------------------------------


def full_like(
    a: ArrayLike,
    fill_value: SupportsFloat,
    dtype: DTypeLike = None,
    order: str = "C",
    ctx: Context | None = None,
    out: NDArray | None = None,
) -> ndarray:
    """Returns an array of the shape of another with every element equal to `fill_value`."""
    if order != "C":
        raise ParameterError(f"np.full_like: order must be 'C', got {order!r}")
    name = dtype_name(dtype)
    made: Any = apply("_npi_full_like", a, out=out, fill_value=float(fill_value), dtype=name)
    if ctx is not None:
        made = made.as_in_context(ctx)
    return cast("ndarray", made)


def zeros_like(
    a: ArrayLike,
    dtype: DTypeLike = None,
    order: str = "C",
    ctx: Context | None = None,
    out: NDArray | None = None,
) -> ndarray:
    """Returns an array of zeros of the shape of another."""
    return full_like(a, 0, dtype, order, ctx, out)


def ones_like(
    a: ArrayLike,
    dtype: DTypeLike = None,
    order: str = "C",
    ctx: Context | None = None,
    out: NDArray | None = None,
) -> ndarray:
    """Returns an array of ones of the shape of another."""
    return full_like(a, 1, dtype, order, ctx, out)


def empty_like(
    prototype: ArrayLike,
    dtype: DTypeLike = None,
    order: str = "C",
    subok: bool = False,
    shape: Dims | None = None,
) -> ndarray:
    """Returns an array to be overwritten, of the shape of another; here it holds zeros."""
    if subok or shape is not None:
        raise ParameterError("np.empty_like: subok must be False and shape None")
    return full_like(prototype, 0, dtype, order)


# Products -----------------------------------------------------------------------------------------


def dot(a: ArrayLike, b: ArrayLike, out: NDArray | None = None) -> ndarray:
    """Returns sums of products over the last axis of a and the last but one (or only) of b."""
    return apply("_np_dot", a, b, out=out)


def matmul(a: ArrayLike, b: ArrayLike, out: NDArray | None = None, **kwargs: object) -> ndarray:
    """Returns matrix products over the last two axes; the others broadcast."""
    return apply("_npi_matmul", a, b, out=out)


def inner(a: ArrayLike, b: ArrayLike) -> ndarray:
    """Returns sums of products over the last axes of both."""
    a, b = operand(a), operand(b)
    if isinstance(a, NDArray) and isinstance(b, NDArray) and not (a.ndim and b.ndim):
        return cast("ndarray", a * b)
    return tensordot(a, b, (-1, -1))


def outer(a: ArrayLike, b: ArrayLike) -> ndarray:
    """Returns the products of each element of a with each of b, as a matrix."""
    return tensordot(ravel(a), ravel(b), 0)


def vdot(a: ArrayLike, b: ArrayLike) -> ndarray:
    """Returns the sum of products of two flattened arrays."""
    return tensordot(ravel(a), ravel(b), 1)


def tensordot(a: ArrayLike, b: ArrayLike, axes: int | Sequence[int | Sequence[int]] = 2) -> ndarray:
    """Returns sums of products over axes.

    Args:
        a, b: arrays.
        axes: how many, the last of a and the first of b; or those of a and those of b.
    """
    if isinstance(axes, int):
        return apply("_npi_tensordot_int_axes", a, b, axes=axes)
    of_a, of_b = ((axis,) if isinstance(axis, int) else tuple(axis) for axis in axes)
    return apply("_npi_tensordot", a, b, a_axes_summed=of_a, b_axes_summed=of_b)


def einsum(*operands: Any, **kwargs: Any) -> ndarray:
    """Returns sums of products in Einstein's notation: ``einsum("ij,jk->ik", a, b)``.

    Args:
        operands: the subscripts, then the arrays.
        kwargs: ``optimize``, accepted; ``out``, an array for the result.
    """
    subscripts, *arrays = operands
    if not isinstance(subscripts, str):
        raise ParameterError("np.einsum: the subscripts must be text, such as 'ij,jk->ik'")
    optimize = int(bool(kwargs.pop("optimize", False)))
    out = kwargs.pop("out", None)
    if kwargs:
        raise ParameterError(f"np.einsum: takes optimize and out, got {', '.join(kwargs)}")
    return apply("_npi_einsum", *arrays, out=out, subscripts=subscripts, optimize=optimize)


def polyval(p: ArrayLike, x: ArrayLike) -> ndarray:
    """Returns a polynomial at points; p holds its coefficients, the highest power first."""
    return apply("_npi_polyval", p, x)


# Diagonals and triangles --------------------------------------------------------------------------


def trace(
    a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1, out: NDArray | None = None
) -> ndarray:
    """Returns the sum of a diagonal of two axes."""
    return apply("_np_trace", a, out=out, offset=offset, axis1=axis1, axis2=axis2)


def diag(array: ArrayLike, k: int = 0) -> ndarray:
    """Returns the k-th diagonal of a matrix, or a matrix with a 1-d array on it."""
    return apply("_np_diag", array, k=k)


def diagflat(array: ArrayLike, k: int = 0) -> ndarray:
    """Returns a matrix with the flattened array on the k-th diagonal."""
    return apply("_np_diagflat", array, k=k)


def diagonal(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> ndarray:
    """Returns a diagonal of two axes, as the last axis."""
    return apply("_np_diagonal", a, offset=offset, axis1=axis1, axis2=axis2)


def tril(m: ArrayLike, k: int = 0) -> ndarray:
    """Returns the array with zeros above the k-th diagonal of the last two axes."""
    return apply("_npi_tril", m, k=k)


def triu(m: ArrayLike, k: int = 0) -> ndarray:
    """Returns the array with zeros below the k-th diagonal of the last two axes."""
    return apply("_npi_triu", m, k=k)


def diag_indices_from(arr: ArrayLike) -> tuple[ndarray, ...]:
    """Returns the positions of the main diagonal of an array whose axes have one size."""
    sizes = shape_of("diag_indices_from", arr)
    if len(sizes) < 2 or len(set(sizes)) != 1:
        raise ParameterError(
            f"np.diag_indices_from: needs two axes or more of one size, got shape {sizes}"
        )
    return (array(onp.arange(sizes[0])),) * len(sizes)


# Choosing and sorting -----------------------------------------------------------------------------


def take(
    a: ArrayLike,
    indices: ArrayLike,
    axis: int | None = None,
    mode: str = "raise",
    out: NDArray | None = None,
) -> ndarray:
    """Returns elements, or parts along an axis, at positions.

    Args:
        a: an array.
        indices: the positions.
        axis: along which; None for the flattened array.
        mode: what is done with positions out of range: 'clip' or 'wrap'; 'raise' counts negative
            ones from the end and clips the rest, as errors cannot be raised from a program.
        out: an array for the result.
    """
    return apply("_npi_take", a, indices, out=out, axis=axis, mode=mode)


def where(condition: ArrayLike, x: Any = None, y: Any = None) -> Any:
    """Returns elements of x where a condition is not 0, and of y elsewhere.

    Args:
        condition: an array.
        x, y: arrays, which broadcast, or numbers; without both, the positions where the condition
            is not 0 are returned, as by `nonzero`.
    """
    if x is None and y is None:
        return nonzero(condition)
    if x is None or y is None:
        raise ParameterError("np.where: needs both x and y, or neither")
    numbers = [isinstance(value, (int, float)) for value in (x, y)]
    if all(numbers):
        return apply("_npi_where_scalar2", condition, x=float(x), y=float(y))
    if numbers[0]:
        return apply("_npi_where_lscalar", condition, y, scalar=float(x))
    if numbers[1]:
        return apply("_npi_where_rscalar", condition, x, scalar=float(y))
    return apply("_npi_where", condition, x, y)


def sort(
    a: ArrayLike,
    axis: int | None = -1,
    kind: str | None = None,
    order: str | Sequence[str] | None = None,
) -> ndarray:
    """Returns the elements in ascending order along an axis; `kind` and `order` are not used."""
    return apply("_npi_sort", a, axis=axis)


def argsort(
    a: ArrayLike,
    axis: int | None = -1,
    kind: str | None = None,
    order: str | Sequence[str] | None = None,
) -> ndarray:
    """Returns the positions that would sort along an axis; `kind` and `order` are not used."""
    return apply("_npi_argsort", a, axis=axis)


def nonzero(a: ArrayLike) -> tuple[ndarray, ...]:
    """Returns the positions of the elements that are not 0, an array for each axis; waits."""
    a = operand(a)
    rows = apply("_npx_nonzero", a)
    return tuple(rows[:, axis] for axis in range(max(len(shape_of("nonzero", a)), 1)))


def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
) -> Any:
    """Returns the distinct elements in ascending order; runs on the host, and has no gradient.

    Args:
        ar: an array.
        return_index: return where each comes first.
        return_inverse: return which of them each element is, of the flattened array.
        return_counts: return how often each comes.
        axis: compare parts along it; None for the elements.
    """

    def host(x: ArrayLike) -> Any:
        find: Any = onp.unique
        made = find(x, return_index, return_inverse, return_counts, axis)
        if return_inverse:  # of one dimension, as MXNet gives it
            made = tuple(
                value.reshape(-1) if i == 1 + return_index else value
                for i, value in enumerate(made)
            )
        return made

    host.__name__ = "unique"
    return on_host(host, (operand(ar),), {})


def unravel_index(indices: ArrayLike, shape: Dims, order: str = "C") -> tuple[Any, ...]:
    """Returns the positions along each axis of a shape, from positions in it flattened.

    Of one whole number they are NumPy's.
    """
    if order != "C":
        raise ParameterError(f"np.unravel_index: order must be 'C', got {order!r}")
    if isinstance(indices, int):
        return onp.unravel_index(indices, shape)
    return tuple(apply_all("_npi_unravel_index", indices, shape=shape))


# About arrays -------------------------------------------------------------------------------------


def shape(a: Any) -> tuple[int, ...]:
    """Returns the dimensions of an array or of nested sequences."""
    return a.shape if isinstance(a, NDArray) else onp.shape(a)


def shares_memory(a: object, b: object, max_work: object = None) -> bool:
    """Returns whether two arrays are views that overlap."""
    if not (isinstance(a, NDArray) and isinstance(b, NDArray)) or a.storage is not b.storage:
        return False
    first, second = a.offset or 0, b.offset or 0
    return first < second + b.size and second < first + a.size


may_share_memory = shares_memory


def set_printoptions(
    precision: int | None = None, threshold: int | None = None, **kwarg: Any
) -> None:
    """Sets how arrays are printed: NumPy's own settings, since NumPy prints them."""
    onp.set_printoptions(precision=precision, threshold=threshold, **kwarg)
