"""Paths that a file names, kept inside the folder that they begin in."""

from __future__ import annotations

import os
import posixpath

from .addresses import is_remote
from .errors import FormatError


def contained(root: str, path: str, where: str) -> str:
    """Returns the path of what a file names, from the folder that its paths begin in.

    Args:
        root: the folder, or its address; '/' holds every path.
        path: as it is named.
        where: names it, for messages: the file and the line.

    Raises:
        FormatError: it leads out of the folder: it is another absolute path, goes up, or goes
            through a symbolic link.
    """
    if is_remote(root):
        inside = posixpath.normpath(path)
        if not (posixpath.isabs(inside) or inside.split("/")[0] == ".." or is_remote(path)):
            return f"{root.rstrip('/')}/{path}"
    else:
        joined = os.path.join(root, path)
        base, real = os.path.realpath(root), os.path.realpath(joined)
        if real == base or real.startswith(base.rstrip(os.sep) + os.sep):
            return joined
    raise FormatError(
        f"{where}: the path must lie in {root!r}, links followed, got {path!r}; take it off the "
        "list, or give a folder that holds all of them ('/' does)"
    )
