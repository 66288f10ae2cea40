"""``tf.contrib.lookup``: tables from words to their numbers and back."""

from __future__ import annotations

from typing import Any, final

from ..dtypes import string
from ..tables.initializers import KeyValueTensorInitializer as KeyValueTensorInitializer
from ..tables.initializers import TableInitializerBase
from ..tables.initializers import TextFileIndex as TextFileIndex
from ..tables.initializers import TextFileInitializer as TextFileInitializer
from ..tables.table import FastHashSpec as FastHashSpec
from ..tables.table import HasherSpec as HasherSpec
from ..tables.table import IdTableWithHashBuckets as IdTableWithHashBuckets
from ..tables.table import LookupInterface as LookupInterface
from ..tables.table import StaticHashTable
from ..tables.vocabulary import index_table_from_file as index_table_from_file
from ..tables.vocabulary import index_table_from_tensor as from_words
from ..tables.vocabulary import index_to_string_table_from_file as index_to_string_table_from_file
from ..tables.vocabulary import index_to_string_table_from_tensor as to_words

__all__ = [
    "FastHashSpec", "HashTable", "HasherSpec", "IdTableWithHashBuckets",
    "KeyValueTensorInitializer", "LookupInterface", "TextFileIndex", "TextFileInitializer",
    "index_table_from_file", "index_table_from_tensor", "index_to_string_table_from_file",
    "index_to_string_table_from_tensor",
]  # fmt: skip


@final
class HashTable(StaticHashTable):
    """A table whose rows stay as they are.

    Args:
        initializer: gives the rows.
        default_value: the value of a key that is not there; known when the graph is built.
        shared_name: without meaning here: each table has rows of its own.
        name: of the table.
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
        name: of the scope.
    """
    return from_words(mapping, num_oov_buckets, default_value, hasher_spec, dtype, name)


def index_to_string_table_from_tensor(
    mapping: Any, default_value: Any = "UNK", name: str | None = None
) -> StaticHashTable:
    """Returns a table from places in a vector, `mapping`, to the words there.

    Args:
        mapping: the words.
        default_value: the word of a number that is no place.
        name: of the scope.
    """
    return to_words(mapping, default_value, name)
