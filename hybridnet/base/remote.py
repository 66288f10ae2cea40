"""Files by path, or by an address such as ``s3://bucket/train.rec``: one way to open them all.

What is not on this machine is opened by the package fsspec, an extra (`addresses`), read in parts
(`ranges`), and written whole or not at all (`upload`). Paths go the way they always went, and
fsspec is not imported for them.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import stat
from typing import Any, BinaryIO, Final, TextIO, cast

from .addresses import faults, is_remote, missing_told, system_of
from .ranges import RangedFile
from .upload import Upload

__all__ = [
    "file_exists",
    "file_size",
    "is_remote",
    "listed_files",
    "open_binary",
    "open_text",
    "ranged",
    "read_file",
    "remove_file",
    "require_file",
    "size_of",
]

PathLike = str | os.PathLike[str]

_BUFFER: Final = 1 << 16  # bytes
_COPIED: Final = 1 << 20  # bytes at a time


def open_binary(path: PathLike, mode: str = "rb", buffering: int = -1) -> BinaryIO:
    """Opens a file of bytes, by path or address.

    Args:
        path: of the file.
        mode: 'rb', 'wb' or 'ab'.
        buffering: bytes, as for ``open``.

    Returns:
        What can be read, and whose position can be moved; or what is written in order. At an
        address that is an `Upload`: the file is there when it is closed, and not after an error.

    Raises:
        ParameterError: nobody knows the address's scheme.
        ModuleNotFoundError: fsspec, or the package for this scheme, is missing.
        OSError: it cannot be opened.
    """
    if not is_remote(path):
        with missing_told():
            return cast(BinaryIO, open(path, mode, buffering=buffering))
    address = os.fspath(path)
    if mode == "rb":
        return _open_to_read(address, buffering if buffering > 1 else _BUFFER)
    upload = Upload(address)
    if mode == "ab" and file_exists(address):
        # Nothing can be added to what is there: it is brought anew.
        with open_binary(address) as before:
            shutil.copyfileobj(before, cast(BinaryIO, upload), _COPIED)
    return cast(BinaryIO, upload)


def _open_to_read(address: str, block: int) -> BinaryIO:
    system, name = system_of(address)
    with faults(address):
        file = system.open(name, "rb", cache_type="none")
        if isinstance(file, io.BytesIO):  # in memory all readers have one position
            return cast(BinaryIO, io.BufferedReader(io.BytesIO(file.getvalue()), block))
        if file.seekable() and _gives_parts(file):
            raw = RangedFile(system, name, file, address, block)
            return cast(BinaryIO, io.BufferedReader(raw, block))
        file.close()
        return cast(BinaryIO, io.BufferedReader(io.BytesIO(system.cat_file(name)), block))


def _gives_parts(file: Any) -> bool:
    """Whether a server gives parts of files; some tell only when they are asked."""
    if not hasattr(file, "url") or not isinstance(file.url, str) or not file.size:
        return True
    try:
        file.seek(file.size - 1)
        file.read(1)
    except ValueError:
        return False
    return True


def ranged(file: BinaryIO) -> RangedFile | None:
    """Returns what reads the parts of a file at an address; None: it is no such file."""
    raw = getattr(file, "raw", None)
    return raw if isinstance(raw, RangedFile) else None


def open_text(path: PathLike) -> TextIO:
    """Opens a text file in UTF-8 to read, by path or address."""
    if not is_remote(path):
        with missing_told():
            return open(path, encoding="utf-8")
    return io.TextIOWrapper(open_binary(path), encoding="utf-8")


def read_file(path: PathLike) -> bytes:
    """Returns the content of a file, by path or address."""
    with open_binary(path) as file:
        return file.read()


def size_of(file: BinaryIO) -> int | None:
    """Returns how many bytes an open file has; None for what is no file, as a pipe."""
    try:
        facts = os.fstat(file.fileno())
    except OSError:  # it is not of the operating system
        place = file.tell()
        size = file.seek(0, os.SEEK_END)
        file.seek(place)
        return size
    return facts.st_size if stat.S_ISREG(facts.st_mode) else None


def file_size(path: PathLike) -> int:
    """Returns how many bytes a file has, by path or address."""
    if not is_remote(path):
        return os.stat(path).st_size
    with open_binary(path) as file:
        return size_of(file) or 0


def file_exists(path: PathLike) -> bool:
    """Whether there is a file, by path or address."""
    if not is_remote(path):
        return os.path.isfile(path)
    try:
        return _facts(os.fspath(path)).get("type") == "file"
    except FileNotFoundError:
        return False


def _facts(address: str) -> dict[str, Any]:
    """Returns what a server says of a file or folder.

    Raises:
        OSError: there is none, or the server does not say.
    """
    system, name = system_of(address)
    with faults(address):
        facts: dict[str, object] = system.info(name)
    return facts


def require_file(path: PathLike) -> None:
    """Raises unless there is a file or folder, by path or address.

    What reads files later asks at once, so that the error comes at the line that names the file.

    Raises:
        OSError: there is none, or it cannot be looked at.
    """
    if is_remote(path):
        _facts(os.fspath(path))
    else:
        with missing_told():
            os.stat(path)


def remove_file(path: PathLike) -> None:
    """Removes a file, by path or address, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        if not is_remote(path):
            os.unlink(path)
            return
        address = os.fspath(path)
        system, place = system_of(address)
        with faults(address):
            system.rm_file(place)


def listed_files(path: PathLike) -> list[str]:
    """Returns the files of a folder in the order of their names; of a file, itself."""
    name = os.fspath(path)
    if not is_remote(name):
        if not os.path.isdir(name):
            return [name]
        inside = sorted(os.listdir(name))
        return [one for one in (os.path.join(name, part) for part in inside) if os.path.isfile(one)]
    system, place = system_of(name)
    with faults(name):
        if not name.endswith("/") and not system.isdir(place):
            return [name]
        rows = system.ls(place, detail=True)
        files = sorted(row["name"] for row in rows if row["type"] == "file")
        return [str(system.unstrip_protocol(one)) for one in files]
