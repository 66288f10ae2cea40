"""Floats as 8-bit whole numbers, and back: ``uint8`` spans a range, ``int8`` is centered at 0."""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np

from hybridnet.base.dtype import FLOAT32
from hybridnet.base.errors import DTypeError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp

from ..core.operator import Shapes, describe
from ..core.registry import operator

__all__: list[str] = []

_ROUNDED: Final = "its result is whole numbers"
_RANGE: Final = ("min_range", "max_range")
# The largest number of each dtype that is used; -128 is not.
_MOST: Final = {"uint8": 255, "int8": 127}


def _check(op: str, *types: TensorType, dtypes: tuple[str, ...]) -> None:
    names = ("data", *_RANGE)
    if types[0].dtype.name not in dtypes:
        raise DTypeError(f"{op}: data must be {' or '.join(dtypes)}, got {describe(names, types)}")
    if any(kind.size != 1 or kind.dtype != FLOAT32 for kind in types[1:]):
        raise ShapeError(
            f"{op}: min_range and max_range must be float32 arrays of one number each, got "
            f"{describe(names, types)}"
        )


def _range_shapes(shapes: Shapes, **_: Any) -> Shapes:
    return [shapes[0], *(shape or (1,) for shape in shapes[1:])]


def _furthest(low: Any, high: Any) -> Any:
    """The largest magnitude of a range."""
    return jnp.maximum(jnp.abs(low), jnp.abs(high)).reshape(())


def _quantized_types(
    data: TensorType, *_: TensorType, out_type: str
) -> tuple[TensorType, TensorType, TensorType]:
    one = tensor_type((1,), FLOAT32)
    return tensor_type(data.shape, np.dtype(out_type)), one, one


@operator(
    "_contrib_quantize",
    outputs=3,
    check=lambda *types, **_: _check("quantize", *types, dtypes=("float32",)),
    infer=_quantized_types,
    complete=_range_shapes,
    no_gradient=_ROUNDED,
    output_names=("output", *_RANGE),
)
def quantize(
    data: Any, min_range: Any, max_range: Any, *, out_type: Literal["int8", "uint8"] = "uint8"
) -> Any:
    """Turns floats of a range into 8-bit whole numbers, rounding halves away from 0.

    Args:
        data: float32, any shape.
        min_range: one number, the least of `data`.
        max_range: one number, the greatest.
        out_type: 'uint8' makes 0 of `min_range` and 255 of `max_range`; 'int8' leaves 0 at 0, and
            makes 127 of the larger of their magnitudes.

    Returns:
        The whole numbers, and the range that they stand for, two arrays of shape (1,).
    """
    low, high = min_range.reshape(()), max_range.reshape(())
    if out_type == "uint8":
        scaled = (data - low) * (_MOST[out_type] / (high - low)) + np.float32(0.5)
        return scaled.astype(np.uint8), low.reshape(1), high.reshape(1)
    real = _furthest(low, high)
    most = np.float32(_MOST[out_type])
    scaled = jnp.minimum(jnp.abs(data) * (most / real) + np.float32(0.5), most)
    return (jnp.sign(data) * jnp.floor(scaled)).astype(np.int8), -real.reshape(1), real.reshape(1)


@operator(
    "_contrib_dequantize",
    check=lambda *types, **_: _check("dequantize", *types, dtypes=("uint8", "int8")),
    infer=lambda data, *_, **__: (tensor_type(data.shape, FLOAT32),),
    complete=_range_shapes,
    no_gradient="its input is whole numbers",
)
def dequantize(
    data: Any, min_range: Any, max_range: Any, *, out_type: Literal["float32"] = "float32"
) -> Any:
    """Turns 8-bit whole numbers back into the floats that they stand for.

    Args:
        data: uint8 or int8, as `quantize` returns it.
        min_range: one number, as it returns it.
        max_range: likewise.
        out_type: the dtype of the result.
    """
    floats = data.astype(np.float32)
    if data.dtype == np.uint8:
        low, high = min_range.reshape(()), max_range.reshape(())
        return floats * ((high - low) / _MOST["uint8"]) + low
    return floats * (_furthest(min_range, max_range) / _MOST["int8"])
