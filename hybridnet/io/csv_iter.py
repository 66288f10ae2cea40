"""`CSVIter`: batches from files of numbers with commas between."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from typing import Any, Final, final

import numpy as np

from hybridnet.base.array_types import DTypeLike, NumpyArray
from hybridnet.base.errors import FormatError, ParameterError
from hybridnet.ndarray.copies import aligned

from .mx_data_iter import MXDataIter
from .source import HostBatch, Layout, RowSource
from .text_files import Lines, lines_of

__all__ = ["CSVIter"]

_DTYPES: Final = ("float32", "int32", "int64")
_NO_FILE: Final = "NULL"  # MXNet's word for no file


def CSVIter(
    *,
    data_csv: str | os.PathLike[str],
    data_shape: Sequence[int],
    label_csv: str | os.PathLike[str] = _NO_FILE,
    label_shape: Sequence[int] = (1,),
    batch_size: int,
    round_batch: bool = True,
    prefetch_buffer: int = 4,
    ctx: str = "gpu",
    dtype: DTypeLike = None,
    **kwargs: Any,
) -> MXDataIter:
    """Iterates over the rows of a CSV file of numbers, without a heading.

    Args:
        data_csv: the file, or a folder of files.
        data_shape: of a row.
        label_csv: the file of the labels, a row for each; 'NULL': they are 0.
        label_shape: of a label.
        batch_size: rows in a batch.
        round_batch: fill the last batch with the first rows, behind which the next pass then
            begins; False: with rows of the batch before. `DataBatch.pad` says how many they are.
        prefetch_buffer: batches that are read ahead.
        ctx: of no effect.
        dtype: 'float32' (default), 'int32' or 'int64', of data and labels.
        kwargs: ``data_name`` and ``label_name``; others are of no effect, as in MXNet.

    Raises:
        ParameterError: an argument is none.
        FormatError: a row is no row of numbers, or has another length; raised with its batch.
        OSError: a file cannot be read; likewise.
    """
    kind = np.dtype(dtype or "float32")
    if kind.name not in _DTYPES:
        raise ParameterError(f"CSVIter: dtype must be one of {_DTYPES}, got {kind.name!r}")
    source = _CSVSource(
        data_csv,
        tuple(data_shape) if isinstance(data_shape, Sequence) else (data_shape,),
        None if label_csv in (None, _NO_FILE) else label_csv,
        tuple(label_shape) if isinstance(label_shape, Sequence) else (label_shape,),
        kind,
        int(batch_size),
        bool(round_batch),
    )
    return MXDataIter(source, prefetch_buffer=prefetch_buffer, **kwargs)


@final
class _CSVSource(RowSource[tuple[int, NumpyArray, Any]]):
    """Rows (number, data, label)."""

    def __init__(
        self,
        data_csv: str | os.PathLike[str],
        data_shape: tuple[int, ...],
        label_csv: str | os.PathLike[str] | None,
        label_shape: tuple[int, ...],
        dtype: np.dtype[np.generic],
        batch_size: int,
        round_batch: bool,
    ) -> None:
        super().__init__(batch_size, round_batch, (data_csv, label_csv))
        self._files = data_csv, label_csv
        self._dtype = dtype
        self._shapes = data_shape, label_shape if label_csv is not None else (1,)
        labels = () if math.prod(self._shapes[1]) == 1 else self._shapes[1]
        self.data = Layout((self.batch_size, *data_shape), dtype)
        self.label = Layout((self.batch_size, *labels), dtype)

    def rows(self, filled: int) -> Iterator[tuple[int, NumpyArray, Any]]:
        data, label = self._files
        rows = self._read(data, math.prod(self._shapes[0]))
        if label is None:
            for number, row in enumerate(rows):
                yield number, row, 0
            return
        labels = self._read(label, math.prod(self._shapes[1]))
        for number, row in enumerate(rows):
            found = next(labels, None)
            if found is None:
                raise FormatError(
                    f"{os.fspath(label)}: must have a row for each row of {os.fspath(data)}, got "
                    f"{number}"
                )
            yield number, row, found

    def _read(self, path: str | os.PathLike[str], length: int) -> Iterator[NumpyArray]:
        for block in lines_of(path):
            lines = [line for line in block.lines if line.strip()]
            if not lines:
                continue
            try:
                table = np.loadtxt(lines, self._dtype, delimiter=",", comments=None, ndmin=2)
            except ValueError as error:
                raise _fault(block, self._dtype, length, str(error)) from error
            if table.shape[1] != length:
                raise _fault(block, self._dtype, length, f"{table.shape[1]} of them")
            yield from table

    def collate(self, rows: Sequence[tuple[int, NumpyArray, Any]], pad: int) -> HostBatch:
        data = aligned(self.data.shape, self._dtype)
        label = aligned(self.label.shape, self._dtype)
        np.stack([row[1] for row in rows], out=data.reshape(self.batch_size, -1))
        labels = np.array([row[2] for row in rows])
        label[:] = labels.reshape(label.shape)
        return HostBatch(data, label, pad, np.array([row[0] for row in rows], np.uint64))


def _fault(block: Lines, dtype: np.dtype[np.generic], length: int, got: str) -> FormatError:
    """Returns the error about a block, with the line that is to blame if it is found."""
    for number, line in enumerate(block.lines, block.first):
        fields = line.split(",")
        try:
            good = not line.strip() or np.array(fields).astype(dtype).size == length
        except ValueError:
            good = False
        if not good:
            where, got = f"line {number}", f"{line[:60]!r}"
            break
    else:
        where = f"the lines from {block.first} on"
    return FormatError(
        f"{block.path}: {where} must have {length} numbers of {dtype}, with commas between, as "
        f"the shape says, got {got}"
    )
