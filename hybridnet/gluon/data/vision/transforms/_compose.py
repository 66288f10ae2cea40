"""Transforms made of others: one after another, or by chance."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray

from ....block import HybridBlock
from ....nn import HybridSequential, Sequential
from ....types import Data, Operators
from ...samples import each, one_by_one
from ._each_image import of_images


class Compose(Sequential):
    """Transforms applied one after another.

    Neighbours that are HybridBlocks are hybridized together.

    Args:
        transforms: blocks, in their order.

    Input as the first takes it; output as the last gives it.
    """

    def __init__(self, transforms: Sequence[Any]) -> None:
        super().__init__()
        for hybrid, group in groupby(transforms, lambda block: isinstance(block, HybridBlock)):
            blocks = list(group)
            if hybrid and len(blocks) > 1:
                blocks = [_hybridized(blocks)]
            self.add(*blocks)

    def _for_each(self, images: Sequence[NDArray]) -> list[NDArray]:
        """Returns what becomes of several images."""
        if type(self) is not Compose or self._forward_hooks or self._forward_pre_hooks:
            return one_by_one(self, images)
        changed = list(images)
        for block in self._children.values():
            if isinstance(block, HybridBlock):
                changed = of_images(block, changed)
            else:
                changed = each(block, changed)
        return changed


def _hybridized(blocks: Sequence[HybridBlock]) -> HybridSequential:
    together = HybridSequential()
    together.add(*blocks)
    together.hybridize()
    return together


class HybridCompose(HybridSequential):
    """HybridBlocks applied one after another, hybridized as one.

    Args:
        transforms: blocks, in their order.

    Raises:
        ParameterError: one of them is no HybridBlock.
    """

    def __init__(self, transforms: Sequence[HybridBlock]) -> None:
        super().__init__()
        for block in transforms:
            if not isinstance(block, HybridBlock):
                raise ParameterError(
                    f"HybridCompose: needs HybridBlocks, got {type(block).__name__}; "
                    "Compose takes any"
                )
            self.add(block)
        self.hybridize()

    def _for_each(self, images: Sequence[NDArray]) -> list[NDArray]:
        """Returns what becomes of several images."""
        return of_images(self, images)


def _checked(who: str, p: float) -> float:
    if not 0 <= p <= 1:
        raise ParameterError(f"{who}: p must be between 0 and 1, got {p}")
    return p


class RandomApply(Sequential):
    """Applies transforms with some probability, and otherwise none of them.

    Python's `random` decides.

    Args:
        transforms: a block, or a list of blocks to apply one after another.
        p: the probability.

    Input as the transforms take it; output as they give it, or the input.
    """

    def __init__(self, transforms: Any, p: float = 0.5) -> None:
        super().__init__()
        self.transforms = transforms if callable(transforms) else Compose(transforms)
        self.p = _checked("RandomApply", p)

    def forward(self, x: Any, *args: Any) -> Any:
        """Applies them, or not."""
        return self.transforms(x, *args) if random.random() < self.p else x


class HybridRandomApply(HybridSequential):
    """Does the same within a hybridized block, where hybridnet's generator decides.

    Args:
        transforms: a HybridBlock that keeps shape and dtype, or a list of such.
        p: the probability.
    """

    def __init__(self, transforms: Any, p: float = 0.5) -> None:
        super().__init__()
        blocks = [transforms] if isinstance(transforms, HybridBlock) else transforms
        self.transforms = HybridCompose(blocks)
        self.p = _checked("HybridRandomApply", p)

    def hybrid_forward(self, F: Operators[Data], x: Data, *args: Any) -> Data:
        """Applies them, or not."""
        flat = F.reshape(x, shape=(-1,))
        one = F.cast(F.slice_axis(flat, axis=0, begin=0, end=1), "float32")
        chosen = F.random.uniform_like(one) < self.p
        changed = F.reshape(self.transforms(x, *args), shape=(-1,))
        return F.reshape_like(F.where(F.broadcast_like(chosen, flat), changed, flat), x)
