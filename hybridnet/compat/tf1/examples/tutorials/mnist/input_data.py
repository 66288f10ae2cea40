"""MNIST as the tutorials of TensorFlow 1.x read it: ``input_data.read_data_sets(folder)``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Final, NamedTuple, final

import numpy as np

from hybridnet.base import download, read_idx

from ....dtypes import as_dtype, float32, uint8

__all__ = ["DataSet", "Datasets", "read_data_sets"]

Array = np.ndarray[Any, Any]

#: Where files are fetched that are not there.
_SOURCE: Final = "https://storage.googleapis.com/cvdf-datasets/mnist/"
_FILES: Final = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)
_CLASSES: Final = 10
#: What ``fake_data`` has of every image: as many examples, each of that many pixels.
_FAKE_EXAMPLES: Final = 10000
_PIXELS: Final = 784


@final
class DataSet:
    """Images and their labels, in batches.

    Args:
        images: (n, height, width, channels) of uint8.
        labels: (n,), or (n, classes).
        fake_data: whether there are no images; all is 1 and class 0 then.
        one_hot: whether the labels of `fake_data` are rows of 0 and 1.
        dtype: float32, for pixels from 0 to 1, or uint8, for 0 to 255.
        reshape: whether an image is one row of pixels.
        seed: where its order begins; None: anywhere.

    Attributes:
        images: (n, pixels), or (n, height, width, channels).
        labels: as they were given.
        num_examples: how many there are.
        epochs_completed: how often all have been given.

    Raises:
        TypeError: `dtype` is neither.
        ValueError: there are not as many labels as images.
    """

    def __init__(
        self,
        images: Array,
        labels: Array,
        fake_data: bool = False,
        one_hot: bool = False,
        dtype: Any = float32,
        reshape: bool = True,
        seed: int | None = None,
    ) -> None:
        kind = as_dtype(dtype).base_dtype
        if kind not in (uint8, float32):
            raise TypeError(f"Invalid image dtype {dtype!r}, expected uint8 or float32")
        self._random = np.random.default_rng(seed)
        self._fake = _fake(one_hot) if fake_data else None
        self.epochs_completed = 0
        self._at = 0
        if fake_data:
            self.num_examples = _FAKE_EXAMPLES
            self.images, self.labels = images, labels
            return
        if len(images) != len(labels):
            raise ValueError(f"images.shape: {images.shape} labels.shape: {labels.shape}")
        self.num_examples = len(images)
        if reshape:
            images = images.reshape(len(images), math.prod(images.shape[1:]))
        self.images = images if kind is uint8 else images.astype(np.float32) / np.float32(255)
        self.labels = labels

    def next_batch(
        self, batch_size: int, fake_data: bool = False, shuffle: bool = True
    ) -> tuple[Any, Any]:
        """Returns the next examples: images and labels.

        A batch that goes over the end has what is left and the first of the next epoch.

        Args:
            batch_size: how many.
            fake_data: whether to return the same row of ones each time.
            shuffle: whether each epoch has a new order.
        """
        if fake_data or self._fake is not None:
            image, label = self._fake or _fake(self.labels.ndim > 1)
            return [image] * batch_size, [label] * batch_size
        if shuffle and not self._at and not self.epochs_completed:
            self._shuffle()
        start, end = self._at, self._at + batch_size
        if end <= self.num_examples:
            self._at = end
            return self.images[start:end], self.labels[start:end]
        left = self.images[start:], self.labels[start:]
        self.epochs_completed += 1
        if shuffle:
            self._shuffle()
        self._at = end - self.num_examples
        more = self.images[: self._at], self.labels[: self._at]
        images, labels = (np.concatenate(pair) for pair in zip(left, more, strict=True))
        return images, labels

    def _shuffle(self) -> None:
        order = self._random.permutation(self.num_examples)
        self.images, self.labels = self.images[order], self.labels[order]


class Datasets(NamedTuple):
    """The three datasets that `read_data_sets` returns.

    Attributes:
        train: the training set.
        validation: the validation set: the first of the training images, kept apart.
        test: the test set.
    """

    train: DataSet
    validation: DataSet
    test: DataSet


def read_data_sets(
    train_dir: str,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = float32,
    reshape: bool = True,
    validation_size: int = 5000,
    seed: int | None = None,
    source_url: str = _SOURCE,
) -> Datasets:
    """Returns MNIST, or what is in the same files.

    Args:
        train_dir: the folder of the four files; what is not there is fetched.
        fake_data: whether to read nothing; see `DataSet`.
        one_hot: whether labels are rows of ten numbers, 1 at the digit, and not digits.
        dtype: of the images; see `DataSet`.
        reshape: whether an image is one row of pixels.
        validation_size: how many images to train with are kept apart.
        seed: where the order begins; None: anywhere.
        source_url: where files are fetched.

    Raises:
        DownloadError: a file is not there and cannot be fetched.
        FormatError: a file is not whole.
        ValueError: there are fewer images than `validation_size`.
    """
    if fake_data:
        nothing = np.zeros((0,), np.uint8)
        one = DataSet(nothing, nothing, fake_data=True, one_hot=one_hot, dtype=dtype, seed=seed)
        return Datasets(one, one, one)
    found = [_read(train_dir, source_url, name) for name in _FILES]
    images, test_images = (one[..., None] for one in (found[0], found[2]))
    labels, test_labels = (_one_hot(one) if one_hot else one for one in (found[1], found[3]))
    count = validation_size
    if not 0 <= count <= len(images):
        raise ValueError(
            f"Validation size should be between 0 and {len(images)}. Received: {count}."
        )

    def made(images: Array, labels: Array) -> DataSet:
        return DataSet(images, labels, dtype=dtype, reshape=reshape, seed=seed)

    return Datasets(
        made(images[count:], labels[count:]),
        made(images[:count], labels[:count]),
        made(test_images, test_labels),
    )


def _read(folder: str, source: str, name: str) -> Array:
    path = Path(folder) / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        download(source + name, path=str(path))
    return read_idx(path)


def _one_hot(labels: Array) -> Array:
    return np.eye(_CLASSES)[labels]


def _fake(one_hot: bool) -> tuple[Any, Any]:
    return [1] * _PIXELS, [1] + [0] * (_CLASSES - 1) if one_hot else 0
