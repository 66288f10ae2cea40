"""Programs on disk: a folder of files that processes share, each written once and read often.

Who may write. What is in an entry is run, so the folder must be the user's own: it is made for
the user alone, and a folder or a file that somebody else owns or may write is not used. That is
asked whenever the folder or a file is opened, and no symbolic links are followed: see `OwnFolder`.

Many processes. An entry is written under a name of its own and then renamed, so a reader sees all
of it or nothing, and of two writers either wins. A file that was cut off, damaged or renamed fails
its checksum, is removed, and is written anew when the program has been compiled again.

Size. Reading an entry touches it; when the folder outgrows its bound, the entries touched least
recently go. Nothing here raises: without its folder a process compiles as if it were the first.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hybridnet.base import config
from hybridnet.base.files import NotOwnError, OwnFolder
from hybridnet.base.lazy import hashlib
from hybridnet.base.locks import free_in_children
from hybridnet.engine import RLock

_log: Final = logging.getLogger("hybridnet.programs")

_MAGIC: Final = b"hybridnet program 1\n"
_DIGEST: Final = 32
_HEADER: Final = len(_MAGIC) + _DIGEST
_SUFFIX: Final = ".program"
_PARTIAL: Final = ".partial"
# Seconds after which a partial file belongs to no living writer.
_ABANDONED_SECONDS: Final = 3600.0
# The share of the bound that is left after entries were dropped, so that it is not done each time.
_KEPT_SHARE: Final = 0.9
# Writes after which the folder's bytes are counted anew.
_RECOUNT: Final = 64


@dataclass(frozen=True, slots=True)
class FolderInfo:
    """The contents of the folder now."""

    #: Programs.
    entries: int
    #: Bytes of all their files.
    size: int


class ProgramFolder:
    """Bytes by name, in a folder; safe from many threads and processes.

    Args:
        path: the folder; made at the first write.
        limit: bytes that all entries may take.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self.path = path
        self.limit = limit
        # Re-entrant, since finalizers may run anywhere.
        self._lock = free_in_children(RLock())
        self._written = 0
        # Bytes in the folder, as far as this process knows; None before the first write.
        self._size: int | None = None
        self._is_refused = False

    def has(self, name: str) -> bool:
        """Whether there is an entry, which may still turn out to be damaged."""
        folder = self._open()
        if folder is None:
            return False
        with folder:
            return folder.exists(name + _SUFFIX)

    def names(self) -> set[str]:
        """Returns the names of all entries there are now."""
        return {name.removesuffix(_SUFFIX) for _, _, name in self._entries()}

    def read(self, name: str) -> bytes | None:
        """Returns an entry, or None; removes a damaged one."""
        folder = self._open()
        if folder is None:
            return None
        with folder:
            try:
                body = _body(name, folder.read(name + _SUFFIX))
            except NotOwnError as error:
                _log.warning("a program in %s is not used: %s", self.path, error)
                return None
            except OSError:
                return None
            if body is None:
                _log.info("removed a damaged program, %s, from %s", name, self.path)
                folder.remove(name + _SUFFIX)
            return body

    def write(self, name: str, body: bytes) -> bool:
        """Writes an entry, and drops others where there are too many; returns whether it did."""
        data = _sealed(name, body)
        folder = None if len(data) > self.limit else self._open(make=True)
        if folder is None:
            return False
        with self._lock:
            self._written += 1
            partial = f"{name}{_SUFFIX}.{os.getpid()}-{self._written}{_PARTIAL}"
        with folder:
            try:
                folder.write(name + _SUFFIX, data, partial)
            except FileNotFoundError:  # somebody removed the folder meanwhile: the next one is kept
                return False
            except OSError as error:  # the disk is full, say
                self._refuse(error)
                return False
            with self._lock:
                if self._size is not None:
                    self._size += len(data)
                # Other processes write, too, so what is known grows old.
                if self._size is None or self._size > self.limit or self._written % _RECOUNT == 0:
                    self._shrink(folder)
        return True

    def remove(self, name: str) -> None:
        """Removes an entry, if it is there."""
        self._remove((name + _SUFFIX,))

    def info(self) -> FolderInfo:
        """Counts the entries."""
        found = self._entries()
        return FolderInfo(len(found), sum(size for _, size, _ in found))

    def clear(self) -> FolderInfo:
        """Removes every entry, and what writers left behind; returns what there was."""
        before = self.info()
        self._remove(name for suffix in (_SUFFIX, _PARTIAL) for _, _, name in self._entries(suffix))
        with self._lock:
            self._size = None
        return before

    def _entries(self, suffix: str = _SUFFIX) -> list[tuple[float, int, str]]:
        """Returns (last use, bytes, file name) of each entry, in no order."""
        folder = self._open()
        if folder is None:
            return []
        with folder:
            return folder.entries(suffix)

    def _remove(self, names: Iterable[str]) -> None:
        folder = self._open()
        if folder is not None:
            with folder:
                for name in names:
                    folder.remove(name)

    def _shrink(self, folder: OwnFolder) -> None:
        """Counts the folder's bytes and drops the entries used least recently; lock is held."""
        for last_use, _, name in folder.entries(_PARTIAL):
            if last_use < time.time() - _ABANDONED_SECONDS:
                folder.remove(name)
        found = sorted(folder.entries(_SUFFIX))
        size = sum(length for _, length, _ in found)
        dropped = 0
        if size > self.limit:
            for _, length, name in found:
                if size <= _KEPT_SHARE * self.limit:
                    break
                folder.remove(name)
                size -= length
                dropped += 1
            _log.info("dropped %d programs from %s, which was full", dropped, self.path)
        self._size = size

    def _open(self, make: bool = False) -> OwnFolder | None:
        """Opens the folder, if it is there (or can be made) and this user's alone."""
        if self._is_refused:
            return None
        try:
            return OwnFolder(self.path, make)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._refuse(error)
            return None

    def _refuse(self, why: OSError) -> None:
        """Does without the folder from now on; says so once."""
        if not self._is_refused:
            self._is_refused = True
            _log.warning(
                "programs are not kept on disk: %s cannot be used: %s "
                "(HYBRIDNET_CACHE_DIR names another folder, or 'off')",
                self.path,
                why,
            )


def cache_folder(name: str, limit: int | None = None) -> ProgramFolder | None:
    """Returns a folder in that of HYBRIDNET_CACHE_DIR; None: nothing is kept on disk.

    Args:
        name: its name there.
        limit: bytes that all entries may take; default HYBRIDNET_CACHE_SIZE.
    """
    try:
        path = config.cache_dir()
    except RuntimeError:  # there is no home directory
        return None
    size = config.cache_size()
    return None if path is None or not size else ProgramFolder(path / name, limit or size)


def _checksum(name: str, body: bytes) -> bytes:
    digest = hashlib.blake2b(name.encode(), digest_size=_DIGEST)
    digest.update(body)
    return digest.digest()


def _sealed(name: str, body: bytes) -> bytes:
    return _MAGIC + _checksum(name, body) + body


def _body(name: str, data: bytes) -> bytes | None:
    """Returns what `_sealed` was given; None where it was not made by it, or not for this name."""
    body = data[_HEADER:]
    if data[: len(_MAGIC)] != _MAGIC or data[len(_MAGIC) : _HEADER] != _checksum(name, body):
        return None
    return body
