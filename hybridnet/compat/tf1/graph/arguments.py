"""Reading arguments as TensorFlow does: renamed ones, axes, shapes that may be tensors, dtypes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from hybridnet.graph.gradient import EdgeHandle
from hybridnet.ops.core import registry

from ..dtypes import DType, bfloat16, float16, float32, float64
from .building import apply, apply_call, compose
from .by_value import ByValue
from .control import name_scope
from .infer import Kind
from .shapes import Dimension, TensorShape
from .tensor import Tensor
from .values import constant_value, convert_to_tensor

__all__ = [
    "apply_shaped",
    "as_floats",
    "as_shape",
    "axes_of",
    "axis_of",
    "dims_of",
    "fused",
    "in_scope",
    "is_number",
    "known_numbers",
    "op",
    "renamed",
    "require_kind",
    "static_value",
    "with_default",
]

_FLOATS: Final = (bfloat16, float16, float32, float64)


def op(
    kind: str, operator: str, inputs: Sequence[Tensor], *, name: str | None = None, **params: Any
) -> Tensor:
    """Adds an Operation that is one of our operators, and has one output.

    Args:
        kind: the Operation's type.
        operator: our operator.
        inputs: tensors.
        name: of the Operation; default its type.
        params: the operator's parameters.
    """
    made: Tensor = apply(kind, operator, inputs, params, name=name)
    return made


def fused(
    kind: str,
    function: Callable[..., EdgeHandle],
    inputs: Sequence[Tensor],
    *,
    name: str | None = None,
    shape: Any = None,
    **params: Any,
) -> Tensor:
    """Adds an Operation that is several of our operators; as `building.compose`, with one output.

    Args:
        kind: the Operation's type.
        function: from handles of the inputs to a handle of the output.
        inputs: tensors.
        name: of the Operation; default its type.
        shape: what else is known of the output's.
        params: what `Operation.get_attr` returns.
    """
    made: Tensor = compose(kind, function, inputs, name=name, shape=shape, params=params)
    return made


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


def apply_shaped(
    kind: str,
    operator: str,
    inputs: Sequence[Tensor],
    given: dict[str, Any],
    params: dict[str, Any],
    *,
    dtype: DType,
    dims: Any,
    name: str | None = None,
) -> Tensor:
    """Adds an Operation some of whose parameters may be tensors that hold whole numbers.

    Args:
        kind: the Operation's type.
        operator: our operator.
        inputs: its inputs.
        given: parameters that are tensors, or tuples of numbers as `as_shape` gives them.
        params: the others.
        dtype: of the output.
        dims: its sizes as far as they are known, where a parameter is a tensor.
        name: of the Operation.
    """
    late = {key: one for key, one in given.items() if isinstance(one, Tensor)}
    known = {key: one for key, one in given.items() if key not in late}
    if not late:
        return op(kind, operator, inputs, name=name, **params, **known)
    call = ByValue(registry.get(operator), len(inputs), {**params, **known}, tuple(late))
    kinds = [Kind(dtype.base_dtype.numpy, None if dims is None else tuple(dims))]
    made: Tensor = apply_call(kind, call, (*inputs, *late.values()), name=name, kinds=kinds)
    return made


def in_scope(
    kind: str,
    function: Callable[..., EdgeHandle],
    inputs: Sequence[Tensor],
    *,
    scope: str,
    last: str,
    name: str | None = None,
) -> Tensor:
    """Adds an Operation for what is several in TensorFlow, by the name of the last of these.

    Args:
        kind: the type of the last one.
        function: as for `building.compose`.
        inputs: tensors.
        scope: the default name of the scope that they are in.
        last: the name of the last one in it.
        name: the user's name for the scope.
    """
    with name_scope(name, scope, inputs):
        return fused(kind, function, inputs, name=last)
