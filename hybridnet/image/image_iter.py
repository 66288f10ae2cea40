"""`ImageIter`: batches of augmented images; each step can be overridden."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import Any, Final, Unpack

import numpy as np

from hybridnet import ndarray as nd
from hybridnet.base.array_types import ArrayLike, NumpyArray
from hybridnet.base.context import cpu
from hybridnet.base.errors import FormatError, MXNetError, ParameterError, ShapeError
from hybridnet.base.remote import read_file
from hybridnet.io import DataBatch, DataDesc, DataIter
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.adopt import adopt
from hybridnet.ndarray.copies import aligned
from hybridnet.recordio import MXIndexedRecordIO, MXRecordIO, unpack
from hybridnet.util import is_np_array

from .augmenters import Augmenter
from .create import AugmenterOptions, CreateAugmenter
from .reading import imdecode
from .sources import read_list, read_list_file

__all__ = ["ImageIter"]

_DTYPES: Final = ("int32", "float32", "int64", "float64")
_ENDS: Final = ("pad", "discard", "roll_over")
_FLOAT32: Final = np.dtype(np.float32)


class ImageIter(DataIter):
    """Batches of images from a record file, a list file or a list, with an augmenter's changes.

    Args:
        batch_size: images in a batch.
        data_shape: (3, height, width).
        label_width: labels of each image.
        path_imgrec: a record file.
        path_imglist: a list file: a line for each image, its number, labels and path with tabs
            between. With `path_imgrec` its labels take the place of the records'.
        path_root: the folder that paths begin in, and that those of a list file must not leave;
            without one they may lead anywhere, and with '/'.
        path_imgidx: the index of the record file; `shuffle` and `num_parts` need it.
        shuffle: draw a new order for each pass.
        part_index: which part of the images this iterator has.
        num_parts: how many parts there are.
        aug_list: augmenters; default those of `CreateAugmenter` with the arguments in `kwargs`.
        imglist: a list of [label, ..., path].
        data_name: the name of the images.
        label_name: the name of the labels.
        dtype: of labels from lists, before they are float32 in a batch.
        last_batch_handle: what becomes of the last images where they fill no batch: 'pad' fills it
            with the first, 'discard' leaves them out, 'roll_over' begins the next pass with them.
        kwargs: of `CreateAugmenter`.

    Raises:
        ParameterError: an argument is none of these, or they do not go together.
        FormatError: a list or an index is damaged, or a path leads out of `path_root`.
        OSError: a file cannot be opened.
    """

    def __init__(
        self,
        batch_size: int,
        data_shape: Sequence[int],
        label_width: int = 1,
        path_imgrec: str | None = None,
        path_imglist: str | None = None,
        path_root: str | None = None,
        path_imgidx: str | None = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int = 1,
        aug_list: list[Augmenter] | None = None,
        imglist: list[Any] | None = None,
        data_name: str = "data",
        label_name: str = "softmax_label",
        dtype: str = "float32",
        last_batch_handle: str = "pad",
        **kwargs: Unpack[AugmenterOptions],
    ) -> None:
        super().__init__(batch_size)
        if dtype not in _DTYPES:
            raise ParameterError(f"ImageIter: dtype must be one of {_DTYPES}, got {dtype!r}")
        if last_batch_handle not in _ENDS:
            raise ParameterError(
                f"ImageIter: last_batch_handle must be one of {_ENDS}, got {last_batch_handle!r}"
            )
        if not (path_imgrec or path_imglist or isinstance(imglist, list)):
            raise ParameterError("ImageIter: needs path_imgrec, path_imglist or a list as imglist")
        self.imgrec, self.imgidx = _open_records(path_imgrec, path_imgidx)
        self.imglist = (
            # With records it gives labels only.
            read_list_file(path_imglist, dtype, "" if path_imgrec else path_root or "")
            if path_imglist
            else read_list(imglist, dtype)
            if isinstance(imglist, list)
            else None
        )
        self.path_root = path_root or ""
        self.check_data_shape(data_shape)
        self.data_shape = tuple(data_shape)
        self.label_width = label_width
        self.shuffle = shuffle
        label_shape = (batch_size, label_width) if label_width > 1 else (batch_size,)
        self.provide_data = [DataDesc(data_name, (batch_size, *self.data_shape))]
        self.provide_label = [DataDesc(label_name, label_shape)]
        self.seq = self._keys(part_index, num_parts)
        self.num_image = None if self.seq is None else len(self.seq)
        self.auglist: list[Any] = (
            [*CreateAugmenter(self.data_shape, **kwargs)] if aug_list is None else aug_list
        )
        self.last_batch_handle = last_batch_handle
        self.cur = 0
        self._allow_read = True
        #: Data, labels and their number, of the rows that the last pass has left over.
        self._rolled: tuple[Any, Any, int] | None = None
        self.reset()

    def _keys(self, part_index: int, num_parts: int) -> list[Any] | None:
        """Returns the keys of this part's images; None: they are read in a row."""
        if self.imgrec is None:
            assert self.imglist is not None
            keys = list(self.imglist)
        elif self.imgidx is not None:
            keys = self.imgidx
        elif self.shuffle or num_parts > 1:
            raise ParameterError(
                "ImageIter: shuffle and num_parts need path_imgidx, the index of the record file; "
                "`hybridnet rec index` makes one"
            )
        else:
            return None
        if not 0 <= part_index < num_parts:
            raise ParameterError(
                f"ImageIter: part_index must be 0 to num_parts - 1, got {part_index} of {num_parts}"
            )
        count = len(keys) // num_parts
        return keys[part_index * count : (part_index + 1) * count] if num_parts > 1 else keys

    def reset(self) -> None:
        """Begins a new pass; with 'roll_over', with the images left over."""
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)
        if self.last_batch_handle != "roll_over" or self._rolled is None:
            self._rewind()

    def hard_reset(self) -> None:
        """Begins a new pass and forgets the images left over."""
        if self.seq is not None and self.shuffle:
            random.shuffle(self.seq)
        self._rolled = None
        self._rewind()

    def _rewind(self) -> None:
        if self.imgrec is not None:
            self.imgrec.reset()
        self.cur = 0
        self._allow_read = True

    def next(self) -> DataBatch:
        """Returns the next batch: float32 images (batch_size, *data_shape) and labels.

        Raises:
            StopIteration: the pass is over.
            MXNetError: an image cannot be decoded, or a record is damaged.
        """
        rolled = self._rolled
        if rolled is not None:
            data, label, count = rolled
        else:
            data = aligned(self.provide_data[0].shape, _FLOAT32)
            label = aligned(self.provide_label[0].shape, _FLOAT32)
            data.fill(0)
            label.fill(self._no_label)
            count = self._fill(data, label, 0)
            if not count:
                raise StopIteration
        pad = self.batch_size - count
        if pad:
            if self.last_batch_handle == "discard":
                raise StopIteration
            if self.last_batch_handle == "roll_over" and rolled is None:
                self._rolled = data, label, count
                raise StopIteration
            self._fill(data, label, count)
            if self.last_batch_handle == "pad":
                self._allow_read = False
        self._rolled = None
        return DataBatch([_batch(data)], [_batch(label)], pad=pad)

    #: What a label is where there is none.
    _no_label = 0.0

    def _fill(self, data: NumpyArray, label: NumpyArray, start: int) -> int:
        """Fills the rows from `start` on; returns how many are filled when the pass ends."""
        row = start
        while row < self.batch_size:
            try:
                given, encoded = self.next_sample()
            except StopIteration:
                break
            image = self.imdecode(encoded)
            try:
                self.check_valid_image(image)
            except RuntimeError:
                continue
            self._put(data, row, self.postprocess_data(self.augmentation_transform(image)))
            self._put_label(label, row, given)
            row += 1
        return row

    def _put(self, data: NumpyArray, row: int, image: NDArray) -> None:
        host = image.host_view() if isinstance(image, NDArray) else np.asarray(image)
        if host.shape != data.shape[1:]:
            raise ShapeError(
                f"{type(self).__name__}: the augmenters must make images of the shape "
                f"{data.shape[1:]}, got {host.shape}"
            )
        data[row] = host

    def _put_label(self, label: NumpyArray, row: int, given: ArrayLike) -> None:
        host = np.asarray(given, np.float32).reshape(-1)
        if host.size not in (1, self.label_width):
            raise ShapeError(
                f"{type(self).__name__}: an image must have label_width={self.label_width} labels, "
                f"got {host.size}"
            )
        label.reshape(self.batch_size, -1)[row] = host

    # -- the steps, which may be overridden ----------------------------------------------------

    def next_sample(self) -> tuple[Any, bytes]:
        """Returns the labels and the encoded image that come next.

        Raises:
            StopIteration: the pass is over.
        """
        if not self._allow_read:
            raise StopIteration
        if self.seq is None:
            assert self.imgrec is not None
            record = self.imgrec.read()
            if record is None:
                if self.last_batch_handle != "discard":
                    self.imgrec.reset()
                raise StopIteration
            self.cur += 1
            header, image = unpack(record)
            return header.label, image
        if self.cur >= len(self.seq):
            if self.last_batch_handle != "discard":
                self.cur = 0
            raise StopIteration
        key = self.seq[self.cur]
        self.cur += 1
        if self.imgrec is None:
            assert self.imglist is not None
            labels, path = self.imglist[key]
            return labels, self.read_image(path)
        assert isinstance(self.imgrec, MXIndexedRecordIO)
        record = self.imgrec.read_idx(key)
        if record is None:
            raise FormatError(f"{self.imgrec.idx_path}: the place of {key} is the end of the file")
        header, image = unpack(record)
        return (header.label if self.imglist is None else self.imglist[key][0]), image

    def check_data_shape(self, data_shape: Sequence[int]) -> None:
        """Raises a ParameterError unless it is (3, height, width)."""
        if len(data_shape) != 3 or data_shape[0] != 3:
            raise ParameterError(
                f"{type(self).__name__}: data_shape must be (3, height, width), got {data_shape}"
            )

    def check_valid_image(self, data: NDArray | list[NDArray]) -> None:
        """Raises a RuntimeError for an image that is to be left out."""
        image = data[0] if isinstance(data, list) else data
        if len(image.shape) < 2:
            raise MXNetError(f"an image must have two axes or more, got shape {image.shape}")

    def imdecode(self, s: bytes) -> NDArray:
        """Decodes an image.

        Raises:
            FormatError: it cannot be decoded; the message says which one it is.
        """
        try:
            return imdecode(s)
        except MXNetError as error:
            raise FormatError(f"Broken image {self._where()}, {error}") from error

    def read_image(self, fname: str) -> bytes:
        """Returns the content of an image file."""
        return read_file(os.path.join(self.path_root, fname))

    def augmentation_transform(self, data: Any) -> Any:
        """Returns an image as the augmenters make it."""
        for augmenter in self.auglist:
            data = augmenter(data)
        return data

    def postprocess_data(self, datum: NDArray) -> NDArray:
        """Returns an image as it lies in a batch: (channels, height, width)."""
        return nd.transpose(datum, axes=(2, 0, 1))

    def _where(self) -> str:
        """Returns which image was read last, for messages."""
        if self.seq is None:
            return f"index: {self.cur - 1}"
        key = self.seq[self.cur - 1]
        if self.imglist is not None and key in self.imglist:
            return f"filename: {self.imglist[key][1]}"
        return f"index: {key}"


def _open_records(
    path: str | None, index: str | None
) -> tuple[MXRecordIO | None, list[Any] | None]:
    if not path:
        return None, None
    if not index:
        return MXRecordIO(path, "r"), None
    records = MXIndexedRecordIO(index, path, "r")
    return records, list(records.keys)


def _batch(host: NumpyArray) -> NDArray:
    made = adopt(host, cpu())
    return made.as_np_ndarray() if is_np_array() else made
