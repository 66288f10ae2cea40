"""MXNet's ``.params`` files: a list of arrays, or a mapping from names to arrays.

A file is, in little-endian order::

    uint64 0x112, uint64 0                      what kind of file this is
    uint64 n, then n arrays
    uint64 m, then m names                      m is 0 (a list) or n (a mapping)
    name   uint64 length, then UTF-8 bytes
    array  uint32 header, then by header
      V2, V3  int32 storage type, int32 ndim, int64 sizes[ndim], context, dtype code, values
      ... of a sparse array: int32 storage type, ndim and sizes of its values, ndim and sizes of the
              array, context, dtype code, then dtype code, ndim and sizes of each array of
              positions (of row_sparse the rows; of csr row ends and columns), values, positions
      V1      uint32 ndim, int64 sizes[ndim], context, dtype code, values
      older   the header itself is ndim; uint32 sizes[ndim], context, dtype code, values
    context   int32 device type, int32 device number: where the array lived; of no use to us

In V2 and older no dimensions means an array without a value, so an array of shape () needs V3.
MXNet 1.9.1 reads V3 only while its ``np_shape`` mode is on, and then nothing else. So a file is
written in V3 throughout while that mode is on, as MXNet writes it, and where one of its arrays has
no dimensions; else in V2, as are sparse arrays, which V3 does not have. The layout was learnt
from files that MXNet 1.9.1 wrote; see ``tests/oracle/make_files.py``. MXNet 2.0 writes NumPy's
``npz`` instead, which NumPy reads.

Files come from strangers: every count and size is checked against the bytes that are left before
anything is allocated, and nothing in a file is ever executed.
"""

from __future__ import annotations

import io
import math
import os
import struct
from collections.abc import Mapping, Sequence
from typing import Any, BinaryIO, Final, cast

import numpy as np

from hybridnet.base.array_types import DType, NumpyArray

from .dtype import BOOL, CODE_OF, DTYPE_OF_CODE
from .errors import DTypeError, FormatError
from .files import atomic_write
from .numpy_mode import mode
from .remote import open_binary
from .sparse_parts import AUXILIARY, SparseParts

#: The content of a file.
Saved = NumpyArray | SparseParts

_FILE_MAGIC: Final = 0x112
_ARCHIVE: Final = b"PK\3\4"  # how a zip file begins
_V1: Final = 0xF993FAC8
_V2: Final = 0xF993FAC9
_V3: Final = 0xF993FACA

_DENSE: Final = 0
_SPARSE: Final = {1: "row_sparse", 2: "csr"}
_CODE_OF_SPARSE: Final = {name: code for code, name in _SPARSE.items()}
_CPU: Final = (1, 0)  # device type and number written for every array

#: The most dimensions read: NumPy 1's limit, and far beyond any network's.
_MAX_NDIM: Final = 32
#: The least an array can take (an older header that says: no value), to refuse absurd counts early.
_MIN_ARRAY_BYTES: Final = 4
#: The widest element: an empty array's other sizes are limited as if it held these.
_MAX_ITEM_BYTES: Final = 8

_DAMAGED: Final = "the file is damaged or is not an MXNet .params file"


class _Reader:
    """Reads numbers and values from a file, and refuses to read past its end."""

    def __init__(self, file: io.BufferedIOBase, label: str) -> None:
        self._file = file
        self._label = label
        self._size = file.seek(0, os.SEEK_END)
        self._offset = file.seek(0)
        self._item = 0  # where the item read last began

    @property
    def left(self) -> int:
        """Bytes not read yet."""
        return self._size - self._offset

    def error(self, requirement: str, got: object, hint: str = _DAMAGED) -> FormatError:
        """Returns the error for the item read last."""
        return FormatError(f"{self._label}, at byte {self._item}: {requirement}, got {got}; {hint}")

    def unpack(self, layout: str, what: str) -> tuple[int, ...]:
        """Reads integers laid out as in `struct` (little-endian, no padding)."""
        layout = "<" + layout
        return struct.unpack(layout, self.take(struct.calcsize(layout), what))

    def take(self, count: int, what: str) -> bytes:
        """Reads so many bytes."""
        self._require(count, what)
        data = self._file.read(count)
        self._advance(len(data), count, what)
        return data

    def into(self, array: NumpyArray, what: str) -> None:
        """Fills a one-dimensional uint8 array."""
        self._require(array.size, what)
        # A BytesIO and a buffered file both fill all of it unless the file ends.
        self._advance(self._file.readinto(array.data), array.size, what)

    def end(self) -> None:
        """Requires that everything has been read."""
        self._item = self._offset
        if self.left:
            raise self.error("the file must end here", f"{self.left} bytes more")

    def _require(self, count: int, what: str) -> None:
        self._item = self._offset
        if count > self.left:
            raise self.error(f"{what} needs {count} bytes", f"a file with {self.left} left")

    def _advance(self, got: int, count: int, what: str) -> None:
        """Moves on; a file that was shortened while it is read gives less than its size said."""
        if got != count:
            raise self.error(f"{what} needs {count} bytes", f"{got}, as the file was cut meanwhile")
        self._offset += count


def load_params(
    source: str | os.PathLike[str] | bytes | bytearray | memoryview,
) -> list[Any] | dict[str, Any]:
    """Reads the arrays of an MXNet ``.params`` file of any version; those of 2.0 are NumPy's npz.

    Args:
        source: the file's path or address (`hybridnet.base.remote`), or its whole content.

    Returns:
        A dict in the file's order where the arrays have names, else a list. Every array is a new,
        writable, C-contiguous one of the dtype saved (bfloat16 as ml_dtypes' type), or
        `SparseParts` of such.

    Raises:
        FormatError: the file is damaged.
        OSError: the file cannot be read.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return _read_any(io.BytesIO(source), "params data")
    with open_binary(source) as file:
        return _read_any(cast(io.BufferedIOBase, file), os.fsdecode(source))


def load_array(source: bytes | bytearray | memoryview) -> Any:
    """Reads one array as files hold it, which is what MXNet's pickles of arrays are made of.

    Returns:
        As an array of `load_params`.

    Raises:
        FormatError: the bytes are damaged.
    """
    reader = _Reader(io.BytesIO(source), "a pickled array")
    array = _read_array(reader, "the array")
    reader.end()
    return array


def save_params(
    path: str | os.PathLike[str],
    arrays: Saved | Sequence[Saved] | Mapping[str, Saved],
) -> None:
    """Writes arrays to a file that MXNet 1.9.1 reads; see the module's text on arrays of shape ().

    The file appears whole or not at all: see `atomic_write`.

    Args:
        path: where to write; an existing file is replaced.
        arrays: any shapes; dtypes float16/32/64, bfloat16, int8/32/64, uint8 or bool; sparse ones
            as `SparseParts`. A mapping keeps its order; a single array makes a list of one, as in
            MXNet.

    Raises:
        DTypeError: an array has another dtype.
        OSError: the file cannot be written.
    """
    names: list[str] = []
    if isinstance(arrays, Mapping):
        names, arrays = list(arrays), list(arrays.values())
    elif isinstance(arrays, (np.ndarray, SparseParts)):
        arrays = [arrays]
    labels: Sequence[str | int] = names or range(len(arrays))
    values = [_saveable(value, label) for label, value in zip(labels, arrays, strict=True)]
    sparse = any(isinstance(value, SparseParts) for value in values)
    as_numpy = (mode.shape and not sparse) or any(value.shape == () for value in values)
    version = _V3 if as_numpy else _V2
    encoded = [name.encode() for name in names]
    with atomic_write(path) as file:
        file.write(struct.pack("<QQQ", _FILE_MAGIC, 0, len(values)))
        for value in values:
            _write_array(file, value, version)
        file.write(struct.pack("<Q", len(encoded)))
        for name in encoded:
            file.write(struct.pack("<Q", len(name)) + name)


def _read_any(file: io.BufferedIOBase, name: str) -> list[Any] | dict[str, Any]:
    is_archive = file.read(len(_ARCHIVE)) == _ARCHIVE
    file.seek(0)
    return _read_archive(file, name) if is_archive else _read_file(_Reader(file, name))


def _read_archive(file: io.BufferedIOBase, name: str) -> list[Any] | dict[str, Any]:
    try:
        with np.load(cast(Any, file), allow_pickle=False) as saved:
            arrays = {key: np.asarray(saved[key], order="C") for key in saved.files}
    except Exception as error:  # what zipfile and NumPy raise of damaged ones is of many kinds
        raise FormatError(f"{name}: an archive of arrays (npz) is damaged: {error}") from None
    for key, array in arrays.items():
        if array.dtype not in CODE_OF:
            raise FormatError(f"{name}: {key!r} must be an array of numbers, got {array.dtype}")
    if all(key == f"arr_{number}" for number, key in enumerate(arrays)):
        return list(arrays.values())
    return arrays


def _read_file(
    reader: _Reader,
) -> list[Any] | dict[str, Any]:
    (magic,) = reader.unpack("Q", "the file's kind")
    if magic != _FILE_MAGIC:
        raise reader.error(f"the first 8 bytes must be {_FILE_MAGIC:#x}", f"{magic:#x}")
    reader.unpack("Q", "a reserved number")
    (count,) = reader.unpack("Q", "the number of arrays")
    if count > reader.left // _MIN_ARRAY_BYTES:
        raise reader.error(f"the number of arrays must fit the {reader.left} bytes left", count)
    arrays = [_read_array(reader, f"array {index} of {count}") for index in range(count)]
    (name_count,) = reader.unpack("Q", "the number of names")
    if name_count not in (0, count):
        raise reader.error(f"the number of names must be 0 or {count}", name_count)
    names = [_read_name(reader) for _ in range(name_count)]
    reader.end()
    if not names:
        return arrays
    result = dict(zip(names, arrays, strict=True))
    if len(result) != count:
        repeated = next(name for i, name in enumerate(names) if name in names[:i])
        raise reader.error("every name must occur once", f"{repeated!r} twice")
    return result


def _read_name(reader: _Reader) -> str:
    (length,) = reader.unpack("Q", "the length of a name")
    raw = reader.take(length, "a name")
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise reader.error("a name must be UTF-8", repr(raw[:40])) from None


def _read_array(reader: _Reader, what: str) -> Saved:
    (header,) = reader.unpack("I", f"{what}: its header")
    if header in (_V2, _V3):
        (storage,) = reader.unpack("i", f"{what}: its storage type")
        if storage in _SPARSE:
            return _read_sparse(reader, what, _SPARSE[storage])
        if storage != _DENSE:
            raise reader.error(f"{what}: its storage type must be {_DENSE}, 1 or 2", storage)
        (ndim,) = reader.unpack("i", f"{what}: its number of dimensions")
        size_layout = "q"
    elif header == _V1:
        (ndim,) = reader.unpack("I", f"{what}: its number of dimensions")
        size_layout = "q"
    else:
        ndim, size_layout = header, "I"
    if ndim == (-1 if header == _V3 else 0):
        raise reader.error(
            f"{what}: must have a value",
            "an array without one",
            "MXNet writes these for empty handles, and for shape () outside its np_shape mode",
        )
    shape = _read_shape(reader, what, ndim, size_layout)
    _, _, code = reader.unpack("iii", f"{what}: its context and dtype")
    return _read_values(reader, what, shape, _dtype_of(reader, what, code))


def _read_shape(reader: _Reader, what: str, ndim: int, size_layout: str) -> tuple[int, ...]:
    if not 0 <= ndim <= _MAX_NDIM:
        raise reader.error(f"{what}: must have at most {_MAX_NDIM} dimensions", ndim)
    shape = reader.unpack(f"{ndim}{size_layout}", f"{what}: its shape")
    # NumPy multiplies the sizes that are not zero even for an empty array, in 63 bits.
    extent = math.prod(size or 1 for size in shape) * _MAX_ITEM_BYTES
    if min(shape, default=0) < 0 or extent >= 2**63:
        raise reader.error(f"{what}: its sizes must be possible", f"shape {shape}")
    return shape


def _dtype_of(reader: _Reader, what: str, code: int) -> DType:
    if code not in DTYPE_OF_CODE:
        known = ", ".join(f"{key} ({dtype.name})" for key, dtype in DTYPE_OF_CODE.items())
        raise reader.error(f"{what}: its dtype code must be one of {known}", code)
    return DTYPE_OF_CODE[code]


def _read_sparse(reader: _Reader, what: str, stype: str) -> SparseParts:
    def sizes(of: str) -> tuple[int, ...]:
        (ndim,) = reader.unpack("i", f"{what}: the number of dimensions of {of}")
        return _read_shape(reader, what, ndim, "q")

    data_shape, shape = sizes("its values"), sizes("the array")
    _, _, code = reader.unpack("iii", f"{what}: its context and dtype")
    kinds = [(_dtype_of(reader, what, code), data_shape)]
    for _ in range(AUXILIARY[stype]):
        (code,) = reader.unpack("i", f"{what}: the dtype of its positions")
        kinds.append((_dtype_of(reader, what, code), sizes("its positions")))
    data, *aux = (_read_values(reader, what, dims, dtype) for dtype, dims in kinds)
    if any(array.dtype.kind not in "iu" or array.ndim != 1 for array in aux):
        raise reader.error(f"{what}: its positions must be whole numbers in 1 dimension", aux)
    parts = SparseParts(stype, shape, data, [array.astype(np.int64) for array in aux])
    fault = parts.fault()
    if fault:
        raise reader.error(f"{what}: a {stype} array must have {fault}", f"the shape {shape}")
    return parts


def _read_values(reader: _Reader, what: str, shape: tuple[int, ...], dtype: DType) -> NumpyArray:
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes > reader.left:
        raise reader.error(
            f"{what}: {dtype.name}{list(shape)} needs {nbytes} bytes", f"{reader.left} left"
        )
    values = np.empty(nbytes, np.uint8)
    reader.into(values, f"{what}: its values")
    if dtype == BOOL:
        values = (values != 0).view(np.uint8)  # any byte but 0 and 1 is no valid NumPy bool
    return values.view(dtype).reshape(shape)


def _saveable(value: object, name: str | int) -> Any:
    """Returns a contiguous array in native byte order of a dtype that the format knows."""
    if isinstance(value, SparseParts):
        aux = [np.ascontiguousarray(array, np.int64) for array in value.aux]
        return value._replace(data=_saveable(value.data, name), aux=aux)
    array = np.asarray(value)
    array = np.asarray(array, array.dtype.newbyteorder("="), order="C")
    if array.dtype not in CODE_OF:
        known = ", ".join(dtype.name for dtype in CODE_OF)
        raise DTypeError(
            f"save_params: array {name!r} must have one of the dtypes {known}, "
            f"got {array.dtype.name}; convert it with astype first"
        )
    return array


def _write_array(file: BinaryIO, array: Saved, version: int) -> None:
    if isinstance(array, SparseParts):
        file.write(struct.pack("<Ii", version, _CODE_OF_SPARSE[array.stype]))
        file.write(_packed_shape(array.data.shape) + _packed_shape(array.shape))
        file.write(struct.pack("<iii", *_CPU, CODE_OF[array.data.dtype]))
        for indices in array.aux:
            file.write(struct.pack("<i", CODE_OF[indices.dtype]) + _packed_shape(indices.shape))
        values = [array.data, *array.aux]
    else:
        file.write(struct.pack("<Ii", version, _DENSE) + _packed_shape(array.shape))
        file.write(struct.pack("<iii", *_CPU, CODE_OF[array.dtype]))
        values = [array]
    for part in values:
        file.write(part.reshape(-1).view(np.uint8).data)


def _packed_shape(shape: tuple[int, ...]) -> bytes:
    return struct.pack(f"<i{len(shape)}q", len(shape), *shape)
