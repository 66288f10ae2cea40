"""`MNISTIter`: batches from the two IDX files of a set of digits."""

from __future__ import annotations

import logging
import os
from typing import Any, Final, final

import numpy as np

from hybridnet.base.array_types import DTypeLike, NumpyArray
from hybridnet.base.dtype import as_dtype
from hybridnet.ndarray.copies import aligned

from .mersenne import MersenneTwister
from .mnist import load_images_and_labels
from .mx_data_iter import MXDataIter
from .source import HostBatch, Layout, Source, require_batch_size, require_part

__all__ = ["MNISTIter"]

_log: Final = logging.getLogger("hybridnet.io")

_SCALE: Final = np.float32(1 / 256)  # MXNet's: the pixels are in [0, 1)


def MNISTIter(
    image: str | os.PathLike[str] = "./train-images-idx3-ubyte",
    label: str | os.PathLike[str] = "./train-labels-idx1-ubyte",
    batch_size: int = 128,
    shuffle: bool = True,
    flat: bool = False,
    seed: int = 0,
    silent: bool = False,
    num_parts: int = 1,
    part_index: int = 0,
    prefetch_buffer: int = 4,
    ctx: str = "gpu",
    dtype: DTypeLike = None,
    **kwargs: Any,
) -> MXDataIter:
    """Iterates over MNIST; rows that do not fill a batch are left out.

    Args:
        image: the IDX file of the images, plain or compressed.
        label: the IDX file of the labels, plain or compressed.
        batch_size: images in a batch.
        shuffle: put the images in a random order, once: each pass has the same.
        flat: give data of shape (batch_size, height * width), not (batch_size, 1, height, width).
        seed: of the order, which is MXNet's.
        silent: do not log how much was loaded.
        num_parts: how many parts the set is cut into, for as many workers.
        part_index: which part this is, from 0.
        prefetch_buffer: batches that are made ahead.
        ctx: of no effect.
        dtype: of the data, float32 by default. Labels are float32.
        kwargs: ``data_name`` and ``label_name``; others are of no effect, as in MXNet.

    Raises:
        FormatError: a file is damaged, or the numbers of images and labels differ.
        OSError: a file cannot be read.
        ParameterError: an argument is out of its range.
    """
    size = require_batch_size(batch_size, "MNISTIter")
    require_part(num_parts, part_index, "MNISTIter")
    images, labels = load_images_and_labels(image, label)
    count = len(labels)
    rows = np.arange(*(int(count / num_parts * one) for one in (part_index, part_index + 1)))
    if not silent:
        _log.info("MNISTIter: %d of %d images from %s", len(rows), count, image)
    if shuffle:
        rows = rows[MersenneTwister(seed).shuffled(len(rows))]
    source = _MNISTSource(images, labels, rows, size, bool(flat), as_dtype(dtype or np.float32))
    return MXDataIter(source, prefetch_buffer=prefetch_buffer, **kwargs)


@final
class _MNISTSource(Source):
    """Whole batches of rows of arrays in memory."""

    def __init__(
        self,
        images: NumpyArray,
        labels: NumpyArray,
        rows: NumpyArray,
        size: int,
        flat: bool,
        dtype: np.dtype[np.generic],
    ) -> None:
        self._images = images
        self._labels = labels
        self._rows = rows
        self._start = 0
        height, width = images.shape[1:]
        self.data = Layout((size, height * width) if flat else (size, 1, height, width), dtype)
        self.label = Layout((size,), np.dtype(np.float32))

    def read(self) -> HostBatch | None:
        size = self.label.shape[0]
        rows = self._rows[self._start : self._start + size]
        if len(rows) < size:
            return None
        self._start += size
        data = aligned(self.data.shape, self.data.dtype)
        data[:] = (self._images.take(rows, axis=0) * _SCALE).reshape(data.shape)
        label = aligned(self.label.shape, self.label.dtype)
        label[:] = self._labels.take(rows)
        return HostBatch(data, label, 0, rows.astype(np.uint64))

    def restart(self, carried: int) -> None:
        self._start = 0
