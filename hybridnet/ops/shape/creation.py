"""Arrays from nothing: constants, ranges, the identity matrix.

``ctx`` is in the parameters because saved symbols hold it; where an array is made is decided by
whoever calls the operator.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.attrs import DType, Range, Shape
from hybridnet.base.dtype import FLOAT64, INT64, as_dtype, is_float
from hybridnet.base.errors import ParameterError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import jnp

from ..core.registry import operator

_CONSTANT = "it has no inputs"


def _constant_type(*, shape: tuple[int, ...], dtype: str, **_: Any) -> tuple[TensorType]:
    return (tensor_type(shape, as_dtype(dtype)),)


@operator("_zeros", aliases=("_zeros_without_dtype",), infer=_constant_type, no_gradient=_CONSTANT)
def _zeros(*, shape: Shape = (), ctx: str = "", dtype: DType = "float32") -> Any:
    """An array of zeros."""
    return jnp.zeros(shape, as_dtype(dtype))


@operator("_ones", infer=_constant_type, no_gradient=_CONSTANT)
def _ones(*, shape: Shape = (), ctx: str = "", dtype: DType = "float32") -> Any:
    """An array of ones."""
    return jnp.ones(shape, as_dtype(dtype))


@operator("_full", infer=_constant_type, no_gradient=_CONSTANT)
def _full(*, shape: Shape = (), ctx: str = "", dtype: DType = "float32", value: float) -> Any:
    """An array filled with one value."""
    return jnp.full(shape, value, as_dtype(dtype))


def _arange_length(start: float, stop: float, step: float, repeat: int) -> int:
    return max(math.ceil((stop - start) / step), 0) * repeat


def _arange_type(
    *, start: float, stop: float | None, step: float, repeat: int, dtype: str, **_: Any
) -> tuple[TensorType]:
    if step == 0:
        raise ParameterError("_arange: step must not be 0, got 0")
    if stop is None:
        start, stop = 0.0, start
    return (tensor_type((_arange_length(start, stop, step, repeat),), as_dtype(dtype)),)


def _check_arange(*, infer_range: bool, **_: Any) -> None:
    if infer_range:
        raise ParameterError(
            "_arange: infer_range must be False: the length is given by start, stop and step; "
            "use contrib.arange_like for the length of another array"
        )


@operator("_arange", infer=_arange_type, check=_check_arange, no_gradient=_CONSTANT)
def _arange(
    *,
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: Annotated[int, Range(1)] = 1,
    infer_range: bool = False,
    ctx: str = "",
    dtype: DType = "float32",
) -> Any:
    """Evenly spaced numbers from `start` up to, not including, `stop`.

    Args:
        start: the first number; where `stop` is None, the end, and the first number is 0.
        stop: the end.
        step: the distance, not 0.
        repeat: how often each number comes, in a row.
        infer_range: must be False.
        dtype: the element type; integer types use the whole parts of `start` and `step`.
    """
    if stop is None:
        start, stop = 0.0, start
    length = _arange_length(start, stop, step, 1)
    kind = as_dtype(dtype)
    if not is_float(kind):
        start, step = int(start), int(step)
    numbers = start + jnp.arange(length, dtype=FLOAT64 if is_float(kind) else "int64") * step
    return jnp.repeat(numbers, repeat).astype(kind)


def _linspace_type(*, num: int, dtype: str, **_: Any) -> tuple[TensorType]:
    return (tensor_type((num,), as_dtype(dtype)),)


@operator("_linspace", infer=_linspace_type, no_gradient=_CONSTANT)
def _linspace(
    *,
    start: float,
    stop: float,
    num: Annotated[int, Range(0)],
    endpoint: bool = True,
    ctx: str = "",
    dtype: DType = "float32",
) -> Any:
    """`num` evenly spaced numbers from `start` to `stop`, which is left out unless `endpoint`."""
    step = (stop - start) / max(num - 1 if endpoint else num, 1)
    return (start + jnp.arange(num, dtype=FLOAT64) * step).astype(as_dtype(dtype))


def _eye_type(*, N: int, M: int, dtype: str, **_: Any) -> tuple[TensorType]:
    return (tensor_type((N, M or N), as_dtype(dtype)),)


@operator("_eye", infer=_eye_type, no_gradient=_CONSTANT)
def _eye(
    *,
    N: Annotated[int, Range(0)],
    M: Annotated[int, Range(0)] = 0,
    k: int = 0,
    ctx: str = "",
    dtype: DType = "float32",
) -> Any:
    """A matrix of zeros with ones on one diagonal.

    Args:
        N: rows.
        M: columns; 0 for as many as rows.
        k: which diagonal: above (positive) or below (negative) the main one.
    """
    return jnp.eye(N, M or N, k, dtype=as_dtype(dtype))


def _numbers(value: str, shape: tuple[int, ...], dtype: str) -> NumpyArray:
    """Reads the elements of a `_literal`.

    Raises:
        ParameterError: they are not numbers of this dtype, or not as many as the shape asks for.
    """
    kind = as_dtype(dtype)
    read = float if is_float(kind) else int
    try:
        found = np.array(
            [read(item) for item in value.split()], FLOAT64 if is_float(kind) else INT64
        )
    except (ValueError, OverflowError) as error:
        raise ParameterError(
            f"_literal: value must be numbers of dtype {kind} with spaces between, got {value!r}"
        ) from error
    if len(found) not in (1, math.prod(shape)):
        raise ParameterError(
            f"_literal: value must hold one number, or {math.prod(shape)} for shape {shape}, got "
            f"{len(found)}"
        )
    elements = found.astype(kind)
    return np.broadcast_to(elements[0], shape) if len(found) == 1 else elements.reshape(shape)


def _check_literal(*, value: str, shape: tuple[int, ...], dtype: str, **_: Any) -> None:
    _numbers(value, shape, dtype)


@operator("_literal", infer=_constant_type, check=_check_literal, no_gradient=_CONSTANT)
def _literal(*, value: str, shape: Shape = (), ctx: str = "", dtype: DType = "float32") -> Any:
    """An array of given numbers: what graphs hold in the place of operators on constants.

    Args:
        value: the elements in order, or one number for all of them, with spaces between.
        shape: of the array.
    """
    return jnp.asarray(_numbers(value, shape, dtype))
