"""Floats as 8-bit whole numbers, and back: ``uint8`` spans a range, ``int8`` is centered at 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

import numpy as np

from hybridnet.base.dtype import FLOAT32
from hybridnet.base.errors import DTypeError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp

from ..core.operator import Shapes, describe
from ..core.registry import operator

ROUNDED: Final = "its result is whole numbers"
RANGE: Final = ("min_range", "max_range")
_RANGE_DTYPES: Final = dict.fromkeys(RANGE, "float32")
# The largest number of each dtype that is used; -128 is not.
_LARGEST: Final = {"uint8": 255, "int8": 127, "int32": 2**31 - 1}


def _check(op: str, *types: TensorType, dtypes: tuple[str, ...]) -> None:
    names = ("data", *RANGE)
    if types[0].dtype.name not in dtypes:
        raise DTypeError(f"{op}: data must be {' or '.join(dtypes)}, got {describe(names, types)}")
    check_ends(op, "min_range and max_range", names, types, 1)


def check_ends(
    op: str,
    what: str,
    names: Sequence[str],
    types: Sequence[TensorType],
    first: int,
    channels: int = 1,
) -> None:
    """Raises ShapeError unless the inputs from number `first` on are ends of ranges.

    Args:
        op: the operator.
        what: what they are called.
        names: of all inputs.
        types: likewise.
        first: the number of the first of them.
        channels: how many numbers those behind the first two may also have, which are of weights.
    """
    for place, kind in enumerate(types[first:]):
        wide = kind.shape == (channels,) and place > 1
        if kind.dtype != FLOAT32 or not (kind.size == 1 or wide):
            also = f", or {channels} of weights and biases" if channels > 1 else ""
            raise ShapeError(
                f"{op}: {what} must be float32 arrays of one number each{also}, got "
                f"{describe(names, types)}"
            )


def range_type() -> TensorType:
    """The type of one end of a range."""
    return tensor_type((1,), FLOAT32)


def _range_shapes(shapes: Shapes, **_: Any) -> Shapes:
    return [shapes[0], *(shape or (1,) for shape in shapes[1:])]


def furthest(low: Any, high: Any) -> Any:
    """The largest magnitude of a range, or of each of several."""
    found = jnp.maximum(jnp.abs(low), jnp.abs(high))
    return found.reshape(()) if found.size == 1 else found


def over(one: Any, other: Any) -> Any:
    """The quotient; 0 where the other is not above 0."""
    return jnp.where(other > 0, one / jnp.where(other > 0, other, 1), 0)


def _centered(data: Any, real: Any) -> tuple[Any, Any, Any]:
    """Floats as int8, of which 127 stands for `real`; halves go away from 0."""
    most = np.float32(_LARGEST["int8"])
    scale = over(most, real)
    scaled = jnp.minimum(jnp.abs(data) * scale + np.float32(0.5), most)
    return (jnp.sign(data) * jnp.floor(scaled)).astype(np.int8), -real.reshape(1), real.reshape(1)


def _spanning(data: Any, low: Any, high: Any) -> tuple[Any, Any, Any]:
    """Floats as uint8, whose 0 stands for `low` and 255 for `high`; halves go up."""
    most = np.float32(_LARGEST["uint8"])
    scaled = jnp.clip((data - low) * over(most, high - low) + np.float32(0.5), 0, most)
    return scaled.astype(np.uint8), jnp.reshape(low, 1), jnp.reshape(high, 1)


def _quantized_types(
    data: TensorType, *_: TensorType, out_type: str
) -> tuple[TensorType, TensorType, TensorType]:
    return tensor_type(data.shape, np.dtype(out_type)), range_type(), range_type()


@operator(
    "_contrib_quantize",
    outputs=3,
    check=lambda *types, **_: _check("quantize", *types, dtypes=("float32",)),
    infer=_quantized_types,
    complete=_range_shapes,
    input_dtypes=_RANGE_DTYPES,
    no_gradient=ROUNDED,
    output_names=("output", *RANGE),
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
        scaled = (data - low) * (_LARGEST[out_type] / (high - low)) + np.float32(0.5)
        return scaled.astype(np.uint8), low.reshape(1), high.reshape(1)
    return _centered(data, furthest(low, high))


@operator(
    "_contrib_dequantize",
    check=lambda *types, **_: _check("dequantize", *types, dtypes=("uint8", "int8", "int32")),
    infer=lambda data, *_, **__: (tensor_type(data.shape, FLOAT32),),
    complete=_range_shapes,
    input_dtypes=_RANGE_DTYPES,
    no_gradient="its input is whole numbers",
)
def dequantize(
    data: Any, min_range: Any, max_range: Any, *, out_type: Literal["float32"] = "float32"
) -> Any:
    """Turns whole numbers back into the floats that they stand for.

    Args:
        data: uint8 or int8, as `quantize` returns it; or int32, the sums of a quantized layer.
        min_range: one number, as it returns it.
        max_range: likewise.
        out_type: the dtype of the result.
    """
    floats = data.astype(np.float32)
    if data.dtype == np.uint8:
        low, high = min_range.reshape(()), max_range.reshape(())
        return floats * ((high - low) / _LARGEST["uint8"]) + low
    return floats * (furthest(min_range, max_range) / np.float32(_LARGEST[data.dtype.name]))


_Chosen = Literal["auto", "int8", "uint8"]


def _chosen(out_type: str, low: float | None, high: float | None) -> str:
    """The dtype that 'auto' means: uint8 of what is known not to be negative."""
    if out_type != "auto":
        return out_type
    return "uint8" if low is not None and high is not None and low >= 0 else "int8"


def _chosen_types(
    data: TensorType,
    *_: TensorType,
    out_type: str,
    min_calib_range: float | None,
    max_calib_range: float | None,
) -> tuple[TensorType, TensorType, TensorType]:
    dtype = np.dtype(_chosen(out_type, min_calib_range, max_calib_range))
    return tensor_type(data.shape, dtype), range_type(), range_type()


def _check_floats(data: TensorType, **_: Any) -> None:
    if data.dtype != FLOAT32 or not data.size:
        raise DTypeError(f"quantize_v2: data must be float32, not empty, got data {data}")


@operator(
    "_contrib_quantize_v2",
    outputs=3,
    check=_check_floats,
    infer=_chosen_types,
    no_gradient=ROUNDED,
    output_names=("output", *RANGE),
)
def quantize_v2(
    data: Any,
    *,
    out_type: _Chosen = "int8",
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
) -> Any:
    """Turns floats into 8-bit whole numbers; what is outside the range becomes its nearer end.

    Args:
        data: float32, any shape.
        out_type: as for `quantize`; 'auto' is 'uint8' where `min_calib_range` is 0 or more.
        min_calib_range: the least number, known from other data; default that of `data`.
        max_calib_range: the greatest, likewise.

    Returns:
        The whole numbers, and the range that they stand for, two arrays of shape (1,).
    """
    if min_calib_range is None or max_calib_range is None:
        low, high = data.min(), data.max()
    else:
        low, high = (np.full((), end, np.float32) for end in (min_calib_range, max_calib_range))
    if _chosen(out_type, min_calib_range, max_calib_range) == "int8":
        return _centered(data, furthest(low, high))
    return _spanning(data, low, high)


def _check_sums(*types: TensorType, **_: Any) -> None:
    _check("requantize", *types, dtypes=("int32",))


@operator(
    "_contrib_requantize",
    outputs=3,
    check=_check_sums,
    infer=_chosen_types,
    complete=_range_shapes,
    input_dtypes=_RANGE_DTYPES,
    no_gradient=ROUNDED,
    output_names=("output", *RANGE),
)
def requantize(
    data: Any,
    min_range: Any,
    max_range: Any,
    *,
    out_type: _Chosen = "int8",
    min_calib_range: float | None = None,
    max_calib_range: float | None = None,
) -> Any:
    """Turns the sums that a quantized layer returns into 8-bit whole numbers.

    Args:
        data: int32, any shape, of which the greatest int32 stands for the end of the range.
        min_range: one number, as the layer returns it.
        max_range: likewise.
        out_type: 'int8' is centered at 0, 'uint8' begins at 0; 'auto' is 'uint8' where
            `min_calib_range` is 0 or more.
        min_calib_range: the least result, known from other data; default that of `data`.
        max_calib_range: the greatest, likewise.

    Returns:
        The whole numbers, and the range that they stand for, two arrays of shape (1,).
    """
    floats = data.astype(np.float32) * (
        furthest(min_range, max_range) / np.float32(_LARGEST["int32"])
    )
    if min_calib_range is None or max_calib_range is None:
        real: Any = jnp.abs(floats).max()
    else:
        real = np.full((), max(abs(min_calib_range), abs(max_calib_range)), np.float32)
    if _chosen(out_type, min_calib_range, max_calib_range) == "int8":
        return _centered(floats, real)
    return _spanning(floats, np.zeros((), np.float32), real)
