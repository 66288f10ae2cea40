"""NumPy's arrays from nothing: constants, ranges, grids and windows, float32 by default.

``ctx`` is in the parameters because saved symbols hold it; where an array is made is decided by
whoever calls the operator.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Annotated, Any, Final

import numpy as np

from hybridnet.base.attrs import DType, Range, Shape
from hybridnet.base.dtype import FLOAT32, FLOAT64, as_dtype, is_float
from hybridnet.base.errors import ParameterError, ShapeError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.host.namespace import at, jnp

from ..core.families import convert
from ..core.registry import operator

_CONSTANT: Final = "it is a constant: it has no inputs"
_COUNT = Annotated[int, Range(0)]


def _kind(dtype: str | None) -> np.dtype[Any]:
    return FLOAT32 if dtype is None else as_dtype(dtype)


def _shape_type(*, shape: Shape, dtype: str | None, **_: Any) -> tuple[TensorType]:
    return (tensor_type(shape, _kind(dtype)),)


def _constant(name: str, value: int, doc: str) -> None:
    def lowering(*, shape: Shape, ctx: str = "", dtype: DType | None = "float32") -> Any:
        return jnp.full(shape, value, _kind(dtype))

    operator(name, infer=_shape_type, no_gradient=_CONSTANT, doc=doc)(lowering)


_constant("_npi_zeros", 0, "An array of zeros; it may have no dimensions, or no elements.")
_constant("_npi_ones", 1, "An array of ones; it may have no dimensions, or no elements.")


@operator("_npi_full", infer=_shape_type, no_gradient=_CONSTANT)
def _full(*, shape: Shape, value: float, ctx: str = "", dtype: DType | None = "float32") -> Any:
    """An array with every element equal to one number."""
    return jnp.full(shape, np.asarray(value).astype(_kind(dtype)))


def _like_type(a: TensorType, *, dtype: str | None, **_: Any) -> tuple[TensorType]:
    return (a if dtype is None else tensor_type(a.shape, as_dtype(dtype)),)


@operator("_npi_full_like", infer=_like_type, no_gradient="it does not depend on the values of a")
def _full_like(a: Any, *, fill_value: float, ctx: str = "", dtype: DType | None = None) -> Any:
    """An array of the shape of another with every element equal to one number.

    Args:
        a: the array whose shape it has.
        fill_value: the number.
        dtype: the element type; None for that of `a`.
    """
    kind = np.dtype(a.dtype) if dtype is None else as_dtype(dtype)
    return jnp.full(a.shape, np.asarray(fill_value).astype(kind))


def _range_length(start: float, stop: float | None, step: float) -> int:
    if step == 0:
        raise ParameterError("_npi_arange: step must not be 0, got 0")
    first, last = (0.0, start) if stop is None else (start, stop)
    return max(math.ceil((last - first) / step), 0)


def _range_type(
    *, start: float, stop: float | None, step: float, dtype: str | None, **_: Any
) -> tuple[TensorType]:
    return (tensor_type((_range_length(start, stop, step),), _kind(dtype)),)


@operator("_npi_arange", infer=_range_type, no_gradient=_CONSTANT)
def _arange(
    *,
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: Annotated[int, Range(1, 1)] = 1,
    infer_range: bool = False,
    ctx: str = "",
    dtype: DType | None = "float32",
) -> Any:
    """Evenly spaced numbers from `start` up to, not including, `stop`.

    Args:
        start: the first number; where `stop` is None, the end, and the first number is 0.
        stop: the end.
        step: the distance, not 0.
        repeat: must be 1.
        infer_range: accepted, as saved symbols hold it.
    """
    kind = _kind(dtype)
    count = jnp.arange(_range_length(start, stop, step), dtype=FLOAT64)
    first = 0.0 if stop is None else start
    if not is_float(kind):
        first, step = float(math.trunc(first)), float(math.trunc(step))
    return convert(first + count * step, kind)


def _line_type(*, num: int, dtype: str | None, **_: Any) -> tuple[TensorType]:
    return (tensor_type((num,), _kind(dtype)),)


def _line(start: float, stop: float, num: int, endpoint: bool) -> Any:
    step = (stop - start) / max(num - 1 if endpoint else num, 1)
    line = start + jnp.arange(num, dtype=FLOAT64) * step
    return at(line)[-1].set(stop) if endpoint and num > 1 else line


@operator("_npi_linspace", infer=_line_type, no_gradient=_CONSTANT)
def _linspace(
    *,
    start: float,
    stop: float,
    num: _COUNT = 50,
    endpoint: bool = True,
    ctx: str = "",
    dtype: DType | None = "float32",
) -> Any:
    """`num` evenly spaced numbers from `start` to `stop`, which is left out unless `endpoint`."""
    return convert(_line(start, stop, num, endpoint), _kind(dtype))


@operator("_npi_logspace", infer=_line_type, no_gradient=_CONSTANT)
def _logspace(
    *,
    start: float,
    stop: float,
    num: _COUNT = 50,
    endpoint: bool = True,
    base: float = 10.0,
    ctx: str = "",
    dtype: DType | None = "float32",
) -> Any:
    """`num` numbers whose logarithms are evenly spaced, from base**start to base**stop."""
    return convert(jnp.power(base, _line(start, stop, num, endpoint)), _kind(dtype))


def _eye_type(*, N: int, M: int | None, dtype: str | None, **_: Any) -> tuple[TensorType]:
    return (tensor_type((N, N if M is None else M), _kind(dtype)),)


@operator("_npi_eye", infer=_eye_type, no_gradient=_CONSTANT)
def _eye(
    *,
    N: _COUNT,
    M: _COUNT | None = None,
    k: int = 0,
    ctx: str = "",
    dtype: DType | None = "float32",
) -> Any:
    """A matrix of zeros with ones on one diagonal.

    Args:
        N: rows.
        M: columns; None for as many as rows.
        k: which diagonal: above (positive) or below (negative) the main one.
    """
    return jnp.eye(N, M, k, dtype=_kind(dtype))


def _square_type(*, shape: Shape, dtype: str | None, **_: Any) -> tuple[TensorType]:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ShapeError(f"_npi_identity: shape must be (n, n), got {shape}")
    return (tensor_type(shape, _kind(dtype)),)


@operator("_npi_identity", infer=_square_type, no_gradient=_CONSTANT)
def _identity(*, shape: Shape, ctx: str = "", dtype: DType | None = "float32") -> Any:
    """A square matrix of zeros with ones on the main diagonal."""
    return jnp.eye(shape[0], dtype=_kind(dtype))


def _indices_type(*, dimensions: Shape, dtype: str | None, **_: Any) -> tuple[TensorType]:
    return (tensor_type((len(dimensions), *dimensions), as_dtype(dtype or "int32")),)


@operator("_npi_indices", infer=_indices_type, no_gradient=_CONSTANT)
def _indices(*, dimensions: Shape, ctx: str = "", dtype: DType | None = "int32") -> Any:
    """The position along each axis of every element of an array with these dimensions."""
    return jnp.indices(dimensions, dtype=as_dtype(dtype or "int32"))


def _window(name: str, make: Callable[[Any], Any], doc: str) -> None:
    """Registers a window: a function of an angle from 0 to 2 pi."""

    def infer(*, M: int, dtype: str | None, **_: Any) -> tuple[TensorType]:
        return (tensor_type((M,), _kind(dtype)),)

    def lowering(*, M: _COUNT, ctx: str = "", dtype: DType | None = "float32") -> Any:
        angle = 2 * math.pi * jnp.arange(M, dtype=FLOAT64) / max(M - 1, 1)
        return make(angle if M > 1 else angle + math.pi).astype(_kind(dtype))

    operator(name, infer=infer, no_gradient=_CONSTANT, doc=doc)(lowering)


_window("_npi_hanning", lambda x: 0.5 - 0.5 * jnp.cos(x), "The Hann window of M points.")
_window("_npi_hamming", lambda x: 0.54 - 0.46 * jnp.cos(x), "The Hamming window of M points.")
_window(
    "_npi_blackman",
    lambda x: 0.42 - 0.5 * jnp.cos(x) + 0.08 * jnp.cos(2 * x),
    "The Blackman window of M points.",
)
