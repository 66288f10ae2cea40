"""Files that appear whole or not at all, and files that nobody else can have written."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["atomic_write", "is_own", "read_own"]


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Opens a binary file that takes the place of `path` when the block ends without an error.

    Readers see the old file or the new one, never a part: the bytes go to a temporary file in the
    same folder, are forced to the disk, and the file is renamed. After an error `path` is untouched
    and the temporary file is gone. A symbolic link stays, and what it points to is replaced.
    What a writer of the same file that was killed has left in the folder is removed.
    """
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


def _temporary(target: Path) -> tuple[BinaryIO, Path]:
    """Opens a new file beside `target`, locked: whoever finds it unlocked may remove it."""
    key = hashlib.blake2b(os.fsencode(target.name), digest_size=6).hexdigest()
    _remove_abandoned(target.parent, key)
    while True:
        path = target.with_name(f".{key}-{secrets.token_hex(8)}.tmp")
        # Mode "x" obeys the umask as a plain open does; tempfile's files are for their owner alone.
        try:
            file = open(path, "xb")  # noqa: SIM115 - the caller closes it
        except OSError as error:
            error.filename = os.fspath(target)
            raise
        if fcntl is None:
            return file, path
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
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


def is_own(facts: os.stat_result) -> bool:
    """Whether a file or folder is this user's, and nobody else may write to it."""
    if not hasattr(os, "geteuid"):
        return True  # Windows keeps a user's folders by other means
    return facts.st_uid == os.geteuid() and not facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def read_own(path: str | os.PathLike[str]) -> bytes | None:
    """Reads a plain file of this user; None where it is something else, such as a link.

    Raises:
        OSError: it cannot be opened or read.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with open(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb") as stream:
        facts = os.fstat(stream.fileno())
        if not stat.S_ISREG(facts.st_mode) or not is_own(facts):
            return None
        return stream.read()
