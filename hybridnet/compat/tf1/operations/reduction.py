"""Reductions along axes: ``tf.reduce_sum`` and its kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .. import dtypes
from ..dtypes import DType, as_dtype
from ..graph.adding import EdgeHandle, Tensor, described, fused, handle, name_scope
from ..graph.arguments import as_floats, axes_of, is_number, renamed, require_kind
from ..graph.values import constant, convert_to_tensor

__all__ = [
    "count_nonzero", "reduce_all", "reduce_any", "reduce_euclidean_norm", "reduce_logsumexp",
    "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_std", "reduce_sum",
    "reduce_variance",
]  # fmt: skip

Reduce = Callable[..., EdgeHandle]
_SUMS: Final = ("_np_sum", "_np_prod")


def _reduced(
    kind: str, reduce: Reduce, x: Tensor, axis: Any, keepdims: Any, name: str | None
) -> Tensor:
    """Adds a reduction; `reduce` gets a handle, axes (None: all) and keepdims."""
    rank = x.shape.ndims
    if axis is None and rank is not None:
        # As TensorFlow does, which shows in the names of later constants.
        constant(list(range(rank)), dtypes.int32)
    axes = axes_of(kind, axis, rank)
    keep = bool(keepdims)

    def function(data: EdgeHandle) -> EdgeHandle:
        if axes == () or rank == 0:
            return handle("_copy", data)
        return reduce(data, axes, keep)

    shape = () if axes is None and not keep else None
    return fused(kind, function, [x], name=name, shape=shape, axis=axes, keepdims=keep)


def _with_older_names(add: Callable[[Any, Any, Any, str | None], Tensor]) -> Callable[..., Tensor]:
    """Lets a reduction take `axis` and `keepdims` by their older names, too."""

    def function(
        input_tensor: Any,
        axis: Any = None,
        keepdims: Any = None,
        name: str | None = None,
        reduction_indices: Any = None,
        keep_dims: Any = None,
    ) -> Tensor:
        axis = renamed("axis", axis, "reduction_indices", reduction_indices)
        return add(input_tensor, axis, renamed("keepdims", keepdims, "keep_dims", keep_dims), name)

    return described(function, add.__name__, add.__doc__ or "")


def _reduction(
    kind: str, operator: str, doc: str, allowed: Callable[[DType], Any] = is_number
) -> Callable[..., Tensor]:
    def function(given: Any, axis: Any, keepdims: Any, name: str | None) -> Tensor:
        wanted = dtypes.bool if allowed is _is_bool else None
        x = convert_to_tensor(given, wanted, name="input_tensor")
        require_kind(kind, "input", x, allowed)
        # NumPy adds up whole numbers in int64; TensorFlow keeps their dtype.
        own = {"dtype": x.dtype.base_dtype.numpy.name} if operator in _SUMS else {}

        def reduce(data: EdgeHandle, axes: Any, keep: bool) -> EdgeHandle:
            return handle(operator, data, axis=axes, keepdims=keep, **own)

        return _reduced(kind, reduce, x, axis, keepdims, name)

    function.__doc__ = f"""Returns {doc} along axes.

        Args:
            input_tensor: a tensor or numbers.
            axis: one or several axes, known when the graph is built; default all.
            keepdims: whether the axes stay, with size 1.
            reduction_indices: the older name of `axis`.
            keep_dims: the older name of `keepdims`.
        """
    return _with_older_names(function)


def _is_bool(dtype: DType) -> Any:
    return dtype.is_bool


reduce_all = _reduction("All", "_np_all", "whether all are True", _is_bool)
reduce_any = _reduction("Any", "_np_any", "whether one is True", _is_bool)
reduce_max = _reduction("Max", "_shared_max", "the greatest")
reduce_min = _reduction("Min", "_shared_min", "the least")
reduce_prod = _reduction("Prod", "_np_prod", "the product")
reduce_sum = _reduction("Sum", "_np_sum", "the sum")


@_with_older_names
def reduce_mean(given: Any, axis: Any, keepdims: Any, name: str | None) -> Tensor:
    """Returns the mean along axes; arguments as those of `reduce_sum`.

    The mean of whole numbers is one, its fraction cut off.
    """
    x = convert_to_tensor(given, name="input_tensor")
    require_kind("Mean", "input", x, is_number)

    def mean(data: EdgeHandle, axes: Any, keep: bool) -> EdgeHandle:
        if x.dtype.is_floating:
            return handle("_npi_mean", data, axis=axes, keepdims=keep)
        wide = handle("Cast", data, dtype="float64")
        found = handle("_npi_mean", wide, axis=axes, keepdims=keep).trunc()
        return handle("Cast", found, dtype=x.dtype.base_dtype.numpy.name)

    return _reduced("Mean", mean, x, axis, keepdims, name)


@_with_older_names
def reduce_logsumexp(given: Any, axis: Any, keepdims: Any, name: str | None) -> Tensor:
    """Returns log(sum(exp(x))) along axes, safe from overflow; arguments as `reduce_sum`'s."""
    x = as_floats("LogSumExp", given, "input_tensor")

    def logsumexp(data: EdgeHandle, axes: Any, keep: bool) -> EdgeHandle:
        most = handle("BlockGrad", handle("_np_max", data, axis=axes, keepdims=True))
        most = handle("_npi_where", handle("_npi_isfinite", most), most, most.zeros_like())
        total = handle("_np_sum", (data - most).exp(), axis=axes, keepdims=True)
        found = total.log() + most
        return found if keep else handle("_np_sum", found, axis=axes)

    with name_scope(name, "ReduceLogSumExp", [x]) as scope:
        return _reduced("AddV2", logsumexp, x, axis, keepdims, scope)


def reduce_euclidean_norm(
    input_tensor: Any, axis: Any = None, keepdims: Any = False, name: str | None = None
) -> Tensor:
    """Returns the square root of the sum of squares along axes."""
    x = as_floats("EuclideanNorm", input_tensor, "input_tensor")

    def norm(data: EdgeHandle, axes: Any, keep: bool) -> EdgeHandle:
        return handle("_np_sum", data.square(), axis=axes, keepdims=keep).sqrt()

    return _reduced("EuclideanNorm", norm, x, axis, keepdims, name)


def _variance(data: EdgeHandle, axes: Any, keep: bool) -> EdgeHandle:
    mean = handle("_npi_mean", data, axis=axes, keepdims=True)
    return handle("_npi_mean", (data - mean).square(), axis=axes, keepdims=keep)


def reduce_variance(
    input_tensor: Any, axis: Any = None, keepdims: Any = False, name: str | None = None
) -> Tensor:
    """Returns the variance (the mean of squared differences) along axes."""
    x = as_floats("Variance", input_tensor, "input_tensor")
    with name_scope(name, "reduce_variance", [x]):
        return _reduced("Mean", _variance, x, axis, keepdims, "Mean_1")


def reduce_std(
    input_tensor: Any, axis: Any = None, keepdims: Any = False, name: str | None = None
) -> Tensor:
    """Returns the standard deviation along axes."""
    x = as_floats("Std", input_tensor, "input_tensor")
    with name_scope(name, "reduce_std", [x]):
        return _reduced("Sqrt", lambda *of: _variance(*of).sqrt(), x, axis, keepdims, "Sqrt")


def count_nonzero(
    input_tensor: Any = None,
    axis: Any = None,
    keepdims: Any = None,
    dtype: Any = dtypes.int64,
    name: str | None = None,
    reduction_indices: Any = None,
    keep_dims: Any = None,
    input: Any = None,
) -> Tensor:
    """Returns how many elements are not 0, along axes; `dtype` is that of the result."""
    axis = renamed("axis", axis, "reduction_indices", reduction_indices)
    keepdims = renamed("keepdims", keepdims, "keep_dims", keep_dims)
    x = convert_to_tensor(renamed("input", input, "input_tensor", input_tensor))
    wanted = as_dtype(dtype)

    def count(data: EdgeHandle, axes: Any, keep: bool) -> EdgeHandle:
        counted = handle("Cast", handle("_npi_not_equal_scalar", data, scalar=0.0), dtype="int64")
        found = handle("_np_sum", counted, axis=axes, keepdims=keep)
        return found if is_last else handle("Cast", found, dtype=wanted.numpy.name)

    is_last = wanted is dtypes.int64
    with name_scope(name, "count_nonzero", [x]):
        kind, last = ("Sum", "Sum") if is_last else ("Cast", "Cast_1")
        return _reduced(kind, count, x, axis, keepdims, last)
