"""`LibSVMIter`: batches of sparse rows from files of labels and ``column:value`` pairs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, final

import numpy as np

from hybridnet.base.array_types import DTypeLike
from hybridnet.base.context import cpu
from hybridnet.base.errors import FormatError, ParameterError
from hybridnet.base.remote import PathLike
from hybridnet.ndarray import NDArray, sparse
from hybridnet.ndarray.copies import aligned

from .mx_data_iter import MXDataIter
from .source import HostBatch, Layout, RowSource, require_part
from .text_files import lines_of

__all__ = ["LibSVMIter"]

_NO_FILE: Final = "NULL"
_FLOAT32: Final = np.dtype(np.float32)
_COMMENT: Final = "#"
_QUERY: Final = "qid:"  # of ranking data; of no use here


class _Sparse(NamedTuple):
    """A row: its label, ascending columns, and their values."""

    label: float
    columns: list[int]
    values: list[float]


def LibSVMIter(
    *,
    data_libsvm: str | os.PathLike[str],
    data_shape: int | Sequence[int],
    label_libsvm: str | os.PathLike[str] = _NO_FILE,
    label_shape: int | Sequence[int] = (1,),
    num_parts: int = 1,
    part_index: int = 0,
    batch_size: int,
    round_batch: bool = True,
    prefetch_buffer: int = 4,
    ctx: str = "gpu",
    dtype: DTypeLike = None,
    **kwargs: Any,
) -> MXDataIter:
    """Iterates over the rows of a file in LibSVM's format: ``label column:value ...``.

    Columns count from 0 and ascend. Data are matrices in compressed sparse rows.

    Args:
        data_libsvm: the file, or a folder of files.
        data_shape: (columns,).
        label_libsvm: a second file whose rows are the labels, sparse too; 'NULL': the labels are
            the first numbers of the lines of `data_libsvm`, dense.
        label_shape: (columns,) of the second file.
        num_parts: how many parts the bytes of the files are cut into, for as many workers.
        part_index: which part is read.
        batch_size: rows in a batch.
        round_batch: must be true: the last batch is filled with the first rows, behind which the
            next pass then begins.
        prefetch_buffer: batches that are read ahead.
        ctx: of no effect.
        dtype: 'float32', the default.
        kwargs: ``data_name`` and ``label_name``; others are of no effect, as in MXNet.

    Raises:
        ParameterError: an argument is none.
        FormatError: a line is none, or a column is outside of the shape; raised with its batch.
        OSError: a file cannot be read; likewise.
    """
    what = "LibSVMIter"
    columns = _columns(data_shape, f"{what}: data_shape")
    label_columns = _columns(label_shape, f"{what}: label_shape")
    labels = None if label_libsvm in (None, _NO_FILE) else label_libsvm
    if (label_columns > 1) != (labels is not None):
        raise ParameterError(
            f"{what}: label_shape must be larger than (1,) with label_libsvm, and (1,) without, "
            f"got {label_shape} and label_libsvm={label_libsvm!r}"
        )
    if not round_batch:
        raise ParameterError(f"{what}: round_batch must be true for sparse data, got {round_batch}")
    if np.dtype(dtype or "float32") != _FLOAT32:
        raise ParameterError(f"{what}: dtype must be float32, got {dtype!r}")
    require_part(num_parts, part_index, what)
    source = _LibSVMSource(
        (data_libsvm, labels), (columns, label_columns), (num_parts, part_index), batch_size
    )
    return MXDataIter(source, prefetch_buffer=prefetch_buffer, **kwargs)


def _columns(shape: int | Sequence[int], what: str) -> int:
    sizes = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    if len(sizes) != 1 or int(sizes[0]) < 1:
        raise ParameterError(f"{what} must be one positive number, got {shape}")
    return int(sizes[0])


@final
class _LibSVMSource(RowSource[tuple[int, _Sparse, _Sparse]]):
    """Rows (number, data, label); without a second file both are the same."""

    def __init__(
        self,
        files: tuple[Any, Any],
        columns: tuple[int, int],
        part: tuple[int, int],
        size: int,
    ) -> None:
        super().__init__(size, True, files)
        self._files = files
        self._columns = columns
        self._part = part
        self.data = Layout((self.batch_size, columns[0]), _FLOAT32)
        dense = files[1] is None
        self.label = Layout((self.batch_size, *(() if dense else columns[1:])), _FLOAT32)

    def rows(self, filled: int) -> Iterator[tuple[int, _Sparse, _Sparse]]:
        data, label = self._files
        rows = _read(data, self._columns[0], self._part)
        labels = None if label is None else _read(label, self._columns[1], self._part)
        for number, row in enumerate(rows):
            found = row if labels is None else next(labels, None)
            if found is None:
                raise FormatError(
                    f"{os.fspath(label)}: must have a row for each row of {os.fspath(data)}, got "
                    f"{number}"
                )
            yield number, row, found

    def collate(self, rows: Sequence[tuple[int, _Sparse, _Sparse]], pad: int) -> HostBatch:
        index = np.array([row[0] for row in rows], np.uint64)
        data = _Matrix([row[1] for row in rows], self.data.shape)
        if self._files[1] is not None:
            return HostBatch(data, _Matrix([row[2] for row in rows], self.label.shape), pad, index)
        label = aligned(self.label.shape, _FLOAT32)
        label[:] = [row[1].label for row in rows]
        return HostBatch(data, label, pad, index)


@final
class _Matrix:
    """Rows that become a `CSRNDArray` when called, in the thread that wants it."""

    def __init__(self, rows: Sequence[_Sparse], shape: tuple[int, ...]) -> None:
        self._shape = shape
        self._values = np.array([one for row in rows for one in row.values], np.float32)
        self._columns = np.array([one for row in rows for one in row.columns], np.int64)
        self._ends = np.cumsum([0, *(len(row.columns) for row in rows)])

    def __call__(self) -> NDArray:
        parts = (self._values, self._columns, self._ends)
        return sparse.csr_matrix(parts, shape=self._shape, ctx=cpu(), dtype=_FLOAT32)


def _read(path: PathLike, columns: int, part: tuple[int, int]) -> Iterator[_Sparse]:
    for block in lines_of(path, *part):
        for number, line in enumerate(block.lines, block.first):
            fields = line.partition(_COMMENT)[0].split()
            if not fields:
                continue
            try:
                yield _parse(fields, columns)
            except ValueError as error:
                raise FormatError(
                    f"{block.path}: line {number} of the part must be a label and column:value "
                    f"pairs with ascending columns from 0 to {columns - 1}, got {line[:60]!r}: "
                    f"{error}"
                ) from error


def _parse(fields: list[str], columns: int) -> _Sparse:
    label = float(fields[0].partition(":")[0])  # a weight may follow
    places, values = [], []
    last = -1
    for field in fields[1:]:
        if field.startswith(_QUERY):
            continue
        text, colon, value = field.partition(":")
        place = int(text)
        if not last < place < columns:
            raise ValueError(f"column {place} is not between {last} and {columns}")
        last = place
        places.append(place)
        values.append(float(value) if colon else 1.0)
    return _Sparse(label, places, values)
