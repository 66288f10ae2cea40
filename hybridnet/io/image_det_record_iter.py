"""`ImageDetRecordIter`: batches of images with boxes from record files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import FormatError, ParameterError
from hybridnet.base.lazy import cv2
from hybridnet.recordio import scan, unpack

from .boxes import objects_of
from .det_augmentation import DetAugmentation, augment_boxes
from .image_labels import label_of, read_labels
from .image_source import Ahead, Batching, ImageSource, Reading
from .mersenne import MersenneTwister
from .mx_data_iter import MXDataIter
from .parameters import read_parameters, signature_of

__all__ = ["ImageDetRecordIter"]


_AUGMENTER: Final = "det_aug_default"
_SIZES: Final = 4  # numbers in front of a label: channels, rows, columns, length
_VALUES: Final = np.arange(256, dtype=np.float32)


@dataclass(frozen=True, kw_only=True)
class DetReading(Reading):
    """The options for reading images for object detection; see `Reading`.

    Attributes:
        path_imgrec: the record file.
        aug_seq: 'det_aug_default'.
        label_width: numbers of each label; -1: any number.
    """

    path_imgrec: str = "./data/imgrec.rec"
    aug_seq: str = _AUGMENTER
    label_width: int = -1


@dataclass(frozen=True, kw_only=True)
class DetLabels:
    """The layout of labels in a batch.

    Attributes:
        label_pad_width: room for so many; 0: for the longest of the file.
        label_pad_value: what the rest is filled with.
    """

    label_pad_width: int = 0
    label_pad_value: float = -1.0


@dataclass(frozen=True, kw_only=True)
class DetNormalization:
    """The scaling of values: ``(value - mean) / std * scale``.

    Attributes:
        mean_img: a file with a mean image, which counts if the next four are 0; it is made if it is
            not there.
        mean_r: mean of red; likewise the next three.
        mean_g: of green.
        mean_b: of blue.
        mean_a: of alpha.
        std_r: standard deviation of red, 0: it is not divided; likewise the next three.
        std_g: of green.
        std_b: of blue.
        std_a: of alpha.
        scale: see above.
    """

    mean_img: str = ""
    mean_r: float = 0.0
    mean_g: float = 0.0
    mean_b: float = 0.0
    mean_a: float = 0.0
    std_r: float = 0.0
    std_g: float = 0.0
    std_b: float = 0.0
    std_a: float = 0.0
    scale: float = 1.0


def ImageDetRecordIter(**kwargs: Any) -> MXDataIter:
    """Iterates over the images with boxes of a record file.

    A row of the labels is: channels, rows and columns of the image, how many numbers its label has,
    these numbers, and then `label_pad_value`. A label is the length of its header (2 or more), the
    length of an object (5 or more), the rest of the header, and the objects: class, left, top,
    right, bottom in parts of the image's size, and what else there is.

    Args:
        kwargs: ``path_imgrec``, ``data_shape`` and ``batch_size``, and what else there is in
            `DetReading`, `DetLabels`, `Batching`, `Ahead`, `DetAugmentation` and
            `DetNormalization`; ``data_name`` and ``label_name``. Others are of no effect, as in
            MXNet.

    Raises:
        ParameterError: an argument is missing, or out of its range.
        FormatError: a file is damaged, or a record has no such label; that of an image is raised
            with its batch.
        OSError: a file cannot be read.
        ImportError: OpenCV is not installed.
    """
    what = "ImageDetRecordIter"
    reading = read_parameters(DetReading, kwargs, what)
    ahead = read_parameters(Ahead, kwargs, what)
    if (ahead.dtype or "float32") != "float32":
        raise ParameterError(f"{what}: dtype must be float32, got {ahead.dtype!r}")
    if reading.aug_seq != _AUGMENTER:
        raise ParameterError(f"{what}: aug_seq must be {_AUGMENTER!r}, got {reading.aug_seq!r}")
    source = _ImageDetSource(
        what,
        reading,
        read_parameters(Batching, kwargs, what),
        read_parameters(DetLabels, kwargs, what),
        read_parameters(DetAugmentation, kwargs, what),
        read_parameters(DetNormalization, kwargs, what),
    )
    names = {key: kwargs[key] for key in ("data_name", "label_name") if key in kwargs}
    return MXDataIter(source, prefetch_buffer=ahead.prefetch_buffer, **names)


ImageDetRecordIter.__signature__ = signature_of(  # type: ignore[attr-defined]
    DetReading, DetLabels, Batching, Ahead, DetAugmentation, DetNormalization
)


@final
class _ImageDetSource(ImageSource):
    """Images with the labels of their boxes."""

    def __init__(
        self,
        what: str,
        reading: Reading,
        batching: Batching,
        labels: DetLabels,
        augmentation: DetAugmentation,
        normalization: DetNormalization,
    ) -> None:
        width = None if reading.label_width < 1 else reading.label_width
        self._width = width
        self._rest = labels.label_pad_value
        self._augmentation = augmentation
        self._listed = read_labels(reading.path_imglist, width) if reading.path_imglist else None
        longest = _longest(what, reading.path_imgrec, self._listed, width)
        if 0 < labels.label_pad_width < longest:
            raise ParameterError(
                f"{what}: label_pad_width must be at least {longest}, the length of the longest "
                f"label, got {labels.label_pad_width}; 0 finds it by itself"
            )
        room = max(labels.label_pad_width, longest) + _SIZES
        super().__init__(what, reading, batching, np.dtype(np.float32), (room,))
        means, stds = (
            np.array([getattr(normalization, f"{name}_{one}") for one in "rgba"], np.float32)
            for name in ("mean", "std")
        )
        self._tables = (_VALUES - means[:, None]) / np.where(stds > 0, stds, 1)[:, None]
        self._tables *= np.float32(normalization.scale)
        self._stds, self._scale = np.where(stds > 0, stds, 1), np.float32(normalization.scale)
        self._mean: NumpyArray | None = None
        if not (means > 0).any():
            self._mean = self.mean_image(normalization.mean_img)

    @property
    def listed(self) -> dict[int, NumpyArray] | None:
        return self._listed

    @property
    def label_width(self) -> int | None:
        return self._width

    def put(
        self,
        image: NumpyArray,
        labels: NumpyArray,
        data: NumpyArray,
        label: NumpyArray,
        numbers: MersenneTwister,
    ) -> None:
        header, objects = objects_of(labels)
        shape = self.reading.data_shape
        image, objects = augment_boxes(image, objects, self._augmentation, shape, numbers)
        made = np.concatenate([header, objects.ravel()])
        rows, columns = image.shape[:2]
        label[:] = self._rest
        label[:_SIZES] = len(data), rows, columns, len(made)
        label[_SIZES : _SIZES + len(made)] = made
        data[:] = 0
        for channel, plane in enumerate(data):
            pixels = image
            if image.ndim == 3:
                pixels = cv2.extractChannel(image, 2 - channel if channel < 3 else 3)
            if self._mean is None:
                plane[:rows, :columns] = cv2.LUT(pixels, self._tables[channel])
            else:
                less = pixels - self._mean[channel, :rows, :columns]
                plane[:rows, :columns] = less / self._stds[channel] * self._scale


def _longest(what: str, path: str, listed: dict[int, NumpyArray] | None, width: int | None) -> int:
    """Returns the length of the longest label; goes through the file if need be."""
    if listed is not None:
        return max(map(len, listed.values()), default=0)
    if not path:
        raise ParameterError(f"{what}: needs path_imgrec, the path of a record file")
    longest = 0
    for entry in scan(path):
        header, _ = unpack(entry.data)
        if not header.flag:
            raise FormatError(
                f"{path}: record at byte {entry.offset}: must have a label of boxes, got the "
                f"number {header.label}; `hybridnet im2rec --pack-label` packs several numbers"
            )
        longest = max(longest, len(label_of(header, None, width)))
    return longest
