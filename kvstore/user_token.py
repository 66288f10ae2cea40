"""The secret of a user on a machine: what stands for a run's token where there is none.

On loopback a run needs no token of its own. That other users of the machine do not take part, its
processes show each other that they can read a file which this user alone may read.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import Final

from hybridnet.kvstore.errors import KVStoreError
from hybridnet.kvstore.own_folder import make_folder
from hybridnet.kvstore.run_token import TOKEN, RunToken

_MEMORY: Final = Path("/dev/shm")
_FILE: Final = "token"


def user_folder(memory: Path = _MEMORY) -> Path:
    """Returns the folder in memory of what this user's processes have in common."""
    return memory / f"hybridnet-{os.geteuid() if hasattr(os, 'geteuid') else 0}"


def user_token() -> RunToken:
    """Returns the token that all processes of this user on this machine have.

    It is made when it is asked for first, and there until the machine is started again. Where
    another user has made the folder in memory, it is in the home.

    Raises:
        KVStoreError: there is no folder that this user alone may enter.
    """
    wrong = []
    for folder in _folders():
        try:
            make_folder(folder)
            return _read_or_make(folder / _FILE)
        except (KVStoreError, OSError) as error:
            wrong.append(str(error))
    raise KVStoreError(
        "processes on loopback without a token require a folder of this user's alone for one, got "
        f"none; set {TOKEN} in every process, or use hybridnet launch: {'; '.join(wrong)}"
    )


def _folders() -> list[Path]:
    found = [user_folder()] if _MEMORY.is_dir() else []
    with contextlib.suppress(RuntimeError):  # there is no home
        found.append(Path("~/.cache/hybridnet/token").expanduser())
    return found


def _read_or_make(path: Path) -> RunToken:
    """Returns the token of a file, which appears whole; of two that make it, one has made it."""
    if not path.exists():
        early = path.with_name(f"{path.name}-{secrets.token_hex(8)}")
        RunToken.new().write(early)
        try:
            with contextlib.suppress(FileExistsError):
                os.link(early, path)
        finally:
            early.unlink()
    return RunToken.from_file(path)
