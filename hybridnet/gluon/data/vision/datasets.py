"""Data sets of images: MNIST, FashionMNIST, CIFAR10 and CIFAR100, and one's own."""

from __future__ import annotations

import os
import shutil
import tarfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import FormatError
from hybridnet.base.fetching import RemoteFile, check_sha1
from hybridnet.base.files import atomic_write
from hybridnet.base.numpy_mode import mode
from hybridnet.io.mnist import load_images_and_labels
from hybridnet.ndarray import NDArray, array

from ..dataset import DownloadedDataset
from .image_files import ImageFolderDataset, ImageListDataset, ImageRecordDataset

__all__ = [
    "CIFAR10",
    "CIFAR100",
    "MNIST",
    "FashionMNIST",
    "ImageFolderDataset",
    "ImageListDataset",
    "ImageRecordDataset",
]

Transform = Callable[[Any, Any], Any] | None


def _images(host: NumpyArray) -> NDArray:
    made = array(host, dtype=host.dtype)
    return made.as_np_ndarray() if mode.array else made


def _labels(host: NumpyArray) -> Any:
    """Returns labels as int32: NumPy's, so that each is a number, or arrays of NumPy's mode."""
    host = host.astype(np.int32)
    return array(host, dtype=host.dtype).as_np_ndarray() if mode.array else host


#: Whether they are to train with -> the files.
_Files = Mapping[bool, tuple[RemoteFile, ...]]


class MNIST(DownloadedDataset):
    """Handwritten digits: 60,000 to train and 10,000 to test with.

    Samples are (image, label): the image (28, 28, 1) of uint8, the label a number from 0 to 9.

    Args:
        root: folder of the files; what is not there is downloaded. Default
            $MXNET_HOME/datasets/mnist.
        train: the images to train with, or those to test with.
        transform: takes image and label of each sample and returns what takes their place; or None.

    Raises:
        DownloadError: a file is not there and cannot be fetched.
    """

    _namespace = "mnist"
    _files: ClassVar[_Files] = {
        True: (
            RemoteFile("train-images-idx3-ubyte.gz", "6c95f4b05d2bf285e1bfb0e7960c31bd3b3f8a7d"),
            RemoteFile("train-labels-idx1-ubyte.gz", "2a80914081dc54586dbdf242f9805a6b8d2a15fc"),
        ),
        False: (
            RemoteFile("t10k-images-idx3-ubyte.gz", "c3a25af1f52dad7f726cce8cacb138654b760d48"),
            RemoteFile("t10k-labels-idx1-ubyte.gz", "763e7fa3757d93b0cdec073cef058b2004252c17"),
        ),
    }

    def __init__(
        self,
        root: str = "$MXNET_HOME/datasets/mnist",
        train: bool = True,
        transform: Transform = None,
    ) -> None:
        self._train = train
        super().__init__(root, transform)

    def _get_data(self) -> None:
        files = self._files[self._train]
        paths = [file.fetched(self._namespace, self._root) for file in files]
        images, labels = load_images_and_labels(*paths)
        self._data, self._label = _images(images[..., None]), _labels(labels)


class FashionMNIST(MNIST):
    """Pictures of clothes in MNIST's format: 60,000 to train and 10,000 to test with.

    Samples are (image, label): the image (28, 28, 1) of uint8, the label a number from 0 to 9.

    Args:
        root: as for `MNIST`; default $MXNET_HOME/datasets/fashion-mnist.
        train, transform: as for `MNIST`.
    """

    _namespace = "fashion-mnist"
    _files: ClassVar[_Files] = {
        True: (
            RemoteFile("train-images-idx3-ubyte.gz", "0cf37b0d40ed5169c6b3aba31069a9770ac9043d"),
            RemoteFile("train-labels-idx1-ubyte.gz", "236021d52f1e40852b06a4c3008d8de8aef1e40b"),
        ),
        False: (
            RemoteFile("t10k-images-idx3-ubyte.gz", "626ed6a7c06dd17c0eec72fa3be1740f146a2863"),
            RemoteFile("t10k-labels-idx1-ubyte.gz", "17f9ab60e7257a1620f4ad76bbbaf857c3920701"),
        ),
    }

    def __init__(
        self,
        root: str = "$MXNET_HOME/datasets/fashion-mnist",
        train: bool = True,
        transform: Transform = None,
    ) -> None:
        super().__init__(root, train, transform)


class CIFAR10(DownloadedDataset):
    """Small photographs of ten kinds of things: 50,000 to train and 10,000 to test with.

    Samples are (image, label): the image (32, 32, 3) of uint8, the label a number from 0 to 9.

    Args:
        root: folder of the files; what is not there is downloaded. Default
            $MXNET_HOME/datasets/cifar10.
        train: the images to train with, or those to test with.
        transform: takes image and label of each sample and returns what takes their place; or None.

    Raises:
        DownloadError: a file is not there and cannot be fetched.
    """

    _namespace = "cifar10"
    _archive = RemoteFile("cifar-10-binary.tar.gz", "fab780a1e191a7eda0f345501ccd62d20f7ed891")
    _files: ClassVar[_Files] = {
        True: (
            RemoteFile("data_batch_1.bin", "aadd24acce27caa71bf4b10992e9e7b2d74c2540"),
            RemoteFile("data_batch_2.bin", "c0ba65cce70568cd57b4e03e9ac8d2a5367c1795"),
            RemoteFile("data_batch_3.bin", "1dd00a74ab1d17a6e7d73e185b69dbf31242f295"),
            RemoteFile("data_batch_4.bin", "aab85764eb3584312d3c7f65fd2fd016e36a258e"),
            RemoteFile("data_batch_5.bin", "26e2849e66a845b7f1e4614ae70f4889ae604628"),
        ),
        False: (RemoteFile("test_batch.bin", "67eb016db431130d61cd03c7ad570b013799c88c"),),
    }
    #: Bytes before each image: labels.
    _label_bytes = 1
    #: Which of them is the label.
    _label_byte = 0

    def __init__(
        self,
        root: str = "$MXNET_HOME/datasets/cifar10",
        train: bool = True,
        transform: Transform = None,
    ) -> None:
        self._train = train
        super().__init__(root, transform)

    def _get_data(self) -> None:
        self._fetch([file for files in self._files.values() for file in files])
        rows = np.concatenate(
            [self._rows(os.path.join(self._root, file.name)) for file in self._files[self._train]]
        )
        pixels = rows[:, self._label_bytes :].reshape(-1, 3, 32, 32)
        self._data = _images(pixels.transpose(0, 2, 3, 1))
        self._label = _labels(rows[:, self._label_byte])

    def _rows(self, path: str) -> NumpyArray:
        return np.fromfile(path, np.uint8).reshape(-1, self._label_bytes + 3 * 32 * 32)

    def _fetch(self, files: Sequence[RemoteFile]) -> None:
        """Downloads the archive and unpacks its files, unless they are all there."""
        folder = Path(self._root)
        if all((folder / x.name).exists() and check_sha1(folder / x.name, x.sha1) for x in files):
            return
        archive = self._archive.fetched(self._namespace, self._root)
        wanted = {file.name for file in files}
        with tarfile.open(archive) as tar:
            for member in tar:
                name = os.path.basename(member.name)
                content = tar.extractfile(member) if name in wanted else None
                if content is not None:
                    with content, atomic_write(folder / name) as file:
                        shutil.copyfileobj(content, file)
                    wanted.discard(name)
        if wanted:
            raise FormatError(f"{archive}: has no {', '.join(sorted(wanted))}")


class CIFAR100(CIFAR10):
    """Small photographs of a hundred kinds of things: 50,000 to train and 10,000 to test with.

    Samples are (image, label): the image (32, 32, 3) of uint8, the label a number.

    Args:
        root: as for `CIFAR10`; default $MXNET_HOME/datasets/cifar100.
        fine_label: whether labels are those of the 100 kinds, or of the 20 groups of them.
        train, transform: as for `CIFAR10`.
    """

    _namespace = "cifar100"
    _archive = RemoteFile("cifar-100-binary.tar.gz", "a0bb982c76b83111308126cc779a992fa506b90b")
    _files: ClassVar[_Files] = {
        True: (RemoteFile("train.bin", "e207cd2e05b73b1393c74c7f5e7bea451d63e08e"),),
        False: (RemoteFile("test.bin", "8fb6623e830365ff53cf14adec797474f5478006"),),
    }
    _label_bytes = 2

    def __init__(
        self,
        root: str = "$MXNET_HOME/datasets/cifar100",
        fine_label: bool = False,
        train: bool = True,
        transform: Transform = None,
    ) -> None:
        self._label_byte = int(fine_label)
        super().__init__(root, train, transform)
