"""Checkpoints at addresses, such as ``s3://bucket/run/model-100``.

Each folder there has a stand-in on this machine. A file is written in it as any other, and brought
to its address when it is whole; it is fetched from there to be read. So the rest of this package
knows paths only, and names files by `name_of`.

Other machines' savers cannot be kept out by locks: each folder at an address is one saver's.
"""

from __future__ import annotations

import atexit
import contextlib
import shutil
from pathlib import Path
from typing import Final

from hybridnet.base.lazy import tempfile
from hybridnet.base.locks import free_in_children
from hybridnet.base.remote import (
    file_exists,
    is_remote,
    open_binary,
    remove_file,
)
from hybridnet.engine import RLock

_CHUNK: Final = 1 << 20  # bytes
#: Folder at an address <-> its stand-in.
_folders: Final[dict[str, Path]] = {}
_addresses: Final[dict[Path, str]] = {}
_lock: Final = free_in_children(RLock())


def local_folder(name: str) -> Path:
    """Returns a folder as a path: that of its stand-in where it is an address."""
    if not is_remote(name):
        return Path(name)
    address = name.rstrip("/")
    with _lock:
        if address not in _folders:
            folder = Path(tempfile.mkdtemp(prefix="hybridnet-checkpoints-"))
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            _folders[address], _addresses[folder] = folder, address
        return _folders[address]


def local_path(name: str) -> Path:
    """Returns a file as a path, in the stand-in of its folder where that is an address."""
    if not is_remote(name):
        return Path(name)
    folder, _, base = name.rpartition("/")
    return local_folder(folder) / base


def name_of(path: Path) -> str:
    """Returns what users call a file: its address, if it has one."""
    address = _addresses.get(path.parent)
    return str(path) if address is None else f"{address}/{path.name}"


def _is_at_address(path: Path) -> bool:
    return path.parent in _addresses


def deliver(path: Path) -> None:
    """Brings a file that was written to its address, if it has one; then it is there only."""
    if _is_at_address(path):
        with open(path, "rb") as file, open_binary(name_of(path), "wb") as target:
            shutil.copyfileobj(file, target, _CHUNK)
        path.unlink()


def fetch(path: Path) -> None:
    """Brings a file from its address, if it has one.

    Raises:
        OSError: it is not there, or cannot be read.
    """
    if _is_at_address(path):
        with open_binary(name_of(path)) as source, open(path, "wb") as file:
            shutil.copyfileobj(source, file, _CHUNK)


def forget(path: Path) -> None:
    """Removes what `fetch` has brought."""
    if _is_at_address(path):
        with contextlib.suppress(OSError):
            path.unlink()


def exists(path: Path) -> bool:
    """Whether there is a file, at its address if it has one."""
    return file_exists(name_of(path))


def remove(path: Path) -> None:
    """Removes a file, at its address if it has one; a missing one does no harm."""
    remove_file(name_of(path))


def modified(path: Path) -> float:
    """Returns when a file was written, in seconds since 1970; 0 where its address does not tell.

    Raises:
        FileNotFoundError: it is not there.
    """
    if not _is_at_address(path):
        return path.stat().st_mtime
    if not exists(path):
        raise FileNotFoundError(name_of(path))
    return 0.0
