"""Reading arguments as TensorFlow does: renamed ones, axes, shapes that may be tensors, dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ..dtypes import DType, bfloat16, float16, float32, float64
from .shapes import Dimension, TensorShape
from .tensor import Tensor
from .values import constant_value, convert_to_tensor

__all__ = [
    "as_floats", "as_shape", "axes_of", "axis_of", "dims_of", "is_number", "known_count",
    "known_numbers", "renamed", "require_kind", "static_value", "with_default",
]  # fmt: skip

_FLOATS: Final = (bfloat16, float16, float32, float64)


def renamed(new_name: str, new: Any, old_name: str, old: Any) -> Any:
    """Returns an argument that had another name before.

    Raises:
        ValueError: it is given by both names.
    """
    if old is None:
        return new
    if new is not None:
        raise ValueError(f"Cannot specify both '{new_name}' and '{old_name}'.")
    return old


def with_default(value: Any, default: Any) -> Any:
    """Returns a value, or another in the place of None."""
    return default if value is None else value


def require_kind(kind: str, name: str, x: Tensor, allowed: Callable[[DType], Any]) -> Tensor:
    """Returns a tensor whose dtype an Operation takes.

    Raises:
        TypeError: it is of another.
    """
    if not allowed(x.dtype.base_dtype):
        raise TypeError(
            f"{kind}: Value passed to parameter '{name}' has DataType {x.dtype.base_dtype.name}, "
            "which is not in its list of allowed values; use tf.cast"
        )
    return x


def is_number(dtype: DType) -> bool:
    """Whether values are numbers: neither truth values nor text."""
    return bool(dtype.is_floating or dtype.is_integer)


def as_floats(kind: str, x: Any, name: str = "x") -> Tensor:
    """Returns a value as a tensor of a floating dtype.

    Raises:
        TypeError: it is of another.
    """
    made = convert_to_tensor(x, name=name)
    return require_kind(kind, name, made, lambda dtype: dtype in _FLOATS)


def known_numbers(value: Any) -> Any:
    """Returns whole numbers given as a number, a list, an array or a tensor; None if not known.

    Returns:
        An int, or a list of ints.
    """
    if isinstance(value, Dimension):
        return value.value
    if isinstance(value, TensorShape):
        return value.as_list() if value.is_fully_defined() else None
    if isinstance(value, (list, tuple)):
        found = [known_numbers(one) for one in value]
        return None if any(one is None for one in found) else found
    host = np.asarray(value) if isinstance(value, int) else static_value(value)
    if host is None:
        return None
    host = np.asarray(host)
    if host.size and host.dtype.kind not in "iu":
        raise TypeError(f"whole numbers are needed, got {value!r}")
    return host.tolist()


def known_count(value: Any, refusal: str) -> int:
    """Returns one whole number that is known when the graph is built.

    Raises:
        ValueError: it is not; `refusal` is the message.
    """
    found = known_numbers(value)
    if not isinstance(found, int):
        raise ValueError(refusal)
    return found


def static_value(tensor: Any) -> Any:
    """Returns the value of a tensor that shapes are made of, where shapes known now tell it.

    As `core.constant_value`, and of arithmetic on such values, too.
    """
    found = constant_value(tensor)
    if found is not None or not isinstance(tensor, Tensor):
        return found
    fold = _FOLDED.get(tensor.op.type)
    if fold is None:
        return None
    values = [static_value(one) for one in tensor.op.inputs]
    return None if any(one is None for one in values) else fold(tensor.op, *values)


_FOLDED: Final[dict[str, Callable[..., Any]]] = {
    "AddV2": lambda _, x, y: x + y,
    "ConcatV2": lambda op, *values: np.concatenate(values, op.get_attr("axis")),
    "FloorDiv": lambda _, x, y: x // y,
    "Mul": lambda _, x, y: x * y,
    "Prod": lambda op, x: np.prod(x, op.get_attr("axis"), keepdims=op.get_attr("keepdims")),
    "StridedSlice": lambda op, x: x[op.get_attr("key")],
    "Sub": lambda _, x, y: x - y,
}


def dims_of(shape: Any) -> tuple[int | None, ...] | None:
    """Returns what is known of the sizes that a shape stands for, which may be a tensor."""
    if isinstance(shape, (list, tuple)):
        found = [known_numbers(one) for one in shape]
        return tuple(one if isinstance(one, int) and one >= 0 else None for one in found)
    known = known_numbers(shape)
    if known is not None:
        return dims_of(known if isinstance(known, list) else [known])
    if isinstance(shape, TensorShape):
        return shape._dims
    if isinstance(shape, Tensor):
        op = shape.op
        if op.type == "Pack":
            return dims_of(op.inputs)
        if op.type == "Shape":
            return op.inputs[0].shape._dims
        if op.type == "ConcatV2":
            parts = [dims_of(one) for one in op.inputs]
            return None if None in parts else tuple(one for part in parts for one in part or ())
        length = shape.shape._dims
        if length is not None and len(length) == 1 and length[0] is not None:
            return (None,) * length[0]
        if length == ():
            return (None,)
    return None


def axis_of(kind: str, axis: Any, rank: int | None) -> int:
    """Returns an axis as a number.

    Raises:
        ValueError: it is not known when the graph is built, or is no axis.
    """
    found = known_numbers(axis)
    if isinstance(found, list) and len(found) == 1:
        (found,) = found
    if not isinstance(found, int):
        raise ValueError(
            f"{kind}: the axis must be one number that is known when the graph is built, got {axis}"
        )
    if rank is not None and not -rank <= found < rank:
        raise ValueError(f"{kind}: axis {found} must be in the range [{-rank}, {rank})")
    return found


def axes_of(kind: str, axis: Any, rank: int | None) -> tuple[int, ...] | None:
    """Returns the axes that something is done along; None for all of them.

    Raises:
        ValueError: they are not known when the graph is built, or are no axes.
    """
    if axis is None:
        return None
    found = known_numbers(axis)
    if found is None:
        raise ValueError(
            f"{kind}: axes must be numbers that are known when the graph is built, got {axis}"
        )
    listed = found if isinstance(found, list) else [found]
    return tuple(axis_of(kind, one, rank) for one in listed)


def as_shape(shape: Any) -> tuple[int, ...] | Tensor:
    """Returns a shape as numbers where they are known, or as a tensor of them."""
    found = known_numbers(shape)
    if found is not None:
        return tuple(found) if isinstance(found, list) else (found,)
    if isinstance(shape, (list, tuple)):
        shape = [one.value if isinstance(one, Dimension) else one for one in shape]
    made = convert_to_tensor(shape, name="shape")
    return made if made.shape.ndims != 0 else convert_to_tensor([made])
