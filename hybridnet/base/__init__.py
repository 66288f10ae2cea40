"""The floor below all others: errors, configuration, dtypes, contexts, parameters.

Nothing here imports JAX, and NumPy waits for who needs it; everything here can be imported by a
data-loading worker at no cost.
"""

import importlib
from typing import TYPE_CHECKING, Any, Final

from .config import data_dir
from .context import Context, current_context, gpu
from .device_name import DEVICE, DeviceName
from .errors import *  # noqa: F403
from .errors import __all__ as _errors
from .origins import noted_origin, recorded_at

if TYPE_CHECKING:
    from .attrs import HostScalar as HostScalar
    from .dtype import BFLOAT16 as BFLOAT16
    from .dtype import CODE_OF as CODE_OF
    from .dtype import is_float as is_float
    from .fetching import download as download
    from .idx_file import read_idx as read_idx
    from .lazy import cv2 as cv2
    from .lazy import farmhash as farmhash
    from .lazy import protobuf as protobuf
    from .legacy import *  # noqa: F403
    from .legacy import _as_list as _as_list
    from .legacy import _Null as _Null
    from .legacy import _NullType as _NullType
    from .locks import free_in_children as free_in_children
    from .remote import file_exists as file_exists
    from .remote import is_remote as is_remote
    from .remote import open_binary as open_binary
    from .remote import read_file as read_file
    from .signatures import signature_of as signature_of
    from .upload import Upload as Upload

#: Module -> the public names in it that are found at their first use: MXNet's, which load NumPy,
#: and those of ours that a package needs that stands on this one.
_SOURCES: Final = {
    "legacy": "NDArrayHandle c_array c_array_buf c_str c_str_array classproperty integer_types "
    "mx_float mx_int mx_real_t mx_uint numeric_types py_str string_types with_metaclass",
    "attrs": "HostScalar",
    "dtype": "BFLOAT16 CODE_OF is_float",
    "fetching": "download",
    "idx_file": "read_idx",
    "lazy": "cv2 farmhash protobuf",
    "locks": "free_in_children",
    "remote": "file_exists is_remote open_binary read_file",
    "signatures": "signature_of",
    "upload": "Upload",
}
_NAMES: Final = {name: module for module, names in _SOURCES.items() for name in names.split()}
_PRIVATE: Final = ("_Null", "_NullType", "_as_list")

__all__ = [
    "DEVICE",
    "Context",
    "DeviceName",
    "current_context",
    "data_dir",
    "gpu",
    "noted_origin",
    "recorded_at",
]
__all__ += [*_errors, *_NAMES]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    source = importlib.import_module(f"{__name__}.{_NAMES.get(name, 'legacy')}")
    if name not in _NAMES and name not in _PRIVATE:
        raise source.no_library("base", name)
    value = globals()[name] = getattr(source, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_NAMES})
