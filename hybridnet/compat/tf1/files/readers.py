"""Readers, which queues of file names feed: ``tf.TextLineReader``, ``tf.TFRecordReader``.

A reader is where it is in its file for all sessions of its graph. It asks the queue for the next
name when a file has ended, in the midst of a run.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from hybridnet.base import read_file as bytes_of_file
from hybridnet.clusters import SharedUse
from hybridnet.engine import RLock

from ..dtypes import int64, string
from ..gfile import as_errors
from ..graph import Operation, Tensor, convert_to_tensor, name_scope
from ..operations.scripts import host_call, host_tensor
from ..operations.strings import each, strings
from ..queues.inputs import input_producer
from ..queues.queue import QueueBase
from .records import compression_of, open_packed, tf_record_iterator

__all__ = [
    "FixedLengthRecordReader", "IdentityReader", "ReaderBase", "TFRecordReader", "TextLineReader",
    "WholeFileReader", "matching_files", "read_file", "write_file",
]  # fmt: skip

Array = np.ndarray[Any, Any]
#: Keys and values of a file's records.
Records = Iterator[tuple[bytes, bytes]]


class ReaderBase:
    """The base class of readers, which take file names from a queue and return records.

    Args:
        kind: the type of the reader's Operations.
        records: returns the records of the file of a name.
        name: the name of the reader.
    """

    def __init__(self, kind: str, records: Callable[[bytes], Records], name: str | None) -> None:
        self._kind = kind
        self._records = records
        self._name = name or kind
        self._lock = RLock()
        self._current: Records | None = None
        self._produced = self._completed = 0

    def read(self, queue: QueueBase, name: str | None = None) -> tuple[Tensor, Tensor]:
        """Returns the next record: a key, which tells where it is from, and what is in it.

        Args:
            queue: of file names; the next is taken when a file has ended.

        Raises (in a run):
            OutOfRangeError: there is no file left.
        """
        use = queue._ref.use("take", {"count": 1})

        def run(ask: Callable[[SharedUse], Any]) -> list[Any]:
            with self._lock:
                return [np.asarray(one, object) for one in self._next(lambda: ask(use))]

        name = name or f"{self._name}Read"
        made: tuple[Tensor, Tensor] = host_call(
            "ReaderReadV2", run, [], [string, string], [(), ()], name=name, asks=True
        )
        return made

    def read_up_to(
        self, queue: QueueBase, num_records: Any, name: str | None = None
    ) -> tuple[Tensor, Tensor]:
        """Returns the next records of one file, at most so many, as vectors of keys and values."""
        use = queue._ref.use("take", {"count": 1})
        count = convert_to_tensor(num_records, int64)

        def run(ask: Callable[[SharedUse], Any], most: Array) -> list[Any]:
            with self._lock:
                first = self._next(lambda: ask(use))
                rest = islice(self._current or (), int(most) - 1)
                rows = [first, *rest]
                self._produced += len(rows) - 1
            made = np.empty((2, len(rows)), object)
            made[:] = np.array(rows, object).T
            return list(made)

        name = name or f"{self._name}ReadUpTo"
        kinds, dims = [string, string], [(None,), (None,)]
        made: tuple[Tensor, Tensor] = host_call(
            "ReaderReadUpToV2", run, [count], kinds, dims, name=name, asks=True
        )
        return made

    def _next(self, ask: Callable[[], Any]) -> tuple[bytes, bytes]:
        name: Any
        while True:
            if self._current is None:
                (name,) = ask()
                self._current = self._records(np.asarray(name, object).item())
            found = next(self._current, None)
            if found is not None:
                self._produced += 1
                return found
            self._current = None
            self._completed += 1

    def num_records_produced(self, name: str | None = None) -> Tensor:
        """Returns how many records it has given, int64."""
        return self._count("ReaderNumRecordsProducedV2", lambda: self._produced, name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """Returns how many files it has read to their ends, int64."""
        return self._count("ReaderNumWorkUnitsCompletedV2", lambda: self._completed, name)

    def _count(self, kind: str, count: Callable[[], int], name: str | None) -> Tensor:
        return host_tensor(kind, lambda: np.int64(count()), [], int64, (), name=name)

    def reset(self, name: str | None = None) -> Operation:
        """Returns the Operation that has it begin with the next file, and count from 0."""

        def run() -> list[Any]:
            with self._lock:
                self._current, self._produced, self._completed = None, 0, 0
            return []

        made: Operation = host_call("ReaderResetV2", run, [], [], [], name=name)
        return made


class TextLineReader(ReaderBase):
    """Gives the lines of files, without their ends; keys are ``file:number``.

    Args:
        skip_header_lines: how many of the first lines of each file are left out.
        name: of the reader.
    """

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        def records(path: bytes) -> Records:
            for number, line in enumerate(lines_of(path, ""), 1):
                if number > (skip_header_lines or 0):
                    yield b"%b:%d" % (path, number), line

        super().__init__("TextLineReaderV2", records, name)


def lines_of(path: bytes, compression: str) -> Iterator[bytes]:
    """Yields the lines of a file, without their ends."""
    with open_packed(path, compression) as file:
        for line in file:
            yield line.removesuffix(b"\n").removesuffix(b"\r")


class WholeFileReader(ReaderBase):
    """Gives files as they are; keys are their names."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__("WholeFileReaderV2", lambda path: iter([(path, _bytes(path))]), name)


class IdentityReader(ReaderBase):
    """Gives the names of the files themselves."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__("IdentityReaderV2", lambda path: iter([(path, path)]), name)


class TFRecordReader(ReaderBase):
    """Gives the records of TFRecord files; keys are ``file:offset``.

    Args:
        name: of the reader.
        options: how the files are packed; see `tf.python_io.TFRecordOptions`.
    """

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        kind = compression_of(options)

        def records(path: bytes) -> Records:
            at = 0
            for record in tf_record_iterator(path.decode(), kind):
                yield b"%b:%d" % (path, at), record
                at += len(record) + 16  # bytes of a length and two checksums

        super().__init__("TFRecordReaderV2", records, name)


class FixedLengthRecordReader(ReaderBase):
    """Gives records of one length; keys are ``file:number``.

    Args:
        record_bytes: of each.
        header_bytes: at the beginning of a file, which are left out.
        footer_bytes: at its end, which are left out.
        hop_bytes: from one record to the next; default `record_bytes`.
        name: of the reader.
        encoding: '', 'ZLIB' or 'GZIP': how the files are packed.
    """

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        kind = compression_of(encoding)

        def records(path: bytes) -> Records:
            parts = parts_of(path, record_bytes, header_bytes, footer_bytes, hop_bytes, kind)
            for number, one in enumerate(parts):
                yield b"%b:%d" % (path, number), one

        super().__init__("FixedLengthRecordReaderV2", records, name)


def parts_of(
    path: bytes, size: int, header: int | None, footer: int | None, hop: int | None, kind: str
) -> Iterator[bytes]:
    """Yields the parts of one length of a file; see `FixedLengthRecordReader`."""
    with open_packed(path, kind) as file:
        data = file.read()
    last = len(data) - (footer or 0) - size
    for start in range(header or 0, last + 1, hop or size):
        yield data[start : start + size]


# Names of files, and whole files ------------------------------------------------------------------


def string_input_producer(
    string_tensor: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Operation | None = None,
) -> QueueBase:
    """Returns a queue of a vector of strings, such as file names; see `input_producer`.

    Raises:
        ValueError: there is none.
    """
    if not isinstance(string_tensor, Tensor) and not len(string_tensor):
        raise ValueError("string_input_producer requires a non-null input tensor")
    with name_scope(name, "input_producer", [string_tensor]) as scope:
        texts = strings("string_input_producer", string_tensor, "string_tensor")
        return input_producer(
            texts, [], num_epochs, shuffle, seed, capacity, name=scope, cancel_op=cancel_op
        )


def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """Returns the names of the files that fit a pattern, or one of several, in order."""
    text = strings("MatchingFiles", pattern, "pattern")

    def run(patterns: Array) -> Array:
        found = sorted({one for each in patterns.reshape(-1) for one in glob.glob(each)})
        made = np.empty(len(found), object)
        made[:] = found
        return made

    return host_tensor("MatchingFiles", run, [text], string, (None,), name=name)


def match_filenames_once(pattern: Any, name: str | None = None) -> Tensor:
    """Returns the names of the files that fit a pattern when they are first asked for.

    Args:
        pattern: with ``*`` and ``?``; or several.
    """
    with name_scope(name, "matching_filenames", [pattern]):
        text = strings("MatchingFiles", pattern, "pattern")
        kept: list[Array] = []

        def run(names: Array) -> Array:
            if not kept:
                kept.append(names)
            return kept[0]

        return host_tensor("Identity", run, [matching_files(text)], string, (None,))


def read_file(filename: Any, name: str | None = None) -> Tensor:
    """Returns what is in the file of a name."""
    return each("ReadFile", _bytes, filename, string, name)


def write_file(filename: Any, contents: Any, name: str | None = None) -> Operation:
    """Returns the Operation that writes a file, and the folders that it is in."""
    pair = [strings("WriteFile", filename, "filename"), strings("WriteFile", contents, "contents")]

    def run(path: Any, data: Any) -> list[Array]:
        name = path.item().decode()
        with as_errors(name):
            Path(name).parent.mkdir(parents=True, exist_ok=True)
            Path(name).write_bytes(data.item())
        return []

    made: Operation = host_call("WriteFile", run, pair, [], [], name=name)
    return made


def _bytes(path: bytes) -> bytes:
    with as_errors(path.decode()):
        return bytes_of_file(path.decode())
