"""Arrays made of arrays: joined, stacked, repeated, tiled, padded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np

from hybridnet.base.attrs import Range, Shape
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp

from ..core.families import promoted
from ..core.operator import describe
from ..core.registry import operator
from ..core.rules import check_same_shape, one_axis, promote_types, unify, unify_around


def _names(types: Sequence[TensorType]) -> list[str]:
    return [f"data{i}" for i in range(len(types))]


def _concat_type(*data: TensorType, dim: int, **_: Any) -> tuple[TensorType]:
    axis = one_axis("Concat", dim, data[0])
    first = data[0].shape
    for other in data[1:]:
        if len(other.shape) != len(first) or any(
            a != b for i, (a, b) in enumerate(zip(first, other.shape, strict=True)) if i != axis
        ):
            raise ShapeError(
                f"Concat: inputs must have equal shapes except along dim={dim}, got "
                f"{describe(_names(data), data)}"
            )
    size = sum(array.shape[axis] for array in data)
    return (tensor_type((*first[:axis], size, *first[axis + 1 :]), promote_types(data)),)


@operator("Concat", aliases=("concat",), infer=_concat_type, complete=unify_around)
def _concat(*data: Any, num_args: int = 0, dim: int = 1) -> Any:
    """Joins arrays along an existing axis.

    Args:
        data: arrays of equal shapes, except along `dim`.
        dim: the axis.
    """
    return jnp.concatenate(promoted(*data), axis=dim)


def _stack_type(*data: TensorType, axis: int, **_: Any) -> tuple[TensorType]:
    check_same_shape("stack", _names(data), data)
    position = one_axis("stack", axis, data[0], extra=1)
    shape = (*data[0].shape[:position], len(data), *data[0].shape[position:])
    return (tensor_type(shape, promote_types(data)),)


@operator("stack", infer=_stack_type, complete=unify)
def _stack(*data: Any, axis: int = 0, num_args: int = 0) -> Any:
    """Joins arrays of equal shape along a new axis.

    Args:
        data: the arrays.
        axis: the position of the new axis in the result.
    """
    return jnp.stack(promoted(*data), axis=axis)


def _tile_type(data: TensorType, *, reps: tuple[int, ...]) -> tuple[TensorType]:
    rank = max(len(reps), len(data.shape))
    shape = (1,) * (rank - len(data.shape)) + data.shape
    times = (1,) * (rank - len(reps)) + reps
    if min(times, default=0) < 0:
        raise ParameterError(f"tile: reps must not be negative, got {reps}")
    return (tensor_type(tuple(n * t for n, t in zip(shape, times, strict=True)), data.dtype),)


def _tile_check(*_: TensorType, reps: tuple[int, ...]) -> None:
    if 0 in reps:
        raise ParameterError(f"tile: reps must be at least 1, got {reps}")


@operator("tile", infer=_tile_type, check=_tile_check)
@operator("_npi_tile", infer=_tile_type)  # NumPy's, which may leave nothing
def _tile(data: Any, *, reps: Shape) -> Any:
    """Repeats the whole array, `reps` times along each axis; `reps` is aligned at the right."""
    return jnp.tile(data, reps)


def _repeat_type(data: TensorType, *, repeats: int, axis: int | None) -> tuple[TensorType]:
    if axis is None:
        return (tensor_type((data.size * repeats,), data.dtype),)
    axis = one_axis("repeat", axis, data)
    shape = (*data.shape[:axis], data.shape[axis] * repeats, *data.shape[axis + 1 :])
    return (tensor_type(shape, data.dtype),)


@operator("repeat", infer=_repeat_type)
def _repeat(data: Any, *, repeats: Annotated[int, Range(0)], axis: int | None = None) -> Any:
    """Repeats each element, in place.

    Args:
        repeats: how often.
        axis: the axis; None for the flattened array.
    """
    return jnp.repeat(data, repeats, axis=axis)


def _pad_type(data: TensorType, *, pad_width: tuple[int, ...], **_: Any) -> tuple[TensorType]:
    if len(pad_width) != 2 * len(data.shape) or min(pad_width, default=0) < 0:
        raise ParameterError(
            "Pad: pad_width must hold two numbers, not negative, for each dimension (before0, "
            f"after0, before1, ...), got {pad_width} for data {data}"
        )
    widths = zip(data.shape, pad_width[::2], pad_width[1::2], strict=True)
    return (tensor_type(tuple(map(sum, widths)), data.dtype),)


@operator("Pad", aliases=("pad",), infer=_pad_type)
def _pad(
    data: Any,
    *,
    mode: Literal["constant", "edge", "reflect"],
    pad_width: Shape,
    constant_value: float = 0.0,
) -> Any:
    """Widens the array at its borders. Any dimension can be padded; MXNet pads all but two.

    Args:
        mode: fill with a constant, with the border elements, or with a reflection about them.
        pad_width: how much before and after, for each dimension in turn.
        constant_value: the constant.
    """
    widths = list(zip(pad_width[::2], pad_width[1::2], strict=True))
    if mode == "constant":
        return jnp.pad(data, widths, constant_values=np.asarray(constant_value, data.dtype))
    return jnp.pad(data, widths, mode=mode)
