"""TFRecord files, of records with checksums: ``tf.python_io.TFRecordWriter``.

The records are those of event files (`hybridnet.events`).
"""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Final, cast, final

from hybridnet.base import FormatError, open_binary
from hybridnet.events import read_records
from hybridnet.events import record as framed

from ..errors import DataLossError, InvalidArgumentError
from ..gfile import as_errors

__all__ = ["TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "tf_record_iterator"]


@final
class TFRecordCompressionType:
    """The compression types of a file of records: none, zlib or gzip."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


_NAMES: Final = {0: "", 1: "ZLIB", 2: "GZIP", None: "", "": "", "ZLIB": "ZLIB", "GZIP": "GZIP"}


@final
class TFRecordOptions:
    """The options of a file of records: its compression type.

    Args:
        compression_type: one of `TFRecordCompressionType`, or 'ZLIB', 'GZIP' or ''.
    """

    def __init__(self, compression_type: Any = None) -> None:
        self.compression_type = compression_type


def compression_of(options: Any) -> str:
    """Returns how a file is packed: '', 'ZLIB' or 'GZIP'.

    Raises:
        ValueError: in another way.
    """
    given = options.compression_type if isinstance(options, TFRecordOptions) else options
    if given not in _NAMES:
        raise ValueError(f"compression_type must be '', 'ZLIB' or 'GZIP', got {given!r}")
    return _NAMES[given]


@final
class TFRecordWriter:
    """Writes a file of records.

    Args:
        path: of the file.
        options: how it is packed: `TFRecordOptions`, or a name of one; default not at all.

    Raises:
        tf.errors.OpError: it cannot be written.
    """

    def __init__(self, path: Any, options: Any = None) -> None:
        kind = compression_of(options)
        with as_errors(path):
            self._file: BinaryIO = open(path, "wb")  # noqa: SIM115  # it is a file itself
        self._packer = None
        if kind:
            self._packer = zlib.compressobj(wbits=31 if kind == "GZIP" else 15)

    def write(self, record: bytes) -> None:
        """Writes a record."""
        data = framed(record.encode() if isinstance(record, str) else record)
        self._file.write(data if self._packer is None else self._packer.compress(data))

    def flush(self) -> None:
        """Writes all buffered records to the file."""
        if self._packer is not None:
            self._file.write(self._packer.flush(zlib.Z_SYNC_FLUSH))
        self._file.flush()

    def close(self) -> None:
        """Closes the file."""
        if self._file.closed:
            return
        if self._packer is not None:
            self._file.write(self._packer.flush())
        self._file.close()

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


@contextmanager
def open_packed(path: Any, compression: str) -> Iterator[BinaryIO]:
    """A block in which a file, which may be packed, is open.

    Args:
        path: of it.
        compression: '', 'ZLIB' or 'GZIP'.

    Raises:
        tf.errors.OpError: it cannot be read.
    """
    name = path.decode() if isinstance(path, bytes) else os.fspath(path)
    with as_errors(name):
        file = open_binary(name)
    with file:
        if compression == "GZIP":
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield cast("BinaryIO", unpacked)
        elif compression == "ZLIB":
            yield io.BytesIO(zlib.decompress(file.read()))
        else:
            yield file


def tf_record_iterator(path: Any, options: Any = None) -> Iterator[bytes]:
    """Yields the records of a file.

    Args:
        path: of it.
        options: how it is packed; see `TFRecordOptions`.

    Raises:
        tf.errors.OpError: it cannot be read, or a record is damaged.
    """
    kind = compression_of(options)
    with open_packed(path, kind) as file:
        try:
            yield from read_records(file, str(path), whole=True)
        except FormatError as error:
            raise DataLossError(str(error)) from error
        except (OSError, EOFError, zlib.error) as error:
            raise InvalidArgumentError(f"{path}: {error}") from error
