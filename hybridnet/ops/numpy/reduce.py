"""NumPy's reductions: over all axes they give an array of no dimensions.

Sums and products keep the dtype (of bool it is int64); means, deviations and averages of integers
are float32, where MXNet truncates the last two to integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from hybridnet.base.attrs import Axis, DType
from hybridnet.base.dtype import BOOL, FLOAT64, INT64, as_dtype, is_float
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp

from ..core.backward import vjp_gradient
from ..core.call import Backward
from ..core.families import STEP, convert
from ..core.operator import describe
from ..core.registry import operator
from ..core.rules import one_axis, reduced_axes
from ..math.reduce import extreme, root, type_of
from .elementwise import quotient_dtype

_ARGS: Final = """Args:
    a: the array.
    axis: an axis or several; None for all.
    keepdims: keep the reduced axes with size 1."""
_INITIAL: Final = "    initial: what the reduction begins with."
_DTYPE: Final = "    dtype: the dtype to compute in and of the result."


def _axes(name: str, a: TensorType, axis: Any) -> tuple[int, ...]:
    """Returns the reduced axes; unlike in the older reductions, ``()`` is none of them."""
    return () if axis == () else reduced_axes(name, a, axis)


def _shape(a: TensorType, axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    if keepdims:
        return tuple(1 if i in axes else size for i, size in enumerate(a.shape))
    return tuple(size for i, size in enumerate(a.shape) if i not in axes)


def _reduced(name: str, dtype_of: Callable[[TensorType, str | None], Any]) -> Callable[..., Any]:
    """Returns the type rule of a reduction over axes, to a dtype that follows from the input's."""

    def infer(a: TensorType, *, axis: Any, keepdims: bool, dtype: Any = None, **_: Any) -> Any:
        return (tensor_type(_shape(a, _axes(name, a, axis), keepdims), dtype_of(a, dtype)),)

    return infer


def _count_dtype(a: TensorType, dtype: str | None) -> np.dtype[Any]:
    if dtype is not None:
        return as_dtype(dtype)
    return INT64 if a.dtype == BOOL else a.dtype


def _mean_dtype(a: TensorType, dtype: str | None) -> np.dtype[Any]:
    return quotient_dtype(a.dtype) if dtype is None else as_dtype(dtype)


def _gradient(back: Backward) -> Sequence[Any]:
    """The default rule; where the result is narrower than the input, as if it were not rounded."""
    given, made = back.inputs[0].inferred_dtype, back.outputs[0].inferred_dtype
    if given is None or made is None:
        return vjp_gradient(back)
    if is_float(made) and (given == made or not is_float(given)):
        return vjp_gradient(back)
    dtype = given.name if is_float(given) else None
    return vjp_gradient(replace(back, call=back.call.with_attrs(dtype=dtype)))


def _accumulation(
    name: str, function: Callable[..., Any], doc: str, *aliases: str
) -> Callable[..., Any]:
    """Registers a sum or a product; returns its lowering."""

    def lowering(
        a: Any,
        *,
        axis: Axis = None,
        dtype: DType | None = None,
        keepdims: bool = False,
        initial: float | None = None,
    ) -> Any:
        kind = _count_dtype(type_of(a), dtype)
        axes = _axes(name, type_of(a), axis)
        if is_float(np.dtype(a.dtype)) and not is_float(kind):  # the fractions count
            total = lowering(a, axis=axis, dtype="float64", keepdims=keepdims, initial=initial)
            return convert(total, kind)
        if initial is None:
            return function(a, axis=axes, dtype=kind, keepdims=keepdims)
        start = np.asarray(initial).astype(kind)
        return function(a, axis=axes, dtype=kind, keepdims=keepdims, initial=start)

    operator(
        name,
        aliases=aliases,
        infer=_reduced(name, _count_dtype),
        gradient=_gradient,
        cost=lambda a, **_: float(a.size),
        doc=f"{doc}\n\n{_ARGS}\n{_DTYPE}\n{_INITIAL}",
    )(lowering)
    return lowering


_sum = _accumulation("_np_sum", lambda *a, **k: jnp.sum(*a, **k), "Sum over axes.")
_accumulation("_np_prod", lambda *a, **k: jnp.prod(*a, **k), "Product over axes.", "_np_product")


def _selection(name: str, reducer: Callable[..., Any], choose: Any, doc: str, alias: str) -> None:
    """Registers the maximum or the minimum, and the one whose gradient is shared by ties."""
    _extreme(name, (alias,), False, reducer, choose, f"{doc}; the gradient goes to every element")
    shared = name.replace("_np_", "_shared_")
    _extreme(shared, (), True, reducer, choose, f"{doc}; the gradient is shared by the elements")


def _extreme(
    name: str,
    aliases: tuple[str, ...],
    shared: bool,
    reducer: Callable[..., Any],
    choose: Any,
    doc: str,
) -> None:
    """Registers one of them; `shared`: whether elements that equal it share its gradient."""

    def lowering(
        a: Any, *, axis: Axis = None, keepdims: bool = False, initial: float | None = None
    ) -> Any:
        given = type_of(a)
        axes = _axes(name, given, axis)
        shape = _shape(given, axes, keepdims)
        if not a.size:  # without `initial` there are no results either: `check` has seen to it
            return jnp.full(shape, initial or 0, a.dtype)
        found = extreme(reducer, shared)(a, axes).reshape(shape)
        if initial is None:
            return found
        return choose(found, np.asarray(initial).astype(a.dtype))

    def check(a: TensorType, *, axis: Any, keepdims: bool, initial: float | None) -> None:
        axes = _axes(name, a, axis)
        if initial is None and math.prod(a.shape[i] for i in axes) == 0:
            raise ShapeError(
                f"{name}: needs at least one element along the reduced axes, or initial=..., "
                f"got a {a}"
            )

    operator(
        name,
        aliases=aliases,
        check=check,
        infer=_reduced(name, lambda a, _: a.dtype),
        doc=f"{doc} that {'equal' if shared else 'equals'} it.\n\n{_ARGS}\n{_INITIAL}",
    )(lowering)


_selection(
    "_np_max",
    lambda *a, **k: jnp.max(*a, **k),
    lambda a, b: jnp.maximum(a, b),
    "Largest element over axes",
    "_np_amax",
)
_selection(
    "_np_min",
    lambda *a, **k: jnp.min(*a, **k),
    lambda a, b: jnp.minimum(a, b),
    "Smallest element over axes",
    "_np_amin",
)


def _truth(name: str, reducer: Callable[..., Any], doc: str, *aliases: str) -> None:
    """Registers `any` or `all`."""

    def lowering(data: Any, *, axis: Axis = None, keepdims: bool = False) -> Any:
        return reducer(data, axis=_axes(name, type_of(data), axis), keepdims=keepdims)

    operator(
        name,
        aliases=aliases,
        infer=_reduced(name, lambda *_: BOOL),
        no_gradient="its result is a truth value",
        doc=f"{doc}\n\n{_ARGS.replace('a:', 'data:')}",
    )(lowering)


_truth("_np_any", lambda *a, **k: jnp.any(*a, **k), "Whether any is not 0.", "_np_sometrue")
_truth("_np_all", lambda *a, **k: jnp.all(*a, **k), "Whether none is 0.")


@operator(
    "_npi_mean",
    infer=_reduced("_npi_mean", _mean_dtype),
    gradient=_gradient,
    cost=lambda a, **_: float(a.size),
)
def _mean(
    a: Any,
    *,
    axis: Axis = None,
    dtype: DType | None = None,
    keepdims: bool = False,
    initial: float | None = None,
) -> Any:
    """Mean over axes; of no elements it is NaN.

    Args:
        axis: an axis or several; None for all.
        dtype: the dtype to compute in and of the result; None for that of `a`, or float32.
        initial: must be None: MXNet declares it and does not support it either.
    """
    if initial is not None:
        raise ParameterError("_npi_mean: initial must be None")
    axes = _axes("_npi_mean", type_of(a), axis)
    kind = _mean_dtype(type_of(a), dtype)
    if is_float(kind):
        return jnp.mean(a, axis=axes, dtype=kind, keepdims=keepdims)
    # As in NumPy and MXNet the sum is a whole number of that dtype, and so is the quotient.
    total = _sum(a, axis=axis, dtype=dtype, keepdims=keepdims)
    count = math.prod(a.shape[i] for i in axes)
    return convert(total.astype(FLOAT64) / max(count, 1), kind)


def _moment(name: str, deviation: bool, doc: str) -> None:
    """Registers the variance or the standard deviation."""

    def lowering(
        a: Any,
        *,
        axis: Axis = None,
        dtype: DType | None = None,
        ddof: int = 0,
        keepdims: bool = False,
    ) -> Any:
        given = type_of(a)
        axes = _axes(name, given, axis)
        kind = _mean_dtype(given, dtype)
        x = a.astype(kind) if is_float(kind) else a.astype(FLOAT64)
        count = math.prod(given.shape[i] for i in axes)
        apart = x - jnp.mean(x, axis=axes, keepdims=True)
        # As NumPy: not defined (NaN or infinite) where nothing is left to divide by.
        total = jnp.sum(apart * apart, axis=axes, keepdims=keepdims)
        spread = total / np.asarray(max(count - ddof, 0), x.dtype)
        return (root(spread) if deviation else spread).astype(kind)

    operator(
        name,
        infer=_reduced(name, _mean_dtype),
        doc=f"{doc}\n\n{_ARGS}\n{_DTYPE}\n"
        "    ddof: what is subtracted from the number of elements in the divisor.",
    )(lowering)


_moment("_npi_var", False, "Variance over axes.")
_moment("_npi_std", True, "Standard deviation over axes.")


def _axis_of_one(data: TensorType, axis: int | None) -> int | None:
    """Returns the axis of a position; a number has one of size 1 in mind, as in NumPy."""
    return None if not data.shape and axis in (0, -1) else axis


def _position(name: str, finder: Callable[..., Any], doc: str) -> None:
    """Registers argmax or argmin."""
    reduced = _reduced(name, lambda *_: INT64)

    def lowering(data: Any, *, axis: int | None = None, keepdims: bool = False) -> Any:
        axis = _axis_of_one(type_of(data), axis)
        return finder(data, axis=axis, keepdims=keepdims).astype(INT64)

    def check(data: TensorType, *, axis: int | None, keepdims: bool) -> None:
        axis = _axis_of_one(data, axis)
        size = data.size if axis is None else data.shape[one_axis(name, axis, data)]
        if not size:
            raise ShapeError(f"{name}: needs at least one element to choose from, got {data}")

    def infer(data: TensorType, *, axis: int | None, keepdims: bool) -> Any:
        return reduced(data, axis=_axis_of_one(data, axis), keepdims=keepdims)

    operator(
        name,
        check=check,
        infer=infer,
        no_gradient=f"its result is a position; {STEP}",
        doc=f"""{doc}

        Positions are int64; of equal elements the first counts.

        Args:
            axis: the axis; None for the position in the flattened array.
            keepdims: keep the axis with size 1.""",
    )(lowering)


_position("_npi_argmax", lambda *a, **k: jnp.argmax(*a, **k), "Position of the largest element.")
_position("_npi_argmin", lambda *a, **k: jnp.argmin(*a, **k), "Position of the smallest element.")


def _check_weights(
    a: TensorType, weights: TensorType | None = None, *, axis: Any, **_: Any
) -> None:
    if weights is None or weights.shape == a.shape:
        return
    axes = _axes("_npi_average", a, axis)
    if len(axes) != 1 or weights.shape != (a.shape[axes[0]],):
        raise ShapeError(
            "_npi_average: weights must have the shape of a, or its length along the one axis that "
            f"is averaged over, got {describe(('a', 'weights'), (a, weights))} and axis {axis}"
        )


@operator(
    "_npi_average",
    outputs=2,
    check=_check_weights,
    takes=lambda *, weighted, **_: ("a", "weights") if weighted else ("a",),
    visible=lambda *, returned, **_: 2 if returned else 1,
)
def _average(
    a: Any,
    weights: Any = None,
    *,
    axis: Axis = None,
    returned: bool = False,
    weighted: bool = True,
) -> Any:
    """Weighted average over axes, and the sum of the weights.

    Args:
        weights: of its shape, or one for each position along the one axis; equal by default.
        axis: an axis or several; None for all.
        returned: whether the sums of the weights are returned too.
        weighted: whether there are weights.
    """
    axes = _axes("_npi_average", type_of(a), axis)
    kind = quotient_dtype(np.dtype(a.dtype))
    a = a.astype(kind)
    if weights is None:
        count = math.prod(a.shape[i] for i in axes)
        mean = jnp.mean(a, axis=axes)
        return mean, jnp.full(mean.shape, count, kind)
    weights = weights.astype(kind)
    if weights.shape != a.shape:
        weights = weights.reshape([-1 if i in axes else 1 for i in range(a.ndim)])
    total = jnp.sum(jnp.broadcast_to(weights, a.shape), axis=axes)
    return jnp.sum(a * weights, axis=axes) / total, total
