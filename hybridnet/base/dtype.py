"""The element types and their codes in MXNet's files.

A dtype is a `numpy.dtype` everywhere inside hybridnet; users may give a name, a NumPy scalar type
or a dtype. bfloat16 comes from `ml_dtypes`, as in JAX.
"""

from __future__ import annotations

from typing import Any, Final

import ml_dtypes
import numpy as np

from hybridnet.base.array_types import DType, DTypeLike

from .errors import DTypeError

BFLOAT16: Final = np.dtype(ml_dtypes.bfloat16)
FLOAT32: Final = np.dtype(np.float32)
FLOAT16: Final = np.dtype(np.float16)
FLOAT64: Final = np.dtype(np.float64)
INT32: Final = np.dtype(np.int32)
INT64: Final = np.dtype(np.int64)
BOOL: Final = np.dtype(np.bool_)

#: MXNet's type codes, as its files and attribute strings hold them (mshadow's TypeFlag; 8 to 11 are
#: MXNet 2's).
DTYPE_OF_CODE: Final[dict[int, DType]] = {
    0: FLOAT32,
    1: FLOAT64,
    2: FLOAT16,
    3: np.dtype(np.uint8),
    4: INT32,
    5: np.dtype(np.int8),
    6: INT64,
    7: BOOL,
    8: np.dtype(np.int16),
    9: np.dtype(np.uint16),
    10: np.dtype(np.uint32),
    11: np.dtype(np.uint64),
    12: BFLOAT16,
}
CODE_OF: Final[dict[DType, int]] = {dtype: code for code, dtype in DTYPE_OF_CODE.items()}

#: The limits of a floating dtype, as `numpy.finfo`, which knows no bfloat16.
finfo: Final = ml_dtypes.finfo

_FLOATS: Final = frozenset({FLOAT16, BFLOAT16, FLOAT32, FLOAT64})
_KNOWN: Final[dict[Any, DType]] = {
    **{dtype.name: dtype for dtype in CODE_OF},
    **{dtype.type: dtype for dtype in CODE_OF},
    **{dtype: dtype for dtype in CODE_OF},
    float: FLOAT32,
    int: INT32,
    bool: BOOL,
    None: FLOAT32,
}

# NumPy makes a dtype's name anew each time.
_NAMES: Final[dict[Any, str]] = {given: dtype.name for given, dtype in _KNOWN.items()}

# Used for ``int + float array`` and the like, narrowest first; a float beats every integer.
_FLOAT_RANK: Final = {FLOAT16: 0, BFLOAT16: 0, FLOAT32: 1, FLOAT64: 2}


def as_dtype(dtype: DTypeLike) -> DType:
    """Returns the dtype meant by a name, a NumPy scalar type, a Python type or a dtype.

    Python's ``float`` and ``int`` mean float32 and int32, MXNet's defaults; None means float32. An
    array means its own dtype, as it did for NumPy before its version 2.

    Raises:
        DTypeError: it is none that hybridnet computes with.
    """
    try:
        return _KNOWN[dtype]
    except (KeyError, TypeError):
        pass
    try:
        found = np.dtype(dtype if isinstance(dtype, type) else getattr(dtype, "dtype", dtype))
    except (TypeError, ValueError):
        found = None
    if found in CODE_OF:
        return found
    known = ", ".join(sorted(dtype.name for dtype in CODE_OF))
    raise DTypeError(f"dtype must be one of {known}, got {dtype!r}")


def name_of(dtype: DTypeLike) -> str:
    """Returns the name of a dtype, such as 'float32'; see `as_dtype`."""
    try:
        return _NAMES[dtype]
    except (KeyError, TypeError):
        return as_dtype(dtype).name


def printable(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Returns an array that NumPy prints as a floating one: bfloat16's 3 as ``3.``, not ``3``."""
    return array.astype(np.float32) if array.dtype == BFLOAT16 else array


def is_float(dtype: DType) -> bool:
    """Whether values of this dtype are floating point (and so can carry a gradient)."""
    return dtype in _FLOATS


def is_integer(dtype: DType) -> bool:
    """Whether values of this dtype are whole numbers (bool is not)."""
    return dtype not in _FLOATS and dtype != BOOL


def promote(a: DType, b: DType) -> DType:
    """Returns the dtype in which two arrays of different dtypes are combined.

    A floating dtype beats an integer; of two floats the wider wins, and float16 with bfloat16
    gives float32; two integers follow NumPy.
    """
    if a == b:
        return a
    if a in _FLOATS and b in _FLOATS:
        if _FLOAT_RANK[a] == _FLOAT_RANK[b]:
            return FLOAT32
        return a if _FLOAT_RANK[a] > _FLOAT_RANK[b] else b
    if a in _FLOATS:
        return a
    if b in _FLOATS:
        return b
    return np.promote_types(a, b)
