"""Shared by the layers: parts of shape and type rules, statistics along axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from hybridnet.base.dtype import FLOAT32, is_float
from hybridnet.base.errors import DTypeError, ShapeError
from hybridnet.base.tensor_type import TensorType

from .operator import describe
from .rules import UNKNOWN


def wide(dtype: Any) -> np.dtype[Any]:
    """Returns the dtype to sum in: float32 for narrow floats, else the dtype itself."""
    dtype = np.dtype(dtype)
    return FLOAT32 if is_float(dtype) and dtype.itemsize < 4 else dtype


def fill(known: tuple[int, ...] | None, wanted: tuple[int, ...]) -> tuple[int, ...]:
    """Merges what is known of a shape (None, or in part) with what it must be.

    A contradiction is left in place, for the operator's check to report.
    """
    if known is None:
        return wanted
    if len(known) != len(wanted):
        return known
    return tuple(b if a == UNKNOWN else a for a, b in zip(known, wanted, strict=True))


def require_floats(op: str, names: Sequence[str], types: Sequence[TensorType]) -> None:
    """Raises DTypeError unless the first input is floating point."""
    if not is_float(types[0].dtype):
        raise DTypeError(
            f"{op}: {names[0]} must be floating point, got {describe(names[:1], types)}; "
            "use astype('float32')"
        )


def require_one_dtype(op: str, names: Sequence[str], types: Sequence[TensorType]) -> None:
    """Raises DTypeError unless all the inputs have the dtype of the first."""
    if any(type_.dtype != types[0].dtype for type_ in types):
        raise DTypeError(
            f"{op}: {', '.join(names[: len(types)])} must have one dtype, got "
            f"{describe(names, types)}; use astype({types[0].dtype.name!r})"
        )


def require_shape(
    op: str, name: str, got: TensorType, wanted: tuple[int, ...], because: str
) -> None:
    """Raises ShapeError unless an input has this shape; `because` says where it comes from."""
    if got.shape != wanted:
        raise ShapeError(f"{op}: {name} must have shape {wanted} for {because}, got {name} {got}")


def along(vector: Any, ndim: int, axis: int) -> Any:
    """Shapes a vector so that it broadcasts along one axis of an array of `ndim` dimensions."""
    return vector.reshape(*(1,) * axis, -1, *(1,) * (ndim - axis - 1))


def others(ndim: int, axis: int) -> tuple[int, ...]:
    """Returns all the axes but one."""
    return tuple(other for other in range(ndim) if other != axis)


def require_some(op: str, a: TensorType, axes: Sequence[int], indices: TensorType) -> None:
    """Raises ShapeError where there are positions along axes that have none."""
    if indices.size and not all(a.shape[axis] for axis in axes):
        raise ShapeError(
            f"{op}: needs at least one element along axis {tuple(axes)} to take, got {a} and "
            f"indices {indices}"
        )
