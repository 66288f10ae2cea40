"""The MNIST digits: 28×28 images in four IDX files. This module needs NumPy only."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import FormatError
from hybridnet.base.idx_file import read_idx
from hybridnet.base.lazy import resources

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

__all__ = ["load_images_and_labels", "load_mnist"]

#: 5,000 digits that come with hybridnet, in its folder of data.
_BUNDLED: Final = "mnist-5k"

#: Images and labels of the training and of the test set, as their source names them.
_FILES: Final = (
    ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
)


def load_mnist(
    folder: str | os.PathLike[str] | None = None,
) -> tuple[NumpyArray, NumpyArray, NumpyArray, NumpyArray]:
    """Reads MNIST, or a data set in its format.

    Args:
        folder: where the four files are, plain or with ``.gz``; ``train-images.idx3-ubyte`` is
            understood as well as ``train-images-idx3-ubyte``. None reads the digits that come with
            hybridnet: 4,000 to train on and 1,000 to test.

    Returns:
        Training images, training labels, test images, test labels: uint8 arrays of shape
        (n, height, width) and (n,).

    Raises:
        FileNotFoundError: there is no such folder, or a file is missing in it.
        FormatError: a file is damaged, or the numbers of images and labels differ.
        OSError: a file cannot be read.
    """
    bundled = resources.files("hybridnet.data") / _BUNDLED
    place = bundled if folder is None else Path(folder)
    if not place.is_dir():
        wanted = ", ".join(name for pair in _FILES for name in pair)
        raise FileNotFoundError(
            f"load_mnist: needs a folder with the files {wanted} (or .gz), got {str(place)!r}, "
            "which is no folder"
        )
    with contextlib.ExitStack() as held:  # of an archive they are copied meanwhile
        train, test = (
            [held.enter_context(resources.as_file(_find(place, name))) for name in pair]
            for pair in _FILES
        )
        return (*load_images_and_labels(*train), *load_images_and_labels(*test))


def load_images_and_labels(
    images: str | os.PathLike[str], labels: str | os.PathLike[str]
) -> tuple[NumpyArray, NumpyArray]:
    """Reads one set.

    Args:
        images: an IDX file of uint8 (n, height, width), plain or compressed.
        labels: an IDX file of uint8 (n,), plain or compressed.

    Returns:
        The two arrays.

    Raises:
        FormatError: a file is damaged or holds something else, or the numbers differ.
        OSError: a file cannot be read.
    """
    pixels = _read_bytes(images, 3, "images, uint8 of shape (n, height, width)")
    numbers = _read_bytes(labels, 1, "labels, uint8 of shape (n,)")
    if len(pixels) != len(numbers):
        raise FormatError(
            f"{os.fsdecode(labels)}: must have a label for each of the {len(pixels)} images in "
            f"{os.fsdecode(images)}, got {len(numbers)}"
        )
    return pixels, numbers


def _read_bytes(path: str | os.PathLike[str], ndim: int, what: str) -> NumpyArray:
    array = read_idx(path)
    if array.dtype != np.uint8 or array.ndim != ndim:
        raise FormatError(
            f"{os.fsdecode(path)}: must hold {what}, got {array.dtype} of shape {array.shape}"
        )
    return array


def _find(folder: Traversable, name: str) -> Traversable:
    """Returns the file of this name in any of its spellings."""
    dotted = name.replace("-idx", ".idx")
    spellings = [name, f"{name}.gz", dotted, f"{dotted}.gz"]
    for spelling in spellings:
        path = folder / spelling
        if path.is_file():
            return path
    raise FileNotFoundError(
        f"load_mnist: needs one of {', '.join(spellings)} in {str(folder)!r}, got none of them"
    )
