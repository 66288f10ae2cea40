"""Folders that this user alone may enter, and that nobody else can put others in the place of.

Sockets and mapped files in them are reached past the run's token and encryption, so who else could
make such a folder first, under its name that can be guessed, would read and write along.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from hybridnet.kvstore.errors import KVStoreError

__all__ = ["check_folder", "is_own_folder", "make_folder"]

_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
#: As many symbolic links as Linux follows.
_MOST_LINKS: Final = 40


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
    if not stat.S_ISDIR(found.st_mode) or not _is_own(found) or found.st_mode & _OTHERS:
        raise KVStoreError(
            "a folder for sockets and values must be a folder of this user's that nobody else may "
            f"enter (mode 0700), got {path} (mode {stat.S_IMODE(found.st_mode):04o}, user "
            f"{found.st_uid}); remove it if it is yours"
        )
    _check_way(path)


def is_own_folder(path: Path) -> bool:
    """Whether there is a folder, and it is this user's alone."""
    try:
        check_folder(path)
    except (KVStoreError, OSError):
        return False
    return True


def _is_own(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid()


def _check_way(path: Path) -> None:
    """Refuses a folder in whose place, or in that of a folder above it, others can put another.

    From the root on: who finds each step safe knows that nobody changes it later. Below a folder
    that others cannot enter it does not matter what they could write there. `base/files.py` does
    the same, as neither of the two floors may import the other; tests/base/test_own_folders.py
    holds both.

    Raises:
        KVStoreError: somebody else can.
        OSError: a folder is not there, or cannot be looked at.
    """
    owners = (0, os.geteuid())
    here, above = "/", os.lstat("/")
    ahead = [part for part in reversed(os.fspath(path.absolute()).split("/")) if part]
    links, is_closed = 0, False
    while ahead:
        name = ahead.pop()
        if name in (".", ".."):
            if name == "..":
                here, is_closed = os.path.dirname(here), False
                above = os.lstat(here)
            continue
        entry = os.path.join(here, name)
        found = os.lstat(entry)
        if not is_closed and _is_replaceable(found, above, owners):
            raise KVStoreError(
                f"another user can put something else in the place of {entry}: {here} (mode "
                f"{stat.S_IMODE(above.st_mode):04o}, user {above.st_uid}) must be root's or this "
                "user's, and not writable by others, or sticky; HYBRIDNET_DIST_STATE_DIR names "
                "another for the values of servers"
            )
        if stat.S_ISLNK(found.st_mode):
            links += 1
            target = os.readlink(entry)
            if links > _MOST_LINKS:
                raise KVStoreError(f"{path} leads over more than {_MOST_LINKS} links")
            if target.startswith("/"):
                here, above, is_closed = "/", os.lstat("/"), False
            ahead += [part for part in reversed(target.split("/")) if part]
            continue
        here, above = entry, found
        is_closed = is_closed or (found.st_uid in owners and not found.st_mode & _OTHERS)


def _is_replaceable(entry: os.stat_result, above: os.stat_result, owners: tuple[int, int]) -> bool:
    """Whether others than the owners can put something else in the place of a folder's entry."""
    if above.st_uid not in owners:
        return True
    if not above.st_mode & _WRITE:
        return False
    return not above.st_mode & stat.S_ISVTX or entry.st_uid not in owners
