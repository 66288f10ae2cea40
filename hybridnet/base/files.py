"""Files that appear whole or not at all, and files that nobody else can have written."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, BinaryIO, Final, cast

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]
from hybridnet.engine.ways import unsafe_step

from .addresses import is_remote
from .errors import MissingFileError
from .lazy import hashlib
from .upload import Upload

# All that a mode allows to others than the owner.
_OTHERS_BITS: Final = stat.S_IRWXG | stat.S_IRWXO
_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Opens a binary file that takes the place of `path` when the block ends without an error.

    Readers see the old file or the new one, never a part: the bytes go to a temporary file in the
    same folder, are forced to the disk, and the file is renamed. After an error `path` is untouched
    and the temporary file is gone. A symbolic link stays, and what it points to is replaced.
    What a writer of the same file that was killed has left in the folder is removed. At an address
    it is likewise: see `Upload`, which only goes forward.
    """
    if is_remote(path):
        with Upload(os.fspath(path)) as upload:
            yield cast(BinaryIO, upload)
        return
    target = Path(os.path.realpath(path))
    file, temporary = _temporary(target)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl is not None:  # before the file is closed, which ends the lock
                os.replace(temporary, target)
        if fcntl is None:
            os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.filename == str(temporary):
            error.filename = os.fspath(path)  # the name that the user gave
        raise


def lock(file: IO[Any] | int) -> None:
    """Waits until no other process, and no other opening of it in this one, has locked a file.

    It stays locked until it is closed. Where there are no such locks this does nothing.
    """
    if fcntl is not None:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)


def _temporary(target: Path) -> tuple[BinaryIO, Path]:
    """Opens a new file beside `target`, locked: whoever finds it unlocked may remove it."""
    key = hashlib.blake2b(os.fsencode(target.name), digest_size=6).hexdigest()
    _remove_abandoned(target.parent, key)
    while True:
        path = target.with_name(f".{key}-{secrets.token_hex(8)}.tmp")
        # Mode "x" obeys the umask as a plain open does; tempfile's files are for their owner alone.
        try:
            file = open(path, "xb")  # noqa: SIM115 - the caller closes it
        except FileNotFoundError as error:
            raise MissingFileError(error.errno, error.strerror, os.fspath(target)) from None
        except OSError as error:
            error.filename = os.fspath(target)
            raise
        if fcntl is None:
            return file, path
        lock(file)
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.stat(path), os.fstat(file.fileno())):
                return file, path
        file.close()  # another writer removed it before it was locked


def _remove_abandoned(folder: Path, key: str) -> None:
    """Removes temporary files whose writers were killed: nobody has them locked any more."""
    with contextlib.suppress(OSError):
        names = os.listdir(folder) if fcntl is not None else []
        for name in names:
            if not (name.startswith(f".{key}-") and name.endswith(".tmp")):
                continue
            with contextlib.suppress(OSError), open(folder / name, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(folder / name)


class NotOwnError(PermissionError):
    """A file or folder whose content is run, and which this user is not alone to write and read."""


class OwnFolder:
    """A folder of this user alone, open. What is in it is found through the open folder.

    So nobody can put another folder in its place between the check and the use; symbolic links are
    not followed, neither in place of the folder nor of a file in it. Folders above it may be links;
    nobody else may be able to put others in their place either, all the way up.

    Args:
        path: of the folder.
        make: whether to make it, and the folders above it, where there is none.

    Raises:
        FileNotFoundError: there is none.
        NotOwnError: it is a link, or no folder, or somebody else owns it or may write to it, or may
            put another in its place.
        OSError: it cannot be opened or made.
    """

    def __init__(self, path: Path, make: bool = False) -> None:
        self._path = path
        self._fd: int | None = None
        if make:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        if os.open not in os.supports_dir_fd:  # Windows, which keeps a user's folders by itself
            if not path.is_dir():
                raise FileNotFoundError(f"there is no folder {path}")
            return
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise NotOwnError(f"{path} is a symbolic link, or no folder") from error
            raise
        try:
            facts = os.fstat(self._fd)
            if not _is_own(facts, _WRITE):
                raise NotOwnError(f"another user owns {path} or may write to it")
            unsafe = unsafe_step(path)
            if unsafe:
                raise NotOwnError(unsafe)
            if facts.st_mode & _OTHERS_BITS:
                os.fchmod(self._fd, 0o700)
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> OwnFolder:
        return self

    def __exit__(self, *_: object) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def exists(self, name: str) -> bool:
        """Whether there is such a file, which may still be one that is not read."""
        try:
            os.stat(self._at(name), dir_fd=self._fd, follow_symlinks=False)
        except OSError:
            return False
        return True

    def entries(self, suffix: str) -> list[tuple[float, int, str]]:
        """Returns (last use, bytes, name) of each file whose name ends so, in no order."""
        found = []
        with (
            contextlib.suppress(OSError),
            os.scandir(self._path if self._fd is None else self._fd) as listing,
        ):
            for entry in listing:
                if entry.name.endswith(suffix):
                    with contextlib.suppress(OSError):
                        facts = entry.stat(follow_symlinks=False)
                        found.append((facts.st_mtime, facts.st_size, entry.name))
        return found

    def open(self, name: str) -> int:
        """Opens a file to be read; returns the descriptor, which the caller closes.

        Raises:
            NotOwnError: it is a link, or no plain file, or others own it, or may read or write it.
            OSError: it cannot be opened.
        """
        return _open_own(self._at(name), self._fd)

    def read(self, name: str) -> bytes:
        """Returns the content of a file, and notes that it was used now.

        Raises:
            NotOwnError: it is a link, or no plain file, or others own it, or may read or write it.
            OSError: it cannot be read.
        """
        with open(self.open(name), "rb") as stream:
            data = stream.read()
        with contextlib.suppress(OSError):
            os.utime(self._at(name), dir_fd=self._fd, follow_symlinks=False)
        return data

    def write(self, name: str, data: bytes, partial: str) -> None:
        """Writes a file, which appears whole or not at all.

        Args:
            name: of the file.
            data: its content.
            partial: a name nobody else uses, under which it is written first.
        """
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        try:
            with open(os.open(self._at(partial), flags, 0o600, dir_fd=self._fd), "wb") as stream:
                stream.write(data)
            os.replace(self._at(partial), self._at(name), src_dir_fd=self._fd, dst_dir_fd=self._fd)
        except BaseException:
            self.remove(partial)
            raise

    def remove(self, name: str) -> None:
        """Removes a file, if it is there."""
        with contextlib.suppress(OSError):
            os.unlink(self._at(name), dir_fd=self._fd)

    def _at(self, name: str) -> str:
        """Returns the name that belongs to ``dir_fd``."""
        return name if self._fd is not None else os.path.join(self._path, name)


def _is_own(facts: os.stat_result, refused: int) -> bool:
    """Whether a file or folder is this user's, and others have none of the refused rights."""
    if not hasattr(os, "geteuid"):
        return True  # Windows keeps a user's folders by other means
    return facts.st_uid == os.geteuid() and not facts.st_mode & refused


def _open_own(path: str | os.PathLike[str], dir_fd: int | None) -> int:
    """Opens a plain file to be read that this user alone may read and write.

    Args:
        path: of the file.
        dir_fd: an open folder to find it from.

    Raises:
        NotOwnError: it is a link, or no plain file, or others own it, or may read or write it.
        OSError: it cannot be opened.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        fd = os.open(path, flags | getattr(os, "O_BINARY", 0), dir_fd=dir_fd)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotOwnError(f"{os.fspath(path)} is a symbolic link") from error
        raise
    facts = os.fstat(fd)
    if not stat.S_ISREG(facts.st_mode) or not _is_own(facts, _OTHERS_BITS):
        os.close(fd)
        raise NotOwnError(f"{os.fspath(path)} is not this user's alone to read and write")
    return fd
