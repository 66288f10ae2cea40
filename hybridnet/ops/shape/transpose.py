"""Operators that permute axes or elements: transposes, reversals, diagonals, blocks to depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from hybridnet.base.attrs import Range, Shape
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp

from ..core.call import Backward
from ..core.registry import get, operator
from ..core.rules import one_axis, same_type


def _transposed(data: TensorType, *, axes: tuple[int, ...]) -> tuple[TensorType]:
    order = tuple(one_axis("transpose", i, data) for i in axes) or range(len(data.shape))[::-1]
    if sorted(order) != list(range(len(data.shape))):
        raise ParameterError(
            f"transpose: axes must name each axis of data once, got {axes} for data {data}"
        )
    return (tensor_type(tuple(data.shape[i] for i in order), data.dtype),)


def _transpose_gradient(back: Backward) -> Sequence[Any]:
    axes = back.attrs["axes"]
    inverse = tuple(sorted(range(len(axes)), key=lambda i: axes[i] % len(axes)))
    return back.apply(get("transpose").bind({"axes": inverse})[0], [back.grads[0]])


@operator("transpose", infer=_transposed, gradient=_transpose_gradient)
def _transpose(data: Any, *, axes: Shape = ()) -> Any:
    """Permutes the axes.

    Args:
        axes: which axis of the data each axis of the result is; empty to reverse the order.
    """
    return jnp.transpose(data, axes or None)


def _swapped(data: TensorType, *, dim1: int, dim2: int) -> tuple[TensorType]:
    shape = list(data.shape)
    first, second = one_axis("SwapAxis", dim1, data), one_axis("SwapAxis", dim2, data)
    shape[first], shape[second] = shape[second], shape[first]
    return (tensor_type(tuple(shape), data.dtype),)


@operator(
    "SwapAxis",
    aliases=("swapaxes",),
    infer=_swapped,
    gradient=lambda back: back.apply(back.call, [back.grads[0]]),
)
def _swap_axes(data: Any, *, dim1: int = 0, dim2: int = 0) -> Any:
    """Exchanges two axes."""
    return jnp.swapaxes(data, dim1, dim2)


def _check_reverse(data: TensorType, *, axis: tuple[int, ...]) -> None:
    axes = [one_axis("reverse", i, data) for i in axis]
    if len(set(axes)) < len(axes):
        raise ParameterError(f"reverse: axis must name each axis once, got {axis}")


@operator(
    "reverse",
    aliases=("flip",),
    infer=same_type,
    check=_check_reverse,
    gradient=lambda back: back.apply(back.call, [back.grads[0]]),
)
def _reverse(data: Any, *, axis: Shape) -> Any:
    """Reverses the order of the elements along some axes."""
    return jnp.flip(data, axis)


def _diag_type(data: TensorType, *, k: int, axis1: int, axis2: int) -> tuple[TensorType]:
    if len(data.shape) == 1:
        side = data.shape[0] + abs(k)
        return (tensor_type((side, side), data.dtype),)
    first, second = one_axis("diag", axis1, data), one_axis("diag", axis2, data)
    if first == second:
        raise ParameterError(f"diag: axis1 and axis2 must differ, got {axis1} and {axis2}")
    rows, columns = data.shape[first], data.shape[second]
    length = min(rows, columns - k) if k >= 0 else min(rows + k, columns)
    if length <= 0:
        raise ShapeError(f"diag: diagonal k={k} must lie inside the matrix, got data {data}")
    kept = (size for i, size in enumerate(data.shape) if i not in (first, second))
    return (tensor_type((*kept, length), data.dtype),)


@operator("diag", infer=_diag_type)
def _diag(data: Any, *, k: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The diagonal of each matrix, or, of a vector, the matrix with it as diagonal.

    Args:
        k: which diagonal: above (positive) or below (negative) the main one.
        axis1: the axis of the rows.
        axis2: the axis of the columns; the diagonal becomes the last axis of the result.
    """
    if data.ndim == 1:
        return jnp.diag(data, k)
    return jnp.diagonal(data, k, axis1, axis2)


def _blocks(name: str, data: TensorType) -> tuple[int, int, int, int]:
    if len(data.shape) != 4:
        raise ShapeError(f"{name}: data must be (batch, channel, height, width), got {data}")
    if not data.size:
        raise ShapeError(f"{name}: no dimension of data may be 0, got {data}")
    batch, channel, height, width = data.shape
    return batch, channel, height, width


def _depth_to_space_type(data: TensorType, *, block_size: int) -> tuple[TensorType]:
    batch, channel, height, width = _blocks("depth_to_space", data)
    if channel % block_size**2:
        raise ShapeError(
            f"depth_to_space: channels must be a multiple of block_size**2={block_size**2}, "
            f"got data {data}"
        )
    shape = (batch, channel // block_size**2, height * block_size, width * block_size)
    return (tensor_type(shape, data.dtype),)


@operator("depth_to_space", infer=_depth_to_space_type)
def _depth_to_space(data: Any, *, block_size: Annotated[int, Range(1)]) -> Any:
    """Lays channels out as square blocks: (N, C b b, H, W) becomes (N, C, H b, W b)."""
    batch, channel, height, width = data.shape
    kept = channel // block_size**2
    blocks = data.reshape(batch, block_size, block_size, kept, height, width)
    blocks = blocks.transpose(0, 3, 4, 1, 5, 2)
    return blocks.reshape(batch, kept, height * block_size, width * block_size)


def _space_to_depth_type(data: TensorType, *, block_size: int) -> tuple[TensorType]:
    batch, channel, height, width = _blocks("space_to_depth", data)
    if height % block_size or width % block_size:
        raise ShapeError(
            f"space_to_depth: height and width must be multiples of block_size={block_size}, "
            f"got data {data}"
        )
    shape = (batch, channel * block_size**2, height // block_size, width // block_size)
    return (tensor_type(shape, data.dtype),)


@operator("space_to_depth", infer=_space_to_depth_type)
def _space_to_depth(data: Any, *, block_size: Annotated[int, Range(1)]) -> Any:
    """Lays square blocks out as channels: (N, C, H b, W b) becomes (N, C b b, H, W)."""
    batch, channel, height, width = data.shape
    rows, columns = height // block_size, width // block_size
    blocks = data.reshape(batch, channel, rows, block_size, columns, block_size)
    blocks = blocks.transpose(0, 3, 5, 1, 2, 4)
    return blocks.reshape(batch, channel * block_size**2, rows, columns)
