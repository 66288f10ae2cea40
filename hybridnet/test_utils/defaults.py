"""Defaults of tests: context, dtype, tolerances."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from hybridnet.base.array_types import DType
from hybridnet.base.context import Context, current_context
from hybridnet.base.context import set_default_context as _set_default_context

__all__ = [
    "default_atols",
    "default_context",
    "default_dtype",
    "default_numeric_eps",
    "default_rtols",
    "get_atol",
    "get_etol",
    "get_rtol",
    "get_tolerance",
    "get_tols",
    "set_default_context",
]

#: A number, or one for each dtype; None: the default for the dtype.
Tolerance = float | Mapping[Any, float] | None

_FLOAT64: Final = np.dtype(np.float64)
_EXACT: Final[dict[DType, float]] = {
    np.dtype(name): 0.0 for name in ("bool", "int8", "uint8", "int32", "uint32", "int64", "uint64")
}
# MXNet's numbers: users' tests were written against them.
_RTOLS: Final[dict[DType, float]] = {
    np.dtype(np.float16): 1e-2,
    np.dtype(np.float32): 1e-4,
    _FLOAT64: 1e-5,
    **_EXACT,
}
_ATOLS: Final[dict[DType, float]] = {
    np.dtype(np.float16): 1e-1,
    np.dtype(np.float32): 1e-3,
    _FLOAT64: 1e-20,
    **_EXACT,
}
# Powers of two, so that adding one to an input rounds nothing away.
_STEPS: Final[dict[DType, float]] = {
    np.dtype(np.float16): 2.0**-6,
    np.dtype(np.float32): 2.0**-9,
    _FLOAT64: 2.0**-14,
}


def default_context() -> Context:
    """Returns the context that the checks run on: the current one."""
    return current_context()


def set_default_context(ctx: Context) -> None:
    """Sets the context that the checks, and all arrays outside a ``with ctx``, are made on."""
    _set_default_context(ctx)


def default_dtype() -> type[np.float32]:
    """Returns the element type of random test data."""
    return np.float32


def default_rtols() -> dict[DType, float]:
    """Returns the relative tolerance for each dtype."""
    return dict(_RTOLS)


def default_atols() -> dict[DType, float]:
    """Returns the absolute tolerance for each dtype."""
    return dict(_ATOLS)


def default_numeric_eps() -> dict[DType, float]:
    """Returns the step of numeric differentiation for each dtype."""
    return dict(_STEPS)


def get_tolerance(dat: Any, tol: Tolerance, default_tol: Mapping[Any, float]) -> float:
    """Returns the tolerance to compare an array with.

    Args:
        dat: the array.
        tol: a number, which is taken as it is, or numbers by dtype.
        default_tol: numbers by dtype, for what `tol` does not say. A dtype that is in neither
            (bfloat16) is compared as float16.
    """
    if isinstance(tol, (int, float, numbers.Real)):
        return float(tol)
    dtype = np.dtype(dat.dtype)
    by_dtype = {np.dtype(key): value for key, value in {**default_tol, **(tol or {})}.items()}
    return by_dtype.get(dtype, by_dtype[np.dtype("float16")])


def get_tols(x: Any, y: Any, rtol: Tolerance, atol: Tolerance) -> tuple[float, float]:
    """Returns the relative and absolute tolerance for comparing two arrays or numbers.

    The larger of the two arrays' own, so that float16 beside float32 is compared as float16.
    """
    pair = [array if hasattr(array, "dtype") else np.asarray(array) for array in (x, y)]
    relative = max(get_tolerance(array, rtol, _RTOLS) for array in pair)
    absolute = max(get_tolerance(array, atol, _ATOLS) for array in pair)
    return relative, absolute


def get_rtol(rtol: float | None = None, dtype: DType = _FLOAT64) -> float:
    """Returns `rtol`, or the default for the dtype."""
    return _RTOLS[np.dtype(dtype)] if rtol is None else rtol


def get_atol(atol: float | None = None, dtype: DType = _FLOAT64) -> float:
    """Returns `atol`, or the default for the dtype."""
    return _ATOLS[np.dtype(dtype)] if atol is None else atol


def get_etol(etol: float | None = None) -> float:
    """Returns `etol`, the share of elements that may differ, or 0."""
    return 0 if etol is None else etol
