"""Explicit broadcasting: copies of an array along axes of size 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybridnet.base.attrs import Axis, Shape
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp

from ..core.registry import operator
from ..core.rules import one_axis


def _widened(name: str, data: TensorType, shape: Sequence[int]) -> tuple[int, ...]:
    """Checks that the data broadcasts to the shape."""
    if len(shape) != len(data.shape):
        raise ShapeError(
            f"{name}: shape must have as many dimensions as data, got shape {tuple(shape)} and "
            f"data {data}; reshape the data first"
        )
    for axis, (old, new) in enumerate(zip(data.shape, shape, strict=True)):
        if old not in (1, new):
            raise ShapeError(
                f"{name}: a dimension must be 1 to become another size: dimension {axis} is {old} "
                f"and should become {new}, got data {data}"
            )
    return tuple(shape)


def _kept(data: Any, shape: Sequence[int]) -> tuple[int, ...]:
    """The shape, where 0 means the size that the data has."""
    return tuple(new or old for old, new in zip(data.shape, shape, strict=True))


def _to_type(data: TensorType, *, shape: tuple[int, ...]) -> tuple[TensorType]:
    if len(shape) == len(data.shape):
        shape = _kept(data, shape)
    return (tensor_type(_widened("broadcast_to", data, shape), data.dtype),)


@operator("broadcast_to", infer=_to_type)
def _broadcast_to(data: Any, *, shape: Shape = ()) -> Any:
    """Copies along axes of size 1 until the array has this shape; 0 keeps a dimension as it is."""
    return jnp.broadcast_to(data, _kept(data, shape))


def _axis_shape(data: Any, axis: Sequence[int], size: Sequence[int]) -> list[int]:
    shape = list(data.shape)
    for i, wide in zip(axis, size, strict=True):
        shape[i] = wide
    return shape


def _axis_type(
    data: TensorType, *, axis: tuple[int, ...], size: tuple[int, ...]
) -> tuple[TensorType]:
    if len(axis) != len(size):
        raise ParameterError(
            f"broadcast_axis: axis and size must have equal lengths, got {axis} and {size}"
        )
    axes = [one_axis("broadcast_axis", i, data) for i in axis]
    shape = _widened("broadcast_axis", data, _axis_shape(data, axes, size))
    return (tensor_type(shape, data.dtype),)


@operator("broadcast_axis", aliases=("broadcast_axes",), infer=_axis_type)
def _broadcast_axis(data: Any, *, axis: Shape = (), size: Shape = ()) -> Any:
    """Copies along some axes, which must have size 1.

    Args:
        axis: the axes.
        size: the new size of each of them.
    """
    return jnp.broadcast_to(data, _axis_shape(data, axis, size))


def _like_shape(lhs: Any, rhs: Any, lhs_axes: Any, rhs_axes: Any) -> list[int]:
    if lhs_axes is None and rhs_axes is None:
        return list(rhs.shape)
    lhs_axes = (lhs_axes,) if isinstance(lhs_axes, int) else lhs_axes
    rhs_axes = (rhs_axes,) if isinstance(rhs_axes, int) else rhs_axes
    return _axis_shape(lhs, lhs_axes, [rhs.shape[i] for i in rhs_axes])


def _like_type(
    lhs: TensorType, rhs: TensorType, *, lhs_axes: Any, rhs_axes: Any
) -> tuple[TensorType]:
    if (lhs_axes is None) != (rhs_axes is None) or (
        lhs_axes is not None and len(_tuple(lhs_axes)) != len(_tuple(rhs_axes))
    ):
        raise ParameterError(
            "broadcast_like: lhs_axes and rhs_axes must both be given, with equal lengths, or "
            f"neither, got {lhs_axes} and {rhs_axes}"
        )
    if lhs_axes == ():
        raise ParameterError("broadcast_like: lhs_axes must name an axis, got none; leave it out")
    if lhs_axes is not None:
        lhs_axes = [one_axis("broadcast_like", i, lhs) for i in _tuple(lhs_axes)]
        rhs_axes = [one_axis("broadcast_like", i, rhs) for i in _tuple(rhs_axes)]
    shape = _widened("broadcast_like", lhs, _like_shape(lhs, rhs, lhs_axes, rhs_axes))
    return (tensor_type(shape, lhs.dtype),)


def _tuple(axes: int | tuple[int, ...]) -> tuple[int, ...]:
    return (axes,) if isinstance(axes, int) else axes


@operator("broadcast_like", infer=_like_type)
def _broadcast_like(lhs: Any, rhs: Any, *, lhs_axes: Axis = None, rhs_axes: Axis = None) -> Any:
    """Copies `lhs` along axes of size 1 until it has the shape of `rhs`.

    Args:
        rhs: only its shape counts.
        lhs_axes: broadcast these axes only.
        rhs_axes: the axes of `rhs` that have their new sizes.
    """
    return jnp.broadcast_to(lhs, _like_shape(lhs, rhs, lhs_axes, rhs_axes))
