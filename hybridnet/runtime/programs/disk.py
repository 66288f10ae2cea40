"""Programs on disk: a folder of files that processes share, each written once and read often.

Who may write. What is in an entry is run, so the folder must be the user's own: it is made for
the user alone, and a folder or a file that somebody else owns or may write is not used.

Many processes. An entry is written under a name of its own and then renamed, so a reader sees all
of it or nothing, and of two writers either wins. A file that was cut off, damaged or renamed fails
its checksum, is removed, and is written anew when the program has been compiled again.

Size. Reading an entry touches it; when the folder outgrows its bound, the entries touched least
recently go. Nothing here raises: without its folder a process compiles as if it were the first.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import stat
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from hybridnet.base.files import is_own, read_own

__all__ = ["FolderInfo", "ProgramFolder"]

_log: Final = logging.getLogger("hybridnet.programs")

_MAGIC: Final = b"hybridnet program 1\n"
_DIGEST: Final = 32
_HEADER: Final = len(_MAGIC) + _DIGEST
_SUFFIX: Final = ".program"
_PARTIAL: Final = ".partial"
# Seconds after which a partial file belongs to no living writer.
_ABANDONED: Final = 3600.0
# The share of the bound that is left after entries were dropped, so that it is not done each time.
_KEPT: Final = 0.9
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
        self._lock = threading.RLock()  # re-entrant, since finalizers may run anywhere
        self._written = 0
        # Bytes in the folder, as far as this process knows; None before the first write.
        self._size: int | None = None
        self._trusted: bool | None = None

    def has(self, name: str) -> bool:
        """Whether there is an entry, which may still turn out to be damaged."""
        return self._is_trusted() and os.path.exists(self._file(name))

    def names(self) -> set[str]:
        """Returns the names of all entries there are now."""
        if not self._is_trusted():
            return set()
        paths = [path for _, _, path in self._entries()]
        return {os.path.basename(path).removesuffix(_SUFFIX) for path in paths}

    def read(self, name: str) -> bytes | None:
        """Returns an entry, or None; removes a damaged one."""
        if not self._is_trusted():
            return None
        file = self._file(name)
        try:
            data = read_own(file)
        except OSError:
            return None
        body = None if data is None else _opened(name, data)
        if body is None:
            self.remove(name)
            return None
        with contextlib.suppress(OSError):
            os.utime(file)
        return body

    def write(self, name: str, body: bytes) -> bool:
        """Writes an entry, and drops others where there are too many; returns whether it did."""
        data = _sealed(name, body)
        if len(data) > self.limit or not self._is_trusted(make=True):
            return False
        with self._lock:
            self._written += 1
            partial = f"{self._file(name)}.{os.getpid()}-{self._written}{_PARTIAL}"
        try:
            try:
                _write_own(partial, data)
            except FileNotFoundError:  # somebody removed the folder: begin a new one
                self._trusted = None
                if not self._is_trusted(make=True):
                    return False
                _write_own(partial, data)
            os.replace(partial, self._file(name))
        except OSError as error:
            with contextlib.suppress(OSError):
                os.unlink(partial)
            self._refuse(f"cannot be written: {error}")
            return False
        with self._lock:
            if self._size is not None:
                self._size += len(data)
            # Other processes write, too, so what is known grows old.
            if self._size is None or self._size > self.limit or self._written % _RECOUNT == 0:
                self._shrink()
        return True

    def remove(self, name: str) -> None:
        """Removes an entry, if it is there."""
        with contextlib.suppress(OSError):
            os.unlink(self._file(name))

    def info(self) -> FolderInfo:
        """Counts the entries."""
        found = self._entries()
        return FolderInfo(len(found), sum(size for _, size, _ in found))

    def clear(self) -> FolderInfo:
        """Removes every entry, and what writers left behind; returns what there was."""
        before = self.info()
        for suffix in (_SUFFIX, _PARTIAL):
            for _, _, path in self._entries(suffix):
                with contextlib.suppress(OSError):
                    os.unlink(path)
        with self._lock:
            self._size = None
        return before

    def reset_after_fork(self) -> None:
        """In a forked child: frees the lock, which another thread of the parent may have held."""
        self._lock._at_fork_reinit()  # type: ignore[attr-defined]

    def _file(self, name: str) -> str:
        return os.path.join(self.path, name + _SUFFIX)

    def _entries(self, suffix: str = _SUFFIX) -> list[tuple[float, int, str]]:
        """Returns (last use, bytes, path) of each entry, in no order."""
        found = []
        with contextlib.suppress(OSError), os.scandir(self.path) as listing:
            for entry in listing:
                if entry.name.endswith(suffix):
                    with contextlib.suppress(OSError):
                        facts = entry.stat(follow_symlinks=False)
                        found.append((facts.st_mtime, facts.st_size, entry.path))
        return found

    def _shrink(self) -> None:
        """Counts the folder's bytes and drops the entries used least recently; lock is held."""
        for last_use, _, path in self._entries(_PARTIAL):
            if last_use < time.time() - _ABANDONED:
                with contextlib.suppress(OSError):
                    os.unlink(path)
        found = sorted(self._entries())
        size = sum(length for _, length, _ in found)
        dropped = 0
        if size > self.limit:
            for _, length, path in found:
                if size <= _KEPT * self.limit:
                    break
                with contextlib.suppress(OSError):
                    os.unlink(path)
                size -= length
                dropped += 1
            _log.info("dropped %d programs from %s, which was full", dropped, self.path)
        self._size = size

    def _is_trusted(self, make: bool = False) -> bool:
        """Whether the folder is there (or can be made) and only this user can write to it."""
        if self._trusted is None:
            try:
                if make:
                    self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
                facts = os.stat(self.path)
            except FileNotFoundError:
                return False
            except OSError as error:
                self._refuse(f"cannot be used: {error}")
                return False
            if not stat.S_ISDIR(facts.st_mode) or not is_own(facts):
                self._refuse("another user owns it or may write to it, and programs are run")
                return False
            self._trusted = True
        return self._trusted

    def _refuse(self, why: str) -> None:
        """Does without the folder from now on; says so once."""
        if self._trusted is not False:
            self._trusted = False
            _log.warning(
                "programs are not kept on disk: %s %s (HYBRIDNET_CACHE_DIR names another folder, "
                "or 'off')",
                self.path,
                why,
            )


def _write_own(file: str, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with open(os.open(file, flags, 0o600), "wb") as stream:
        stream.write(data)


def _checksum(name: str, body: bytes) -> bytes:
    digest = hashlib.blake2b(name.encode(), digest_size=_DIGEST)
    digest.update(body)
    return digest.digest()


def _sealed(name: str, body: bytes) -> bytes:
    return _MAGIC + _checksum(name, body) + body


def _opened(name: str, data: bytes) -> bytes | None:
    """Returns what `_sealed` was given; None where it was not made by it, or not for this name."""
    body = data[_HEADER:]
    if data[: len(_MAGIC)] != _MAGIC or data[len(_MAGIC) : _HEADER] != _checksum(name, body):
        return None
    return body
