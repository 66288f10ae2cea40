"""The way to a folder, step by step from the root on: can other users put another in its place?

All floors that keep something in folders of the user's ask this, and this floor is below them all.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_OTHERS_BITS: Final = stat.S_IRWXG | stat.S_IRWXO
#: As many symbolic links as Linux follows.
_MOST_LINKS: Final = 40


def unsafe_step(path: Path) -> str:
    """Says where others can put something else in the place of a folder, or of one above it.

    From the root on: who finds each step safe knows that nobody changes it later. Below a folder
    that others cannot enter it does not matter what they could write there.

    Args:
        path: of the folder; symbolic links on the way are followed.

    Returns:
        A sentence; "" where all steps are safe, or users are kept apart by other means (Windows).

    Raises:
        OSError: a folder is not there, or cannot be looked at.
    """
    if not hasattr(os, "geteuid"):
        return ""
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
        facts = os.lstat(entry)
        if not is_closed and _is_replaceable(facts, above, owners):
            return (
                f"another user can put something else in the place of {entry}: {here} (mode "
                f"{stat.S_IMODE(above.st_mode):04o}, user {above.st_uid}) must be root's or this "
                "user's, and not writable by others, or sticky"
            )
        if stat.S_ISLNK(facts.st_mode):
            links += 1
            if links > _MOST_LINKS:
                return f"{path} leads over more than {_MOST_LINKS} links"
            target = os.readlink(entry)
            if target.startswith("/"):
                here, above, is_closed = "/", os.lstat("/"), False
            ahead += [part for part in reversed(target.split("/")) if part]
            continue
        here, above = entry, facts
        is_closed = is_closed or (facts.st_uid in owners and not facts.st_mode & _OTHERS_BITS)
    return ""


def _is_replaceable(entry: os.stat_result, above: os.stat_result, owners: tuple[int, int]) -> bool:
    """Whether others than the owners can put something else in the place of a folder's entry."""
    if above.st_uid not in owners:
        return True
    if not above.st_mode & _WRITE:
        return False
    return not above.st_mode & stat.S_ISVTX or entry.st_uid not in owners
