"""Writing to an address: the file is there whole once it is closed, or what was there stays.

What is written is collected in memory and brought in parts. Nobody sees these before the end: at
``s3://`` they are parts of a multipart upload, which one request completes or aborts; elsewhere
they go to a file beside, which then gets the name. A file of one part is brought by one request.

Everything is asked for in a thread of the upload's own. Ctrl-C is raised in the main thread, and
would leave a request half noted there: begun at the server, with no number here to abort it by.
"""

from __future__ import annotations

import atexit
import concurrent.futures
import contextlib
import errno
import io
import logging
import os
import secrets
import threading
import weakref
from abc import ABC, abstractmethod
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, final

from .addresses import faults, system_of

_log: Final = logging.getLogger("hybridnet.files")

#: Bytes of a part. S3 allows 10,000 of them, so the later ones are larger.
_PART_BYTES: Final = 1 << 24
_GROWS: Final = 1000  # parts, after which they have twice as many bytes
#: The least that S3 takes as a part that is not the last.
_MIN_PART_BYTES: Final = 5 << 20
_S3: Final = frozenset({"s3", "s3a"})


@final
class Upload(io.BufferedIOBase):
    """A file that is written to an address, in order.

    At the end of a `with` block it is closed; after an error it is discarded, and so it is where
    nobody has closed it: then there is what there was.

    Args:
        address: of the file.

    Attributes:
        name: the address.

    Raises:
        ParameterError: nobody knows the address's scheme.
        ModuleNotFoundError: fsspec, or the package for this scheme, is missing.
    """

    def __init__(self, address: str) -> None:
        self.name = address
        self._over = True  # until all of it is made
        self._owner = os.getpid()
        kind = _Multipart if address.partition("://")[0] in _S3 else _Beside
        self._target: _Target = kind(address)
        self._held = bytearray()
        self._sent = self._parts = 0
        self._broken = False
        self._worker = ThreadPoolExecutor(1, "upload")
        self._begun: Future[None] | None = None
        self._over = False
        _unfinished.add(self)

    def writable(self) -> bool:
        """Whether it can be written: yes."""
        return True

    def tell(self) -> int:
        """Returns how many bytes were written."""
        return self._sent + len(self._held)

    def write(self, data: Any) -> int:
        """Appends bytes.

        Raises:
            ValueError: it is closed.
            OSError: a part could not be brought; closing it discards all, then.
        """
        if self._over or self._owner != os.getpid():
            raise ValueError(f"{self.name} must be open in this process to be written")
        with memoryview(data) as given, given.cast("B") as view:
            place = 0
            try:
                while place < len(view):
                    size = _PART_BYTES << self._parts // _GROWS
                    taken = view[place : place + size - len(self._held)]
                    self._held += taken
                    place += len(taken)
                    taken.release()
                    if len(self._held) == size:
                        self._send()
            except BaseException:
                self._broken = True
                raise
            return place

    def close(self) -> None:
        """Brings the rest, and puts the file into its place; more than once does no harm.

        Ctrl-C discards it, but for the last moment, in which the server decides: then the new file
        or the old one is there, whole.

        Raises:
            OSError: it could not be brought, now or before; what was there is as it was.
        """
        if self._over:
            return
        try:
            if self._broken:
                said = "a part could not be brought, so nothing is changed there; write it again"
                raise OSError(errno.EIO, said, self.name)
            if self._held and self._parts:
                self._send()
            self._wait()
            whole = None if self._parts else self._held
            self._begun = self._worker.submit(self._target.finish, whole)
            try:
                self._wait()
            except BaseException:
                concurrent.futures.wait([self._begun])
                raise
        except BaseException:
            self.discard()
            raise
        self._leave()

    def discard(self) -> None:
        """Closes it, and has nothing at the address be changed; more than once does no harm."""
        if self._over:
            return
        self._leave()
        if self._begun is None and not self._parts:
            return  # nothing was asked for
        try:
            # Behind what the thread is at, and done whatever becomes of the waiting for it.
            done = self._worker.submit(self._target.abort)
        except RuntimeError:  # the interpreter ends, and has ended all such threads
            self._target.abort()
        else:
            self._worker.shutdown(wait=False)
            done.result()

    def __enter__(self) -> Upload:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.discard()

    def __del__(self) -> None:
        self.drop()

    def drop(self) -> None:
        """Discards what nobody has closed, and says so."""
        if self._over or self._owner != os.getpid():
            return  # a forked process has a copy of what is the other one's
        _log.warning(
            "%s: was not closed, so it is discarded and what was there stays; call close(), or "
            "write in a with block",
            self.name,
        )
        self.discard()

    def _leave(self) -> None:
        self._over = True
        _unfinished.discard(self)
        super().close()

    def _send(self) -> None:
        """Begins to bring what is held; the next part is collected meanwhile."""
        self._wait()
        part = self._held
        self._begun = self._worker.submit(self._target.bring, part)
        self._held = bytearray()
        self._sent += len(part)
        self._parts += 1

    def _wait(self) -> None:
        """Waits for what the thread is at, and raises what went wrong there."""
        if self._begun is not None:
            self._begun.result()


class _Target(ABC):
    """The target of an upload: the file that it becomes at a server, in the upload's thread.

    It knows nothing of the upload, which ends where nobody else has it. The server is asked for
    nothing before the first bytes.

    Args:
        address: of the file.

    Attributes:
        done: whether the file is in its place.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.system, self.path = system_of(address)
        self.done = False

    def bring(self, part: bytearray) -> None:
        """Brings a part, of `_MIN_PART_BYTES` bytes or more unless it is the last."""
        with faults(self.address):
            self._write(part)

    def finish(self, whole: bytearray | None) -> None:
        """Puts the file into its place: the parts, or where there were none, its bytes."""
        with faults(self.address):
            if whole is None:
                self._commit()
            else:
                self._put(bytes(whole))
        self.done = True

    def abort(self) -> None:
        """Removes the parts; what fails is only told."""
        if self.done:
            return
        try:
            with faults(self.address):
                self._remove()
        except Exception as error:
            _log.warning("%s: parts of it may be left at the server: %s", self.address, error)

    @abstractmethod
    def _write(self, part: bytes | bytearray) -> None: ...

    @abstractmethod
    def _commit(self) -> None: ...

    @abstractmethod
    def _put(self, data: bytes) -> None: ...

    @abstractmethod
    def _remove(self) -> None: ...


@final
class _Multipart(_Target):
    """A multipart upload to S3."""

    _file: Any = None

    def _write(self, part: bytes | bytearray) -> None:
        if self._file is None:
            self._file = self.system.open(
                self.path, "wb", block_size=_MIN_PART_BYTES, autocommit=False
            )
        self._file.write(part)

    def _commit(self) -> None:
        self._file.close()
        self._file.commit()

    def _put(self, data: bytes) -> None:
        self.system.pipe_file(self.path, data)

    def _remove(self) -> None:
        if self._file is not None:
            try:
                self._file.discard()
            finally:
                self._file.closed = True  # closing it would bring what it holds


@final
class _Beside(_Target):
    """A file beside the one that is meant, whose name it gets."""

    _file: Any = None

    def __init__(self, address: str) -> None:
        super().__init__(address)
        folder, slash, name = self.path.rpartition("/")
        self._beside = f"{folder}{slash}.{name}-{secrets.token_hex(8)}.part"

    def _write(self, part: bytes | bytearray) -> None:
        if self._file is None:
            try:
                self._file = self.system.open(self._beside, "wb")
            except NotImplementedError:
                raise OSError(errno.EROFS, "files there can be read only") from None
        self._file.write(part)

    def _commit(self) -> None:
        self._file.close()
        self.system.mv(self._beside, self.path)

    def _put(self, data: bytes) -> None:
        self._write(data)
        self._commit()

    def _remove(self) -> None:
        if self._file is not None:
            with contextlib.suppress(Exception):
                self._file.close()
            self.system.rm_file(self._beside)


_unfinished: Final[weakref.WeakSet[Upload]] = weakref.WeakSet()


def _drop_all() -> None:
    """Discards what is open as the program ends."""
    for one in list(_unfinished):
        one.drop()


# What `atexit` calls comes too late: aiohttp asks for names in a thread of a pool, and all pools
# have been ended by then. This is how they are; the last that registers is called first.
getattr(threading, "_register_atexit", atexit.register)(_drop_all)
