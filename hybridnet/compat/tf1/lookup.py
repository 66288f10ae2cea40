"""``tf.lookup``: tables from keys to values."""

from .tables.initializers import KeyValueTensorInitializer as KeyValueTensorInitializer
from .tables.initializers import TextFileIndex as TextFileIndex
from .tables.initializers import TextFileInitializer as TextFileInitializer
from .tables.table import StaticHashTable as StaticHashTable

__all__ = ["KeyValueTensorInitializer", "StaticHashTable", "TextFileIndex", "TextFileInitializer"]
