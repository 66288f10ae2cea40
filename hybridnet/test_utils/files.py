"""Data for tests and examples: the bundled digits under MXNet's names, and fetching a file."""

from __future__ import annotations

import bz2
import gzip
import os
import shutil
import zipfile
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.fetching import download as gluon_download
from hybridnet.io import DataBatch, DataIter, MNISTIter, MXDataIter
from hybridnet.io.mnist import load_mnist

__all__ = [
    "DummyIter",
    "download",
    "get_bz2_data",
    "get_cifar10",
    "get_mnist",
    "get_mnist_iterator",
    "get_mnist_ubyte",
    "get_zip_data",
]

_CIFAR10: Final = "https://repo.mxnet.io/gluon/dataset/cifar10/cifar10-b9ac2870.zip"
_CIFAR10_SHA1: Final = "b9ac287012f2dad9dfb49d8271c39ecdd7db376c"


@final
class DummyIter(DataIter):
    """An iterator that gives the first batch of another one without end, for timing.

    Args:
        real_iter: the other iterator.
    """

    def __init__(self, real_iter: DataIter) -> None:
        super().__init__(real_iter.batch_size)
        self.real_iter = real_iter
        described: Any = real_iter
        self.provide_data = described.provide_data
        self.provide_label = described.provide_label
        self.the_batch: DataBatch = next(real_iter)

    def next(self) -> DataBatch:
        """Returns the batch."""
        return self.the_batch

    def reset(self) -> None:
        """Does nothing: there is no end to come back from."""


def get_mnist() -> dict[str, NumpyArray]:
    """Returns the handwritten digits that come with hybridnet; nothing is fetched.

    MXNet fetched all 70,000 digits; here are 4,000 to train on and 1,000 to test. The full files
    are read by ``hybridnet.io.mnist.load_mnist(folder)``.

    Returns:
        'train_data' and 'test_data', float32 (n, 1, 28, 28) from 0 to 1; 'train_label' and
        'test_label', int8 (n,).
    """
    names = ("train_data", "train_label", "test_data", "test_label")
    return {
        name: array.astype(np.int8) if array.ndim == 1 else array[:, None].astype(np.float32) / 255
        for name, array in zip(names, load_mnist(), strict=True)
    }


def get_mnist_ubyte() -> None:
    """Writes the bundled digits to ``data/`` in the current directory, as MNIST's four files.

    Files that are there are kept.
    """
    Path("data").mkdir(exist_ok=True)
    for packed in (files("hybridnet.data") / "mnist-5k").iterdir():
        target = Path("data", packed.name.removesuffix(".gz"))
        if packed.name.endswith(".gz") and not target.exists():
            target.write_bytes(gzip.decompress(packed.read_bytes()))


def get_mnist_iterator(
    batch_size: int, input_shape: Sequence[int], num_parts: int = 1, part_index: int = 0
) -> tuple[MXDataIter, MXDataIter]:
    """Returns iterators over the files of `get_mnist_ubyte`, to train on and to test.

    Args:
        batch_size: images in a batch.
        input_shape: (784,) for flat images, (1, 28, 28) for others.
        num_parts: how many workers share the training images.
        part_index: which of them this one is.
    """
    get_mnist_ubyte()
    flat = len(input_shape) != 3
    train, test = (
        (f"data/{name}-images-idx3-ubyte", f"data/{name}-labels-idx1-ubyte")
        for name in ("train", "t10k")
    )
    return (
        MNISTIter(*train, batch_size, True, flat, num_parts=num_parts, part_index=part_index),
        MNISTIter(*test, batch_size, False, flat),
    )


def get_cifar10() -> None:
    """Fetches CIFAR-10 as record files into ``data/cifar/`` in the current directory.

    Files that are there are kept: nothing is fetched where all four are.
    """
    names = (f"{name}.{kind}" for name in ("train", "test") for kind in ("rec", "lst"))
    if not all(Path("data", "cifar", name).exists() for name in names):
        _extract(download(_CIFAR10, dirname="data", sha1_hash=_CIFAR10_SHA1), "data")


def get_zip_data(
    data_dir: str, url: str, data_origin_name: str, sha1_hash: str | None = None
) -> None:
    """Fetches a zip file and extracts it, unless the file is there.

    Args:
        data_dir: the folder for both.
        url: where the file comes from.
        data_origin_name: its name here.
        sha1_hash: of the file; see `download`.
    """
    if not Path(data_dir, data_origin_name).exists():
        _extract(download(url, data_origin_name, data_dir, sha1_hash=sha1_hash), data_dir)


def get_bz2_data(
    data_dir: str, data_name: str, url: str, data_origin_name: str, sha1_hash: str | None = None
) -> None:
    """Fetches a bz2 file and leaves what is in it, unless that is there.

    Args:
        data_dir: the folder.
        data_name: the name of what is in it.
        url: where the file comes from.
        data_origin_name: its name here, until it is unpacked.
        sha1_hash: of the file; see `download`.
    """
    target = Path(data_dir, data_name)
    if target.exists():
        return
    packed = Path(download(url, data_origin_name, data_dir, sha1_hash=sha1_hash))
    partial = target.with_name(target.name + ".part")
    with bz2.open(packed) as source, partial.open("wb") as made:
        shutil.copyfileobj(source, made)
    partial.replace(target)
    packed.unlink()


def _extract(path: str, folder: str) -> None:
    with zipfile.ZipFile(path) as packed:
        packed.extractall(folder)


def download(
    url: str,
    fname: str | None = None,
    dirname: str | None = None,
    overwrite: bool = False,
    retries: int = 5,
    sha1_hash: str | None = None,
) -> str:
    """Fetches a file, as `gluon.utils.download` does, unless it is there.

    Args:
        url: from where.
        fname: its name here; default the last part of the address.
        dirname: the folder it is put in, made where missing; default the current one.
        overwrite: whether a file that is there is fetched again.
        retries: how often it is tried.
        sha1_hash: of the file, in hexadecimal digits; one that is there and has another is fetched
            again.

    Returns:
        The path.

    Raises:
        DownloadError: every try failed, or what came has another hash.
    """
    path = Path(dirname or "", fname or url.rsplit("/", 1)[-1])
    return gluon_download(url, os.fspath(path), overwrite, sha1_hash, retries)
