"""``tf.gfile``: files and folders of this machine, and files elsewhere.

What is at ``s3://`` or ``hdfs://`` is opened by the package fsspec, an extra (``remote``); folders
are those of this machine. What is not there is a `tf.errors.NotFoundError`, and what is there and
must not be, for it is not to be overwritten, a `tf.errors.AlreadyExistsError`.
"""

from __future__ import annotations

import glob
import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, final

from hybridnet.base import Upload, file_exists, is_remote, open_binary

from .errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    UnknownError,
)

__all__ = [
    "Copy", "DeleteRecursively", "Exists", "FastGFile", "GFile", "Glob", "IsDirectory",
    "ListDirectory", "MakeDirs", "MkDir", "Open", "Remove", "Rename", "Stat", "Walk",
]  # fmt: skip

_KINDS: tuple[tuple[type[OSError], type[OpError]], ...] = (
    (FileNotFoundError, NotFoundError),
    (FileExistsError, AlreadyExistsError),
    (PermissionError, PermissionDeniedError),
    (IsADirectoryError, FailedPreconditionError),
    (NotADirectoryError, FailedPreconditionError),
)


@contextmanager
def as_errors(path: Any) -> Iterator[None]:
    """Raises the system's errors as TensorFlow's."""
    try:
        yield
    except OSError as error:
        kind = next((ours for of, ours in _KINDS if isinstance(error, of)), UnknownError)
        raise kind(f"{os.fspath(path)}; {error.strerror or error}") from error


@final
class GFile:
    """A file.

    Args:
        name: its path.
        mode: 'r', 'w' or 'a'; with 'b' it is read and written as bytes, with '+' both ways.
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        self.name, self.mode = str(os.fspath(name)), mode
        raw: Any
        with as_errors(name):
            if is_remote(name):
                raw = open_binary(name, mode.replace("b", "").rstrip("+") + "b")
            else:
                raw = open(name, mode.replace("b", "") + "b")  # noqa: SIM115  # it is a file itself
        self._upload = raw if isinstance(raw, Upload) else None
        self._file: Any = raw if "b" in mode else io.TextIOWrapper(raw, encoding="utf-8")

    def read(self, n: int = -1) -> Any:
        """Returns so many bytes or characters, or all that is left."""
        return self._file.read(n)

    def readline(self) -> Any:
        """Returns the next line; '' at the end."""
        return self._file.readline()

    def readlines(self) -> list[Any]:
        """Returns the lines that are left."""
        found: list[Any] = self._file.readlines()
        return found

    def write(self, file_content: Any) -> None:
        """Writes text, or bytes."""
        self._file.write(file_content)

    def seek(self, offset: int = 0, whence: int = 0) -> None:
        """Goes to a place in it."""
        self._file.seek(offset, whence)

    def tell(self) -> int:
        """Returns the place."""
        return int(self._file.tell())

    def size(self) -> int:
        """Returns how many bytes it has."""
        self._file.flush()
        return Stat(self.name).length

    def flush(self) -> None:
        """Writes all buffered data to the file."""
        self._file.flush()

    def close(self) -> None:
        """Closes it."""
        with as_errors(self.name):
            self._file.close()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._file)

    def __next__(self) -> Any:
        return next(self._file)

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        if kind is not None and self._upload is not None:
            self._upload.discard()
        self.close()

    def __del__(self) -> None:
        upload = getattr(self, "_upload", None)
        if upload is not None:
            upload.drop()  # before its wrapper for text would close it


FastGFile = Open = GFile


def Exists(filename: Any) -> bool:
    """Returns whether there is a file or a folder."""
    return file_exists(filename) if is_remote(filename) else os.path.exists(filename)


def IsDirectory(dirname: Any) -> bool:
    """Returns whether there is a folder."""
    return os.path.isdir(dirname)


def ListDirectory(dirname: Any) -> list[str]:
    """Returns the names in a folder."""
    if not os.path.isdir(dirname):
        raise NotFoundError(f"Could not find directory {os.fspath(dirname)}")
    return os.listdir(dirname)


def MakeDirs(dirname: Any) -> None:
    """Makes a folder, and those around it, unless it is there."""
    with as_errors(dirname):
        os.makedirs(dirname, exist_ok=True)


def MkDir(dirname: Any) -> None:
    """Makes a folder in one that is there."""
    with as_errors(dirname):
        os.mkdir(dirname)


def Remove(filename: Any) -> None:
    """Removes a file."""
    with as_errors(filename):
        os.remove(filename)


def DeleteRecursively(dirname: Any) -> None:
    """Removes a folder with all that is in it."""
    with as_errors(dirname):
        if os.path.isdir(dirname):
            shutil.rmtree(dirname)
        else:
            os.remove(dirname)


def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """Gives a file or a folder another path."""
    _check_free(newname, overwrite)
    with as_errors(oldname):
        os.replace(oldname, newname)


def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """Copies a file, from other places, too."""
    _check_free(newpath, overwrite)
    with GFile(oldpath, "rb") as source, GFile(newpath, "wb") as made:
        shutil.copyfileobj(source, made)


def _check_free(path: Any, overwrite: bool) -> None:
    if not overwrite and Exists(path):
        raise AlreadyExistsError(f"file already exists: {os.fspath(path)}")


def Glob(filename: Any) -> list[str]:
    """Returns the paths that a pattern fits (``*``, ``?``, ``[a-c]``); of a list all together."""
    patterns = filename if isinstance(filename, (list, tuple)) else [filename]
    return [path for one in patterns for path in sorted(glob.glob(os.fspath(one)))]


class FileStatistics(NamedTuple):
    """The statistics of a file, as `Stat` returns them.

    Attributes:
        length: its size in bytes.
        mtime_nsec: when it was last modified, in nanoseconds since 1970.
        is_directory: whether it is a folder.
    """

    length: int
    mtime_nsec: int
    is_directory: bool


def Stat(filename: Any) -> FileStatistics:
    """Returns what is known of a file."""
    with as_errors(filename):
        found = os.stat(filename)
    return FileStatistics(found.st_size, found.st_mtime_ns, os.path.isdir(filename))


def Walk(top: Any, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Gives each folder in a folder, the folders in it, and the files in it.

    Args:
        top: the folder.
        in_order: whether a folder comes before those in it.
    """
    return os.walk(os.fspath(top), topdown=in_order)
