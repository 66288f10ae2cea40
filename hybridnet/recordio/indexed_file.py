"""`MXIndexedRecordIO`: records by key, with a second file that says where each of them is.

The index is text: a line for each record, with its key, a tab and its place in bytes.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, Final

from hybridnet.base.errors import FormatError
from hybridnet.base.remote import open_binary, open_text, ranged
from hybridnet.base.upload import Upload

from .record_file import MXRecordIO

__all__ = ["MXIndexedRecordIO"]

_AT_ONCE: Final = 32  # records that are asked for, at most


class MXIndexedRecordIO(MXRecordIO):
    """A file of records that are read in any order.

    Args:
        idx_path: the path of the index.
        uri: the path of the records.
        flag: 'r' to read, 'w' to write two new files.
        key_type: makes a key of the text in the index.
        skip_damaged: see `MXRecordIO`; it has no effect on `read_idx`.

    Attributes:
        idx: key -> place in bytes.
        keys: the keys, in the order of the index.

    Raises:
        ValueError: `flag` is neither.
        FormatError: the index is damaged.
        OSError: a file cannot be opened.
    """

    def __init__(
        self,
        idx_path: str | os.PathLike[str],
        uri: str | os.PathLike[str],
        flag: str,
        key_type: Callable[[str], Any] = int,
        *,
        skip_damaged: bool = False,
    ) -> None:
        self.idx_path = os.fspath(idx_path)
        self.idx: dict[Any, int] = {}
        self.keys: list[Any] = []
        self.key_type = key_type
        self.fidx: BinaryIO | None = None
        super().__init__(uri, flag, skip_damaged=skip_damaged)

    def open(self) -> None:
        """Opens both files, at their beginnings; those for writing are emptied."""
        super().open()
        try:
            self.idx, self.keys = {}, []
            if self.writable:
                # Unbuffered as the records are, so that what is in the one is in the other.
                self.fidx = open_binary(self.idx_path, "wb", 0)
            else:
                self._read_index()
                self._expect()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Closes both files."""
        index, self.fidx = self.fidx, None
        try:
            super().close()
        except OSError:  # the records were not brought to their address
            if isinstance(index, Upload):
                index.discard()
            raise
        finally:
            if index is not None:
                index.close()

    def _discard(self) -> None:
        super()._discard()
        if isinstance(self.fidx, Upload):
            self.fidx.discard()

    def seek(self, idx: Any) -> None:
        """Goes to the record with a key; `read` reads it.

        Raises:
            KeyError: there is no such key.
            MXNetError: the file is open for writing, or closed.
        """
        self._check("seek", writes=False)
        with self._lock:
            self._go_to(idx)

    def tell(self) -> int:
        """Returns where the next record is written, or read, in bytes."""
        self._check("tell", writes=self.writable)
        return self._offset

    def read_idx(self, idx: Any) -> bytes | Any:
        """Returns the record with a key; threads may ask at once.

        Raises:
            KeyError: there is no such key.
            FormatError: the record is damaged, or the index belongs to another file.
            MXNetError: the file is open for writing, or closed.
        """
        self._check("read_idx", writes=False)
        with self._lock:
            self._go_to(idx)
            skips, self.skip_damaged = self.skip_damaged, False
            try:
                return self._read()
            finally:
                self.skip_damaged = skips

    def read_in_order(self, keys: Sequence[Any]) -> Iterator[bytes | None]:
        """Yields the records with these keys; at an address several are fetched at once.

        Raises:
            KeyError: there is no such key.
            FormatError: a record is damaged, or the index belongs to another file.
            MXNetError: the file is open for writing, or closed.
        """
        fetched = 0
        for number, key in enumerate(keys):
            source = ranged(self._file)
            if source is not None and number >= fetched:
                nexts = keys[number : number + _AT_ONCE]
                with self._lock:
                    fetched = number + source.gather([self.idx[one] for one in nexts])
            yield self.read_idx(key)

    def write_idx(self, idx: Any, buf: bytes) -> None:
        """Appends a record under a key.

        Args:
            idx: the key, or what `key_type` makes it of.
            buf: the record.

        Raises:
            ParameterError: `buf` is no bytes, or too long.
            MXNetError: the file is open for reading, or closed, or another process opened it.
            OSError: one of the files cannot be written; then the record is in neither.
        """
        key = self.key_type(idx)
        place = self.tell()
        self.write(buf)
        assert self.fidx is not None
        line = f"{key}\t{place}\n".encode()
        before = self.fidx.tell()
        try:
            written = self.fidx.write(line)
            if written < len(line):
                self.fidx.write(line[written:])
        except BaseException as error:
            self._offset = place
            self._take_back()
            with contextlib.suppress(OSError):
                self.fidx.truncate(before)
                self.fidx.seek(before)
            if isinstance(error, OSError) and error.filename is None:
                error.filename = self.idx_path
            raise
        self.idx[key] = place
        self.keys.append(key)

    def __getstate__(self) -> dict[str, Any]:
        """Returns what to pickle: the copy opens the files again."""
        state = super().__getstate__()
        state["fidx"] = None
        return state

    def _go_to(self, key: Any) -> None:
        if key not in self.idx:
            raise KeyError(
                f"{type(self).__name__}: {self.idx_path} has no record with the key {key!r}; it "
                f"has {len(self.idx)} keys"
            )
        self._offset = self._file.seek(self.idx[key])

    def _open_at(self, offset: int) -> None:
        super()._open_at(offset)
        self._expect()

    def _expect(self) -> None:
        source = ranged(self._file)
        if source is not None:
            source.expect(sorted(set(self.idx.values())))

    def _read_index(self) -> None:
        with open_text(self.idx_path) as file:
            for number, line in enumerate(file, 1):
                fields = line.strip().split("\t")
                if fields == [""]:
                    continue
                try:
                    key, place = self.key_type(fields[0]), int(fields[1])
                    if place < 0:
                        raise ValueError("the place is negative")
                except (ValueError, IndexError) as error:
                    raise FormatError(
                        f"{self.idx_path}: line {number} must be a key, a tab and a place in "
                        f"bytes, got {line[:80]!r}; the index is damaged: {error}"
                    ) from error
                self.idx[key] = place
                self.keys.append(key)
