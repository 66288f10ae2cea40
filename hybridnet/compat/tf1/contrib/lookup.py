"""``tf.contrib.lookup``: tables from words to their numbers and back."""

# ruff: noqa: F403, F405

from __future__ import annotations

from typing import Any, final

from ..dtypes import DType, as_dtype, int64, string
from ..graph import convert_to_tensor, name_scope
from ..operations import cast, size
from ..operations.creation import range as numbers_from
from ..tables.initializers import *
from ..tables.table import *

__all__ = [
    "FastHashSpec", "HashTable", "HasherSpec", "IdTableWithHashBuckets",
    "KeyValueTensorInitializer", "LookupInterface", "TextFileIndex", "TextFileInitializer",
    "index_table_from_file", "index_table_from_tensor", "index_to_string_table_from_file",
    "index_to_string_table_from_tensor",
]  # fmt: skip

#: The dtype and the number of the column that keys or values come from.
_Column = tuple[DType, int]


@final
class HashTable(StaticHashTable):
    """A table whose rows stay as they are.

    Args (the others as for `StaticHashTable`):
        shared_name: without meaning here: each table has rows of its own.
    """

    def __init__(
        self,
        initializer: TableInitializerBase,
        default_value: Any,
        shared_name: str | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(initializer, default_value, name)


def index_table_from_tensor(
    mapping: Any,
    num_oov_buckets: int = 0,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    dtype: Any = string,
    name: str | None = None,
) -> LookupInterface:
    """Returns a table from words to their places in a vector, `mapping`.

    Args:
        mapping: the words, or whole numbers; each once.
        num_oov_buckets: how many numbers there are behind these for words that are not in it; see
            `IdTableWithHashBuckets`.
        default_value: the number of a word that is not in it, where there are no such.
        hasher_spec: `FastHashSpec`.
        dtype: of the words.

    Raises:
        ValueError: there are no words, or of another dtype; `num_oov_buckets` is below 0.
    """
    if mapping is None:
        raise ValueError("`vocabulary_list` must be specified.")
    kind = _checked(num_oov_buckets, dtype)
    with name_scope(name, "string_to_index"):
        keys = convert_to_tensor(mapping)
        if keys.dtype.is_integer != kind.is_integer:
            wanted = "integer" if kind.is_integer else "non-integer"
            raise ValueError(f"Invalid `dtype`: Expected {wanted}, got {keys.dtype}.")
        values = cast(numbers_from(size(keys)), int64)
        with name_scope(None, "hash_table"):
            rows = cast(keys, int64) if kind.is_integer else keys
            initializer = KeyValueTensorInitializer(rows, values, name="table_init")
            table = StaticHashTable(initializer, default_value)
        return _with_buckets(table, num_oov_buckets, hasher_spec, kind)


def index_table_from_file(
    vocabulary_file: Any = None,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    hasher_spec: HasherSpec = FastHashSpec,
    key_dtype: Any = string,
    name: str | None = None,
    key_column_index: int = TextFileIndex.WHOLE_LINE,
    value_column_index: int = TextFileIndex.LINE_NUMBER,
    delimiter: str = "\t",
) -> LookupInterface:
    """Returns a table from words to numbers, as a file has them.

    Args:
        vocabulary_file: the file, with a word in each line.
        num_oov_buckets, default_value, hasher_spec, name: as for `index_table_from_tensor`.
        vocab_size: how many lines are read; default all.
        key_dtype: of the words.
        key_column_index: the column of the words; default the line.
        value_column_index: the column of the numbers; default that of the line.
        delimiter: what is between two columns.

    Raises:
        ValueError: there is no file; `num_oov_buckets` is below 0, or `vocab_size` below 1.
    """
    kind = _checked(num_oov_buckets, key_dtype)
    with name_scope(name, "string_to_index"):
        with name_scope(None, "hash_table"):
            key = (int64 if kind.is_integer else kind, key_column_index)
            value = (int64, value_column_index)
            initializer = _of_file(vocabulary_file, key, value, vocab_size, delimiter)
            table = StaticHashTable(initializer, default_value)
        return _with_buckets(table, num_oov_buckets, hasher_spec, kind)


def index_to_string_table_from_tensor(
    mapping: Any, default_value: Any = "UNK", name: str | None = None
) -> StaticHashTable:
    """Returns a table from places in a vector, `mapping`, to the words there.

    Args:
        mapping: the words.
        default_value: the word of a number that is no place.

    Raises:
        ValueError: there are no words.
    """
    if mapping is None:
        raise ValueError("`vocabulary_list` must be specified.")
    with name_scope(name, "index_to_string"):
        words = convert_to_tensor(mapping, string)
        keys = cast(numbers_from(size(words)), int64)
        initializer = KeyValueTensorInitializer(keys, words, name="table_init")
        return StaticHashTable(initializer, default_value)


def index_to_string_table_from_file(
    vocabulary_file: Any,
    vocab_size: int | None = None,
    default_value: Any = "UNK",
    name: str | None = None,
    key_column_index: int = TextFileIndex.LINE_NUMBER,
    value_column_index: int = TextFileIndex.WHOLE_LINE,
    delimiter: str = "\t",
) -> StaticHashTable:
    """Returns a table from numbers to words, as a file has them.

    Args:
        vocabulary_file, vocab_size, delimiter, name: as for `index_table_from_file`.
        default_value: the word of a number that is not there.
        key_column_index: the column of the numbers; default that of the line.
        value_column_index: the column of the words; default the line.

    Raises:
        ValueError: there is no file, or `vocab_size` is below 1.
    """
    with name_scope(name, "index_to_string"):
        key, value = (int64, key_column_index), (string, value_column_index)
        initializer = _of_file(vocabulary_file, key, value, vocab_size, delimiter)
        return StaticHashTable(initializer, default_value)


def _of_file(
    vocabulary_file: Any, key: _Column, value: _Column, vocab_size: int | None, delimiter: str
) -> TableInitializerBase:
    if vocabulary_file is None or vocabulary_file == "":
        raise ValueError("`vocabulary_file` must be specified and must not be empty.")
    more = (vocab_size, delimiter)
    return TextFileInitializer(vocabulary_file, *key, *value, *more, name="table_init")


def _checked(buckets: int, dtype: Any) -> DType:
    kind = as_dtype(dtype).base_dtype
    if buckets < 0:
        raise ValueError(f"num_oov_buckets must be greater or equal than 0, got {buckets}.")
    if kind is not string and not kind.is_integer:
        raise TypeError(f"the words must be strings or whole numbers, got {kind}")
    return kind


def _with_buckets(
    table: StaticHashTable, buckets: int, spec: HasherSpec, kind: DType
) -> LookupInterface:
    if not buckets:
        return table
    return IdTableWithHashBuckets(table, buckets, spec, key_dtype=kind)
