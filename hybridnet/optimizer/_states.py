"""Optimizer states as bytes: a safetensors file, with the structure in its metadata.

A safetensors file is, in little-endian order, a uint64 n, n bytes of JSON that describe the arrays
(name -> dtype, shape, and where their bytes begin and end in the rest), and the arrays' bytes. The
JSON's ``__metadata__`` holds here, as JSON text under ``hybridnet_states``, the Python values with
a reference wherever an array belongs:

    {"array": name}  {"tuple": [...]}  {"list": [...]}  {"dict": [[key, value], ...]}

and None, booleans, numbers and strings as they are. Nothing in it is ever executed, and all that it
claims is checked against its size, so states from a stranger can do no harm.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from hybridnet.base.dtype import BFLOAT16
from hybridnet.base.errors import FormatError, ParameterError
from hybridnet.base.inert_pickle import is_pickle
from hybridnet.ndarray import NDArray

__all__ = ["decode_value", "dump_states", "encode_value", "is_mxnets", "load_states"]

_KEY: Final = "hybridnet_states"
_DTYPE_OF: Final[dict[str, np.dtype[Any]]] = {
    "BOOL": np.dtype(np.bool_),
    "U8": np.dtype(np.uint8),
    "I8": np.dtype(np.int8),
    "I32": np.dtype(np.int32),
    "I64": np.dtype(np.int64),
    "F16": np.dtype(np.float16),
    "BF16": BFLOAT16,
    "F32": np.dtype(np.float32),
    "F64": np.dtype(np.float64),
}
_NAME_OF: Final = {dtype: name for name, dtype in _DTYPE_OF.items()}
_PLAIN: Final = (bool, int, float, str)
#: The most dimensions read: NumPy 1's limit.
_MAX_NDIM: Final = 32


def dump_states(value: object) -> bytes:
    """Returns a structure of dicts, lists, tuples, arrays, numbers and strings as bytes.

    Raises:
        ParameterError: something in it is none of these.
    """
    arrays: list[NDArray] = []
    structure = json.dumps(encode_value(value, arrays, "states"))
    header: dict[str, Any] = {"__metadata__": {_KEY: structure}}
    blobs = []
    end = 0
    for number, array in enumerate(arrays):
        host = np.ascontiguousarray(array.asnumpy())
        begin, end = end, end + host.nbytes
        header[str(number)] = {
            "dtype": _NAME_OF[host.dtype],
            "shape": list(array.shape),
            "data_offsets": [begin, end],
        }
        blobs.append(host.tobytes())
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)  # so that the arrays are aligned
    return len(text).to_bytes(8, "little") + text + b"".join(blobs)


def load_states(data: bytes, place: Callable[[np.ndarray[Any, Any]], NDArray]) -> Any:
    """Reads the states that `dump_states` wrote.

    Args:
        data: its result.
        place: makes an NDArray from each array read.

    Raises:
        FormatError: the bytes are no such file, or damaged.
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise ParameterError(f"optimizer states must be bytes, got {type(data).__name__}")
    data = bytes(data)
    size = int.from_bytes(data[:8], "little")
    if len(data) < 8 or size > len(data) - 8:
        raise _damaged(f"a header of {size} bytes must fit", f"{len(data)} bytes in all")
    header = _parse(data[8 : 8 + size], "the header")
    metadata = header.pop("__metadata__", None) if isinstance(header, dict) else None
    if not isinstance(metadata, dict) or not isinstance(metadata.get(_KEY), str):
        raise _damaged(f"the header must hold {_KEY!r} in its metadata", "none")
    body = memoryview(data)[8 + size :]
    arrays = {name: place(_array(body, name, entry)) for name, entry in header.items()}
    return decode_value(_parse(metadata[_KEY], "the structure"), arrays)


def is_mxnets(data: object) -> bool:
    """Whether bytes are a pickle, as MXNet writes states, and none of ours."""
    # In a file of ours JSON begins at byte 8.
    return isinstance(data, (bytes, bytearray)) and data[8:9] != b"{" and is_pickle(bytes(data))


def _damaged(requirement: str, got: object) -> FormatError:
    return FormatError(
        f"optimizer states: {requirement}, got {got}; the bytes are damaged or come from elsewhere"
    )


def _parse(text: bytes | str, what: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged(f"{what} must be JSON", error) from None


def _array(body: memoryview, name: str, entry: Any) -> np.ndarray[Any, Any]:
    """Returns one array, after checking all that the header says of it."""
    try:
        dtype = _DTYPE_OF[entry["dtype"]]
        shape = entry["shape"]
        begin, end = entry["data_offsets"]
    except (TypeError, KeyError, ValueError):
        raise _damaged(f"array {name!r} must have dtype, shape and data_offsets", entry) from None
    whole = isinstance(shape, list) and all(type(number) is int for number in (*shape, begin, end))
    if not whole or len(shape) > _MAX_NDIM or min(shape, default=0) < 0:
        raise _damaged(f"array {name!r} must have a possible shape and place", entry)
    if not 0 <= begin <= end <= len(body) or end - begin != math.prod(shape) * dtype.itemsize:
        raise _damaged(f"array {name!r} must fit its shape and the {len(body)} bytes", entry)
    return np.frombuffer(body[begin:end], np.uint8).view(dtype).reshape(shape)


def encode_value(value: object, arrays: list[NDArray], where: str) -> Any:
    """Returns a value as JSON can hold it; its arrays are appended to a list."""
    if value is None or isinstance(value, _PLAIN):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, NDArray):
        arrays.append(value)
        return {"array": str(len(arrays) - 1)}
    if isinstance(value, (tuple, list)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        items = enumerate(value)
        return {kind: [encode_value(item, arrays, f"{where}[{i}]") for i, item in items]}
    if isinstance(value, dict):
        return {
            "dict": [
                [encode_value(key, arrays, where), encode_value(item, arrays, f"{where}[{key!r}]")]
                for key, item in value.items()
            ]
        }
    raise ParameterError(
        f"{where} of the optimizer cannot be saved: it must be made of arrays, numbers, strings, "
        f"tuples, lists and dicts, got {type(value).__name__}"
    )


def decode_value(node: Any, arrays: dict[str, NDArray]) -> Any:
    """Returns the value that `encode_value` was given."""
    if node is None or isinstance(node, _PLAIN):
        return node
    try:
        ((kind, content),) = node.items()
        if kind == "array":
            return arrays[content]
        if kind == "tuple":
            return tuple([decode_value(item, arrays) for item in content])
        if kind == "list":
            return [decode_value(item, arrays) for item in content]
        if kind == "dict":
            return {decode_value(key, arrays): decode_value(item, arrays) for key, item in content}
    except (AttributeError, TypeError, ValueError, KeyError) as error:
        if isinstance(error, FormatError):
            raise
        raise _damaged("the structure must refer to arrays and values", error) from None
    raise _damaged("a part must be an array, tuple, list or dict", kind)
