"""`MNISTIter`: batches from the two IDX files of a set of digits."""

from __future__ import annotations

import logging
import os
from typing import Any, Final, final

import numpy as np

from hybridnet.base.context import current_context
from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.ndarray import NDArray, array

from .iterator import DataDesc, DataIter
from .mnist import load_images_and_labels

__all__ = ["MNISTIter"]

_log: Final = logging.getLogger("hybridnet.io")

_SCALE: Final = 1 / 256  # MXNet's: the pixels are in [0, 1)


@final
class MNISTIter(DataIter):
    """Iterates over MNIST; rows that do not fill a batch are left out.

    Args:
        image: the IDX file of the images, plain or compressed.
        label: the IDX file of the labels, plain or compressed.
        batch_size: images in a batch.
        shuffle: put the images in a random order, once: each pass has the same.
        flat: give data of shape (batch_size, height * width), not (batch_size, 1, height, width).
        seed: of the order.
        silent: do not log how much was loaded.
        num_parts: how many parts the set is cut into, for as many workers.
        part_index: which part this is, from 0.
        prefetch_buffer: of no effect, as the digits are in memory.
        ctx: of no effect; batches are made on the current context.
        dtype: of the data, float32 by default. Labels are float32.
        input_shape: of no effect, as in MXNet: the files know the size of the images.
        data_name: name of the data.
        label_name: name of the label.

    Raises:
        FormatError: a file is damaged, or the numbers of images and labels differ.
        OSError: a file cannot be read.
        ParameterError: an argument is out of its range.
    """

    def __init__(
        self,
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
        dtype: Any = None,
        input_shape: Any = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
    ) -> None:
        super().__init__(batch_size)
        if batch_size < 1:
            raise ParameterError(f"MNISTIter: batch_size must be at least 1, got {batch_size}")
        if not 0 <= part_index < num_parts:
            raise ParameterError(
                f"MNISTIter: part_index must be from 0 to num_parts - 1 = {num_parts - 1}, "
                f"got {part_index}"
            )
        self._images, self._labels = load_images_and_labels(image, label)
        count = len(self._labels)
        rows = np.arange(count)
        if shuffle:
            np.random.default_rng(seed).shuffle(rows)
        self._rows = rows[count * part_index // num_parts : count * (part_index + 1) // num_parts]
        self._dtype = as_dtype(dtype or np.float32)
        self._ctx = current_context()
        height, width = self._images.shape[1:]
        self._shape = (batch_size, height * width) if flat else (batch_size, 1, height, width)
        self._names = data_name, label_name
        self._start = -batch_size
        if not silent:
            _log.info("MNISTIter: %d of %d images from %s", len(self._rows), count, image)

    @property
    def provide_data(self) -> list[DataDesc]:
        """Description of the images of a batch."""
        return [DataDesc(self._names[0], self._shape, self._dtype.type)]

    @property
    def provide_label(self) -> list[DataDesc]:
        """Description of the labels of a batch."""
        return [DataDesc(self._names[1], (self.batch_size,))]

    def reset(self) -> None:
        """Goes back to the beginning; the order stays."""
        self._start = -self.batch_size

    def iter_next(self) -> bool:
        """Moves on to the next batch; returns whether there is one."""
        if self._start + self.batch_size <= len(self._rows):
            self._start += self.batch_size
        return self._start + self.batch_size <= len(self._rows)

    def getdata(self) -> list[NDArray]:
        """Returns the images of the current batch: pixels / 256."""
        pixels = self._images.take(self.getindex(), axis=0) * np.float32(_SCALE)
        return [array(pixels.reshape(self._shape), self._ctx, self._dtype)]

    def getlabel(self) -> list[NDArray]:
        """Returns the labels of the current batch: (batch_size,), float32."""
        return [array(self._labels.take(self.getindex()), self._ctx, np.float32)]

    def getindex(self) -> np.ndarray[Any, Any]:
        """Returns the numbers of the current batch's images in the file."""
        rows = self._rows[max(self._start, 0) : self._start + self.batch_size]
        if len(rows) != self.batch_size:
            raise MXNetError(
                "MNISTIter: there is no current batch; call iter_next() first, and reset() after "
                "the last batch"
            )
        return rows

    def getpad(self) -> int:
        """Returns 0: every batch is full."""
        return 0
