"""The initializers of lookup tables: they take rows from two tensors, or from a text file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any, final

import numpy as np

from hybridnet.base import read_file as bytes_of_file

from ..dtypes import DType, as_dtype, int64, string
from ..errors import FailedPreconditionError, InvalidArgumentError
from ..gfile import as_errors
from ..graph import Operation, Tensor, convert_to_tensor, name_scope
from ..operations.scripts import host_call
from ..operations.strings import strings

__all__ = [
    "KeyValueTensorInitializer", "TableInitializerBase", "TextFileIndex", "TextFileInitializer",
]  # fmt: skip

Array = np.ndarray[Any, Any]
#: Takes the rows of a table.
Fill = Callable[[dict[Any, Any]], None]


class Mapped:
    """The base class of mappings from keys to values.

    Attributes:
        key_dtype: the dtype of the keys.
        value_dtype: that of the values.
    """

    def __init__(self, key_dtype: Any, value_dtype: Any) -> None:
        self.key_dtype = as_dtype(key_dtype).base_dtype
        self.value_dtype = as_dtype(value_dtype).base_dtype


class TableInitializerBase(Mapped, ABC):
    """The base class of table initializers; its arguments are those of `Mapped`."""

    #: That of the scope of the Operation.
    _name: str

    @abstractmethod
    def filling(self, fill: Fill) -> Operation:
        """Returns the Operation that makes the rows, and hands them to a function."""

    def _filled(self, kind: str, run: Callable[..., Any], inputs: list[Tensor]) -> Operation:
        with name_scope(None, self._name):
            made: Operation = host_call(kind, run, inputs, [])
            return made


@final
class KeyValueTensorInitializer(TableInitializerBase):
    """Rows from a tensor of keys and one of values.

    Args:
        keys: a vector.
        values: a vector as long.
        key_dtype: the dtype of the keys; default what they have.
        value_dtype: that of the values; default what they have.

    Raises (in a run):
        FailedPreconditionError: a key has several values.
    """

    def __init__(
        self,
        keys: Any,
        values: Any,
        key_dtype: Any = None,
        value_dtype: Any = None,
        name: str | None = None,
    ) -> None:
        self._name = name or "key_value_init"
        self._keys = convert_to_tensor(keys, key_dtype, name="keys")
        self._values = convert_to_tensor(values, value_dtype, name="values")
        self._keys.shape.assert_is_compatible_with(self._values.shape)
        super().__init__(self._keys.dtype, self._values.dtype)

    def filling(self, fill: Fill) -> Operation:
        """Returns the Operation that makes the rows, and hands them to a function."""

        def run(keys: Array, values: Array) -> list[Array]:
            pairs = zip(keys.reshape(-1).tolist(), values.reshape(-1).tolist(), strict=True)
            fill(_rows(pairs))
            return []

        return self._filled("LookupTableImportV2", run, [self._keys, self._values])


@final
class TextFileIndex:
    """The special indices of `TextFileInitializer`: the whole line, and the number of the line."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


@final
class TextFileInitializer(TableInitializerBase):
    """Rows from the lines of a text file, which is read when the table is initialized.

    Args:
        filename: the file; a text, or a tensor of one.
        key_dtype: the dtype of the keys.
        key_index: the column of the keys, from 0 on, or one of `TextFileIndex`.
        value_dtype: the dtype of the values.
        value_index: the column of the values, likewise.
        vocab_size: how many lines are read; default all.
        delimiter: what is between two columns.

    Raises:
        ValueError: an index does not fit its dtype.

    Raises (in a run):
        NotFoundError: the file is not there.
        InvalidArgumentError: a line is empty, or has not these columns; there are too few lines.
        FailedPreconditionError: a key has several values.
    """

    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: int,
        value_dtype: Any,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
    ) -> None:
        super().__init__(key_dtype, value_dtype)
        _check_index("key", key_index, self.key_dtype)
        _check_index("value", value_index, self.value_dtype)
        if vocab_size is not None and vocab_size < 1:
            raise ValueError(f"vocab_size must be at least 1, got {vocab_size}")
        self._filename = strings("InitializeTableFromTextFileV2", filename, "filename")
        self._indices = key_index, value_index
        self._size = vocab_size
        self._delimiter = delimiter.encode()
        self._name = name or "text_file_init"

    def filling(self, fill: Fill) -> Operation:
        """Returns the Operation that makes the rows, and hands them to a function."""

        def run(filename: Array) -> list[Array]:
            fill(_rows(self._pairs(filename.item().decode())))
            return []

        return self._filled("InitializeTableFromTextFileV2", run, [self._filename])

    def _pairs(self, path: str) -> Iterator[tuple[Any, Any]]:
        with as_errors(path):
            lines = bytes_of_file(path).replace(b"\r", b"").split(b"\n")
        lines = (lines if lines[-1] else lines[:-1])[: self._size]
        if self._size is not None and len(lines) < self._size:
            raise InvalidArgumentError(
                f"Invalid vocab_size in {path}: expected {self._size}, got {len(lines)}"
            )
        parts = list(zip(self._indices, (self.key_dtype, self.value_dtype), strict=True))
        for number, line in enumerate(lines):
            if not line:
                raise InvalidArgumentError(f"Invalid content in {path}: line {number} is empty")
            key, value = (self._part(path, number, line, *one) for one in parts)
            yield key, value

    def _part(self, path: str, number: int, line: bytes, index: int, dtype: DType) -> Any:
        if index == TextFileIndex.LINE_NUMBER:
            return number
        is_whole = index == TextFileIndex.WHOLE_LINE
        columns = [line] if is_whole else line.split(self._delimiter)
        index = 0 if is_whole else index
        if index >= len(columns):
            raise InvalidArgumentError(
                f"Invalid number of columns in {path} line {number}: expected at least "
                f"{index + 1}, got {len(columns)}"
            )
        if dtype is string:
            return columns[index]
        try:
            return int(columns[index]) if dtype.is_integer else float(columns[index])
        except ValueError:
            shown = columns[index].decode(errors="replace")
            raise InvalidArgumentError(
                f"Field {shown} in line {number} is not a valid {dtype.name}."
            ) from None


def _check_index(what: str, index: int, dtype: DType) -> None:
    if index < TextFileIndex.WHOLE_LINE:
        raise ValueError(f"{what}_index must be at least -2, got {index}")
    if index == TextFileIndex.LINE_NUMBER and dtype is not int64:
        raise ValueError(f"{what}_dtype must be int64 for numbers of lines, got {dtype.name}")
    if index == TextFileIndex.WHOLE_LINE and dtype is not string and not dtype.is_integer:
        raise ValueError(
            f"{what}_dtype must be string or whole numbers for whole lines, got {dtype.name}"
        )


def _rows(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    made: dict[Any, Any] = {}
    for key, value in pairs:
        held = made.setdefault(key, value)
        if held != value:
            raise FailedPreconditionError(
                f"HashTable has different value for same key. Key {key!r} has {held!r} and trying "
                f"to add value {value!r}"
            )
    return made
