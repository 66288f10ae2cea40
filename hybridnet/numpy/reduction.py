"""The reductions of `np`, and what else runs along axes."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from hybridnet.base.array_types import Axes, DTypeLike
from hybridnet.base.dtype import BOOL
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray
from hybridnet.ops.core import Operand

from .calls import apply, apply_all, dtype_name, operand, shape_of
from .methods import NumpyMethods
from .multiarray import ndarray
from .operands import ArrayLike

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "argmax",
    "argmin",
    "average",
    "bincount",
    "cumsum",
    "diff",
    "ediff1d",
    "histogram",
    "max",
    "mean",
    "min",
    "percentile",
    "prod",
    "product",
    "quantile",
    "sometrue",
    "std",
    "sum",
    "var",
]


def _masked(a: ArrayLike, where: ArrayLike, neutral: float) -> ArrayLike:
    """Returns an array with what a condition leaves out replaced by a number without effect."""
    if where is True:
        return a
    return apply("_npi_where_rscalar", operand(where), a, scalar=neutral)


def sum(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: NDArray | None = None,
    keepdims: bool = False,
    initial: float | None = None,
    where: ArrayLike = True,
) -> ndarray:
    """Returns the sum over axes; of integers in their own dtype.

    Args:
        a: an array.
        axis: an axis or several; None for all.
        dtype: to compute in, and of the result.
        out: an array for the result.
        keepdims: keep the reduced axes with size 1.
        initial: what the sum begins with.
        where: a condition: which elements count.
    """
    a = _masked(a, where, 0)
    options = {"axis": axis, "dtype": dtype_name(dtype), "keepdims": keepdims}
    return apply("_np_sum", a, out=out, initial=initial, **options)


def prod(
    a: ArrayLike,
    axis: Axes = None,
    dtype: DTypeLike = None,
    out: NDArray | None = None,
    keepdims: bool = False,
    initial: float | None = None,
    where: ArrayLike = True,
) -> ndarray:
    """Returns the product over axes; the arguments are those of `sum`."""
    a = _masked(a, where, 1)
    options = {"axis": axis, "dtype": dtype_name(dtype), "keepdims": keepdims}
    return apply("_np_prod", a, out=out, initial=initial, **options)


product = prod


def max(
    a: ArrayLike,
    axis: Axes = None,
    out: NDArray | None = None,
    keepdims: bool = False,
    initial: float | None = None,
) -> ndarray:
    """Returns the largest element over axes.

    Args:
        a: an array.
        axis: an axis or several; None for all.
        out: an array for the result.
        keepdims: keep the reduced axes with size 1.
        initial: what the result is at least.
    """
    return apply("_np_max", a, out=out, axis=axis, keepdims=keepdims, initial=initial)


def min(
    a: ArrayLike,
    axis: Axes = None,
    out: NDArray | None = None,
    keepdims: bool = False,
    initial: float | None = None,
) -> ndarray:
    """Returns the smallest element over axes; the arguments are those of `max`."""
    return apply("_np_min", a, out=out, axis=axis, keepdims=keepdims, initial=initial)


amax, amin = max, min


def _function(method: Callable[..., object]) -> Callable[..., Any]:
    """Makes the function that calls a method of arrays and symbols on its first argument, `a`."""
    name = method.__name__
    first, *others = inspect.signature(method).parameters.values()

    def function(a: ArrayLike, *args: object, **kwargs: object) -> Any:
        return getattr(operand(a), name)(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = method.__doc__
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [first.replace(name="a"), *others]
    )
    return function


if TYPE_CHECKING:
    from ._functions import all as all
    from ._functions import any as any
    from ._functions import argmax as argmax
    from ._functions import argmin as argmin
    from ._functions import mean as mean
    from ._functions import sometrue as sometrue
    from ._functions import std as std
    from ._functions import var as var
else:
    any = sometrue = _function(NumpyMethods.any)
    all = _function(NumpyMethods.all)
    mean = _function(NumpyMethods.mean)
    std = _function(NumpyMethods.std)
    var = _function(NumpyMethods.var)
    argmax = _function(NumpyMethods.argmax)
    argmin = _function(NumpyMethods.argmin)


def average(
    a: ArrayLike,
    axis: Axes = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    out: NDArray | None = None,
) -> Any:
    """Returns the weighted average over axes.

    Args:
        a: an array.
        axis: an axis or several; None for all.
        weights: of the shape of `a`, or one for each position along the one axis.
        returned: return the sums of the weights too.
        out: an array for the result.
    """
    inputs = (a,) if weights is None else (a, weights)
    options = {"axis": axis, "returned": returned, "weighted": weights is not None}
    made = apply_all("_npi_average", *inputs, out=out, **options)
    return made if returned else made[0]


def cumsum(
    a: ArrayLike, axis: int | None = None, dtype: DTypeLike = None, out: NDArray | None = None
) -> ndarray:
    """Returns the running sum along an axis, or of the flattened array."""
    a = operand(a)
    if isinstance(a, NDArray) and a.inferred_dtype == BOOL:
        a = a.astype("int64")
    return apply("_np_cumsum", a, out=out, axis=axis, dtype=dtype_name(dtype))


def diff(
    a: ArrayLike,
    n: int = 1,
    axis: int = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> ndarray:
    """Returns the differences of neighbors along an axis, taken n times.

    Args:
        a: an array.
        n: how often.
        axis: along which.
        prepend, append: arrays put before and behind first.
    """
    parts = [part for part in (prepend, a, append) if part is not None]
    joined = a if len(parts) == 1 else apply("_npi_concatenate", *parts, axis=axis)
    return apply("_npi_diff", joined, n=n, axis=axis)


def ediff1d(
    ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> ndarray:
    """Returns the differences of neighbors in the flattened array, with arrays at both ends."""
    middle = apply("_npi_diff", apply("_np_reshape", ary, newshape=(-1,)))
    ends = [to_begin, middle, to_end]
    flat = [apply("_np_reshape", end, newshape=(-1,)) for end in ends if end is not None]
    return middle if len(flat) == 1 else apply("_npi_concatenate", *flat, axis=0)


def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: NDArray | None = None,
    overwrite_input: bool | None = None,
    interpolation: str = "linear",
    keepdims: bool = False,
) -> ndarray:
    """Returns values below which q percent of the elements are.

    Args:
        a: an array.
        q: a number from 0 to 100, or an array of them, which come first in the result's shape.
        axis: an axis or several; None for all.
        out: an array for the result.
        overwrite_input: must be None.
        interpolation: 'linear', 'lower', 'higher', 'midpoint' or 'nearest'.
        keepdims: keep the reduced axes with size 1.
    """
    if overwrite_input:
        raise ParameterError("percentile: overwrite_input must be None")
    options = {"axis": axis, "interpolation": interpolation, "keepdims": keepdims}
    if isinstance(q, (int, float)):
        return apply("_npi_percentile", a, out=out, q_scalar=float(q), **options)
    return apply("_npi_percentile", a, q, out=out, **options)


def quantile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axes = None,
    out: NDArray | None = None,
    overwrite_input: bool | None = None,
    interpolation: str = "linear",
    keepdims: bool = False,
) -> ndarray:
    """Returns values below which a part q, from 0 to 1, of the elements is; see `percentile`."""
    percent = operand(q) * 100 if not isinstance(q, (int, float)) else q * 100
    return percentile(a, percent, axis, out, overwrite_input, interpolation, keepdims)


def histogram(
    a: ArrayLike,
    bins: ArrayLike = 10,
    range: tuple[float, float] | None = None,
    normed: bool | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> list[ndarray]:
    """Counts elements in bins; returns the counts, int64, and the edges.

    Args:
        a: an array.
        bins: how many of equal width, or their edges.
        range: from where to where; default from the smallest to the largest element, which waits.
        normed, weights, density: must be None.
    """
    if normed or weights is not None or density:
        raise ParameterError("histogram: normed, weights and density must be None")
    if isinstance(bins, (Operand, list, tuple)) or hasattr(bins, "shape"):
        return apply_all("_npi_histogram", a, bins)
    if range is None:
        shape_of("histogram", operand(a))
        low, high = float(min(a)), float(max(a))
        range = (low, high) if low < high else (low - 0.5, high + 0.5)
    limits = tuple(map(float, range))
    return apply_all("_npi_histogram", a, bin_cnt=bins, range=limits)


def bincount(x: ArrayLike, weights: ArrayLike | None = None, minlength: int = 0) -> ndarray:
    """Counts how often each whole number from 0 on comes, or sums weights; this waits for `x`.

    Args:
        x: a 1-d array of integers, none negative.
        weights: one for each.
        minlength: the least length of the result.
    """
    inputs = (x,) if weights is None else (x, weights)
    return apply("_npi_bincount", *inputs, minlength=minlength, has_weights=weights is not None)
