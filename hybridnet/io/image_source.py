"""Batches of images from record files, decoded and changed by several threads.

The threads are the source's own: OpenCV lets Python go on meanwhile, and what decodes must not
wait for other work of the engine's. The engine reads batches ahead, one after another.
"""

from __future__ import annotations

import logging
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import FormatError, MXNetError, ParameterError
from hybridnet.base.lazy import cv2
from hybridnet.base.params_file import load_params, save_params
from hybridnet.base.processor import num_threads
from hybridnet.base.remote import file_exists
from hybridnet.ndarray.copies import aligned
from hybridnet.recordio import unpack

from .image_labels import label_of, read_labels
from .mersenne import MersenneTwister
from .record_stream import IndexedRecords, Numbered, Records
from .source import HostBatch, Layout, RowSource, require_part

__all__ = ["Ahead", "Batching", "ImageSource", "Reading"]


_log: Final = logging.getLogger("hybridnet.io")

_FLOAT32: Final = np.dtype(np.float32)
_JPEG: Final = b"\xff\xd8"
#: OpenCV's numbers of how to decode, by channels: as grey, as colour, as it is.
_MODES: Final = {1: 0, 3: 1, 4: -1}
_IGNORE_ORIENTATION: Final = 128
_MAGIC: Final = 111  # what MXNet adds to the seeds of augmenters
#: Batches of fewer bytes are decoded in less time than it takes to share them out.
_SMALL_BYTES: Final = 1 << 15
_MEAN_NAME: Final = "mean_img"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """The options for reading: which images, with which labels, in which order.

    Attributes:
        path_imglist: a list file whose labels take the place of the records'.
        path_imgrec: the record file.
        path_imgidx: its index; with it `shuffle` draws an order of all records.
        aug_seq: 'aug_default'.
        label_width: labels of each image.
        data_shape: (channels, height, width); 1 channel: grey, 3: colour, 4: with alpha.
        preprocess_threads: threads that decode, at most as many as there are processors.
        verbose: log what is read.
        num_parts: how many parts the file is cut into, for as many workers.
        part_index: which part is read.
        device_id: of no effect.
        shuffle_chunk_size: megabytes of the pieces that come in an order by chance; 0: they do not.
        shuffle_chunk_seed: of that order.
        seed_aug: of the augmenters; None: each pass changes images differently.
    """

    path_imglist: str = ""
    path_imgrec: str = ""
    path_imgidx: str = ""
    aug_seq: str = "aug_default"
    label_width: int = 1
    data_shape: tuple[int, ...]
    preprocess_threads: int = 4
    verbose: bool = True
    num_parts: int = 1
    part_index: int = 0
    device_id: int = 0
    shuffle_chunk_size: int = 0
    shuffle_chunk_seed: int = 0
    seed_aug: int | None = None


@dataclass(frozen=True, kw_only=True)
class Batching:
    """The settings by which records become batches.

    Attributes:
        shuffle: put them in an order by chance: all with an index, those of each 64 MB without.
        seed: of the order.
        batch_size: images in a batch.
        round_batch: fill the last batch with the first images, behind which the next pass then
            begins; False: with images of the batch before.
    """

    shuffle: bool = False
    seed: int = 0
    batch_size: int
    round_batch: bool = True


@dataclass(frozen=True, kw_only=True)
class Ahead:
    """The options for reading ahead.

    Attributes:
        prefetch_buffer: batches that are read ahead.
        ctx: of no effect.
        dtype: of the images: 'float32' (default), 'uint8' or 'int8'.
    """

    prefetch_buffer: int = 4
    ctx: str = "gpu"
    dtype: str | None = None


class ImageSource(RowSource[Numbered]):
    """Decodes records; subclasses change the images and lay out the labels.

    Args:
        what: who asks, for messages.
        reading: what is read.
        batching: how records become batches.
        dtype: of the images.
        label_shape: of the labels of an image in a batch, () for a number.

    Raises:
        ParameterError: an argument is out of its range.
        FormatError: the index or the list is damaged.
        OSError: a file cannot be opened.
    """

    def __init__(
        self,
        what: str,
        reading: Reading,
        batching: Batching,
        dtype: np.dtype[np.generic],
        label_shape: tuple[int, ...],
    ) -> None:
        self.what = what
        self.reading = reading
        super().__init__(batching.batch_size, batching.round_batch)
        _check(what, reading)
        self.data = Layout((self.batch_size, *reading.data_shape), dtype)
        self.label = Layout((self.batch_size, *label_shape), _FLOAT32)
        self._records = _open(reading, batching)
        self._seen = 0
        self._threads = max(min(reading.preprocess_threads, num_threads()), 1)
        self._pool: ThreadPoolExecutor | None = None
        self._own = threading.local()
        if reading.verbose:
            _log.info("%s: %s, %d threads", what, reading.path_imgrec, self._threads)

    # -- what subclasses do ------------------------------------------------------------------

    @abstractmethod
    def put(
        self,
        image: NumpyArray,
        labels: NumpyArray,
        data: NumpyArray,
        label: NumpyArray,
        numbers: MersenneTwister,
    ) -> None:
        """Changes an image and writes it into its row.

        Args:
            image: uint8 (height, width[, channels]), blue first.
            labels: of the image, float32.
            data: the row of the images, (channels, height, width), or of what `begun` returned.
            label: the row of the labels, flat.
            numbers: where chance comes from.
        """

    @property
    @abstractmethod
    def listed(self) -> dict[int, NumpyArray] | None:
        """The labels from a list file."""

    @property
    def label_width(self) -> int | None:
        """The number of labels that an image must have; None: any number."""
        return self.reading.label_width

    def begun(self, data: NumpyArray) -> NumpyArray:
        """Returns what the images of a batch are put into: its data, or what `finish` takes."""
        return data

    def finish(self, put: NumpyArray, data: NumpyArray) -> None:
        """Makes the data of a batch of what the images were put into, if that is not the data."""

    # -- batches -----------------------------------------------------------------------------

    def rows(self, filled: int) -> Iterator[Numbered]:
        """Yields the records of a pass, with the seeds of their augmenters."""
        fixed = self.reading.seed_aug
        for number, data in self._records.rows(filled):
            self._seen += 1
            seed = _MAGIC * self._seen if fixed is None else number + fixed + _MAGIC
            yield Numbered(seed, data)

    def collate(self, rows: Sequence[Numbered], pad: int) -> HostBatch:
        """Decodes the images of a batch, in several threads."""
        data = aligned(self.data.shape, self.data.dtype)
        label = aligned(self.label.shape, _FLOAT32)
        index = np.empty(len(rows), np.uint64)
        flat = label.reshape(self.batch_size, -1)
        images = self.begun(data)

        def work(first: int, step: int) -> None:
            for place in range(first, len(rows), step):
                index[place] = self._decode(rows[place], images[place], flat[place])

        self._side_by_side(work, sum(len(row.data) for row in rows))
        if images is not data:
            self.finish(images, data)
        return HostBatch(data, label, pad, index)

    def _side_by_side(self, work: Callable[[int, int], None], size: int) -> None:
        """Shares work out to threads.

        Args:
            work: called with the first of the rows, and how many rows the next one is behind.
            size: of the encoded images, bytes.
        """
        if self._threads == 1 or size < _SMALL_BYTES:
            work(0, 1)
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._threads, "decode")
        tasks = [self._pool.submit(work, first, self._threads) for first in range(self._threads)]
        for error in [task.exception() for task in tasks]:
            if error is not None:
                raise error

    def _decode(self, row: Numbered, data: NumpyArray, label: NumpyArray) -> int:
        numbers = getattr(self._own, "numbers", None)
        if numbers is None:
            numbers = self._own.numbers = MersenneTwister(0)
        numbers.seed(row.number)
        header, encoded = unpack(row.data)
        try:
            image = decode_record(encoded, self.reading.data_shape[0])
            labels = label_of(header, self.listed, self.label_width)
            self.put(image, labels, data, label, numbers)
        except (MXNetError, cv2.error) as error:
            kind = type(error) if isinstance(error, MXNetError) else MXNetError
            raise kind(
                f"{self.what}: {self.reading.path_imgrec}, image {header.id}: "
                f"{' '.join(str(error).split())}"
            ) from error
        return header.id

    # -- the mean image ----------------------------------------------------------------------

    def mean_image(self, path: str) -> NumpyArray | None:
        """Returns the mean image of a file, which is made of one pass if it is not there.

        Args:
            path: of the file; empty: there is none.

        Raises:
            FormatError: the file holds something else.
            OSError: it cannot be read or written.
        """
        if not path:
            return None
        if not file_exists(path):
            _log.info("%s: %s is made of all images, which takes some time", self.what, path)
            total = np.zeros(self.reading.data_shape, np.float64)
            count = 0
            while (batch := self.read()) is not None:
                rows = batch.data[: self.batch_size - batch.pad]
                total += rows.sum(axis=0, dtype=np.float64)
                count += len(rows)
            self.restart(0)
            self._seen = 0
            if not count:
                raise MXNetError(f"{self.what}: {path} needs an image to be made of, got none")
            save_params(path, {_MEAN_NAME: (total / count).astype(np.float32)})
        saved = load_params(path)
        arrays = list(saved.values()) if isinstance(saved, dict) else list(saved)
        if len(arrays) != 1 or np.shape(arrays[0]) != self.reading.data_shape:
            got = [np.shape(one) for one in arrays]
            raise FormatError(
                f"{path}: must hold one mean image of the shape {self.reading.data_shape}, got "
                f"arrays of the shapes {got}"
            )
        return np.asarray(arrays[0], np.float32)


def decode_record(encoded: bytes, channels: int) -> NumpyArray:
    """Decodes an image as MXNet's record iterators do: JPEG's orientation is of no effect.

    Args:
        encoded: the image.
        channels: 1 for grey, 3 for colour, 4 for colour with alpha.

    Returns:
        uint8 (height, width) or (height, width, channels), blue first.

    Raises:
        FormatError: OpenCV does not know it, or it has another number of channels.
    """
    mode = _MODES[channels]
    if channels != 4 and encoded.startswith(_JPEG):
        mode |= _IGNORE_ORIENTATION
    image = cv2.imdecode(np.frombuffer(encoded, np.uint8), mode) if encoded else None
    if image is None:
        raise FormatError(
            f"needs an image that can be decoded, got {len(encoded)} bytes that begin with "
            f"{encoded[:8].hex(' ') or 'nothing'}"
        )
    if channels == 4 and image.shape[2:] != (4,):
        got = image.shape[2] if image.ndim == 3 else 1
        raise FormatError(f"needs 4 channels, got {got}")
    decoded: NumpyArray = image if image.dtype == np.uint8 else (image >> 8).astype(np.uint8)
    return decoded


def list_labels(reading: Reading) -> dict[int, NumpyArray] | None:
    """Returns the labels of the list file that is asked for, if one is."""
    if not reading.path_imglist:
        return None
    return read_labels(reading.path_imglist, reading.label_width)


def _check(what: str, reading: Reading) -> None:
    if not reading.path_imgrec:
        raise ParameterError(f"{what}: needs path_imgrec, the path of a record file")
    require_part(reading.num_parts, reading.part_index, what)
    shape = reading.data_shape
    if len(shape) != 3 or shape[0] not in _MODES or min(shape) < 1:
        raise ParameterError(
            f"{what}: data_shape must be (channels, height, width) with 1, 3 or 4 channels, got "
            f"{shape}"
        )
    if reading.preprocess_threads < 1:
        raise ParameterError(
            f"{what}: preprocess_threads must be at least 1, got {reading.preprocess_threads}"
        )


def _open(reading: Reading, batching: Batching) -> Records | IndexedRecords:
    if reading.path_imgidx:
        return IndexedRecords(
            reading.path_imgrec,
            reading.path_imgidx,
            reading.num_parts,
            reading.part_index,
            batching.shuffle,
            batching.seed,
            batching.batch_size,
        )
    return Records(
        reading.path_imgrec,
        reading.num_parts,
        reading.part_index,
        batching.shuffle,
        batching.seed,
        reading.shuffle_chunk_size,
        reading.shuffle_chunk_seed,
        batching.batch_size,
    )
