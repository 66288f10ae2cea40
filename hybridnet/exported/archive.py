"""The file: a zip archive without compression, whose arrays NumPy reads as those of an ``.npz``."""

from __future__ import annotations

import errno
import hashlib
import io
import math
import os
import zipfile
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.dtype import BFLOAT16
from hybridnet.base.errors import FormatError
from hybridnet.base.files import atomic_write
from hybridnet.base.remote import open_binary
from hybridnet.base.tensor_type import TensorType

from .manifest import Argument, Manifest, element_type

_MANIFEST: Final = "manifest.json"
_PROGRAM: Final = "program.bin"
# Of a manifest: a thousand times what that of a large network takes.
_MAX_MANIFEST: Final = 1 << 28
_Path = str | os.PathLike[str]


class Archive(NamedTuple):
    """The contents of a file.

    Attributes:
        manifest: what it says of itself.
        program: what `jax.export` serialized.
        parameters: host arrays.
    """

    manifest: Manifest
    program: bytes
    parameters: list[NumpyArray]


def write(path: _Path, archive: Archive) -> None:
    """Writes a file, which appears whole or not at all."""
    with (
        atomic_write(path) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as made,
    ):
        made.writestr(_MANIFEST, archive.manifest.to_json())
        made.writestr(_PROGRAM, archive.program)
        for param, array in zip(archive.manifest.parameters, archive.parameters, strict=True):
            with made.open(f"{param.name}.npy", "w", force_zip64=True) as part:
                # NumPy's format has no bfloat16: its bits are kept, the manifest says what of.
                kept = array.view(np.uint16) if array.dtype == BFLOAT16 else array
                np.lib.format.write_array(part, np.asarray(kept, order="C"), allow_pickle=False)


def read(path: _Path) -> Archive:
    """Reads a file, and checks every size and digest in it.

    Raises:
        FormatError: it is no such file, or damaged.
        OSError: it cannot be read.
    """
    try:
        with open_binary(path) as opened, zipfile.ZipFile(opened) as file:
            manifest = Manifest.from_json(_part(file, _MANIFEST, _MAX_MANIFEST))
            program = _part(file, _PROGRAM)
            if hashlib.sha256(program).hexdigest() != manifest.digest:
                raise FormatError("the program is damaged: its digest is another")
            parameters = [_array(file, param) for param in manifest.parameters]
    except FormatError as error:
        raise FormatError(f"hn.load: {os.fspath(path)!r}: {error}") from error
    except MemoryError:
        raise
    except Exception as error:  # damaged archives fail in every way there is
        # A place before the beginning is asked for where the damaged file says so.
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise
        raise FormatError(
            f"hn.load: {os.fspath(path)!r} is damaged, or was not written by hn.export: {error}"
        ) from error
    return Archive(manifest, program, parameters)


def _part(file: zipfile.ZipFile, name: str, most: int | None = None) -> bytes:
    """Returns a part of a file as it is; the archive's own CRC is checked."""
    try:
        info = file.getinfo(name)
    except KeyError:
        raise FormatError(f"there is no {name} in it") from None
    # Without compression nothing can be larger than the file is.
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
        raise FormatError(f"{name} is compressed, which hn.export does not do")
    if most is not None and info.file_size > most:
        raise FormatError(f"{name} has {info.file_size} bytes, more than any that is meant")
    return file.read(info)


def _array(file: zipfile.ZipFile, entry: Argument) -> NumpyArray:
    """Returns a parameter, whose header must say what the manifest does."""
    data = io.BytesIO(_part(file, f"{entry.name}.npy"))
    version = np.lib.format.read_magic(data)
    if version not in ((1, 0), (2, 0)):
        raise FormatError(f"parameter {entry.name!r} is in version {version} of NumPy's format")
    header = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, by_column, dtype = header(data)
    wanted = element_type(entry.dtype)
    kept = np.dtype(np.uint16) if wanted == BFLOAT16 else wanted
    size = data.getbuffer().nbytes - data.tell()
    if shape != entry.shape or dtype != kept or (by_column and len(shape) > 1):
        raise FormatError(f"parameter {entry.name!r} is {dtype}{shape}, and not {entry}")
    if size != math.prod(shape) * kept.itemsize:
        name = entry.name
        raise FormatError(f"parameter {name!r} has {size} bytes, which its shape does not take")
    found = np.frombuffer(data.getbuffer(), kept, offset=data.tell()).reshape(shape)
    return found.view(wanted)


def named(prefix: str, arrays: Sequence[NumpyArray | TensorType]) -> tuple[Argument, ...]:
    """Returns what says of arrays what they are; their names are numbers."""
    return tuple(
        Argument(f"{prefix}{number}", array.shape, array.dtype.name)
        for number, array in enumerate(arrays)
    )
