"""Reading and writing a contiguous part of an array: what a view of a Storage does.

The position is an input of the program, so that a loop over ``x[i]`` is one program, not one for
each ``i``.
"""

from __future__ import annotations

from typing import Any

from hybridnet.base.attrs import Index, Scalar, Shape
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


@operator("_assign_cast", infer=lambda base, value: [base])
def assign_cast(base: Any, value: Any) -> Any:
    """Broadcasts `value` to the shape of `base`, in the dtype of `base`: ``base[:] = value``."""
    return jnp.broadcast_to(convert(value, base.dtype), base.shape)


@operator("_fill", infer=lambda base: [base])
def fill(base: Any, *, scalar: Scalar) -> Any:
    """Returns an array like `base` with every element equal to a number: ``base[:] = 1``."""
    return jnp.full(base.shape, convert(scalar, base.dtype))


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for one in shape:
        size *= one
    return size
