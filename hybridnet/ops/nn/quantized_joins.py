"""Sums and joins of arrays of 8-bit whole numbers that each have a range of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hybridnet.base.errors import DTypeError, ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp

from ..core.operator import Shapes, describe
from ..core.registry import get, operator
from ..math.quantization import ROUNDED, check_ends, furthest, over, range_type
from .quantized import OUTPUTS, completed, inferred, read_steps, step_of, sums_type

_EIGHT_BITS: Final = ("int8", "uint8")
_INT32: Final = np.dtype(np.int32)
#: The largest number below 2**31 that a float32 holds.
_MOST_SUM: Final = np.float32(2**31 - 128)
_ADDED: Final = ("lhs", "rhs", "lhs_min", "lhs_max", "rhs_min", "rhs_max")


def _check(op: str, names: Sequence[str], types: Sequence[TensorType]) -> None:
    count = len(types) // 3
    if any(kind.dtype.name not in _EIGHT_BITS for kind in types[:count]):
        raise DTypeError(f"{op}: arrays must be int8 or uint8, got {describe(names, types)}")
    check_ends(op, "the ends of ranges", names, types, count)


def _concat_check(*types: TensorType, num_args: int, **_: Any) -> None:
    count = len(types) // 3
    if not count or len(types) != 3 * count or num_args not in (0, count):
        raise ParameterError(
            f"quantized_concat: requires num_args arrays and after them both ends of the range of "
            f"each, got num_args={num_args} and {len(types)} inputs"
        )
    arrays = [f"arg{i}" for i in range(count)]
    names = [*arrays, *(f"{name}_{end}" for name in arrays for end in ("min", "max"))]
    _check("quantized_concat", names, types)


def _concat_type(*types: TensorType, dim: int, **_: Any) -> tuple[TensorType, ...]:
    data = types[: len(types) // 3]
    made = inferred("Concat", data, {"dim": dim, "num_args": 0})
    return tensor_type(made.shape, _joined_dtype(data)), range_type(), range_type()


def _joined_dtype(data: Sequence[Any]) -> np.dtype[Any]:
    return np.dtype("int8" if any(one.dtype == np.int8 for one in data) else "uint8")


def _concat_shapes(shapes: Shapes, *, dim: int, **_: Any) -> Shapes:
    complete = get("Concat").complete
    assert complete is not None
    return completed(shapes, complete(shapes[: len(shapes) // 3], dim=dim, num_args=0))


@operator(
    "_contrib_quantized_concat",
    outputs=3,
    check=_concat_check,
    infer=_concat_type,
    complete=_concat_shapes,
    no_gradient=ROUNDED,
    output_names=OUTPUTS,
)
def quantized_concat(*data: Any, num_args: int = 0, dim: int = 1) -> Any:
    """Joins arrays of 8-bit whole numbers along an axis, in steps of one size.

    The range of the result reaches from the least end of all ranges to the greatest, 0 included. It
    is int8 if one of the arrays is, else uint8.

    Args:
        data: the arrays, and then both ends of the range of each of them.
        num_args: how many arrays; 0: a third of `data`.
        dim: the axis.
    """
    count = len(data) // 3
    lows, highs = ([end.reshape(()) for end in data[count + i :: 2]] for i in (0, 1))
    low, high = jnp.float32(0), jnp.float32(0)
    for one, other in zip(lows, highs, strict=True):
        low, high = jnp.minimum(low, one), jnp.maximum(high, other)
    dtype = _joined_dtype(data[:count])
    size, offset = step_of(dtype, low, high)
    parts = []
    for array, *ends in zip(data, lows, highs, strict=False):
        read = read_steps(array, *ends)
        parts.append(jnp.rint(read.steps * (read.size / size)) - offset)
    bounds = (-127, 127) if dtype == np.int8 else (0, 255)
    joined = jnp.clip(jnp.concatenate(parts, axis=dim), *bounds).astype(dtype)
    return joined, low.reshape(1), high.reshape(1)


def _add_check(*types: TensorType, **_: Any) -> None:
    if len(types) != len(_ADDED):
        raise ParameterError(
            f"quantized_elemwise_add: requires {', '.join(_ADDED)}, got {len(types)} inputs"
        )
    _check("quantized_elemwise_add", _ADDED, types)
    if types[0].shape != types[1].shape:
        raise ShapeError(
            "quantized_elemwise_add: lhs and rhs must have equal shapes, got "
            f"{describe(_ADDED[:2], types[:2])}"
        )


def _add_shapes(shapes: Shapes, **_: Any) -> Shapes:
    known = shapes[0] or shapes[1]
    return completed(shapes, [known, known])


@operator(
    "_contrib_quantized_elemwise_add",
    outputs=3,
    check=_add_check,
    infer=lambda lhs, *_, **__: sums_type(lhs),
    complete=_add_shapes,
    input_dtypes=dict.fromkeys(_ADDED[2:], "float32"),
    no_gradient=ROUNDED,
    output_names=OUTPUTS,
)
def quantized_elemwise_add(
    lhs: Any, rhs: Any, lhs_min: Any, lhs_max: Any, rhs_min: Any, rhs_max: Any
) -> Any:
    """Adds arrays of 8-bit whole numbers; the sum is int32.

    Its range is as wide as both ranges together, so that no sum is outside.

    Args:
        lhs: int8 or uint8.
        rhs: likewise, of the same shape.
        lhs_min, lhs_max: the range of `lhs`.
        rhs_min, rhs_max: that of `rhs`.
    """
    one, other = read_steps(lhs, lhs_min, lhs_max), read_steps(rhs, rhs_min, rhs_max)
    end = furthest(lhs_min, lhs_max) + furthest(rhs_min, rhs_max)
    scale = over(np.float32(2**31 - 1), end)
    sums = one.steps * (one.size * scale) + other.steps * (other.size * scale)
    bounded = jnp.clip(jnp.rint(sums), -_MOST_SUM, _MOST_SUM)
    return bounded.astype(_INT32), (-end).reshape(1), end.reshape(1)
