"""``tf.contrib.data``: where datasets were before ``tf.data``."""

from __future__ import annotations

from ..dataset.dataset import Dataset as Dataset
from ..dataset.iterator import Iterator as Iterator
from ..files.datasets import FixedLengthRecordDataset as FixedLengthRecordDataset
from ..files.datasets import TextLineDataset as TextLineDataset
from ..files.datasets import TFRecordDataset as TFRecordDataset

__all__ = [
    "Dataset", "FixedLengthRecordDataset", "Iterator", "TFRecordDataset", "TextLineDataset",
]  # fmt: skip
