"""Folders that this user alone may enter, and that nobody else can put others in the place of.

Sockets and mapped files in them are reached past the run's token and encryption, so who else could
make such a folder first, under its name that can be guessed, would read and write along.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from hybridnet.engine.ways import unsafe_step
from hybridnet.kvstore.errors import KVStoreError

_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_OTHERS_BITS: Final = stat.S_IRWXG | stat.S_IRWXO


def make_folder(path: Path) -> None:
    """Makes a folder that only the user may enter; one that is there must be such.

    Raises:
        KVStoreError: it is somebody else's, others may write in it or put another in its place, or
            it cannot be made.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = path.lstat()
        if stat.S_ISDIR(found.st_mode) and _is_own(found) and not found.st_mode & _WRITE:
            path.chmod(0o700)  # nobody else has put anything there
    except OSError as error:
        raise KVStoreError(
            f"a folder for sockets and values, {path}, cannot be made: {error.strerror}; "
            "HYBRIDNET_DIST_STATE_DIR names another for those of servers"
        ) from error
    check_folder(path)


def check_folder(path: Path) -> None:
    """Refuses a folder that is not this user's alone.

    Raises:
        KVStoreError: it is no folder, or a link; it is somebody else's; others may enter it; or
            they can put another in its place, or in that of a folder above it.
        OSError: it, or one above it, is not there or cannot be looked at.
    """
    if not hasattr(os, "geteuid"):
        return  # Windows keeps a user's folders by other means
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or not _is_own(found) or found.st_mode & _OTHERS_BITS:
        raise KVStoreError(
            "a folder for sockets and values must be a folder of this user's that nobody else may "
            f"enter (mode 0700), got {path} (mode {stat.S_IMODE(found.st_mode):04o}, user "
            f"{found.st_uid}); remove it if it is yours"
        )
    unsafe = unsafe_step(path)
    if unsafe:
        raise KVStoreError(
            f"{unsafe}; HYBRIDNET_DIST_STATE_DIR names another for the values of servers"
        )


def is_own_folder(path: Path) -> bool:
    """Whether there is a folder, and it is this user's alone."""
    try:
        check_folder(path)
    except (KVStoreError, OSError):
        return False
    return True


def _is_own(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid()
