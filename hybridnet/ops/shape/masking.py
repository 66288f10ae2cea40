"""Operators about which elements there are: chosen by a mask, counted, numbered, replaced."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np

from hybridnet.base.attrs import Range, Shape
from hybridnet.base.dtype import INT64, is_float
from hybridnet.base.errors import DTypeError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import at, jnp, lax

from ..core.call import Backward, IndexBound
from ..core.operator import describe
from ..core.registry import get, operator
from ..core.rules import one_axis, same_type
from .indexing import whole


def _mask_check(data: TensorType, index: TensorType, *, axis: int, **_: Any) -> None:
    axis = one_axis("boolean_mask", axis, data)
    if index.shape != (data.shape[axis],):
        raise ShapeError(
            f"boolean_mask: index must have shape ({data.shape[axis]},), the size of axis {axis}, "
            f"got {describe(('data', 'index'), (data, index))}"
        )


def _mask_types(
    data: TensorType, index: TensorType, *, axis: int, size: int
) -> tuple[TensorType, ...]:
    axis %= len(data.shape)
    return (tensor_type((*data.shape[:axis], size, *data.shape[axis + 1 :]), data.dtype),)


def _count_true(inputs: Sequence[Any], attrs: Mapping[str, Any]) -> int:
    return int(np.count_nonzero(inputs[1].asnumpy()))


@operator(
    "_contrib_boolean_mask",
    aliases=("_npi_boolean_mask",),
    check=_mask_check,
    infer=_mask_types,
    sizes={"size": _count_true},
)
def boolean_mask(
    data: Any, index: Any, *, axis: int = 0, size: Annotated[int, Range(0)] | None = None
) -> Any:
    """Takes the slices along an axis at which a mask is not zero.

    The shape of the result depends on the values of `index`: a call on arrays waits for them, and
    each number of slices is a program of its own. In a graph `size` must be given.

    Args:
        data: any shape of 1 dimension or more.
        index: (data.shape[axis],), the mask.
        size: how many slices there are; measured on arrays. Where it is more than the mask has,
            zeros follow; where it is less, the first ones are taken.

    Returns:
        The shape of `data` with `size` along `axis`.
    """
    (positions,) = jnp.nonzero(index, size=size, fill_value=index.shape[0])
    return jnp.take(data, positions, axis=axis, mode="fill", fill_value=0)


def _index_array_check(data: TensorType, *, axes: tuple[int, ...] | None) -> None:
    for axis in axes or ():
        one_axis("index_array", axis, data)


def _index_array_type(data: TensorType, *, axes: tuple[int, ...] | None) -> tuple[TensorType, ...]:
    count = len(data.shape) if axes is None else len(axes)
    return (tensor_type((*data.shape, count), INT64),)


@operator(
    "_contrib_index_array",
    check=_index_array_check,
    infer=_index_array_type,
    no_gradient="its result is positions, which do not depend on the values",
)
def index_array(data: Any, *, axes: Shape | None = None) -> Any:
    """The position of each element, along a new last axis.

    Args:
        data: any shape of 1 dimension or more.
        axes: the axes to tell the position on; None for all.

    Returns:
        (*data.shape, len(axes)), int64.
    """
    chosen = range(data.ndim) if axes is None else [axis % data.ndim for axis in axes]
    positions = [lax.broadcasted_iota("int64", data.shape, axis) for axis in chosen]
    return jnp.stack(positions, -1) if positions else jnp.zeros((*data.shape, 0), "int64")


def _arange_like_type(data: TensorType, *, axis: int | None, **_: Any) -> tuple[TensorType, ...]:
    shape = data.shape if axis is None else (data.shape[one_axis("arange_like", axis, data)],)
    return (tensor_type(shape, data.dtype),)


@operator(
    "_contrib_arange_like",
    infer=_arange_like_type,
    no_gradient="its result does not depend on the values of its input",
)
def arange_like(
    data: Any,
    *,
    start: float = 0.0,
    step: float = 1.0,
    repeat: Annotated[int, Range(1)] = 1,
    ctx: str = "",
    axis: int | None = None,
) -> Any:
    """Counts ``start, start + step, ...`` for as many elements as an array has.

    (MXNet 1.9.1 loses a fraction of `step` in float16.)

    Args:
        data: any shape of 1 dimension or more; its values do not matter.
        start: the first number.
        step: from one number to the next.
        repeat: how often each number stands in a row.
        ctx: without meaning: the result is where `data` is. Read for MXNet's sake.
        axis: count for the length of this axis alone; None for all elements, in row order.

    Returns:
        The shape of `data`, or (data.shape[axis],); the dtype of `data`.
    """
    shape = data.shape if axis is None else (data.shape[axis],)
    count = int(np.prod(shape, dtype=int))
    steps = jnp.arange(count) // repeat
    return (start + steps * step).astype(data.dtype).reshape(shape)


def _getnnz_type(data: TensorType, *, axis: int | None) -> tuple[TensorType, ...]:
    if axis is None:
        return (tensor_type((1,), INT64),)
    axis = one_axis("getnnz", axis, data)
    return (tensor_type(data.shape[:axis] + data.shape[axis + 1 :] or (1,), INT64),)


@operator(
    "_contrib_getnnz",
    infer=_getnnz_type,
    no_gradient="it counts, so its derivative is zero wherever there is one",
)
def getnnz(data: Any, *, axis: int | None = None) -> Any:
    """The number of elements that are not zero (MXNet: of elements stored, in csr arrays alone).

    Args:
        axis: count along this axis; None for all.

    Returns:
        (1,), or the shape of `data` without `axis`; int64.
    """
    count = (data != 0).sum(axis, dtype="int64")
    return count.reshape(count.shape or (1,))


_COPY_INPUTS = ("old_tensor", "index_vector", "new_tensor")


def _index_copy_check(old: TensorType, index: TensorType, new: TensorType) -> None:
    wanted = (*index.shape, *old.shape[1:])
    if not old.shape or len(index.shape) != 1 or new.shape != wanted:
        raise ShapeError(
            "index_copy: requires index_vector with 1 dimension and new_tensor with as many rows "
            f"as it, each shaped like those of old_tensor, got "
            f"{describe(_COPY_INPUTS, (old, index, new))}"
        )
    if old.dtype != new.dtype:
        raise DTypeError(
            "index_copy: requires old_tensor and new_tensor of one dtype, got "
            f"{describe(_COPY_INPUTS, (old, index, new))}"
        )


@operator(
    "_contrib_index_copy",
    check=_index_copy_check,
    infer=same_type,
    bounds=lambda old, *_: (IndexBound(1, "index_vector", old.shape[:1], (0,), always=True),),
)
def index_copy(old_tensor: Any, index_vector: Any, new_tensor: Any) -> Any:
    """Returns an array with some of its rows (first axis) replaced.

    Args:
        old_tensor: (rows, ...).
        index_vector: (k,), from 0 to rows - 1: which rows; fractions are cut off. Of a row that is
            named twice the value is one of the two.
        new_tensor: (k, ...), what they become.

    Returns:
        The shape and dtype of `old_tensor`.
    """
    return at(old_tensor)[whole(index_vector)].set(new_tensor, mode="drop")


def _allclose_check(a: TensorType, b: TensorType, **_: Any) -> None:
    if a.shape != b.shape:
        raise ShapeError(
            f"allclose: a and b must have equal shapes, got {describe(('a', 'b'), (a, b))}"
        )


@operator(
    "_contrib_allclose",
    check=_allclose_check,
    infer=lambda *_, **__: (tensor_type((), np.dtype(np.uint8)),),
    no_gradient="its result is a truth value",
)
def allclose(
    a: Any, b: Any, *, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = True
) -> Any:
    """Whether ``abs(a - b) <= atol + rtol * abs(b)`` everywhere.

    An infinity equals itself alone, as in NumPy (in MXNet any number equals an infinite `b`).

    Args:
        a: any shape.
        b: the shape of `a`.
        rtol: the part of `b` that the difference may be.
        atol: what it may be more.
        equal_nan: whether NaN equals NaN.

    Returns:
        (), uint8: 1 or 0.
    """
    return jnp.allclose(a, b, rtol, atol, equal_nan).astype("uint8")


@operator("_contrib_quadratic", infer=same_type)
def quadratic(data: Any, *, a: float = 0.0, b: float = 0.0, c: float = 0.0) -> Any:
    """Computes ``a * data**2 + b * data + c``.

    Args:
        a: the coefficient of the square.
        b: of the first power.
        c: the constant.
    """
    return ((a * data + b) * data + c).astype(data.dtype)


def _scaled_gradient(back: Backward) -> Sequence[Any]:
    call, scalars = get("_mul_scalar").bind({"scalar": back.attrs["scalar"]})
    return back.apply(call, [back.grads[0]], scalars)


@operator("_contrib_gradientmultiplier", infer=same_type, gradient=_scaled_gradient)
def gradientmultiplier(data: Any, *, scalar: float = 1.0, is_int: bool = True) -> Any:
    """Passes on the data; on the way back multiplies the gradient by a number.

    With -1 it is the gradient reversal of Ganin and Lempitsky, "Unsupervised domain adaptation by
    backpropagation", 2015.

    Args:
        is_int: without meaning here; read for MXNet's sake.
    """
    return data


def _straight_through(back: Backward) -> Sequence[Any]:
    return [back.grads[0]]


@operator("_contrib_round_ste", infer=same_type, gradient=_straight_through)
def round_ste(data: Any) -> Any:
    """Rounds half away from zero; the gradient passes straight through.

    Bengio, Leonard and Courville, "Estimating or propagating gradients through stochastic
    neurons", 2013.
    """
    if not is_float(data.dtype):
        return data
    return jnp.sign(data) * jnp.floor(jnp.abs(data) + 0.5)


@operator("_contrib_sign_ste", infer=same_type, gradient=_straight_through)
def sign_ste(data: Any) -> Any:
    """The sign, 1, 0 or -1; the gradient passes straight through, as in `round_ste`."""
    return data if data.dtype == bool else jnp.where(data == 0, 0, jnp.sign(data))
