"""Augmenters that change an image together with the boxes in it.

Labels are NumPy arrays (objects, 5 or more): class, left, top, right, bottom, in parts of the
image's width and height, and what else there is.
"""

from __future__ import annotations

import json
import random
from typing import Any

from hybridnet import ndarray as nd
from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import DTypeError, ParameterError
from hybridnet.ndarray import NDArray

from .augmenters import Augmenter, Dump, plain

__all__ = ["DetAugmenter", "DetBorrowAug", "DetHorizontalFlipAug", "DetRandomSelectAug"]


class DetAugmenter:
    """Base of what makes another image and other boxes.

    Subclasses define `__call__`.

    Args:
        kwargs: the parameters that `dumps` shows.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = plain(kwargs)

    def dumps(self) -> Dump:
        """Returns its name and parameters as JSON."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, src: NDArray, label: NumpyArray) -> tuple[NDArray, NumpyArray]:
        """Returns the changed image (height, width, channels) and its boxes."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(src, label)")


class DetBorrowAug(DetAugmenter):
    """An `Augmenter` that leaves the boxes where they are.

    Args:
        augmenter: the augmenter.

    Raises:
        DTypeError: it is none.
    """

    def __init__(self, augmenter: Augmenter) -> None:
        if not isinstance(augmenter, Augmenter):
            raise DTypeError(
                f"DetBorrowAug: augmenter must be an Augmenter, got {type(augmenter).__name__}"
            )
        super().__init__(augmenter=augmenter.dumps())
        self.augmenter = augmenter

    def dumps(self) -> Dump:
        """Returns its name, and what the augmenter returns."""
        return [type(self).__name__.lower(), self.augmenter.dumps()]

    def __call__(self, src: NDArray, label: NumpyArray) -> tuple[NDArray, NumpyArray]:
        """Returns the changed image and the same boxes."""
        return self.augmenter(src), label


class DetRandomSelectAug(DetAugmenter):
    """One of several augmenters, drawn for each image, or none of them.

    Args:
        aug_list: the augmenters, or one.
        skip_prob: how probable none is.

    Raises:
        ParameterError: one of them is no `DetAugmenter`.
    """

    def __init__(
        self,
        aug_list: DetAugmenter | list[DetAugmenter] | tuple[DetAugmenter, ...],
        skip_prob: float = 0,
    ) -> None:
        super().__init__(skip_prob=skip_prob)
        made: list[DetAugmenter]
        made = list(aug_list) if isinstance(aug_list, (list, tuple)) else [aug_list]
        for one in made:
            if not isinstance(one, DetAugmenter):
                raise ParameterError(
                    f"DetRandomSelectAug: needs DetAugmenters, got {type(one).__name__}"
                )
        self.aug_list = made
        self.skip_prob = skip_prob if made else 1

    def dumps(self) -> Dump:
        """Returns its name, and what each augmenter returns."""
        return [type(self).__name__.lower(), [one.dumps() for one in self.aug_list]]

    def __call__(self, src: NDArray, label: NumpyArray) -> tuple[NDArray, NumpyArray]:
        """Returns what the augmenter makes that was drawn."""
        if random.random() < self.skip_prob:
            return src, label
        random.shuffle(self.aug_list)
        return self.aug_list[0](src, label)


class DetHorizontalFlipAug(DetAugmenter):
    """Mirrors left and right, sometimes; boxes are changed in place.

    Args:
        p: how probable that is.
    """

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: NDArray, label: NumpyArray) -> tuple[NDArray, NumpyArray]:
        """Returns the image and its boxes, mirrored or not."""
        if random.random() < self.p:
            src = nd.flip(src, axis=1)
            label[:, 1], label[:, 3] = 1.0 - label[:, 3], 1.0 - label[:, 1]
        return src, label
