"""Reading and writing a contiguous part of an array: what a view of a Storage does.

The position is an input of the program, so that a loop over ``x[i]`` is one program, not one for
each ``i``.
"""

from __future__ import annotations

from typing import Any

from hybridnet.base.attrs import DType, Index, Scalar, Shape
from hybridnet.base.dtype import as_dtype
from hybridnet.base.lazy import jnp, lax
from hybridnet.base.tensor_type import TensorType, tensor_type

from .families import convert
from .registry import operator

__all__: list[str] = []


def _view_type(base: TensorType, *, shape: tuple[int, ...]) -> list[TensorType]:
    return [tensor_type(shape, base.dtype)]


@operator("_view", infer=_view_type)
def view(base: Any, *, offset: Index, shape: Shape) -> Any:
    """Reads ``prod(shape)`` elements of `base`, taken as one row, from `offset` on."""
    size = _size(shape)
    if size == base.size:
        return base.reshape(shape)
    return lax.dynamic_slice(base.reshape(-1), (offset,), (size,)).reshape(shape)


@operator("_view_assign", infer=lambda base, value: [base])
def view_assign(base: Any, value: Any, *, offset: Index) -> Any:
    """Returns `base` with the elements from `offset` on replaced by those of `value`."""
    value = convert(value, base.dtype)
    if value.size == base.size:
        return value.reshape(base.shape)
    flat = lax.dynamic_update_slice(base.reshape(-1), value.reshape(-1), (offset,))
    return flat.reshape(base.shape)


# What is overwritten is not an input of these two: an array whose value could not be computed, or
# is still awaited, is well again once it is overwritten.


def _given_type(*_: TensorType, shape: tuple[int, ...], dtype: str) -> list[TensorType]:
    return [tensor_type(shape, as_dtype(dtype))]


@operator("_assign_cast", infer=_given_type)
def assign_cast(value: Any, *, shape: Shape, dtype: DType) -> Any:
    """Broadcasts `value` to a shape, in another dtype: ``x[:] = value``."""
    return jnp.broadcast_to(convert(value, as_dtype(dtype)), shape)


@operator("_fill", infer=_given_type, no_gradient="it has no inputs")
def fill(*, shape: Shape, dtype: DType, scalar: Scalar) -> Any:
    """Makes an array with every element equal to a number: ``x[:] = 1``."""
    return jnp.full(shape, convert(scalar, as_dtype(dtype)))


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for one in shape:
        size *= one
    return size
