"""`ImageRecordIter`: batches of images for classification from record files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import ParameterError

from .augmentation import Augmentation, augment
from .image_source import Ahead, Batching, ImageSource, Reading, list_labels
from .mersenne import MersenneTwister
from .mx_data_iter import MXDataIter
from .normalization import Normalization, Normalizer
from .parameters import read_parameters, signature_of

__all__ = [
    "ImageRecordInt8Iter",
    "ImageRecordIter",
    "ImageRecordIter_v1",
    "ImageRecordUInt8Iter",
    "ImageRecordUInt8Iter_v1",
]


_DTYPES: Final = ("float32", "uint8", "int8")
_AUGMENTER: Final = "aug_default"
#: Images of at most so many pixels are scaled together: less time goes by than in calls for each.
_SMALL_PIXELS: Final = 1 << 12


def ImageRecordIter(**kwargs: Any) -> MXDataIter:
    """Iterates over the images of a record file, as `hybridnet im2rec` makes it.

    Images are decoded by several threads and ahead, changed by chance if that is asked for, and
    given as (batch_size, channels, height, width), red first.

    Args:
        kwargs: ``path_imgrec``, ``data_shape`` and ``batch_size``, and what else there is in
            `Reading`, `Batching`, `Ahead`, `Augmentation` and `Normalization`; ``data_name`` and
            ``label_name``. Others are of no effect, as in MXNet.

    Raises:
        ParameterError: an argument is missing, or out of its range.
        FormatError: a file is damaged; that of an image or a record is raised with its batch.
        OSError: a file cannot be read.
        ImportError: OpenCV is not installed.
    """
    return _make("ImageRecordIter", kwargs)


def ImageRecordUInt8Iter(**kwargs: Any) -> MXDataIter:
    """Iterates as `ImageRecordIter` does, and gives pixels as they are, uint8."""
    return _make("ImageRecordUInt8Iter", {**kwargs, "dtype": "uint8"})


def ImageRecordInt8Iter(**kwargs: Any) -> MXDataIter:
    """Iterates as `ImageRecordIter` does, and gives pixels less their rounded mean, int8."""
    return _make("ImageRecordInt8Iter", {**kwargs, "dtype": "int8"})


def ImageRecordIter_v1(**kwargs: Any) -> MXDataIter:
    """Iterates as `ImageRecordIter` does: MXNet's older implementation of it."""
    return _make("ImageRecordIter_v1", kwargs)


def ImageRecordUInt8Iter_v1(**kwargs: Any) -> MXDataIter:
    """Iterates as `ImageRecordUInt8Iter` does: MXNet's older implementation of it."""
    return _make("ImageRecordUInt8Iter_v1", {**kwargs, "dtype": "uint8"})


def _sign(function: Callable[..., MXDataIter], *kinds: type) -> None:
    function.__signature__ = signature_of(*kinds)  # type: ignore[attr-defined]


for _one in (ImageRecordIter, ImageRecordIter_v1):
    _sign(_one, Reading, Batching, Ahead, Augmentation, Normalization)
for _one in (ImageRecordUInt8Iter, ImageRecordInt8Iter, ImageRecordUInt8Iter_v1):
    _sign(_one, Reading, Batching, Ahead, Augmentation)


def _make(what: str, given: dict[str, Any]) -> MXDataIter:
    reading = read_parameters(Reading, given, what)
    batching = read_parameters(Batching, given, what)
    ahead = read_parameters(Ahead, given, what)
    dtype = ahead.dtype or "float32"
    if dtype not in _DTYPES:
        raise ParameterError(f"{what}: dtype must be one of {_DTYPES}, got {dtype!r}")
    if reading.aug_seq != _AUGMENTER:
        raise ParameterError(f"{what}: aug_seq must be {_AUGMENTER!r}, got {reading.aug_seq!r}")
    source = _ImageRecordSource(
        what,
        reading,
        batching,
        np.dtype(dtype),
        read_parameters(Augmentation, given, what),
        read_parameters(Normalization, given, what),
    )
    names = {key: given[key] for key in ("data_name", "label_name") if key in given}
    return MXDataIter(source, prefetch_buffer=ahead.prefetch_buffer, **names)


@final
class _ImageRecordSource(ImageSource):
    """Images with a row of labels each."""

    def __init__(
        self,
        what: str,
        reading: Reading,
        batching: Batching,
        dtype: np.dtype[np.generic],
        augmentation: Augmentation,
        normalization: Normalization,
    ) -> None:
        width = reading.label_width
        if width < 1:
            raise ParameterError(f"{what}: label_width must be at least 1, got {width}")
        super().__init__(what, reading, batching, dtype, (width,) if width > 1 else ())
        self._augmentation = augmentation
        self._listed = list_labels(reading)
        self._normalizer = Normalizer(normalization, dtype)
        self._is_small = False  # while the images are read from which the mean image is made
        if dtype != np.uint8:
            self._normalizer.mean = self.mean_image(normalization.mean_img)
        channels, height, width = reading.data_shape
        self._is_small = height * width <= _SMALL_PIXELS and self._normalizer.is_alike
        self._pixels = (height, width, channels) if channels > 1 else (height, width)

    @property
    def listed(self) -> dict[int, NumpyArray] | None:
        return self._listed

    def put(
        self,
        image: NumpyArray,
        labels: NumpyArray,
        data: NumpyArray,
        label: NumpyArray,
        numbers: MersenneTwister,
    ) -> None:
        image = augment(image, self._augmentation, self.reading.data_shape, numbers)
        label[:] = labels
        if self._is_small:
            self._normalizer.write_pixels(image, data, numbers)
        else:
            self._normalizer.write(image, data, numbers)

    def begun(self, data: NumpyArray) -> NumpyArray:
        return np.empty((self.batch_size, *self._pixels), np.uint8) if self._is_small else data

    def finish(self, put: NumpyArray, data: NumpyArray) -> None:
        self._normalizer.write_batch(put, data)
