"""`MXRecordIO`: records one after another.

Written files are not buffered: what `write` has returned from is in the file, whatever then happens
to the process, a fork writes nothing twice, and a record that does not fit on the disk is taken
back. At an address the file is there, whole, once it is closed; after an error in a `with` block,
or where nobody closes it, there is what there was. Readers are buffered; a process that got one by
fork opens the file for itself, at the same place, since two processes would move one position
between them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any, BinaryIO, Final, Self

from hybridnet.base.errors import FormatError, MXNetError
from hybridnet.base.remote import open_binary, size_of
from hybridnet.base.upload import Upload
from hybridnet.engine import RLock

from .framing import encode, find_record, read_record

__all__ = ["MXRecordIO"]

_BUFFER: Final = 1 << 16  # bytes


class MXRecordIO:
    """A file of records, read or written in order.

    Args:
        uri: the path, or an address such as ``s3://bucket/train.rec`` (`hybridnet.base.remote`).
        flag: 'r' to read, 'w' to write a new file.
        skip_damaged: go on with the next record where one is damaged, and note it in `damages`;
            otherwise that raises.

    Attributes:
        is_open: whether it is open.
        writable: whether it was opened for writing.
        damages: the messages about what `skip_damaged` has left out since the file was opened.

    Raises:
        ValueError: `flag` is neither.
        OSError: the file cannot be opened.
    """

    def __init__(
        self, uri: str | os.PathLike[str], flag: str, *, skip_damaged: bool = False
    ) -> None:
        self.is_open = False
        self.uri = os.fspath(uri)
        self.flag = flag
        self.skip_damaged = skip_damaged
        self.writable = flag == "w"
        self.open()

    def open(self) -> None:
        """Opens the file, at its beginning; one for writing is emptied."""
        if self.flag not in ("r", "w"):
            raise ValueError(f"MXRecordIO: flag must be 'r' or 'w', got {self.flag!r}")
        self.close()
        self._open_at(0)
        self.damages: list[str] = []

    def close(self) -> None:
        """Closes the file; more than once does no harm."""
        if self.is_open:
            self.is_open = False
            self.pid: int | None = None
            self._file.close()

    def reset(self) -> None:
        """Goes back to the first record; a file for writing is emptied."""
        self.close()
        self.open()

    def write(self, buf: bytes) -> None:
        """Appends a record.

        Args:
            buf: its bytes, fewer than 2**29.

        Raises:
            ParameterError: `buf` is no bytes, or too long.
            MXNetError: the file is open for reading, or closed, or another process opened it.
            OSError: it cannot be written; then nothing of the record is in the file.
        """
        self._check("write", writes=True)
        frames = encode(buf)
        rest = memoryview(frames)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except BaseException as error:
            self._take_back()
            if isinstance(error, OSError) and error.filename is None:
                error.filename = self.uri
            raise
        self._offset += len(frames)

    def read(self) -> bytes | Any:
        """Returns the next record; None at the end.

        Raises:
            FormatError: the record is damaged; the next call reads the one after it, if there is.
            MXNetError: the file is open for writing, or closed.
        """
        self._check("read", writes=False)
        with self._lock:
            return self._read()

    def __iter__(self) -> Iterator[bytes]:
        """Yields the records from here to the end."""
        while (data := self.read()) is not None:
            yield data

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            self._discard()
        self.close()

    def __del__(self) -> None:
        if getattr(self, "is_open", False) and not isinstance(self._file, Upload):
            self.close()

    def _discard(self) -> None:
        """Leaves what is at an address as it was; files on this machine keep what they have."""
        if self.is_open and isinstance(self._file, Upload):
            self._file.discard()

    def __getstate__(self) -> dict[str, Any]:
        """Returns what to pickle: the copy opens the file again, at its beginning."""
        if self.is_open and self.writable:
            raise MXNetError(
                f"{type(self).__name__}: only readers can be pickled while open, since opening for "
                f"writing empties the file, got a writer of {self.uri}; close it first"
            )
        held = ("_file", "_lock", "pid")
        return {name: value for name, value in self.__dict__.items() if name not in held}

    def __setstate__(self, d: dict[str, Any]) -> None:
        """Makes the object that was pickled, and opens its file if it was open."""
        self.__dict__.update(d)
        was_open, self.is_open = self.is_open, False
        if was_open:
            self.open()

    def _open_at(self, offset: int) -> None:
        self._file: BinaryIO = (
            open_binary(self.uri, "wb", 0)
            if self.writable
            else open_binary(self.uri, "rb", _BUFFER)
        )
        # Of the reading position, so that threads can share a reader.
        self._lock = RLock()
        self._offset = offset
        if offset:
            self._file.seek(offset)
        self.pid = os.getpid()
        self.is_open = True

    def _check(self, what: str, *, writes: bool) -> None:
        """Raises unless the file is open for this; in a forked process a reader opens it anew."""
        name = f"{type(self).__name__}.{what}"
        if not self.is_open:
            raise MXNetError(f"{name}: {self.uri} must be open, got a closed one; call open()")
        if self.writable != writes:
            need = ("reading", "writing")[writes]
            raise MXNetError(f"{name}: {self.uri} must be open for {need}, got flag {self.flag!r}")
        if self.pid != os.getpid():
            if self.writable:
                raise MXNetError(
                    f"{name}: a file is written by the process that opened it, {self.pid}, got "
                    f"process {os.getpid()}; open another file there"
                )
            self._file.close()
            self._open_at(self._offset)

    def _read(self) -> bytes | None:
        start = self._offset
        while True:
            try:
                data, self._offset = read_record(
                    self._file, self.uri, self._offset, self.skip_damaged
                )
                return data
            except FormatError as error:
                found = find_record(self._file, self._offset + 1, self._offset)
                end = (size_of(self._file) or 0) if found is None else found
                self._offset = self._file.seek(end)
                if not self.skip_damaged:
                    raise
                self.damages.append(str(error))
            except BaseException:
                self._offset = self._file.seek(start)
                raise

    def _take_back(self) -> None:
        """Removes the part of a record that could not be written whole."""
        with contextlib.suppress(OSError):  # a pipe has no position
            self._file.truncate(self._offset)
            self._file.seek(self._offset)
