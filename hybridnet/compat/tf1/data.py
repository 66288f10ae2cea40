"""``tf.data``: datasets, whose elements are made on the host, and iterators over them."""

from __future__ import annotations

from typing import Any

from .dataset.dataset import Dataset
from .dataset.iterator import Iterator, make_initializable_iterator, make_one_shot_iterator
from .files.datasets import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset

__all__ = [
    "Dataset", "FixedLengthRecordDataset", "Iterator", "TFRecordDataset", "TextLineDataset",
    "get_output_classes", "get_output_shapes", "get_output_types",
    "make_initializable_iterator", "make_one_shot_iterator",
]  # fmt: skip


def get_output_types(dataset_or_iterator: Any) -> Any:
    """Returns the dtypes of an element, nested as it is."""
    return dataset_or_iterator.output_types


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """Returns the shapes of an element, as far as they are known, nested as it is."""
    return dataset_or_iterator.output_shapes


def get_output_classes(dataset_or_iterator: Any) -> Any:
    """Returns `Tensor`, nested as an element is."""
    return dataset_or_iterator.output_classes
