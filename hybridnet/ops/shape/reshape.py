"""Operators that change an array's shape and keep its elements in order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hybridnet.base.attrs import Axis, Shape
from hybridnet.base.dtype import INT64
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp

from ..core.registry import operator
from ..core.rules import one_axis, reduced_axes, reduced_shape


def reshaped(
    shape: Sequence[int], codes: Sequence[int], reverse: bool = False, name: str = "Reshape"
) -> tuple[int, ...]:
    """Returns the shape that MXNet's reshape codes stand for.

    Args:
        shape: the shape of the data.
        codes: the new sizes, read from the left along the dimensions of the data. Beside sizes:
            0 copies this dimension; -1 is found from the number of elements (once only);
            -2 copies all remaining dimensions; -3 joins two dimensions into one; -4 splits a
            dimension into the two sizes that follow, of which one may be -1.
        reverse: read from the right instead.
        name: the operator, for messages.

    Raises:
        ParameterError: the codes are malformed.
        ShapeError: they do not fit the data.
    """
    source = list(reversed(shape)) if reverse else list(shape)
    todo = list(reversed(codes)) if reverse else list(codes)
    asked = f"shape {tuple(codes)}" + (" in reverse" if reverse else "")
    result: list[int] = []
    inferred: int | None = None
    position = 0

    def take(count: int) -> list[int]:
        nonlocal position
        taken = source[position : position + count]
        if len(taken) < count:
            raise ShapeError(
                f"{name}: codes 0, -3 and -4 need dimensions of the data to stand for, got "
                f"{asked} and data of shape {tuple(shape)}"
            )
        position += count
        return taken

    while todo:
        code = todo.pop(0)
        if code == 0:
            result += take(1)
        elif code == -1:
            if inferred is not None:
                raise ParameterError(f"{name}: only one dimension may be -1, got {asked}")
            inferred = len(result)
            result.append(1)
            position += 1
        elif code == -2:
            result += source[position:]
            position = len(source)
        elif code == -3:
            result.append(math.prod(take(2)))
        elif code == -4:
            result += _split(name, take(1)[0], todo[:2], asked)
            del todo[:2]
        elif code > 0:
            result.append(code)
            position += 1
        else:
            raise ParameterError(f"{name}: sizes must be at least -4, got {asked}")
    size = math.prod(shape)
    rest = math.prod(result)
    if inferred is not None and rest:
        result[inferred] = size // rest
    if math.prod(result) != size:
        raise ShapeError(
            f"{name}: the number of elements must stay the same, got {asked} and data of shape "
            f"{tuple(shape)} ({size} elements)"
        )
    return tuple(reversed(result)) if reverse else tuple(result)


def _split(name: str, size: int, parts: Sequence[int], asked: str) -> list[int]:
    """Code -4: the two sizes that one dimension is split into."""
    if len(parts) < 2 or min(parts) < -1 or 0 in parts or tuple(parts) == (-1, -1):
        raise ParameterError(
            f"{name}: code -4 must be followed by two sizes, of which one may be -1, got {asked}"
        )
    first, second = parts
    if first == -1:
        first = size // second
    elif second == -1:
        second = size // first
    if first * second != size:
        raise ShapeError(f"{name}: a dimension of {size} cannot be split as asked by {asked}")
    return [first, second]


def _new_shape(data: Any, shape: Any, reverse: bool, target_shape: Any, keep_highest: bool) -> Any:
    if shape:
        return reshaped(data.shape, shape, reverse)
    if target_shape:  # of MXNet's first versions: 0 is found
        sizes = [size or -1 for size in target_shape]
        if keep_highest:
            sizes[0] = data.shape[0]
        return reshaped(data.shape, sizes)
    raise ParameterError("Reshape: parameter shape (a tuple of integers) is required")


def _reshape_type(data: TensorType, **params: Any) -> tuple[TensorType]:
    return (tensor_type(_new_shape(data, **params), data.dtype),)


@operator("Reshape", aliases=("reshape",), infer=_reshape_type)
def _reshape(
    data: Any,
    *,
    shape: Shape = (),
    reverse: bool = False,
    target_shape: Shape = (),
    keep_highest: bool = False,
) -> Any:
    """The same elements in another shape.

    Args:
        shape: the new sizes; 0 copies a dimension, -1 is found, -2 copies all that remain, -3 joins
            two, -4 splits one into the two sizes that follow.
        reverse: read the codes from the right.
        target_shape: as `shape`, from MXNet's first versions: 0 is found.
        keep_highest: with `target_shape`: the first dimension stays as it is.
    """
    return jnp.reshape(data, _new_shape(data, shape, reverse, target_shape, keep_highest))


def _flat(shape: Sequence[int]) -> tuple[int, int]:
    return (shape[0], math.prod(shape[1:])) if shape else (1, 1)


@operator(
    "Flatten",
    aliases=("flatten",),
    infer=lambda data: (tensor_type(_flat(data.shape), data.dtype),),
)
def _flatten(data: Any) -> Any:
    """All dimensions but the first joined into one: (batch, ...) becomes (batch, features)."""
    return jnp.reshape(data, _flat(data.shape))


def _expanded(data: TensorType, *, axis: int) -> tuple[TensorType]:
    position = one_axis("expand_dims", axis, data, extra=1)
    shape = (*data.shape[:position], 1, *data.shape[position:])
    return (tensor_type(shape, data.dtype),)


@operator("expand_dims", infer=_expanded)
def _expand_dims(data: Any, *, axis: int) -> Any:
    """A new axis of size 1 at this position."""
    return jnp.expand_dims(data, axis)


def _squeezed(data: TensorType, *, axis: Any) -> tuple[TensorType]:
    if axis is None:
        axes: tuple[int, ...] = tuple(i for i, size in enumerate(data.shape) if size == 1)
    else:
        axes = reduced_axes("squeeze", data, axis)
    for i in axes:
        if data.shape[i] != 1:
            raise ShapeError(
                f"squeeze: axis must have size 1, got axis {i} of size {data.shape[i]} of "
                f"data {data}"
            )
    return (tensor_type(reduced_shape(data.shape, axes, False), data.dtype),)


@operator("squeeze", infer=_squeezed)
def _squeeze(data: Any, *, axis: Axis = None) -> Any:
    """Removes axes of size 1: the given ones (none for an empty tuple), or all for None."""
    (result,) = _squeezed(tensor_type(tuple(data.shape), np.dtype(data.dtype)), axis=axis)
    return jnp.reshape(data, result.shape)


def _like_shape(
    lhs: Sequence[int],
    rhs: Sequence[int],
    lhs_begin: int | None,
    lhs_end: int | None,
    rhs_begin: int | None,
    rhs_end: int | None,
) -> tuple[int, ...]:
    left, right = slice(lhs_begin, lhs_end), slice(rhs_begin, rhs_end)
    begin, end, _ = left.indices(len(lhs))
    return (*lhs[:begin], *rhs[right], *lhs[end:])


def _like_type(lhs: TensorType, rhs: TensorType, **params: Any) -> tuple[TensorType]:
    shape = _like_shape(lhs.shape, rhs.shape, **params)
    if math.prod(shape) != lhs.size:
        raise ShapeError(
            f"reshape_like: the number of elements must stay the same, got lhs {lhs} and a new "
            f"shape {shape} after rhs {rhs}"
        )
    return (tensor_type(shape, lhs.dtype),)


@operator("reshape_like", infer=_like_type)
def _reshape_like(
    lhs: Any,
    rhs: Any,
    *,
    lhs_begin: int | None = None,
    lhs_end: int | None = None,
    rhs_begin: int | None = None,
    rhs_end: int | None = None,
) -> Any:
    """`lhs` in the shape of `rhs`.

    Args:
        rhs: only its shape counts.
        lhs_begin: the first dimension of `lhs` that is replaced; None for 0.
        lhs_end: the dimension of `lhs` after the last that is replaced; None for all.
        rhs_begin: the first dimension of `rhs` that is taken; None for 0.
        rhs_end: the dimension of `rhs` after the last that is taken; None for all.
    """
    shape = _like_shape(lhs.shape, rhs.shape, lhs_begin, lhs_end, rhs_begin, rhs_end)
    return jnp.reshape(lhs, shape)


_SHAPES = "its result depends on the shape only"


@operator(
    "shape_array",
    infer=lambda data: (tensor_type((len(data.shape),), INT64),),
    no_gradient=_SHAPES,
)
def _shape_array(data: Any) -> Any:
    """The shape as an int64 array."""
    return jnp.asarray(data.shape, INT64)


@operator("size_array", infer=lambda data: (tensor_type((1,), INT64),), no_gradient=_SHAPES)
def _size_array(data: Any) -> Any:
    """The number of elements as an int64 array of one element."""
    return jnp.asarray([data.size], INT64)
