"""Transforms of many small images in one go: a call for each costs more than the work itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeVar

from hybridnet.base.errors import MXNetError
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.internal import rows, stacked

from ....block import Block, HybridBlock
from ....nn import HybridSequential
from ...samples import one_by_one

_Class = TypeVar("_Class", bound="type[EachImage]")

#: How many numbers images may have together that are transformed in one go: what fits into a
#: processor's cache. Larger images gain nothing by it.
_NUMBERS: Final = 1 << 18
_known: Final[set[type[Block]]] = set()


class EachImage(HybridBlock):
    """A transform that can be given several images in one go; see `each_image`."""

    def _for_each(self, images: Sequence[NDArray]) -> list[NDArray]:
        return of_images(self, images)


def each_image(kind: _Class) -> _Class:
    """Decorator of a transform that changes each image of a batch as it changes one by itself.

    It is not inherited: what a user derives from it may do something else.
    """
    _known.add(kind)
    return kind


def of_images(block: HybridBlock, images: Sequence[NDArray]) -> list[NDArray]:
    """Returns what a transform, or several one after another, make of each of several images.

    Args:
        block: a transform, or a sequence of transforms that is hybridized as one.
        images: the samples; what is no image is given to the transform by itself.
    """
    parts = _parts(block)
    count = _together(images) if parts else 1
    if count < 2:
        return one_by_one(block, images)
    made: list[NDArray] = []
    for start in range(0, len(images), count):
        group = images[start : start + count]
        try:
            batch = stacked(group)
            for part in parts:
                batch = part(batch)
            made += rows(batch)
        except MXNetError:  # said anew, of the image that it is about
            return one_by_one(block, images)
    return made


def _parts(block: Block) -> list[Block]:
    """Returns the transforms that a block is made of; none if not all of them take batches."""
    if block._forward_hooks or block._forward_pre_hooks:
        return []
    if type(block) in _known:
        return [block]
    kind = type(block)
    if not (
        issubclass(kind, HybridSequential)
        and kind.hybrid_forward is HybridSequential.hybrid_forward
        and kind.forward is HybridSequential.forward
    ):
        return []
    parts = [_parts(child) for child in block._children.values()]
    return [part for some in parts for part in some] if all(parts) else []


def _together(images: Sequence[NDArray]) -> int:
    """Returns how many of the images are transformed in one go."""
    first = images[0]
    if not isinstance(first, NDArray) or first.ndim != 3 or not first.size:
        return 1
    kind, context = first.type, first.context
    for image in images:
        if type(image) is not type(first) or image.type is not kind:
            return 1
        if image.context is not context:
            return 1
    return min(len(images), _NUMBERS // first.size)
