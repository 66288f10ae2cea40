"""The system's features that processes need to compute together: whether they are there, and where.

Linux and macOS have them. What these alone have is asked for nowhere when a module is imported, so
that one process works on Windows, too.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import tempfile
from pathlib import Path
from typing import Final

from hybridnet.kvstore.errors import KVStoreError

_NAMES: Final = {"win32": "Windows", "cygwin": "Cygwin"}
_MEMORY: Final = Path("/dev/shm")
#: Bytes that are written at once where the system cannot reserve room.
_PIECE: Final = 1 << 20


def check_system() -> None:
    """Refuses a system that lacks what processes that compute together need.

    Raises:
        KVStoreError: it does.
    """
    if hasattr(select, "poll") and hasattr(signal, "SIGKILL"):
        return
    raise KVStoreError(
        "several processes that compute together (hybridnet launch, stores of type dist_*, "
        "clusters and gangs) require Linux or macOS, got "
        f"{_NAMES.get(sys.platform, sys.platform)}: run one process here, with a store of type "
        "'local' or 'device' for its devices, or all of them in a Linux on this machine (WSL 2, or "
        "a container)"
    )


def memory_folder() -> Path:
    """Returns the folder for files in memory; where there is none, that for temporary files.

    macOS has none, and in a container it may not be written to.
    """
    if _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK | os.X_OK):
        return _MEMORY
    return Path(tempfile.gettempdir())


def take_room(handle: int, size: int) -> None:
    """Gives a new file its size, all of which is there.

    Args:
        handle: the open file.
        size: bytes.

    Raises:
        OSError: there is not so much room.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(handle, 0, size)
        return
    # macOS: what was never written has no room yet, and a full disk would kill who writes later.
    zeros = bytes(min(size, _PIECE))
    for begin in range(0, size, _PIECE):
        os.pwrite(handle, zeros[: size - begin], begin)
