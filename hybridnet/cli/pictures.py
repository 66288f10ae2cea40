"""The record files that ``hybridnet train`` is given: what is in them, and passes over them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from hybridnet import io
from hybridnet.base.errors import FormatError, MXNetError
from hybridnet.image.create import MEAN, STD
from hybridnet.recordio import MXIndexedRecordIO, scan, unpack, unpack_img

from .progress import Progress

#: Means and standard deviations of ImageNet's red, green and blue, as the iterator takes them.
_STATISTICS: Final = {
    f"{what}_{colour}": value
    for what, values in (("mean", MEAN), ("std", STD))
    for colour, value in zip("rgb", values, strict=True)
}
_LARGEST: Final = 224  # pixels, of squares that nobody has asked for
_EDGE: Final = 8  # the part of a square that is added on each side of small images


@dataclass(frozen=True, slots=True)
class Reading:
    """The settings by which images are read.

    Attributes:
        size: side of the squares, pixels.
        batch_size: images in a batch.
        resize: of the shorter side, first of all, pixels; None: not.
        threads: that decode.
    """

    size: int
    batch_size: int
    resize: int | None
    threads: int


@dataclass(frozen=True, slots=True)
class Pictures:
    """A record file of images with a class each.

    Attributes:
        path: of the file.
        index: of its index; None if there is none.
        count: images in it.
        classes: one more than the largest label; None where that was not asked for.
        side: the shorter side of the first image, pixels.
    """

    path: Path
    index: Path | None
    count: int
    classes: int | None
    side: int

    @staticmethod
    def survey(path: Path, labels: bool) -> Pictures:
        """Looks into a record file.

        Args:
            path: of the file; its index is used where it lies beside it.
            labels: whether to read all labels, and with them the file.

        Raises:
            FormatError: it is damaged, or holds no images with a class each.
            OSError: it cannot be read.
        """
        index: Path | None = path.with_suffix(".idx")
        if index is not None and not index.exists():
            index = None
        first = next(scan(path), None)
        if first is None:
            raise FormatError(f"{path}: holds no records")
        image = unpack_img(first.data)[1]
        if image is None:
            raise FormatError(f"{path}: must hold images, and the first record is none")
        side = min(image.shape[:2])
        if index is not None and not labels:
            count = len(MXIndexedRecordIO(index, path, "r").keys)
            return Pictures(path, index, count, None, side)
        largest, count = _read_labels(path)
        return Pictures(path, index, count, largest + 1, side)

    def default_size(self, resize: int | None) -> int:
        """Returns the side of the squares that suit the images, pixels."""
        return min(resize or self.side, _LARGEST)

    def training(self, reading: Reading, augment: bool, seed: int) -> io.MXDataIter:
        """Begins a pass to train with; its order and its chances depend on the seed alone.

        Args:
            reading: how images are read.
            augment: crop and mirror by chance.
            seed: of the order, and of the crops.
        """
        small = (reading.resize or self.side) <= reading.size
        changes: dict[str, Any] = {"rand_crop": augment, "rand_mirror": augment}
        if augment and small:
            changes["pad"] = max(reading.size // _EDGE, 1)
        return self._iter(reading, shuffle=True, seed=seed, seed_aug=seed, **changes)

    def scoring(self, reading: Reading) -> io.MXDataIter:
        """Begins a pass over the images as they are, in their order; of each the middle is seen."""
        # Files of a few images, of which two passes would not fill a batch, are scored, too.
        return self._iter(replace(reading, batch_size=min(reading.batch_size, self.count)))

    def _iter(self, reading: Reading, **options: Any) -> io.MXDataIter:
        if self.index is not None:
            options["path_imgidx"] = str(self.index)
        if reading.resize is not None:
            options["resize"] = reading.resize
        return io.ImageRecordIter(
            path_imgrec=str(self.path),
            data_shape=(3, reading.size, reading.size),
            batch_size=reading.batch_size,
            preprocess_threads=reading.threads,
            **_STATISTICS,
            **options,
        )


def _read_labels(path: Path) -> tuple[int, int]:
    """Returns the largest label of a file, and how many images it has."""
    progress = Progress("labels")
    largest = 0
    for entry in scan(path):
        header = unpack(entry.data)[0]
        label = header.label if not header.flag else header.label[0]
        if header.flag > 1 or label < 0 or label != int(label):
            raise FormatError(
                f"{path}: record at byte {entry.offset}: must have one label, a whole number from "
                f"0 on, got {header.label}"
            )
        largest = max(largest, int(label))
        progress.step()
    if not progress.count:
        raise MXNetError(f"{path}: holds no records")
    return largest, progress.count
