"""Arrays by name in a safetensors file: https://github.com/huggingface/safetensors.

A file is a number (uint64, little-endian), a header of that many bytes in JSON, and the values one
after another. The header gives each array's dtype, shape and place. `write_tensors` brings one
array at a time to the host, so that a model need not be there twice; files are read with the
package `safetensors`, which checks every size and place against the file.

What the format has no room for is kept in the header's metadata: a CRC-32 of each array with its
name, dtype and shape, so that damage anywhere in a file is noticed. Files without it are read too.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.dtype import BFLOAT16, BOOL
from hybridnet.base.errors import DTypeError, FormatError, ParameterError
from hybridnet.base.tensor_type import TensorType, tensor_type

from .files import whole_file
from .parts import KEY, PartedFile, Region
from .stand_in import fetch, forget, name_of

#: The format's names of dtypes.
_CODES: Final[dict[np.dtype[Any], str]] = {
    BOOL: "BOOL",
    BFLOAT16: "BF16",
    **{np.dtype(f"float{bits}"): f"F{bits}" for bits in (16, 32, 64)},
    **{np.dtype(f"int{bits}"): f"I{bits}" for bits in (8, 16, 32, 64)},
    **{np.dtype(f"uint{bits}"): f"U{bits}" for bits in (8, 16, 32, 64)},
}
_DTYPES: Final = {code: dtype for dtype, code in _CODES.items()}
_METADATA: Final = "__metadata__"
_CRC: Final = "crc32"
#: Headers are a multiple of so many bytes, so that values are aligned.
_ALIGNMENT: Final = 8
_DAMAGED: Final = "the file is damaged, or is not a safetensors file"


class Tensor(NamedTuple):
    """An array to be written.

    Attributes:
        name: unique in the file.
        type: its shape and dtype.
        array: of that type: anything that NumPy makes an array of without a copy, if it can.
    """

    name: str
    type: TensorType
    array: Any


def import_safetensors() -> Any:
    """Returns the package safetensors.

    Raises:
        ImportError: it is not installed; the message says how to get it.
    """
    try:
        return importlib.import_module("safetensors")
    except ImportError as error:
        raise ImportError(
            "checkpoints need the package safetensors; install it, or hybridnet with its "
            "checkpoint extra: pip install 'hybridnet[checkpoint]'",
            name="safetensors",
        ) from error


def check_types(types: Mapping[str, TensorType]) -> None:
    """Checks that arrays of these names and types can be in a file.

    Raises:
        ParameterError: a name is no text, or is the format's own.
        DTypeError: a dtype is none of the format's.
    """
    for name, type in types.items():
        if not isinstance(name, str) or not name or name == _METADATA:
            raise ParameterError(
                f"a variable in a checkpoint needs a name (text, and not {_METADATA!r}), got "
                f"{name!r}"
            )
        if type.dtype not in _CODES:
            known = ", ".join(dtype.name for dtype in _CODES)
            raise DTypeError(f"variable {name!r}: must have one of the dtypes {known}, got {type}")


def write_tensors(
    path: Path, tensors: Sequence[Tensor], metadata: Mapping[str, str] = MappingProxyType({})
) -> int:
    """Writes arrays to a file, which appears whole or not at all.

    Args:
        path: the file; an existing one is replaced.
        tensors: the arrays, of names and types that pass `check_types`.
        metadata: what the file says besides.

    Returns:
        The bytes of the file.

    Raises:
        OSError: it cannot be written.
    """
    # The widest first, as the format recommends: every array is aligned to its own width then.
    ordered = sorted(tensors, key=lambda tensor: (-tensor.type.dtype.itemsize, tensor.name))
    sums = {tensor.name: 0 for tensor in ordered}
    with whole_file(path) as file:
        size = file.write(_header(ordered, sums, metadata))
        for tensor in ordered:
            host = np.ascontiguousarray(tensor.array).reshape(tensor.type.shape)
            host = host.astype(host.dtype.newbyteorder("<"), copy=False)
            raw = host.reshape(-1).view(np.uint8).data
            sums[tensor.name] = _checksum(tensor.name, tensor.type, raw)
            size += file.write(raw)
        file.seek(0)
        file.write(_header(ordered, sums, metadata))  # as long as before, now with the sums
    return size


def _header(
    tensors: Iterable[Tensor], sums: Mapping[str, int], metadata: Mapping[str, str]
) -> bytes:
    crc = json.dumps({name: f"{crc32:08x}" for name, crc32 in sums.items()})
    entries: dict[str, Any] = {_METADATA: {"format": "hybridnet", _CRC: crc, **metadata}}
    end = 0
    for tensor in tensors:
        start, end = end, end + tensor.type.nbytes
        entries[tensor.name] = {
            "dtype": _CODES[tensor.type.dtype],
            "shape": list(tensor.type.shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % _ALIGNMENT)
    return len(text).to_bytes(8, "little") + text


def _checksum(name: str, type: TensorType, raw: Any) -> int:
    return zlib.crc32(raw, zlib.crc32(f"{name}\0{type}\0".encode()))


class TensorFile:
    """An open file of arrays; see `open_tensors`.

    Attributes:
        path: the file.
        types: the type of each array, by name, in the file's order of names; of those that are in
            parts, last, that of the whole.
    """

    def __init__(self, path: Path, opened: Any) -> None:
        self.path = path
        self._opened = opened
        self._others: dict[int, TensorFile] = {0: self}
        self._stack = contextlib.ExitStack()
        self._sums = _sums(path, opened)
        self._held = {name: self._type(name) for name in opened.keys()}  # noqa: SIM118 (no dict)
        if self._sums is not None and self._sums.keys() != self._held.keys():
            raise _damaged(path, "its header and the checksums in it name other arrays")
        text = (opened.metadata() or {}).get(KEY)
        self._parted = None if text is None else PartedFile(text, path)
        self.types = self._held
        if self._parted is not None:
            parts = self._parted.keys(0)
            whole = {name: kind for name, kind in self._held.items() if name not in parts}
            self.types = whole | self._parted.types

    def close(self) -> None:
        """Closes the files of other processes that were read."""
        self._stack.close()

    def read(self, name: str, wanted: Region | None = None) -> NumpyArray:
        """Returns an array of the file, a new one.

        Args:
            name: of the array.
            wanted: only this region of it, without bringing more than a part of it into memory
                where it is in parts.

        Raises:
            FormatError: its values are damaged.
            OSError: a file with a part of it cannot be read.
        """
        if self._parted is not None and name in self._parted.types:
            everything = (slice(None),) * len(self.types[name].shape)
            return self._parted.read(name, wanted or everything, self._part)
        array = self._tensor(name)
        return array if wanted is None else array[wanted]

    def _part(self, process: int, key: str) -> NumpyArray:
        """Returns a tensor of the file of a process."""
        assert self._parted is not None
        if process not in self._others:
            opened = self._stack.enter_context(open_tensors(self._parted.files[process]))
            self._others[process] = opened
        return self._others[process]._tensor(key)

    def _tensor(self, name: str) -> NumpyArray:
        if name not in self._held:
            raise _damaged(self.path, f"it lacks {name!r}")
        kind = self._held[name]
        with _explained(self.path):
            array: NumpyArray = self._opened.get_tensor(name)
        array = np.asarray(array, kind.dtype, order="C")
        if self._sums is not None:
            raw = array.reshape(-1).view(np.uint8).data
            if self._sums[name] != f"{_checksum(name, kind, raw):08x}":
                raise _damaged(self.path, f"the checksum of {name!r} does not fit it")
        return array

    def _type(self, name: str) -> TensorType:
        with _explained(self.path):
            entry = self._opened.get_slice(name)
            code, shape = entry.get_dtype(), tuple(entry.get_shape())
        if code not in _DTYPES:
            raise FormatError(
                f"{self.path}: {name!r} has dtype {code}, which is none of {', '.join(_DTYPES)}"
            )
        # NumPy multiplies the sizes that are not zero even for an empty array, in 63 bits.
        if math.prod(size or 1 for size in shape) * _DTYPES[code].itemsize >= 2**63:
            raise _damaged(self.path, f"{name!r} has the impossible shape {shape}")
        return tensor_type(shape, _DTYPES[code])


@contextlib.contextmanager
def open_tensors(path: Path) -> Iterator[TensorFile]:
    """Opens a file of arrays.

    Raises:
        FormatError: the file is damaged; the message names it and says what is wrong.
        OSError: it cannot be read.
    """
    library = import_safetensors()
    # Its own errors name neither what is no file nor what may not be read.
    fetch(path)
    try:
        with open(path, "rb"):
            pass
        with _explained(path):
            opened = library.safe_open(path, framework="np")
        with opened, contextlib.closing(TensorFile(path, opened)) as file:
            yield file
    finally:
        forget(path)


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turns the library's errors into ours, which name the file."""
    try:
        yield
    except import_safetensors().SafetensorError as error:
        raise _damaged(path, str(error)) from error


def _sums(path: Path, opened: Any) -> dict[str, str] | None:
    """Returns the checksums by name; None where the file has none."""
    metadata = opened.metadata() or {}
    if _CRC not in metadata:
        if metadata.get("format") == "hybridnet":
            raise _damaged(path, "its header lacks the checksums")
        return None
    try:
        found = json.loads(metadata[_CRC])
    except ValueError:
        found = None
    if not isinstance(found, dict) or not all(isinstance(text, str) for text in found.values()):
        raise _damaged(path, "its checksums cannot be read")
    return found


def _damaged(path: Path, what: str) -> FormatError:
    return FormatError(f"{name_of(path)}: {what}; {_DAMAGED}")
