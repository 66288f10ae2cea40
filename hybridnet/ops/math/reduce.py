"""Reductions over axes, and running sums. Results have the dtype of the input.

Reductions give at least one dimension. Axes count from the end where negative; `exclude` reduces
over all other axes instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from hybridnet.base.attrs import Axis, DType
from hybridnet.base.dtype import FLOAT64, as_dtype, is_float
from hybridnet.base.errors import DTypeError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jax, jnp, lax

from ..core.backward import vjp_gradient
from ..core.call import Backward
from ..core.checks import wide
from ..core.families import STEP, convert
from ..core.registry import get, operator
from ..core.rules import one_axis, reduced_axes, reduced_shape, refuse_bool, same_type


def type_of(data: Any) -> TensorType:
    """The type of an array or tracer."""
    return tensor_type(tuple(data.shape), np.dtype(data.dtype))


def _reduction(
    name: str,
    function: Callable[[Any, tuple[int, ...]], Any],
    doc: str,
    *,
    aliases: Sequence[str] = (),
    of_some: bool = False,
    backward: Callable[..., Any] | None = None,
) -> None:
    """Registers a reduction.

    Args:
        name: MXNet's name.
        function: computes it: of (array, axes), with the reduced axes kept as size 1.
        doc: the first line of the documentation.
        aliases: other names.
        of_some: whether there is no result of no elements.
        backward: the gradient of floats, of (gradient, data, output, axes), where the gradient and
            the output have the reduced axes; None: it is derived from `function`.
    """

    def lowering(
        data: Any, *, axis: Axis = None, keepdims: bool = False, exclude: bool = False
    ) -> Any:
        axes = reduced_axes(name, type_of(data), axis, exclude)
        shape = reduced_shape(tuple(data.shape), axes, keepdims)
        return convert(function(data, axes).reshape(shape), np.dtype(data.dtype))

    def infer(data: TensorType, *, axis: Any, keepdims: bool, exclude: bool) -> tuple[TensorType]:
        axes = reduced_axes(name, data, axis, exclude)
        return (tensor_type(reduced_shape(data.shape, axes, keepdims), data.dtype),)

    def check(data: TensorType, *, axis: Any, exclude: bool, **_: Any) -> None:
        if of_some:
            _some(name, data, reduced_axes(name, data, axis, exclude))

    operator(
        name,
        aliases=aliases,
        check=check,
        infer=infer,
        cost=lambda data, **_: float(data.size),
        gradient=None if backward is None else _by_one_operator(name),
        doc=f"{doc}\n\n{_AXES_DOC}",
    )(lowering)
    if backward is None:
        return

    def backward_lowering(
        grad: Any,
        data: Any,
        output: Any,
        *,
        axis: Axis = None,
        keepdims: bool = False,
        exclude: bool = False,
    ) -> Any:
        axes = reduced_axes(name, type_of(data), axis, exclude)
        shape = reduced_shape(tuple(data.shape), axes, True)
        return backward(grad.reshape(shape), data, output.reshape(shape), axes)

    operator(
        f"_backward_{name}",
        infer=lambda _, data, *__, **___: (data,),
        cost=lambda _, data, *__, **___: float(data.size),
        doc=f"Gradient of {name}, of its own gradient, its data and its output.",
    )(backward_lowering)


def _by_one_operator(name: str) -> Callable[[Backward], Sequence[Any]]:
    """Returns the rule that has an operator compute the gradient of a reduction of floats."""

    def rule(back: Backward) -> Sequence[Any]:
        dtype = back.inputs[0].inferred_dtype
        if dtype is None or not is_float(dtype):
            return vjp_gradient(back)
        call, _ = get(f"_backward_{name}").bind(back.attrs)
        return back.apply(call, [back.grads[0], back.inputs[0], back.outputs[0]])

    return rule


_AXES_DOC = """Args:
    data: the array.
    axis: an axis or several; None or () for all.
    keepdims: keep the reduced axes with size 1.
    exclude: reduce over all axes but the given ones."""


def extreme(
    reducer: Callable[..., Any], shared: bool = False
) -> Callable[[Any, tuple[int, ...]], Any]:
    """Maximum or minimum.

    Its gradient goes to every element that equals it, as in MXNet; or, as in TensorFlow, it is
    shared by them in equal parts.
    """

    def compute(data: Any, axes: tuple[int, ...]) -> Any:
        @jax.custom_jvp
        def extreme(x: Any) -> Any:
            best = reducer(x, axis=axes, keepdims=True)
            if x.dtype == np.float16:  # XLA loses NaN in minima of float16 (JAX 0.10, on CPUs)
                nothing = jnp.any(x != x, axis=axes, keepdims=True)
                best = jnp.where(nothing, jnp.asarray(jnp.nan, x.dtype), best)
            return best

        @extreme.defjvp
        def extreme_jvp(primals: Any, tangents: Any) -> Any:
            (x,), (dx,) = primals, tangents
            best = extreme(x)
            equal = x == best
            slope = jnp.sum(jnp.where(equal, dx, 0), axis=axes, keepdims=True)
            if shared:  # nothing equals NaN
                count = jnp.sum(equal, axis=axes, keepdims=True)
                slope = slope / jnp.maximum(count, 1).astype(slope.dtype)
            return best, slope

        return extreme(data)

    return compute


def _mean(data: Any, axes: tuple[int, ...]) -> Any:
    count = math.prod(data.shape[i] for i in axes)
    if is_float(np.dtype(data.dtype)):
        return jnp.mean(data, axis=axes, keepdims=True)
    return jnp.sum(data.astype(FLOAT64), axis=axes, keepdims=True) / max(count, 1)


def root(squares: Any) -> Any:
    """Square root whose gradient at 0 is 0; that of a plain sqrt would be NaN."""
    zero = squares == 0
    return jnp.where(zero, 0, jnp.sqrt(jnp.where(zero, 1, squares)))


def _squares(data: Any, axes: tuple[int, ...]) -> Any:
    """Sum of squares; those of float16 are beyond its range from 256 on."""
    data = jnp.astype(data, wide(data.dtype))
    return jnp.sum(data * data, axis=axes, keepdims=True, dtype=data.dtype)


def _norm_of(data: Any, axes: tuple[int, ...], order: int) -> Any:
    if order == 1:
        # Not jnp.abs, whose gradient at 0 is 1, and not 0.
        return jnp.sum(data * jnp.sign(data), axis=axes, keepdims=True)
    squares = _squares(data, axes)
    return root(squares).astype(data.dtype)


def _plain(name: str) -> Callable[[Any, tuple[int, ...]], Any]:
    """The reduction that jax.numpy has under this name."""
    return lambda x, axes: getattr(jnp, name)(x, axis=axes, keepdims=True, dtype=x.dtype)


def _spread(grad: Any, data: Any, *_: Any) -> Any:
    return jnp.broadcast_to(grad, data.shape)


def _spread_evenly(grad: Any, data: Any, _: Any, axes: tuple[int, ...]) -> Any:
    count = math.prod(data.shape[i] for i in axes)
    return jnp.broadcast_to(grad / np.asarray(max(count, 1), grad.dtype), data.shape)


def _to_equal(grad: Any, data: Any, output: Any, _: tuple[int, ...]) -> Any:
    return jnp.where(data == output, grad, np.zeros((), grad.dtype))


_reduction("sum", _plain("sum"), "Sum over axes.", aliases=("sum_axis",), backward=_spread)
_reduction(
    "_square_sum",
    lambda data, axes: _squares(data, axes).astype(data.dtype),
    "Sum of squares over axes.",
)
_reduction("nansum", _plain("nansum"), "Sum over axes, with NaN counted as 0.")
_reduction("prod", _plain("prod"), "Product over axes.")
_reduction("nanprod", _plain("nanprod"), "Product over axes, with NaN counted as 1.")
_reduction(
    "mean", _mean, "Mean over axes; of integers, without the fraction.", backward=_spread_evenly
)
_reduction(
    "max",
    extreme(lambda *args, **keywords: jnp.max(*args, **keywords)),
    "Largest element over axes; the gradient goes to every element that equals it.",
    aliases=("max_axis",),
    of_some=True,
    backward=_to_equal,
)
_reduction(
    "min",
    extreme(lambda *args, **keywords: jnp.min(*args, **keywords)),
    "Smallest element over axes; the gradient goes to every element that equals it.",
    aliases=("min_axis",),
    of_some=True,
    backward=_to_equal,
)


def _norm_type(
    data: TensorType, *, axis: Any, out_dtype: str | None, keepdims: bool, **_: Any
) -> tuple[TensorType]:
    shape = reduced_shape(data.shape, reduced_axes("norm", data, axis), keepdims)
    return (tensor_type(shape, data.dtype if out_dtype is None else as_dtype(out_dtype)),)


@operator("norm", infer=_norm_type, check=refuse_bool("norm"))
def _norm(
    data: Any,
    *,
    ord: Literal[1, 2] = 2,
    axis: Axis = None,
    out_dtype: DType | None = None,
    keepdims: bool = False,
) -> Any:
    """Norm over axes: the sum of absolute values, or the root of the sum of squares.

    Args:
        ord: 1 or 2.
        axis: an axis or several; None for all.
        out_dtype: the dtype of the result; None for that of `data`.
    """
    axes = reduced_axes("norm", type_of(data), axis)
    dtype = np.dtype(data.dtype) if out_dtype is None else as_dtype(out_dtype)
    x = data if is_float(np.dtype(data.dtype)) else data.astype(FLOAT64)
    if is_float(dtype):
        x = x.astype(dtype)
    shape = reduced_shape(tuple(data.shape), axes, keepdims)
    return convert(_norm_of(x, axes, ord).reshape(shape), dtype)


def _some(name: str, data: TensorType, axes: Sequence[int]) -> None:
    """Raises ShapeError where there is nothing to choose from, although there are results."""
    if not all(data.shape[axis] for axis in axes):
        raise ShapeError(f"{name}: needs at least one element along axis {tuple(axes)}, got {data}")


def _arg_extreme(name: str, finder: Callable[..., Any], doc: str) -> None:
    """Registers argmax or argmin."""

    def lowering(data: Any, *, axis: int | None = None, keepdims: bool = False) -> Any:
        axes = reduced_axes(name, type_of(data), axis)
        shape = reduced_shape(tuple(data.shape), axes, keepdims)
        return finder(data, axis=axis).reshape(shape).astype(data.dtype)

    def infer(data: TensorType, *, axis: int | None, keepdims: bool) -> tuple[TensorType]:
        axes = reduced_axes(name, data, axis)
        return (tensor_type(reduced_shape(data.shape, axes, keepdims), data.dtype),)

    def check(data: TensorType, *, axis: int | None, **_: Any) -> None:
        refuse_bool(name)(data)
        _some(name, data, reduced_axes(name, data, axis))

    operator(
        name,
        infer=infer,
        check=check,
        no_gradient=f"its result is a position; {STEP}",
        doc=f"""{doc}

        Positions have the dtype of `data`, as in MXNet; of equal elements the first counts.

        Args:
            axis: the axis; None for the position in the flattened array.
            keepdims: keep the axis with size 1.""",
    )(lowering)


_arg_extreme("argmax", lambda *a, **k: jnp.argmax(*a, **k), "Position of the largest element.")
_arg_extreme("argmin", lambda *a, **k: jnp.argmin(*a, **k), "Position of the smallest element.")


def _check_channel(data: TensorType) -> None:
    refuse_bool("argmax_channel")(data)
    if len(data.shape) < 2 or not data.shape[1]:
        raise ShapeError(
            f"argmax_channel: data must have shape (batch, channels, ...), got data {data}"
        )


@operator(
    "argmax_channel",
    infer=lambda data: (tensor_type((data.shape[0], *data.shape[2:]), data.dtype),),
    check=_check_channel,
    no_gradient=f"its result is a position; {STEP}",
)
def _argmax_channel(data: Any) -> Any:
    """Position of the largest element along axis 1, in the dtype of `data`."""
    return jnp.argmax(data, axis=1).astype(data.dtype)


def _cumsum_type(a: TensorType, *, axis: int | None, dtype: str | None) -> tuple[TensorType]:
    if axis is not None:
        one_axis("cumsum", axis, a)
    shape = (a.size,) if axis is None else a.shape
    return (tensor_type(shape, a.dtype if dtype is None else as_dtype(dtype)),)


@operator("_np_cumsum", aliases=("cumsum",), infer=_cumsum_type, check=refuse_bool("cumsum"))
def _cumsum(a: Any, *, axis: int | None = None, dtype: DType | None = None) -> Any:
    """Running sum along an axis, or of the flattened array where `axis` is None.

    Args:
        dtype: the dtype of the sums; None for that of `a`.
    """
    return jnp.cumsum(a, axis=axis, dtype=a.dtype if dtype is None else as_dtype(dtype))


def _moments_type(data: TensorType, *, axes: Any, keepdims: bool) -> tuple[TensorType, TensorType]:
    shape = reduced_shape(data.shape, reduced_axes("moments", data, axes), keepdims)
    return (tensor_type(shape, data.dtype),) * 2


@operator("moments", outputs=2, infer=_moments_type, check=refuse_bool("moments"))
def _moments(data: Any, *, axes: Axis = None, keepdims: bool = False) -> Any:
    """Mean and variance over axes; the variance divides by the number of elements.

    Args:
        axes: an axis or several; None for all.
    """
    over = reduced_axes("moments", type_of(data), axes)
    shape = reduced_shape(tuple(data.shape), over, keepdims)
    x = data if is_float(np.dtype(data.dtype)) else data.astype(FLOAT64)
    both = jnp.mean(x, axis=over), jnp.var(x, axis=over)
    return tuple(convert(moment.reshape(shape), np.dtype(data.dtype)) for moment in both)


def _check_running(data: TensorType, *, axis: int, **_: Any) -> None:
    if not -len(data.shape) <= axis < len(data.shape):
        raise ShapeError(f"_running: axis must be an axis of data, got axis {axis} and data {data}")
    if data.dtype.kind == "b":
        raise DTypeError(f"_running: data must be numbers, got data {data}; cast them first")


@operator("_running", check=_check_running, infer=same_type)
def running(
    data: Any,
    *,
    axis: int = 0,
    how: Literal["prod", "sum"] = "sum",
    exclusive: bool = False,
    reverse: bool = False,
) -> Any:
    """The sum or product of the elements up to each one along an axis.

    Args:
        data: an array with at least one dimension.
        axis: along which.
        how: 'sum' or 'prod'.
        exclusive: leave out the element itself: the first result is 0, or 1.
        reverse: begin at the end.

    Returns:
        An array of the shape and dtype of `data`.
    """
    axis %= data.ndim
    if exclusive:
        neutral = jnp.asarray(0 if how == "sum" else 1, data.dtype)
        widths = [(0, 0, 0)] * data.ndim
        widths[axis] = (-1, 1, 0) if reverse else (1, -1, 0)
        data = lax.pad(data, neutral, widths) if data.shape[axis] else data
    scan = lax.cumsum if how == "sum" else lax.cumprod
    return scan(data, axis, reverse)
