"""Datasets of files: ``tf.data.TextLineDataset``, ``tf.data.TFRecordDataset``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..dataset.dataset import Dataset
from ..operations.strings import strings
from .readers import lines_of, parts_of
from .records import compression_of, tf_record_iterator

__all__ = ["FixedLengthRecordDataset", "TFRecordDataset", "TextLineDataset"]


def _of_files(
    filenames: Any, compression: Any, records: Callable[[bytes, str], Iterator[bytes]]
) -> Dataset:
    """Returns the dataset of the records of files, one after the other."""
    names, kind = filenames, compression_of(compression)
    if not isinstance(filenames, Dataset):
        names = Dataset.from_tensors(strings("dataset", filenames, "filenames"))

    def texts(arrays: Sequence[Any]) -> Iterator[list[Any]]:
        for (files,) in names.elements(arrays):
            for name in np.asarray(files, object).reshape(-1):
                yield from ([np.asarray(one, object)] for one in records(name, kind))

    return Dataset(names.spec.shaped(lambda _: []), names.inputs, texts)


def TextLineDataset(
    filenames: Any,
    compression_type: Any = None,
    buffer_size: Any = None,
    num_parallel_reads: Any = None,
    name: str | None = None,
) -> Dataset:
    """Returns a dataset of the lines of files, without their ends.

    Args:
        filenames: one name, several, or a dataset of them.
        compression_type: '', 'ZLIB' or 'GZIP': how the files are packed.
        buffer_size: without meaning here, and so the rest.
    """
    return _of_files(filenames, compression_type, lines_of)


def TFRecordDataset(
    filenames: Any,
    compression_type: Any = None,
    buffer_size: Any = None,
    num_parallel_reads: Any = None,
    name: str | None = None,
) -> Dataset:
    """Returns a dataset of the records of TFRecord files; arguments as for `TextLineDataset`."""
    return _of_files(
        filenames, compression_type, lambda path, kind: tf_record_iterator(path.decode(), kind)
    )


def FixedLengthRecordDataset(
    filenames: Any,
    record_bytes: int,
    header_bytes: int | None = None,
    footer_bytes: int | None = None,
    buffer_size: Any = None,
    compression_type: Any = None,
    num_parallel_reads: Any = None,
    name: str | None = None,
) -> Dataset:
    """Returns a dataset of records of one length.

    Args:
        filenames: as for `TextLineDataset`.
        record_bytes, header_bytes, footer_bytes: as for `tf.FixedLengthRecordReader`.
        buffer_size: without meaning here, and so the rest but for:
        compression_type: as for `TextLineDataset`.
    """

    def records(path: bytes, kind: str) -> Iterator[bytes]:
        return parts_of(path, record_bytes, header_bytes, footer_bytes, None, kind)

    return _of_files(filenames, compression_type, records)
