"""Small names of MXNet's that programs import though they were never documented.

They are those of ``mxnet.base`` and ``mxnet.ndarray.ndarray``. MXNet needed them to speak with its
C library and with Python 2. Programs came to use them for what they are worth by themselves: tests
of kinds of numbers, the default dtype, one value as a list. They stand here, and not where
hybridnet could use them, since nothing of ours should. What is about the C library itself
(``_LIB``, handles, ``check_call``) has no meaning here, which `no_library` says; but the arrays of
monitors may be cast to an `NDArrayHandle`, and an NDArray be made of it.
"""

from __future__ import annotations

import array
import ctypes
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np

from .dtype import DTYPE_OF_CODE
from .unsupported import NotSupportedError

__all__ = [
    "ARRAY_NAMES",
    "NDArrayHandle",
    "c_array",
    "c_array_buf",
    "c_str",
    "c_str_array",
    "classproperty",
    "integer_types",
    "mx_float",
    "mx_int",
    "mx_real_t",
    "mx_uint",
    "no_library",
    "numeric_types",
    "py_str",
    "string_types",
    "with_metaclass",
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
mx_int: Final = ctypes.c_int
mx_float: Final = ctypes.c_float


class NDArrayHandle(ctypes.c_void_p):
    """The type that callbacks for MXNet cast an array to, before they make an NDArray of it.

        def monitor(name, array):
            array = mx.nd.NDArray(ctypes.cast(array, NDArrayHandle), writable=False)

    Here callbacks are given arrays: the cast and the NDArray give the same one.
    """


def py_str(text: bytes | str) -> str:
    """Returns text for bytes in UTF-8; names that MXNet gives as bytes are text here already."""
    return text if isinstance(text, str) else text.decode("utf-8")


def _as_list(value: object) -> list[Any] | tuple[Any, ...]:
    """Returns a list or tuple as it is, and anything else as the one item of a list."""
    return value if isinstance(value, (list, tuple)) else [value]


def c_array(ctype: Any, values: Sequence[Any]) -> Any:
    """Returns a ctypes array of a type with these values."""
    return (ctype * len(values))(*values)


def c_array_buf(ctype: Any, buf: Any) -> Any:
    """Returns a ctypes array of a type on the memory of an ``array.array``."""
    return (ctype * len(buf)).from_buffer(buf)


def c_str(string: str) -> ctypes.c_char_p:
    """Returns text as a C string in UTF-8."""
    return ctypes.c_char_p(string.encode("utf-8"))


def c_str_array(strings: Iterable[str]) -> Any:
    """Returns texts as an array of C strings in UTF-8."""
    return c_array(ctypes.c_char_p, [string.encode("utf-8") for string in strings])


class classproperty:
    """A property that is read from the class, or from an object of it: gets the class."""

    def __init__(self, get: Callable[[Any], Any]) -> None:
        self._get = get

    def __get__(self, instance: object, owner: type[Any]) -> Any:
        return self._get(owner)


def with_metaclass(meta: type[type], *bases: type[Any]) -> type[Any]:
    """Returns a class to inherit from, of the class `meta`, with these bases."""
    return meta("with_metaclass", bases, {})


class _NullType:
    """The type of `_Null`, which stands in signatures for a parameter that was not given."""

    def __repr__(self) -> str:
        return "_Null"


_Null: Final = _NullType()

_KINDS: Final = {code: dtype.type for code, dtype in DTYPE_OF_CODE.items()}
_STORAGE: Final = {"undefined": -1, "default": 0, "row_sparse": 1, "csr": 2}

#: What ``mxnet.ndarray.ndarray`` has beside its public names: the codes of dtypes, storage types
#: and ways to keep a gradient, and what it imported for itself.
ARRAY_NAMES: Final[dict[str, Any]] = {
    "_DTYPE_MX_TO_NP": {-1: None, **_KINDS},
    "_DTYPE_NP_TO_MX": {None: -1, **{kind: code for code, kind in _KINDS.items()}},
    "_GRAD_REQ_MAP": {"null": 0, "write": 1, "add": 3},
    "_STORAGE_TYPE_CSR": 2,
    "_STORAGE_TYPE_DEFAULT": 0,
    "_STORAGE_TYPE_ID_TO_STR": {code: name for name, code in _STORAGE.items()},
    "_STORAGE_TYPE_ROW_SPARSE": 1,
    "_STORAGE_TYPE_STR_TO_ID": _STORAGE,
    "_STORAGE_TYPE_UNDEFINED": -1,
    "integer_types": integer_types,
    "mx_real_t": mx_real_t,
    "NDArrayHandle": NDArrayHandle,
    "native_array": array.array,
    "numeric_types": numeric_types,
    "py_slice": slice,
}

_OF_LIBRARY: Final = frozenset({"_LIB", "c_handle_array", "check_call", "ctypes2buffer"})


def no_library(module: str, name: str) -> AttributeError:
    """Returns the error for a name that a module of MXNet's has, or might have, and ours has not.

    Args:
        module: the module, as users write it after the package: 'base'.
        name: the name.
    """
    if name in _OF_LIBRARY or name.endswith("Handle"):
        return NotSupportedError(
            f"{module}.{name} of MXNet is not supported by hybridnet: there is no C library behind "
            "arrays and symbols that could be called; use their public functions and methods"
        )
    return AttributeError(f"module 'hybridnet.{module}' has no attribute {name!r}")
