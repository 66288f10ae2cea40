"""Constants, placeholders, conversion, and the Operations that only hand values on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from hybridnet.base import CODE_OF, is_float
from hybridnet.graph import Node
from hybridnet.ops.core import OpCall, registry

from .. import dtypes
from ..dtypes import DType, as_dtype
from .building import add_node, apply, apply_call, op
from .shapes import TensorShape
from .tensor import Operation, Tensor

__all__ = [
    "constant", "constant_value", "convert_n_to_tensor", "convert_to_tensor", "host_constant",
    "identity", "no_op", "placeholder", "placeholder_with_default",
    "register_tensor_conversion_function", "require_same", "stop_gradient",
]  # fmt: skip

#: The elements that an array has at most to be written into the graph, unless all are the same.
_LITERAL: Final = 64

#: Class -> how a value of it becomes a tensor: (value, dtype, name) -> Tensor.
_CONVERSIONS: Final[dict[type, Callable[..., Tensor]]] = {}


def constant(
    value: Any,
    dtype: Any = None,
    shape: Any = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """Returns a tensor of given numbers.

    Args:
        value: a number, nested lists of numbers, or an array.
        dtype: of the tensor; default int32 or float32 for Python's numbers, and an array's own.
        shape: of the tensor; where it has more elements than `value`, the last one is repeated.
        verify_shape: whether the shape must be that of `value`.

    Raises:
        TypeError: the numbers are not of the dtype, or the shapes differ.
        ValueError: there are more numbers than the shape has elements.
    """
    host, kind = host_constant(value, None if dtype is None else as_dtype(dtype))
    if shape is not None:
        host = _filled(host, tuple(TensorShape(shape).as_list()), verify_shape)
    return _constant(host, kind, name)


def _constant(host: np.ndarray[Any, Any], kind: DType, name: str) -> Tensor:
    params = {"value": host, "dtype": kind}
    same = host.size > 0 and host.tobytes() == host.reshape(-1)[:1].tobytes() * host.size
    if kind.numpy in CODE_OF and host.size and (same or host.size <= _LITERAL):
        flat = host.reshape(-1)[:1] if same else host.reshape(-1)
        number = float if is_float(kind.numpy) else int
        text = " ".join(repr(number(one)) for one in flat)
        literal = {"value": text, "shape": host.shape, "dtype": kind.numpy.name}
        call, _ = registry.get("_literal").bind(literal)
        made: Tensor = apply_call("Const", call, (), name=name, params=params)
        return made
    made = add_node("Const", Node(None, (), name), kind, host.shape, name=name, params=params)
    made.graph.constants[made.edge.node] = host
    return made


def host_constant(value: Any, dtype: DType | None) -> tuple[np.ndarray[Any, Any], DType]:
    """Returns numbers as an array of a dtype, by TensorFlow's rules of conversion."""
    if dtype is not None:
        dtype = dtype.base_dtype
    try:
        host = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"a constant must be of a regular shape: {error}") from None
    if host.dtype.kind in "USO" and (dtype in (None, dtypes.string)):
        if host.dtype.kind == "O" and not all(isinstance(x, (str, bytes)) for x in host.flat):
            raise ValueError(
                f"Attempt to convert a value ({value!r}) with an unsupported type "
                f"({type(value)}) to a Tensor."
            )
        text = [x.encode() if isinstance(x, str) else x for x in host.reshape(-1).tolist()]
        made = np.empty(host.shape, object)
        made.reshape(-1)[:] = text
        return made, dtypes.string
    given = isinstance(value, (np.ndarray, np.generic)) or hasattr(value, "dtype")
    if dtype is None:
        return _without_dtype(host, given)
    if host.size and not given:
        _check_numbers(host, value, dtype)
    with np.errstate(all="ignore"):
        return host.astype(dtype.numpy), dtype


def _without_dtype(host: np.ndarray[Any, Any], given: bool) -> tuple[np.ndarray[Any, Any], DType]:
    if not given:
        if host.dtype.kind == "f":
            host = host.astype(np.float32)
        elif host.dtype.kind == "i" and (
            not host.size or (host.min() >= -(2**31) and host.max() < 2**31)
        ):
            host = host.astype(np.int32)
    try:
        return host, as_dtype(host.dtype)
    except TypeError:
        raise ValueError(
            f"Attempt to convert a value with an unsupported dtype ({host.dtype}) to a Tensor."
        ) from None


def _check_numbers(host: np.ndarray[Any, Any], value: Any, dtype: DType) -> None:
    """Raises TypeError where Python's numbers are not of a dtype."""
    whole = dtype.is_integer or dtype.is_floating
    fits = {"b": dtype.is_bool, "i": whole, "u": whole, "f": dtype.is_floating}
    if not fits.get(host.dtype.kind, False):
        first = _first_leaf(value)
        raise TypeError(
            f"Expected {dtype.name}, but got {first!r} of type '{type(first).__name__}'."
        )
    if dtype.is_integer and (host.min() < dtype.min or host.max() > dtype.max):
        raise ValueError(f"{value!r} is out of the range of {dtype.name}")


def _first_leaf(value: Any) -> Any:
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return value


def _filled(
    host: np.ndarray[Any, Any], shape: tuple[Any, ...], verify: bool
) -> np.ndarray[Any, Any]:
    if host.shape == shape:
        return host
    if verify:
        raise TypeError(f"Expected Tensor's shape: {shape}, got {host.shape}.")
    size = int(np.prod(shape))
    flat = host.reshape(-1)
    if flat.size > size:
        raise ValueError(
            f"Too many elements provided. Needed at most {size}, but received {flat.size}"
        )
    if not flat.size:
        raise ValueError(f"a constant of shape {shape} needs at least one number, got none")
    filled = np.concatenate([flat, np.repeat(flat[-1:], size - flat.size)])
    return filled.reshape(shape)


def convert_to_tensor(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    preferred_dtype: Any = None,
    dtype_hint: Any = None,
) -> Tensor:
    """Returns what stands for a value as a tensor: constants are made of numbers and arrays.

    Args:
        value: a tensor, a variable, numbers, an array, or a list that holds tensors.
        dtype: what the tensor must be of.
        name: of the Operation, if one is made.
        preferred_dtype: the dtype if nothing is against it.
        dtype_hint: another name of that.

    Raises:
        TypeError: the numbers are not of the dtype.
        ValueError: a tensor is not of the dtype.
    """
    wanted = None if dtype is None else as_dtype(dtype).base_dtype
    if isinstance(value, Tensor):
        if wanted is not None and value.dtype.base_dtype is not wanted:
            raise ValueError(
                f"Tensor conversion requested dtype {wanted.name} for Tensor with dtype "
                f"{value.dtype.name}: {value!r}"
            )
        return value
    for kind, convert in _CONVERSIONS.items():
        if isinstance(value, kind):
            return convert(value, wanted, name)
    if isinstance(value, (list, tuple)) and _holds_tensor(value):
        return _packed(value, wanted, name or "packed")
    if isinstance(value, TensorShape):
        if not value.is_fully_defined():
            raise ValueError(f"Cannot convert a partially known TensorShape {value} to a Tensor.")
        value, wanted = np.array(value.as_list(), np.int32), wanted or dtypes.int32
    hint = preferred_dtype if dtype_hint is None else dtype_hint
    if wanted is None and hint is not None:
        try:
            return constant(value, hint, name=name or "Const")
        except (TypeError, ValueError):
            pass
    if value is None:
        raise ValueError("None values not supported.")
    return constant(value, wanted, name=name or "Const")


def register_tensor_conversion_function(
    base_type: Any, conversion_func: Callable[..., Any], priority: int = 100
) -> None:
    """Registers a function that converts values of some classes to tensors.

    Args:
        base_type: a class, or a tuple of classes.
        conversion_func: called with (value, dtype, name); returns a tensor.
        priority: without effect here: functions are tried in the order of their registration.
    """
    for kind in base_type if isinstance(base_type, tuple) else (base_type,):
        _CONVERSIONS[kind] = conversion_func


def convert_n_to_tensor(
    values: Sequence[Any], dtype: Any = None, name: str | None = None
) -> list[Tensor]:
    """Returns a tensor for each of several values."""
    return [
        convert_to_tensor(one, dtype, None if name is None else f"{name}_{number}")
        for number, one in enumerate(values)
    ]


def require_same(kind: str, names: Sequence[str], values: Sequence[Any]) -> list[Tensor]:
    """Returns several values as tensors of one dtype: that of the first tensor among them.

    Args:
        kind: the type of the Operation that takes them, for messages.
        names: of the inputs, for messages.
        values: as for `convert_to_tensor`.

    Raises:
        TypeError: two tensors have different dtypes, or numbers are not of the dtype.
    """
    made = [one if isinstance(one, Tensor) or _converts(one) else None for one in values]
    tensors = [None if one is None else convert_to_tensor(one) for one in made]
    first = next((number for number, one in enumerate(tensors) if one is not None), None)
    if first is None:
        first, tensors[0] = 0, convert_to_tensor(values[0])
    known = tensors[first]
    assert known is not None
    wanted, found = known.dtype.base_dtype, []
    for name, value, one in zip(names, values, tensors, strict=True):
        if one is not None and one.dtype.base_dtype is not wanted:
            raise TypeError(
                f"Input '{name}' of '{kind}' Op has type {one.dtype.base_dtype.name} that "
                f"does not match type {wanted.name} of argument '{names[first]}'."
            )
        found.append(convert_to_tensor(value, wanted, name=name) if one is None else one)
    return found


def _converts(value: Any) -> bool:
    listed = isinstance(value, (list, tuple))
    return isinstance(value, tuple(_CONVERSIONS)) or (listed and _holds_tensor(value))


def _holds_tensor(value: Any) -> bool:
    leaves: list[Any] = [value]
    while leaves:
        one = leaves.pop()
        if isinstance(one, (list, tuple)):
            leaves += one
        elif isinstance(one, (Tensor, *_CONVERSIONS)):
            return True
    return False


def _packed(values: Sequence[Any], dtype: DType | None, name: str) -> Tensor:
    """Returns a list that holds tensors as one tensor, stacked."""
    if dtype is None:
        held = [one for one in values if isinstance(one, Tensor) or _converts(one)]
        dtype = convert_to_tensor(held[0]).dtype.base_dtype
    parts = [convert_to_tensor(one, dtype) for one in values]
    return op("Pack", "stack", parts, name=name, axis=0, num_args=len(parts))


def constant_value(tensor: Any, partial: bool = False) -> Any:
    """Returns the value of a tensor as an array, if it is known without a run; else None.

    Args:
        tensor: what to tell the value of.
        partial: without meaning here.
    """
    if not isinstance(tensor, Tensor):
        return None if _converts(tensor) else np.asarray(tensor)
    of = tensor.op
    if of.type == "Const":
        return of.get_attr("value")
    if of.type == "Shape" and of.inputs[0].shape.is_fully_defined():
        return np.array(of.inputs[0].shape.as_list(), tensor.dtype.as_numpy_dtype)
    if of.type in ("Identity", "Cast") and isinstance(of.node.call, OpCall):
        value = constant_value(of.inputs[0])
        return None if value is None else np.asarray(value).astype(tensor.dtype.as_numpy_dtype)
    if of.type == "Pack":
        values = [constant_value(one) for one in of.inputs]
        return None if any(one is None for one in values) else np.stack(values)
    return None


def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """Returns a tensor whose value is given to each run, by ``feed_dict``.

    Args:
        dtype: of the values.
        shape: of them, None for sizes that may be any; None if all may be.
    """
    kind = as_dtype(dtype).base_dtype
    dims = TensorShape(shape)
    name = name or "Placeholder"
    params = {"dtype": kind, "shape": dims}
    return add_node("Placeholder", Node(None, (), name), kind, dims, name=name, params=params)


def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """Returns a tensor that is another one unless a run is given a value for it.

    Args:
        input: the value that it has by itself.
        shape: of the values, None for sizes that may be any.

    Raises:
        ValueError: `input` is not of that shape.
    """
    value = convert_to_tensor(input)
    value.shape.assert_is_compatible_with(shape)
    made = op("PlaceholderWithDefault", "_copy", [value], name=name)
    made._shape = TensorShape(shape)
    return made


def identity(input: Any, name: str | None = None) -> Tensor:
    """Returns a tensor with the same value."""
    return op("Identity", "_copy", [convert_to_tensor(input)], name=name)


def stop_gradient(input: Any, name: str | None = None) -> Tensor:
    """Returns a tensor with the same value, through which no gradient passes."""
    return op("StopGradient", "BlockGrad", [convert_to_tensor(input)], name=name)


def no_op(name: str | None = None) -> Operation:
    """Returns an Operation that does nothing, after what it is controlled by."""
    made: Operation = apply("NoOp", "_no_op", (), name=name)
    return made
