"""Data sets of one's own images: in a file of records, in folders, or named in a list."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from hybridnet import image
from hybridnet.base.array_types import ArrayLike
from hybridnet.base.contained import contained
from hybridnet.base.errors import FormatError, ParameterError
from hybridnet.base.numpy_mode import mode
from hybridnet.base.remote import open_text
from hybridnet.ndarray import NDArray, array
from hybridnet.recordio import unpack

from ..dataset import Dataset, RecordFileDataset

__all__ = ["ImageFolderDataset", "ImageListDataset", "ImageRecordDataset"]

Transform = Callable[[Any, Any], Any] | None

_ENDINGS: Final = (".jpg", ".jpeg", ".png")


class ImageRecordDataset(RecordFileDataset):
    """The images of a file of records, as `hybridnet im2rec` makes it, with their labels.

    Samples are (image, label): the image (height, width, channels) of uint8, the label a number, or
    a NumPy array where records have several.

    Args:
        filename: of the records (.rec); the index is beside it under the same name, as .idx.
        flag: 1 for three channels (red first), 0 for grey.
        transform: takes image and label of each sample and returns what takes their place; or None.

    Raises:
        OSError: one of the files is not there.
        FormatError: one of them is damaged.
    """

    def __init__(self, filename: str, flag: int = 1, transform: Transform = None) -> None:
        super().__init__(filename)
        self._flag = flag
        self._transform = transform

    def __getitem__(self, idx: int) -> Any:
        header, encoded = unpack(super().__getitem__(idx))
        decoded = image.imdecode(encoded, self._flag)
        if self._transform is None:
            return decoded, header.label
        return self._transform(decoded, header.label)


class ImageFolderDataset(Dataset):
    """The images (.jpg, .jpeg, .png) in the folders of a folder; each folder is a label.

    Samples are (image, label): the image (height, width, channels) of uint8, the label the position
    of the folder's name among the names in order. Other files are left out, with a warning.

    Args:
        root: the folder of the folders; ~ stands for the home folder.
        flag: 1 for three channels (red first), 0 for grey.
        transform: takes image and label of each sample and returns what takes their place; or None.

    Attributes:
        synsets: the names of the folders; ``synsets[i]`` is what label i stands for.
        items: (path, label) of each image.
    """

    def __init__(self, root: str, flag: int = 1, transform: Transform = None) -> None:
        self._root = os.path.expanduser(root)
        self._flag = flag
        self._transform = transform
        self.synsets: list[str] = []
        self.items: list[tuple[str, int]] = []
        for folder in sorted(os.listdir(self._root)):
            path = os.path.join(self._root, folder)
            if not os.path.isdir(path):
                warnings.warn(f"ImageFolderDataset: {path} is no folder, left out", stacklevel=2)
                continue
            self.synsets.append(folder)
            self._list(path)

    def _list(self, folder: str) -> None:
        for name in sorted(os.listdir(folder)):
            path = os.path.join(folder, name)
            if name.lower().endswith(_ENDINGS):
                self.items.append((path, len(self.synsets) - 1))
            else:
                endings = ", ".join(_ENDINGS)
                warnings.warn(
                    f"ImageFolderDataset: {path} is none of {endings}, left out", stacklevel=3
                )

    def __getitem__(self, idx: int) -> Any:
        path, label = self.items[idx]
        decoded = image.imread(path, self._flag)
        return (decoded, label) if self._transform is None else self._transform(decoded, label)

    def __len__(self) -> int:
        return len(self.items)


class ImageListDataset(Dataset):
    """The images that a list names, with one or several numbers as the label of each.

    Samples are (image, label): the image (height, width, channels) of uint8, the label an NDArray
    of the numbers. The name is MXNet 2's.

    Args:
        root: the folder from which the paths go.
        imglist: a list of [number, ..., path]; or the name of a file in `root` of lines with tabs
            between: a whole number, the label's numbers, and the path (a .lst file).
        flag: 1 for three channels (red first), 0 for grey.

    Attributes:
        items: (path, label) of each image.

    Raises:
        ParameterError: `imglist` is neither.
        FormatError: a line of the file is not like that, or its path leads out of `root`.
    """

    def __init__(self, root: str = ".", imglist: Any = None, flag: int = 1) -> None:
        self._root = os.path.expanduser(root)
        self._flag = flag
        if isinstance(imglist, str):
            rows = _lines(os.path.join(self._root, imglist), self._root)
        elif isinstance(imglist, (list, tuple)):
            rows = [(label, os.path.join(self._root, path)) for label, path in map(_row, imglist)]
        else:
            raise ParameterError(
                "ImageListDataset: imglist must be a file's name or a list of [label, path], got "
                f"{type(imglist).__name__}"
            )
        self.items = [(path, _label(label)) for label, path in rows]

    def __getitem__(self, idx: int) -> tuple[NDArray, NDArray]:
        path, label = self.items[idx]
        return image.imread(path, self._flag), label

    def __len__(self) -> int:
        return len(self.items)


def _label(numbers: ArrayLike) -> NDArray:
    made = array(np.atleast_1d(np.asarray(numbers, np.float32)))
    return made.as_np_ndarray() if mode.array else made


def _row(entry: Sequence[Any]) -> tuple[Any, str]:
    *label, path = entry
    if not label or not isinstance(path, str):
        raise ParameterError(
            f"ImageListDataset: each entry must be a label and a path, got {entry!r}"
        )
    return (label[0] if len(label) == 1 else label), path


def _lines(path: str, root: str) -> list[tuple[Any, str]]:
    rows: list[tuple[Any, str]] = []
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            _, *label, name = line.rstrip("\n").split("\t") if "\t" in line else ("", "")
            try:
                numbers = [float(x) for x in label]
            except ValueError:
                numbers = []
            if not numbers:
                raise FormatError(
                    f"{path}, line {number}: must be a number, the label's numbers and a path, "
                    f"with tabs between, got {line.rstrip()!r}"
                )
            rows.append((numbers, contained(root, name, f"{path}, line {number}")))
    return rows
