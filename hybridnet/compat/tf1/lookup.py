"""``tf.lookup``: tables from keys to values."""

from .tables.initializers import KeyValueTensorInitializer, TextFileIndex, TextFileInitializer
from .tables.table import StaticHashTable

__all__ = ["KeyValueTensorInitializer", "StaticHashTable", "TextFileIndex", "TextFileInitializer"]
