"""Files below a folder that somebody else names: never outside of it, and whole or not at all."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from pathlib import Path, PurePath
from typing import BinaryIO

from hybridnet.kvstore.errors import KVStoreError


def write_below(folder: Path, name: str, write: Callable[[BinaryIO], None]) -> Path:
    """Writes a file that is there as a whole or as it was; returns its path.

    Args:
        folder: what may be written below.
        name: the file's path; a relative one begins at the folder. The folders in between exist.
        write: is called with the file.

    Raises:
        KVStoreError: the path leads out of the folder, by ``..`` or by a symbolic link.
        OSError: it cannot be written.
    """
    root = folder.resolve()
    *between, last = _steps(root, name)
    with contextlib.ExitStack() as open_folders:
        at = _opened(os.open(root, _folder_flags()), open_folders)
        for step in between:
            # A folder is found from the one before, which is open: nobody can put a link between.
            at = _opened(_enter(at, step, root, name), open_folders)
        early = f"{last}.new"
        with contextlib.suppress(FileNotFoundError):  # of one that was killed
            os.unlink(early, dir_fd=at)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(early, flags, 0o666, dir_fd=at), "wb") as file:
            write(file)
        os.replace(early, last, src_dir_fd=at, dst_dir_fd=at)
    return root.joinpath(*between, last)


def _folder_flags() -> int:
    return os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def _opened(descriptor: int, open_folders: contextlib.ExitStack) -> int:
    open_folders.callback(os.close, descriptor)
    return descriptor


def _steps(root: Path, name: str) -> tuple[str, ...]:
    """Returns the names on the way from a folder to a file."""
    path = PurePath(name)
    if path.is_absolute() and path.is_relative_to(root):
        path = path.relative_to(root)
    if not path.parts or path.is_absolute() or ".." in path.parts or "\0" in name:
        raise _outside(root, name)
    return path.parts


def _enter(at: int, step: str, root: Path, name: str) -> int:
    try:
        return os.open(step, _folder_flags(), dir_fd=at)
    except OSError:
        if stat.S_ISLNK(os.stat(step, dir_fd=at, follow_symlinks=False).st_mode):
            raise _outside(root, name) from None
        raise


def _outside(root: Path, name: str) -> KVStoreError:
    return KVStoreError(
        f"a server writes below {root} only, and follows no '..' and no symbolic link, got "
        f"{name!r}; HYBRIDNET_DIST_SNAPSHOT_DIR names another folder"
    )
