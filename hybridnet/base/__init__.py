"""The floor below all others: errors, configuration, dtypes, contexts, parameters.

Nothing here imports JAX; everything here can be imported by a data-loading worker at no cost.
"""

from .config import data_dir
from .errors import MXNetError, NotImplementedForSymbol, NotSupportedForSparseNDArray
from .legacy import _as_list as _as_list
from .legacy import (
    integer_types,
    mx_float,
    mx_real_t,
    mx_uint,
    numeric_types,
    py_str,
    string_types,
)

__all__ = [
    "MXNetError",
    "NotImplementedForSymbol",
    "NotSupportedForSparseNDArray",
    "data_dir",
    "integer_types",
    "mx_float",
    "mx_real_t",
    "mx_uint",
    "numeric_types",
    "py_str",
    "string_types",
]
