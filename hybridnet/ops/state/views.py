"""Reading and writing a contiguous part of an array: what a view of a Storage does.

The position is an input of the program, so that a loop over ``x[i]`` is one program, not one for
each ``i``.
"""

from __future__ import annotations

import math
from typing import Any

from hybridnet.base.attrs import DType, Index, Scalar, Shape
from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import has_host_form, jnp, lax

from ..core.families import convert
from ..core.registry import operator


def block_lengths(shape: tuple[int, ...], size: int) -> tuple[int, ...] | None:
    """Returns the extents of the block of an array that a run of `size` elements may be.

    Whole rows are such a block, and so is a stretch within one row: a run that takes a single
    position on the outer axes, some on the next and all of those within.

    Args:
        shape: of the array; it has more than `size` elements.
        size: at least 1.

    Returns:
        Its length on each axis; None where no run of that many elements is a block.
    """
    stride = math.prod(shape)
    for axis, length in enumerate(shape):
        stride //= length
        if size % stride == 0 and size // stride <= length:
            return (*(1,) * axis, size // stride, *shape[axis + 1 :])
    return None


def _starts(shape: tuple[int, ...], lengths: tuple[int, ...], offset: Any) -> list[Any]:
    """Returns where on each axis a block begins that begins at an offset."""
    starts = []
    stride = math.prod(shape)
    for length, taken in zip(shape, lengths, strict=True):
        stride //= length
        if taken == length:
            starts.append(offset.dtype.type(0))
        else:
            position = lax.div(offset, offset.dtype.type(stride))
            starts.append(lax.rem(position, offset.dtype.type(length)))
    return starts


def _check(name: str, base: TensorType, shape: tuple[int, ...]) -> None:
    if math.prod(shape) > base.size:
        raise ShapeError(f"{name}: base must have the elements of shape {shape}, got {base}")


def _view_type(base: TensorType, *, shape: tuple[int, ...], **_: Any) -> list[TensorType]:
    _check("_view", base, shape)
    return [tensor_type(shape, base.dtype)]


def _filled_type(base: TensorType, *, shape: tuple[int, ...], **_: Any) -> list[TensorType]:
    _check("_view_fill", base, shape)
    return [base]


@operator("_view", infer=_view_type)
def view(base: Any, *, offset: Index, shape: Shape, block: bool = False) -> Any:
    """Reads ``prod(shape)`` elements of `base`, taken as one row, from `offset` on.

    `block` says that they are a block of `base`; see `view_assign`.
    """
    size = math.prod(shape)
    if size == base.size:
        return base.reshape(shape)
    return _run(base, size, offset, block).reshape(shape)


@has_host_form("run_of")
def _run(base: Any, size: int, offset: Any, block: bool) -> Any:
    lengths = block_lengths(base.shape, size) if block else None
    if lengths is None:
        return lax.dynamic_slice(base.reshape(-1), (offset,), (size,))
    starts = _starts(base.shape, lengths, offset)
    return lax.dynamic_slice(base, starts, lengths)


@operator("_view_assign", infer=lambda base, value, **_: [base], rewrites=True)
def view_assign(base: Any, value: Any, *, offset: Index, block: bool = False) -> Any:
    """Returns `base` with the elements from `offset` on replaced by those of `value`.

    `block` says that they are a block of `base` (see `block_lengths`), which is then written in
    the array's own shape: the program is then one update in place where `base` is donated. Taken
    as one row first, the donated array would be copied onto itself, a step more for each write.
    """
    value = convert(value, base.dtype)
    if value.size == base.size:
        return value.reshape(base.shape)
    return _run_assigned(base, value, offset, block)


@has_host_form("run_assigned")
def _run_assigned(base: Any, value: Any, offset: Any, block: bool) -> Any:
    lengths = block_lengths(base.shape, value.size) if block else None
    if lengths is None:
        flat = lax.dynamic_update_slice(base.reshape(-1), value.reshape(-1), (offset,))
        return flat.reshape(base.shape)
    starts = _starts(base.shape, lengths, offset)
    return lax.dynamic_update_slice(base, value.reshape(lengths), starts)


@operator("_view_fill", infer=_filled_type, rewrites=True)
def view_fill(
    base: Any, *, offset: Index, scalar: Scalar, shape: Shape, block: bool = False
) -> Any:
    """Returns `base` with ``prod(shape)`` elements from `offset` on replaced by a number.

    `block` says that they are a block of `base`; see `view_assign`.
    """
    value = jnp.full(shape, convert(scalar, base.dtype))
    return view_assign(base, value, offset=offset, block=block)


# What is overwritten is not an input of these two: an array whose value could not be computed, or
# is still awaited, is well again once it is overwritten.


def _given_type(*_: TensorType, shape: tuple[int, ...], dtype: str) -> list[TensorType]:
    return [tensor_type(shape, as_dtype(dtype))]


def _assigned_type(value: TensorType, *, shape: tuple[int, ...], dtype: str) -> list[TensorType]:
    surplus = len(shape) - len(value.shape)
    fits = surplus >= 0 and all(
        size in (1, wanted) for size, wanted in zip(value.shape, shape[surplus:], strict=True)
    )
    if not fits:
        raise ShapeError(f"_assign_cast: value must broadcast to shape {shape}, got {value}")
    return [tensor_type(shape, as_dtype(dtype))]


@operator("_assign_cast", infer=_assigned_type)
def assign_cast(value: Any, *, shape: Shape, dtype: DType) -> Any:
    """Broadcasts `value` to a shape, in another dtype: ``x[:] = value``."""
    return jnp.broadcast_to(convert(value, as_dtype(dtype)), shape)


@operator("_fill", infer=_given_type, no_gradient="it has no inputs")
def fill(*, shape: Shape, dtype: DType, scalar: Scalar) -> Any:
    """Makes an array with every element equal to a number: ``x[:] = 1``."""
    return jnp.full(shape, convert(scalar, as_dtype(dtype)))
