"""The arrays of keys, and the dtypes that they may have, by name; bfloat16 is not NumPy's own."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

#: A NumPy array of any shape and dtype.
Array = np.ndarray[Any, Any]
#: What keys may hold.
DTYPES: Final = (
    *("float16", "float32", "float64", "uint8", "int8", "int32", "int64"),
    "bfloat16",
)


def dtype_of(name: str) -> np.dtype[Any]:
    """Returns the dtype of a name.

    Raises:
        TypeError: there is none.
        ImportError: bfloat16 needs the package ml_dtypes.
    """
    if name == "bfloat16":
        import ml_dtypes  # takes its time, and almost no server needs it

        brain: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return brain
    return np.dtype(name)
