"""Files that appear whole or not at all, in folders that several savers share.

A file is written under a temporary name in its own folder, forced to the disk, and renamed; then
the folder is forced to the disk too, so that the new name outlasts a power cut. Whoever is killed
on the way leaves the old file, and a temporary one. The writer holds a lock on that as long as it
lives (the kernel gives it back when the process dies, however it dies), so that the next writer in
the folder knows which of them are dead, and removes those.

Taking a temporary file's lock, and looking for dead ones, are done under the folder's lock: nobody
can see a file that is made and not locked yet. Where the file system has no locks, nothing is
removed, and savers in different processes must use different folders.

Within a process a folder has a Var, which saving and reading tasks write: that is their order.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from hybridnet import engine
from hybridnet.base.files import lock

from .stand_in import deliver, name_of

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_TEMPORARY: Final = re.compile(r"\..+\.[0-9a-f]{16}\.part")

_folders: Final[dict[str, engine.Var]] = {}


def folder_var(folder: Path) -> engine.Var:
    """Returns the Var that stands for what is in a folder."""
    key = os.path.realpath(folder)
    return _folders.get(key) or _folders.setdefault(key, engine.new_variable(key))


def wait_for_saves(folder: Path) -> None:
    """Waits for what this process has asked to be saved in a folder so far."""
    if os.path.realpath(folder) in _folders:
        engine.wait_for_var(folder_var(folder))


@contextlib.contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Keeps other threads and processes from changing what is listed in a folder, for a moment.

    Raises:
        OSError: there is no such folder, or it may not be read.
    """
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        lock(handle)
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def whole_file(path: Path, *, locked: bool = False) -> Iterator[BinaryIO]:
    """Opens a binary file that takes the place of `path` when the block ends without an error.

    After an error `path` is untouched, and the temporary file is gone.

    Args:
        path: the file.
        locked: whether the caller holds the lock of its folder.

    Raises:
        OSError: it cannot be written; the error names `path`.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        with contextlib.ExitStack() as stack:
            with contextlib.nullcontext() if locked else folder_lock(path.parent):
                _remove_dead(path.parent)
                file = stack.enter_context(open(temporary, "xb"))
                lock(file.fileno())
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl is not None:  # before the file is closed, which ends the lock
                os.replace(temporary, path)
        if fcntl is None:  # Windows renames no open files
            os.replace(temporary, path)
        sync_folder(path.parent)
        deliver(path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            raise OSError(error.errno, error.strerror, name_of(path)) from error
        raise


def sync_folder(folder: Path) -> None:
    """Forces to the disk what was renamed or removed in a folder."""
    if fcntl is None:  # Windows opens no folders
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove_dead(folder: Path) -> None:
    """Removes the temporary files of writers that are dead; the folder's lock is held."""
    if fcntl is None:
        return
    for name in os.listdir(folder):
        if _TEMPORARY.fullmatch(name):
            # Gone meanwhile, or its writer lives (BlockingIOError), or it is another user's.
            with contextlib.suppress(OSError), open(folder / name, "rb") as file:
                fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(folder / name)
