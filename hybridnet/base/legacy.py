"""Small names of MXNet's ``mxnet.base`` that programs import though they were never documented.

MXNet needed them to speak with its C library and with Python 2. Programs came to use them for what
they are worth by themselves: tests of kinds of numbers, the default dtype, one value as a list.
They stand here, and not where hybridnet could use them, since nothing of ours should.
What is about the C library itself (``_LIB``, handles, ``check_call``) has no meaning here.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

import numpy as np

__all__ = [
    "integer_types",
    "mx_float",
    "mx_real_t",
    "mx_uint",
    "numeric_types",
    "py_str",
    "string_types",
]

#: What an argument must be an instance of to count as a whole number.
integer_types: Final = (int, np.int32, np.int64)
#: Likewise as a number of any kind.
numeric_types: Final = (float, int, np.generic)
#: Likewise as text.
string_types: Final = (str,)
#: The dtype of arrays for which none was given.
mx_real_t: Final = np.float32
#: The types by which numbers went to the C library; some programs make arrays of them.
mx_uint: Final = ctypes.c_uint
mx_float: Final = ctypes.c_float


def py_str(text: bytes) -> str:
    """Returns text for bytes in UTF-8."""
    return text.decode("utf-8")


def _as_list(value: Any) -> list[Any] | tuple[Any, ...]:
    """Returns a list or tuple as it is, and anything else as the one item of a list."""
    return value if isinstance(value, (list, tuple)) else [value]
