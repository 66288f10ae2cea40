"""The floor below all others: errors, configuration, dtypes, contexts, parameters.

Nothing here imports JAX; everything here can be imported by a data-loading worker at no cost.
"""

from typing import Any

from .config import data_dir
from .errors import MXNetError, NotImplementedForSymbol, NotSupportedForSparseNDArray
from .legacy import _as_list as _as_list
from .legacy import _Null as _Null
from .legacy import _NullType as _NullType
from .legacy import (
    c_array,
    c_array_buf,
    c_str,
    c_str_array,
    classproperty,
    integer_types,
    mx_float,
    mx_int,
    mx_real_t,
    mx_uint,
    numeric_types,
    py_str,
    string_types,
    with_metaclass,
)
from .legacy import no_library as _no_library

__all__ = [
    "MXNetError",
    "NotImplementedForSymbol",
    "NotSupportedForSparseNDArray",
    "c_array",
    "c_array_buf",
    "c_str",
    "c_str_array",
    "classproperty",
    "data_dir",
    "integer_types",
    "mx_float",
    "mx_int",
    "mx_real_t",
    "mx_uint",
    "numeric_types",
    "py_str",
    "string_types",
    "with_metaclass",
]


def __getattr__(name: str) -> Any:
    raise _no_library("base", name)
