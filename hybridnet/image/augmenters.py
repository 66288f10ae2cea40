"""Augmenters, random changes of an image as it is loaded: the base, and those of place and size."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from hybridnet import ndarray as nd
from hybridnet.base.array_types import DTypeLike
from hybridnet.ndarray import NDArray

from .cropping import center_crop, random_crop, random_size_crop, without_min_area
from .resizing import choose_method, imresize, resize_short

__all__ = [
    "Augmenter",
    "CastAug",
    "CenterCropAug",
    "Dump",
    "ForceResizeAug",
    "HorizontalFlipAug",
    "RandomCropAug",
    "RandomOrderAug",
    "RandomSizedCropAug",
    "ResizeAug",
    "SequentialAug",
    "plain",
]

#: Name and parameters as JSON; of several, a list with those of each.
Dump: TypeAlias = "str | list[Dump]"


def plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Returns parameters with lists in place of arrays, as JSON has them."""
    lists = {}
    for name, value in parameters.items():
        host = value.asnumpy() if isinstance(value, NDArray) else value
        lists[name] = host.tolist() if isinstance(host, np.ndarray) else value
    return lists


class Augmenter:
    """Base of what makes another image of an image (height, width, channels).

    Subclasses define `__call__`. It may change its argument.

    Args:
        kwargs: the parameters that `dumps` shows.
    """

    def __init__(self, **kwargs: Any) -> None:
        self._kwargs = plain(kwargs)

    def dumps(self) -> Dump:
        """Returns its name and parameters as JSON."""
        return json.dumps([type(self).__name__.lower(), self._kwargs])

    def __call__(self, src: NDArray) -> NDArray:
        """Returns the changed image."""
        raise NotImplementedError(f"{type(self).__name__} must define __call__(src)")


class SequentialAug(Augmenter):
    """Several augmenters, one after another.

    Args:
        ts: the augmenters.
    """

    def __init__(self, ts: Iterable[Augmenter]) -> None:
        super().__init__()
        self.ts = ts

    def dumps(self) -> Dump:
        """Returns its name, and what each augmenter returns."""
        return [type(self).__name__.lower(), [one.dumps() for one in self.ts]]

    def __call__(self, src: NDArray) -> NDArray:
        """Returns the changed image."""
        for one in self.ts:
            src = one(src)
        return src


class RandomOrderAug(Augmenter):
    """Several augmenters in an order that is drawn for each image.

    Args:
        ts: the augmenters; this list is put in order again and again.
    """

    def __init__(self, ts: list[Augmenter]) -> None:
        super().__init__()
        self.ts = ts

    def dumps(self) -> Dump:
        """Returns its name, and what each augmenter returns."""
        return [type(self).__name__.lower(), [one.dumps() for one in self.ts]]

    def __call__(self, src: NDArray) -> NDArray:
        """Returns the changed image."""
        random.shuffle(self.ts)
        for one in self.ts:
            src = one(src)
        return src


class ResizeAug(Augmenter):
    """`resize_short` as an augmenter.

    Args:
        size: of the shorter side, pixels.
        interp: see `resize_short`.
    """

    def __init__(self, size: int, interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size = size
        self.interp = interp

    def __call__(self, src: NDArray) -> NDArray:
        """Returns the resized image."""
        return resize_short(src, self.size, self.interp)


class _SizedAug(Augmenter):
    """Base of the augmenters that give images of one size."""

    def __init__(self, size: Sequence[int], interp: int = 2) -> None:
        super().__init__(size=size, interp=interp)
        self.size = size
        self.interp = interp


class ForceResizeAug(_SizedAug):
    """Resizes to one size, whatever the form was.

    Args:
        size: (width, height).
        interp: see `resize_short`.
    """

    def __call__(self, src: NDArray) -> NDArray:
        """Returns the resized image."""
        width, height = self.size
        method = choose_method(self.interp, (*src.shape[:2], height, width))
        return imresize(src, width, height, interp=method)


class RandomCropAug(_SizedAug):
    """`random_crop` as an augmenter.

    Args:
        size: (width, height).
        interp: see `resize_short`.
    """

    def __call__(self, src: NDArray) -> NDArray:
        """Returns the part."""
        return random_crop(src, self.size, self.interp)[0]


class RandomSizedCropAug(Augmenter):
    """`random_size_crop` as an augmenter.

    Args:
        size: (width, height).
        area: (least, most) part of the area, or the least.
        ratio: (least, most) width / height.
        interp: see `resize_short`.
        kwargs: ``min_area``, an old name of `area`.
    """

    def __init__(
        self,
        size: Sequence[int],
        area: float | Sequence[float],
        ratio: Sequence[float],
        interp: int = 2,
        **kwargs: float | Sequence[float],
    ) -> None:
        super().__init__(size=size, area=area, ratio=ratio, interp=interp)
        self.size = size
        self.area = without_min_area(area, kwargs, "image.RandomSizedCropAug")
        self.ratio = ratio
        self.interp = interp

    def __call__(self, src: NDArray) -> NDArray:
        """Returns the part."""
        return random_size_crop(src, self.size, self.area, self.ratio, self.interp)[0]


class CenterCropAug(_SizedAug):
    """`center_crop` as an augmenter.

    Args:
        size: (width, height).
        interp: see `resize_short`.
    """

    def __call__(self, src: NDArray) -> NDArray:
        """Returns the middle."""
        return center_crop(src, self.size, self.interp)[0]


class HorizontalFlipAug(Augmenter):
    """Mirrors left and right, sometimes.

    Args:
        p: how probable that is.
    """

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p

    def __call__(self, src: NDArray) -> NDArray:
        """Returns the image, mirrored or not."""
        return nd.flip(src, axis=1) if random.random() < self.p else src


class CastAug(Augmenter):
    """Converts to a dtype.

    Args:
        typ: the dtype.
    """

    def __init__(self, typ: DTypeLike = "float32") -> None:
        super().__init__(type=typ)
        self.typ = typ

    def __call__(self, src: NDArray) -> NDArray:
        """Returns the converted image."""
        return src.astype(self.typ)
