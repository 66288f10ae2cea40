"""``tf.contrib.data``: where datasets were before ``tf.data``."""

from ..dataset.dataset import Dataset
from ..dataset.iterator import Iterator
from ..files.datasets import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset

__all__ = ["Dataset", "FixedLengthRecordDataset", "Iterator", "TFRecordDataset", "TextLineDataset"]
