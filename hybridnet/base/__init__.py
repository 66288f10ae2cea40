"""The floor below all others: errors, configuration, dtypes, contexts, parameters.

Nothing here imports JAX, and NumPy waits for who needs it; everything here can be imported by a
data-loading worker at no cost.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

from .config import data_dir
from .errors import MXNetError, NotImplementedForSymbol, NotSupportedForSparseNDArray

if TYPE_CHECKING:
    from .legacy import _as_list as _as_list
    from .legacy import _Null as _Null
    from .legacy import _NullType as _NullType
    from .legacy import c_array as c_array
    from .legacy import c_array_buf as c_array_buf
    from .legacy import c_str as c_str
    from .legacy import c_str_array as c_str_array
    from .legacy import classproperty as classproperty
    from .legacy import integer_types as integer_types
    from .legacy import mx_float as mx_float
    from .legacy import mx_int as mx_int
    from .legacy import mx_real_t as mx_real_t
    from .legacy import mx_uint as mx_uint
    from .legacy import numeric_types as numeric_types
    from .legacy import py_str as py_str
    from .legacy import string_types as string_types
    from .legacy import with_metaclass as with_metaclass

#: Public names that load NumPy, so that they are found at their first use.
_LEGACY: Final = (
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
    "numeric_types",
    "py_str",
    "string_types",
    "with_metaclass",
)
_SOURCE: Final = f"{__name__}.legacy"
_PRIVATE: Final = ("_Null", "_NullType", "_as_list")

__all__ = [
    "MXNetError",
    "NotImplementedForSymbol",
    "NotSupportedForSparseNDArray",
    "data_dir",
    *_LEGACY,
]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    legacy = importlib.import_module(_SOURCE)
    if name not in _LEGACY and name not in _PRIVATE:
        raise legacy.no_library("base", name)
    value = globals()[name] = getattr(legacy, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LEGACY})
