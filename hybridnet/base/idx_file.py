"""IDX files, the format of MNIST: one array of numbers.

A file is, in big-endian order::

    uint16 0, uint8 code of the dtype, uint8 ndim
    uint32 sizes[ndim]
    the values, the last axis fastest, and nothing after them

It may be compressed by gzip. Files come from strangers: memory is taken as the values are read, so
a header that promises more than the file holds costs nothing. This module needs NumPy only.
"""

from __future__ import annotations

import gzip
import math
import os
import struct
import zlib
from typing import Any, BinaryIO, Final

import numpy as np

from .array_types import NumpyArray
from .errors import FormatError
from .remote import open_binary, size_of

#: Code in the header -> the dtype as it lies in the file.
_DTYPES: Final[dict[int, np.dtype[Any]]] = {
    0x08: np.dtype("u1"),
    0x09: np.dtype("i1"),
    0x0B: np.dtype(">i2"),
    0x0C: np.dtype(">i4"),
    0x0D: np.dtype(">f4"),
    0x0E: np.dtype(">f8"),
}

_GZIP_MAGIC: Final = b"\x1f\x8b"
#: One byte of deflated data stands for 1032 bytes at the most.
_MOST_EXPANSION: Final = 1032
#: The most dimensions read: NumPy 1's limit.
_MAX_NDIM: Final = 32
_CHUNK: Final = 1 << 20  # bytes read at a time: memory in use stays this close to what was read

_DAMAGED: Final = "the file is damaged or is not an IDX file"


def read_idx(path: str | os.PathLike[str]) -> NumpyArray:
    """Reads an IDX file, plain or compressed by gzip (told apart by content, not by name).

    Args:
        path: the file.

    Returns:
        A new, writable array of the shape and dtype in the header, in native byte order: uint8,
        int8, int16, int32, float32 or float64.

    Raises:
        FormatError: the file is truncated, damaged, too long, or no IDX file.
        OSError: the file cannot be read.
    """
    label = os.fsdecode(path)
    with open_binary(path) as file:
        size = size_of(file) or 0
        packed = file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC
        file.seek(0)
        if not packed:
            return _read(file, label, size)
        try:
            with gzip.GzipFile(fileobj=file) as unpacked:
                return _read(unpacked, label, size * _MOST_EXPANSION)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise _error(label, "the gzip data must be whole", str(error)) from error


def _read(file: BinaryIO | gzip.GzipFile, label: str, most: int) -> NumpyArray:
    """Reads the array; `most` is how many bytes the file can hold."""
    header = _take(file, 4, label, "the header")
    zero, code, ndim = struct.unpack(">HBB", header)
    if zero != 0:
        raise _error(label, "the first two bytes must be 0", header[:2].hex(" "))
    if code not in _DTYPES:
        known = ", ".join(f"{key:#04x} ({dtype.name})" for key, dtype in _DTYPES.items())
        raise _error(label, f"the dtype code must be one of {known}", f"{code:#04x}")
    if not 1 <= ndim <= _MAX_NDIM:
        raise _error(label, f"the number of dimensions must be 1 to {_MAX_NDIM}", ndim)
    sizes = _take(file, 4 * ndim, label, f"the sizes of {ndim} dimensions")
    shape = struct.unpack(f">{ndim}I", sizes)
    dtype = _DTYPES[code]
    # NumPy multiplies the sizes that are not zero even for an empty array, in 63 bits.
    if math.prod(size or 1 for size in shape) * dtype.itemsize >= 2**63:
        raise _error(label, "the sizes must be possible", f"shape {shape}")
    what = f"{dtype.name} values of shape {shape}"
    count = math.prod(shape) * dtype.itemsize
    left = most - len(header) - len(sizes)
    if count > left:
        raise _error(label, f"{what} need {count} bytes", f"a file with room for at most {left}")
    values = np.frombuffer(_take(file, count, label, what), dtype)
    if file.read(1):  # also checks the check sum at the end of gzip data
        raise _error(label, f"the file must end after the {what}", "more bytes")
    return values.astype(dtype.newbyteorder("="), copy=False).reshape(shape)


def _take(file: BinaryIO | gzip.GzipFile, count: int, label: str, what: str) -> bytearray:
    data = bytearray()
    while len(data) < count:
        chunk = file.read(min(count - len(data), _CHUNK))
        if not chunk:
            raise _error(label, f"{what}: {count} bytes are needed", f"{len(data)}")
        data += chunk
    return data


def _error(label: str, requirement: str, got: object) -> FormatError:
    return FormatError(f"{label}: {requirement}, got {got}; {_DAMAGED}")
