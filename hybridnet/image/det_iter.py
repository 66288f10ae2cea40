"""`ImageDetIter`: batches of augmented images with boxes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from hybridnet.base.array_types import ArrayLike, NumpyArray
from hybridnet.base.errors import FormatError, MXNetError, ParameterError
from hybridnet.io import DataDesc
from hybridnet.ndarray import NDArray
from hybridnet.recordio import unpack

from .create import MEAN, STD, statistics
from .det_augmenters import DetAugmenter
from .det_create import CreateDetAugmenter, DetAugmenterOptions
from .drawing import draw_boxes, show
from .image_iter import ImageIter

__all__ = ["ImageDetIter"]


class ImageDetIter(ImageIter):
    """Batches of images with boxes.

    The labels of an image are, as one row of numbers: the length of the header (2 or more), the
    length of an object (5 or more), the rest of the header, and the objects: class, left, top,
    right, bottom in parts of the image's size, and what else there is.

    A batch has labels (batch_size, most objects of an image, length of an object), with -1 where
    there is no object. Images without a box that has an area are left out.

    Args:
        batch_size: images in a batch.
        data_shape: (3, height, width).
        path_imgrec: see `ImageIter`, as for all but the next.
        path_imglist: see there.
        path_root: see there.
        path_imgidx: see there.
        shuffle: see there.
        part_index: see there.
        num_parts: see there.
        aug_list: `DetAugmenter`s; default those of `CreateDetAugmenter` with `kwargs`.
        imglist: see there.
        data_name: see there.
        label_name: see there.
        last_batch_handle: see there.
        kwargs: of `CreateDetAugmenter`.

    Raises:
        MXNetError: as `ImageIter`; or an image has no valid label.
    """

    _no_label = -1.0

    def __init__(
        self,
        batch_size: int,
        data_shape: Sequence[int],
        path_imgrec: str | None = None,
        path_imglist: str | None = None,
        path_root: str | None = None,
        path_imgidx: str | None = None,
        shuffle: bool = False,
        part_index: int = 0,
        num_parts: int = 1,
        aug_list: list[DetAugmenter] | None = None,
        imglist: list[Any] | None = None,
        data_name: str = "data",
        label_name: str = "label",
        last_batch_handle: str = "pad",
        **kwargs: Unpack[DetAugmenterOptions],
    ) -> None:
        super().__init__(
            batch_size=batch_size,
            data_shape=data_shape,
            path_imgrec=path_imgrec,
            path_imglist=path_imglist,
            path_root=path_root,
            path_imgidx=path_imgidx,
            shuffle=shuffle,
            part_index=part_index,
            num_parts=num_parts,
            aug_list=[],
            imglist=imglist,
            data_name=data_name,
            label_name=label_name,
            last_batch_handle=last_batch_handle,
        )
        self.auglist = (
            [*CreateDetAugmenter(self.data_shape, **kwargs)] if aug_list is None else aug_list
        )
        self.label_shape: tuple[int, ...] = self._find_label_shape()
        shape = (batch_size, *self.label_shape)
        self.provide_label = [DataDesc(label_name, shape)]

    def _find_label_shape(self) -> tuple[int, int]:
        """Goes through all labels; returns the most objects of an image and their length."""
        self.reset()
        most = length = 0
        for label in self._all_labels():
            objects = self._parse_label(label)
            most, length = max(most, len(objects)), objects.shape[1]
        self.reset()
        if not length:
            raise ParameterError("ImageDetIter: needs at least one image, got none")
        return most, length

    def _all_labels(self) -> Iterator[Any]:
        if self.imglist is not None and self.seq is not None:
            for key in self.seq:  # without reading the images
                yield self.imglist[key][0]
        elif self.imgrec is not None:
            keys: Any = self.seq
            rows = self.imgrec if keys is None else map(self.imgrec.read_idx, keys)  # type: ignore[attr-defined]
            for row in rows:
                yield unpack(row)[0].label

    @staticmethod
    def _parse_label(label: ArrayLike | NDArray) -> NumpyArray:
        """Returns the objects that have an area, (objects, length)."""
        host = label.asnumpy() if isinstance(label, NDArray) else np.asarray(label)
        row = host.ravel()
        if row.size < 7:
            raise FormatError(
                f"ImageDetIter: a label must have 7 numbers or more, a header of 2 and an object "
                f"of 5, got {row.size}"
            )
        header, length = int(row[0]), int(row[1])
        if header < 2 or length < 5 or (row.size - header) % length:
            raise FormatError(
                "ImageDetIter: a label must be the length of its header (2 or more), the length of "
                f"an object (5 or more), and whole objects, got {row.size} numbers of which the "
                f"first are {header} and {length}"
            )
        objects = row[header:].reshape(-1, length)
        valid = (objects[:, 3] > objects[:, 1]) & (objects[:, 4] > objects[:, 2])
        if not valid.any():
            raise FormatError("ImageDetIter: an image must have a box with an area, got none")
        return objects[valid]

    @staticmethod
    def _check_objects(label: NumpyArray) -> None:
        valid = (label[:, 0] >= 0) & (label[:, 3] > label[:, 1]) & (label[:, 4] > label[:, 2])
        if not valid.any():
            raise FormatError("ImageDetIter: the augmenters must leave a box, got none")

    def reshape(
        self, data_shape: Sequence[int] | None = None, label_shape: Sequence[int] | None = None
    ) -> None:
        """Changes the size of images, or the room for objects.

        Args:
            data_shape: (3, height, width), or None. The augmenters must make images of this size.
            label_shape: (objects, length of an object), or None.

        Raises:
            ParameterError: a shape is none, or has no room for what there is.
        """
        if data_shape is not None:
            self.check_data_shape(data_shape)
            shape = (self.batch_size, *data_shape)
            self.provide_data = [DataDesc(self.provide_data[0].name, shape)]
            self.data_shape = tuple(data_shape)
        if label_shape is not None:
            self.check_label_shape(label_shape)
            shape = (self.batch_size, *label_shape)
            self.provide_label = [DataDesc(self.provide_label[0].name, shape)]
            self.label_shape = tuple(label_shape)

    def check_label_shape(self, label_shape: Sequence[int]) -> None:
        """Raises a ParameterError unless the objects that there are fit."""
        if len(label_shape) != 2:
            raise ParameterError(
                f"ImageDetIter: label_shape must be (objects, length), got {label_shape}"
            )
        objects, length = self.label_shape
        if label_shape[0] < objects or label_shape[1] != length:
            raise ParameterError(
                f"ImageDetIter: label_shape must be at least {objects} objects of length {length}, "
                f"got {label_shape}"
            )

    def augmentation_transform(self, data: Any, label: Any = None) -> Any:
        """Returns an image and its objects as the augmenters make them."""
        for augmenter in self.auglist:
            data, label = augmenter(data, label)
        return data, label

    def _augmented(self) -> Iterator[tuple[NDArray, NumpyArray]]:
        """Yields augmented images and their objects to the end of the pass."""
        while True:
            try:
                given, encoded = self.next_sample()
            except StopIteration:
                return
            image = self.imdecode(encoded)
            try:
                self.check_valid_image([image])
                image, label = self.augmentation_transform(image, self._parse_label(given))
                self._check_objects(label)
            except FormatError:
                continue  # an image without an object teaches nothing
            yield image, label

    def _fill(self, data: NumpyArray, label: NumpyArray, start: int) -> int:
        row = start
        if row == self.batch_size:
            return row
        for image, objects in self._augmented():
            self._put(data, row, self.postprocess_data(image))
            label[row, : len(objects)] = objects
            label[row, len(objects) :] = self._no_label
            row += 1
            if row == self.batch_size:
                break
        return row

    def draw_next(
        self,
        color: Sequence[float] | None = None,
        thickness: int = 2,
        mean: bool | NumpyArray | NDArray | None = None,
        std: bool | NumpyArray | NDArray | None = None,
        clip: bool = True,
        waitKey: int | None = None,
        window_name: str = "draw_next",
        id2labels: Mapping[int, str] | None = None,
    ) -> Iterator[NumpyArray]:
        """Yields the images that come next with their boxes drawn.

        Args:
            color: of the boxes, (red, green, blue); default random ones.
            thickness: of their lines, pixels.
            mean: what the augmenters have subtracted, as for `CreateAugmenter`.
            std: what they have divided by.
            clip: cut values off at 0 and 255.
            waitKey: show each in a window for so many milliseconds; 0: until a key is pressed.
                The package opencv-python has windows, opencv-python-headless has none.
            window_name: the title of the window.
            id2labels: class -> its name, to be written.

        Yields:
            uint8 (height, width, 3), blue first.
        """
        factor = statistics(std, STD, "ImageDetIter.draw_next: std")
        shift = statistics(mean, MEAN, "ImageDetIter.draw_next: mean")
        for image, objects in self._augmented():
            pixels = np.asarray(image.asnumpy(), np.float32)
            pixels = pixels if factor is None else pixels * np.asarray(factor)
            pixels = pixels if shift is None else pixels + np.asarray(shift)
            if clip:
                pixels = pixels.clip(0, 255)
            drawn = np.ascontiguousarray(pixels[:, :, ::-1].astype(np.uint8))
            draw_boxes(drawn, objects, color, thickness, id2labels or {})
            if waitKey is not None:
                show(drawn, window_name, waitKey)
            yield drawn

    def sync_label_shape(self, it: ImageDetIter, verbose: bool = False) -> ImageDetIter:
        """Gives this iterator and another one room for the same number of objects.

        Args:
            it: the other one.
            verbose: print the number where it has changed.

        Returns:
            `it`.

        Raises:
            MXNetError: it is none, or its objects have another length.
        """
        if not isinstance(it, ImageDetIter):
            raise ParameterError(
                f"ImageDetIter.sync_label_shape: needs an ImageDetIter, got {type(it).__name__}"
            )
        mine, other = self.label_shape, it.label_shape
        if mine[1] != other[1]:
            raise MXNetError(
                "ImageDetIter.sync_label_shape: objects must have the same length, got "
                f"{mine[1]} and {other[1]}"
            )
        shape = (max(mine[0], other[0]), mine[1])
        self.reshape(None, shape)
        it.reshape(None, shape)
        if verbose and mine != other:
            print(f"label_shape is now {shape}")
        return it
