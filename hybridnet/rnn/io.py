"""Sentences as numbers, and batches of sentences of about one length."""

from __future__ import annotations

import bisect
import logging
import random
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hybridnet import ndarray
from hybridnet.base.array_types import DTypeLike
from hybridnet.base.errors import ParameterError
from hybridnet.io import DataBatch, DataDesc, DataIter

__all__ = ["BucketSentenceIter", "encode_sentences"]

_logger: Final = logging.getLogger(__name__)


def encode_sentences(
    sentences: Sequence[Sequence[str]],
    vocab: dict[str, int] | None = None,
    invalid_label: int = -1,
    invalid_key: str = "\n",
    start_label: int = 0,
    unknown_token: str | None = None,
) -> tuple[list[list[int]], dict[str, int]]:
    """Returns sentences as lists of numbers, and the number of each word.

    Args:
        sentences: lists of words.
        vocab: the number of each word; None makes one, in which new words get the next number.
        invalid_label, invalid_key: a number and its word that no sentence has, for padding.
        start_label: the first number.
        unknown_token: stands for words that are not in `vocab`.

    Raises:
        ParameterError: a word is not in `vocab`, and there is no `unknown_token`.
    """
    grows = vocab is None
    numbers = {invalid_key: invalid_label} if vocab is None else vocab
    following = start_label
    coded = []
    for sentence in sentences:
        row = []
        for word in sentence:
            if word not in numbers:
                if not grows and not unknown_token:
                    raise ParameterError(
                        f"encode_sentences: vocab must have all words, got {word!r}; give an "
                        "unknown_token to stand for such"
                    )
                if following == invalid_label:
                    following += 1
                word = unknown_token or word
                numbers[word] = following
                following += 1
            row.append(numbers[word])
        coded.append(row)
    return coded, numbers


class BucketSentenceIter(DataIter):
    """Batches of sentences of about one length, each word labelled with the next one.

    Each sentence goes to the smallest bucket that it fits in, padded; batches come in a new order
    in each pass. A batch's ``bucket_key`` is its length, for `module.BucketingModule`.

    Args:
        sentences: lists of numbers, as from `encode_sentences`.
        batch_size: sentences in a batch.
        buckets: lengths; default each that at least `batch_size` sentences have.
        invalid_label: what pads.
        data_name, label_name: names of the arrays.
        dtype: of the arrays.
        layout: 'NT' for (batch, length), 'TN' for (length, batch).

    Raises:
        ParameterError: the layout is another, or no bucket holds a batch.
    """

    def __init__(
        self,
        sentences: Sequence[Sequence[int]],
        batch_size: int,
        buckets: list[int] | None = None,
        invalid_label: int = -1,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: DTypeLike = "float32",
        layout: str = "NT",
    ) -> None:
        super().__init__(batch_size)
        if layout not in ("NT", "TN"):
            raise ParameterError(f"BucketSentenceIter: layout must be 'NT' or 'TN', got {layout!r}")
        if not buckets:
            counts = np.bincount([len(sentence) for sentence in sentences])
            buckets = [length for length, count in enumerate(counts) if count >= batch_size]
        if not buckets:
            raise ParameterError(
                f"BucketSentenceIter: no length has {batch_size} sentences; give buckets, or a "
                "smaller batch_size"
            )
        buckets = sorted(buckets)
        rows: list[list[Any]] = [[] for _ in buckets]
        for sentence in sentences:
            place = bisect.bisect_left(buckets, len(sentence))
            if place < len(buckets):
                row = np.full((buckets[place],), invalid_label, dtype)
                row[: len(sentence)] = sentence
                rows[place].append(row)
        discarded = len(sentences) - sum(map(len, rows))
        if discarded:
            _logger.warning(
                "BucketSentenceIter: %d sentences are longer than the largest bucket, and left out",
                discarded,
            )
        self.data = [np.asarray(row, dtype) for row in rows if row]
        self.buckets = [length for length, row in zip(buckets, rows, strict=True) if row]
        self.data_name, self.label_name = data_name, label_name
        self.dtype = dtype
        self.invalid_label = invalid_label
        self.layout = layout
        self.major_axis = layout.find("N")
        self.default_bucket_key = max(self.buckets)
        self.provide_data = [self._described(data_name, self.default_bucket_key)]
        self.provide_label = [self._described(label_name, self.default_bucket_key)]
        self.idx = [
            (bucket, at)
            for bucket, data in enumerate(self.data)
            for at in range(0, len(data) - batch_size + 1, batch_size)
        ]
        self.reset()

    def _described(self, name: str, length: int) -> DataDesc:
        shape = (self.batch_size, length)
        return DataDesc(name, shape[::-1] if self.major_axis else shape, layout=self.layout)

    def reset(self) -> None:
        """Begins the next pass, in another order."""
        self.curr_idx = 0
        random.shuffle(self.idx)
        self.nddata, self.ndlabel = [], []
        for data in self.data:
            np.random.shuffle(data)  # as in MXNet: of NumPy's seed
            label = np.full_like(data, self.invalid_label)
            label[:, :-1] = data[:, 1:]
            self.nddata.append(ndarray.array(data, dtype=self.dtype))
            self.ndlabel.append(ndarray.array(label, dtype=self.dtype))

    def next(self) -> DataBatch:
        """Returns the next batch."""
        if self.curr_idx == len(self.idx):
            raise StopIteration
        bucket, at = self.idx[self.curr_idx]
        self.curr_idx += 1
        data = self.nddata[bucket][at : at + self.batch_size]
        label = self.ndlabel[bucket][at : at + self.batch_size]
        if self.major_axis:
            data, label = data.T, label.T
        length = self.buckets[bucket]
        return DataBatch(
            [data],
            [label],
            pad=0,
            bucket_key=length,
            provide_data=[self._described(self.data_name, length)],
            provide_label=[self._described(self.label_name, length)],
        )
