"""Files by path, or by an address such as ``s3://bucket/train.rec``: one way to open them all.

What is not on this machine is opened by the package fsspec, an extra, which knows ``http://``,
``s3://``, ``hdfs://``, ``memory://`` and more; some of them need a package of their own, and then
fsspec's error says which. Paths go the way they always went, and fsspec is not imported for them.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import stat
from collections.abc import Iterator
from typing import Any, BinaryIO, Final, TextIO, cast

from .errors import ParameterError
from .lazy import fsspec, tempfile

__all__ = [
    "file_exists",
    "file_size",
    "is_remote",
    "listed_files",
    "open_binary",
    "open_text",
    "read_file",
    "remove_file",
    "require_file",
    "size_of",
    "whole_upload",
]

PathLike = str | os.PathLike[str]

#: A scheme has two letters or more: one is a drive of Windows.
_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_BUFFER: Final = 1 << 16  # bytes
#: What is written is kept in memory up to so many bytes, until all of it is there.
_SPOOL: Final = 1 << 24


def is_remote(path: Any) -> bool:
    """Whether it is an address with a scheme, and not a path."""
    return isinstance(path, str) and _ADDRESS.match(path) is not None


def open_binary(path: PathLike, mode: str = "rb", buffering: int = -1) -> BinaryIO:
    """Opens a file of bytes, by path or address.

    Args:
        path: of the file.
        mode: 'rb' or 'wb'.
        buffering: bytes, as for ``open``.

    Returns:
        What can be read, and whose position can be moved; or what is written in order.

    Raises:
        ParameterError: nobody knows the address's scheme.
        ModuleNotFoundError: fsspec, or the package for this scheme, is missing.
        OSError: it cannot be opened.
    """
    if not is_remote(path):
        return cast(BinaryIO, open(path, mode, buffering=buffering))
    file = _open_remote(os.fspath(path), mode)
    if mode != "rb":
        return cast(BinaryIO, file)
    if isinstance(file, io.BytesIO):
        file = io.BytesIO(file.getvalue())  # in memory all readers have one position
    elif not file.seekable() or not _gives_parts(file):
        file.close()
        file = io.BytesIO(_read_whole(os.fspath(path)))
    size = buffering if buffering > 1 else _BUFFER
    return io.BufferedReader(cast(io.RawIOBase, file), size)


def _gives_parts(file: Any) -> bool:
    """Whether a server gives parts of files; some tell only when they are asked."""
    if not hasattr(file, "url") or not file.size:
        return True
    try:
        file.seek(file.size - 1)
        file.read(1)
    except ValueError:
        return False
    file.seek(0)
    return True


def _read_whole(address: str) -> bytes:
    system, name = _system(address)
    content: bytes = system.cat_file(name)
    return content


def open_text(path: PathLike) -> TextIO:
    """Opens a text file in UTF-8 to read, by path or address."""
    if not is_remote(path):
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
    system, name = _system(os.fspath(path))
    return bool(system.isfile(name))


def require_file(path: PathLike) -> None:
    """Raises unless there is a file or folder, by path or address.

    What reads files later asks at once, so that the error comes at the line that names the file.

    Raises:
        OSError: there is none, or it cannot be looked at.
    """
    if not is_remote(path):
        os.stat(path)
        return
    system, name = _system(os.fspath(path))
    if not system.exists(name):
        raise FileNotFoundError(f"{os.fspath(path)}: No such file or directory")


def remove_file(path: PathLike) -> None:
    """Removes a file, by path or address, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        if not is_remote(path):
            os.unlink(path)
            return
        system, name = _system(os.fspath(path))
        system.rm_file(name)


def listed_files(path: PathLike) -> list[str]:
    """Returns the files of a folder in the order of their names; of a file, itself."""
    name = os.fspath(path)
    if not is_remote(name):
        if not os.path.isdir(name):
            return [name]
        inside = sorted(os.listdir(name))
        return [one for one in (os.path.join(name, part) for part in inside) if os.path.isfile(one)]
    system, place = _system(name)
    if not name.endswith("/") and not system.isdir(place):
        return [name]
    rows = system.ls(place, detail=True)
    files = sorted(row["name"] for row in rows if row["type"] == "file")
    return [str(system.unstrip_protocol(one)) for one in files]


@contextlib.contextmanager
def whole_upload(address: str) -> Iterator[BinaryIO]:
    """Opens a binary file that is brought to an address when the block ends without an error.

    Its bytes are collected first, in memory or in a temporary file, so that nothing is changed
    there after an error.
    """
    with tempfile.SpooledTemporaryFile(_SPOOL) as file:
        yield cast(BinaryIO, file)
        file.seek(0)
        with _open_remote(address, "wb") as target:
            shutil.copyfileobj(file, target, 1 << 20)


def _open_remote(address: str, mode: str) -> Any:
    system, name = _system(address)
    return system.open(name, mode)


def _system(address: str) -> tuple[Any, str]:
    """Returns the file system of an address, and the file's name there."""
    try:
        system, name = fsspec.core.url_to_fs(address)
    except ImportError as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "fsspec":
            raise
        scheme = address.partition("://")[0]
        raise ModuleNotFoundError(
            f"files at {scheme}:// need one more package: {error}", name=error.name
        ) from error
    except ValueError as error:
        scheme = address.partition("://")[0]
        raise ParameterError(
            f"{address!r}: must be a path, or an address that fsspec knows (http, s3, hdfs, "
            f"memory, ...), got {scheme}://: {error}"
        ) from error
    return system, str(name)
