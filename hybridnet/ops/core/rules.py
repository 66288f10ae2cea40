"""Shape and dtype rules that operator families share: broadcasting, axes, unification.

Nothing here uses JAX: rules run when an operator is called, before anything is computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from hybridnet.base.array_types import DType, Shape
from hybridnet.base.dtype import BOOL, FLOAT64, INT64, is_float, promote
from hybridnet.base.errors import DTypeError, ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType

from .operator import Shapes, describe

#: What stands for a dimension that is not known, in shapes that are known in part.
UNKNOWN: Final = -1


def same_type(data: TensorType, *_: TensorType, **__: Any) -> tuple[TensorType]:
    """Infers: the output is like the first input."""
    return (data,)


def promote_types(types: Sequence[TensorType]) -> DType:
    """Returns the dtype that arrays of these types are computed in."""
    dtype = types[0].dtype
    for type_ in types[1:]:
        dtype = promote(dtype, type_.dtype)
    return dtype


def scalar_dtype(dtype: DType, is_int: bool) -> DType:
    """Returns the dtype of an array combined with a number.

    As MXNet: floats and integers keep theirs (the number is converted, 2.5 to 2 beside integers),
    integers become float64 where ``is_int`` is False, and bool becomes int64.
    """
    if is_float(dtype):
        return dtype
    if not is_int:
        return FLOAT64
    return INT64 if dtype == BOOL else dtype


def refuse_bool(name: str) -> Callable[..., None]:
    """Returns a check that no input is bool."""

    def check(*types: TensorType, **_: Any) -> None:
        for type_ in types:
            if type_.dtype == BOOL:
                got = " and ".join(map(repr, types))
                raise DTypeError(
                    f"{name}: inputs must be numeric, got {got}; cast the bool array first, "
                    "for example with x.astype('float32')"
                )

    return check


def refuse_bools(name: str) -> Callable[..., None]:
    """Returns a check that the inputs are not all bool: beside a number bool becomes one."""
    refuse = refuse_bool(name)

    def check(*types: TensorType, **_: Any) -> None:
        if all(type_.dtype == BOOL for type_ in types):
            refuse(*types)

    return check


def check_same_shape(name: str, names: Sequence[str], types: Sequence[TensorType]) -> None:
    """Raises ShapeError unless all shapes are equal."""
    if any(type_.shape != types[0].shape for type_ in types):
        raise ShapeError(
            f"{name}: {' and '.join(names)} must have equal shapes, got {describe(names, types)}"
        )


def known_product(sizes: Sequence[int]) -> int:
    """Returns the product of sizes, UNKNOWN where one of them is not known."""
    return UNKNOWN if UNKNOWN in sizes else math.prod(sizes)


def broadcast_shape(name: str, names: Sequence[str], types: Sequence[TensorType]) -> Shape:
    """Returns the shape that arrays of these types broadcast to, as in NumPy.

    Raises:
        ShapeError: two sizes of one dimension differ and neither is 1.
    """
    rank = max(len(type_.shape) for type_ in types)
    padded = [(1,) * (rank - len(type_.shape)) + type_.shape for type_ in types]
    shape = []
    for axis, sizes in enumerate(zip(*padded, strict=True)):
        wide = {size for size in sizes if size != 1}
        if len(wide) > 1:
            raise ShapeError(
                f"{name}: {' and '.join(names)} must broadcast: dimension {axis} is "
                f"{' and '.join(map(str, sizes))}, got {describe(names, types)}"
            )
        shape.append(wide.pop() if wide else 1)
    return tuple(shape)


def one_axis(name: str, axis: int, data: TensorType, *, extra: int = 0) -> int:
    """Returns an axis counted from the front.

    Args:
        name: the operator, for the message.
        axis: may be negative, to count from the end.
        data: the type of the array it is an axis of.
        extra: how many dimensions more than `data` the array has (1 for a new axis).

    Raises:
        ShapeError: there is no such axis.
    """
    rank = len(data.shape) + extra
    if not -rank <= axis < rank:
        raise ShapeError(
            f"{name}: axis must be from {-rank} to {rank - 1} for data {data}, got {axis}"
        )
    return axis % rank


def reduced_axes(
    name: str, data: TensorType, axis: int | Sequence[int] | None, exclude: bool = False
) -> tuple[int, ...]:
    """Returns the axes that a reduction runs over, sorted and counted from the front.

    Args:
        name: the operator, for messages.
        data: the type of the array that is reduced.
        axis: as the user gave it; None or an empty tuple means all axes.
        exclude: reduce the other axes instead.

    Raises:
        ShapeError: there is no such axis.
        ParameterError: an axis is given twice.
    """
    rank = len(data.shape)
    if axis is None or axis == ():
        return tuple(range(rank))
    given = (axis,) if isinstance(axis, int) else axis
    axes = {one_axis(name, index, data) for index in given}
    if len(axes) < len(given):
        raise ParameterError(f"{name}: axis must name each axis once, got {axis}")
    return tuple(i for i in range(rank) if (i in axes) != exclude)


def reduced_shape(shape: Shape, axes: Sequence[int], keepdims: bool) -> Shape:
    """Returns the shape after reducing these axes; MXNet has no 0-d arrays, so () becomes (1,)."""
    if keepdims:
        return tuple(1 if i in axes else size for i, size in enumerate(shape))
    return tuple(size for i, size in enumerate(shape) if i not in axes) or (1,)


def unify(shapes: Shapes, **_: Any) -> Shapes:
    """Completes: all inputs have one shape."""
    known = [shape for shape in shapes if shape is not None]
    ranks = {len(shape) for shape in known}
    if len(ranks) != 1:
        return shapes
    joined = tuple(max(sizes) for sizes in zip(*known, strict=True))
    return [joined if shape is None or UNKNOWN in shape else shape for shape in shapes]


def unify_around(shapes: Shapes, *, dim: int, **_: Any) -> Shapes:
    """Completes: all inputs have one shape but along the axis `dim`."""
    known = [shape for shape in shapes if shape is not None]
    ranks = {len(shape) for shape in known}
    rank = min(ranks, default=0)
    if len(ranks) != 1 or not -rank <= dim < rank:
        return shapes
    joined = [max(sizes) for sizes in zip(*known, strict=True)]
    joined[dim] = UNKNOWN
    return [
        tuple(joined)
        if shape is None
        else tuple(b if a == UNKNOWN else a for a, b in zip(shape, joined, strict=True))
        for shape in shapes
    ]
