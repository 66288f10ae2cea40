"""Cutting, scaling and mirroring images."""

from __future__ import annotations

from typing import Any

from ....block import HybridBlock

__all__ = ["CropResize", "RandomFlipLeftRight", "RandomFlipTopBottom", "Resize"]

Size = int | tuple[int, int]


class CropResize(HybridBlock):
    """Cuts a part out of images, and scales it.

    Args:
        x, y: its left and its upper border.
        width, height: its size in pixels.
        size: (width, height) to scale it to, or one number for both; None leaves it as it is.
        interpolation: how, in OpenCV's numbers: 1 is bilinear.

    Input (height, width, channel) or (batch, height, width, channel); output alike.
    """

    def __init__(
        self,
        x: int,
        y: int,
        width: int,
        height: int,
        size: Size | None = None,
        interpolation: int | None = None,
    ) -> None:
        super().__init__()
        self._part = (x, y, width, height)
        self._size = size
        self._interpolation = 1 if interpolation is None else interpolation

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Cuts it out."""
        part = F.image.crop(x, *self._part)
        if not self._size:
            return part
        return F.image.resize(part, self._size, False, self._interpolation)


class Resize(HybridBlock):
    """Scales images.

    Args:
        size: (width, height) in pixels, or one number.
        keep_ratio: with one number, make that the shorter edge; else both.
        interpolation: how, in OpenCV's numbers: 1 is bilinear.

    Input (height, width, channel) or (batch, height, width, channel); output alike.
    """

    def __init__(self, size: Size, keep_ratio: bool = False, interpolation: int = 1) -> None:
        super().__init__()
        self._args = (size, keep_ratio, interpolation)

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Scales them."""
        return F.image.resize(x, *self._args)


class RandomFlipLeftRight(HybridBlock):
    """Mirrors an image from left to right, one time in two.

    Input (height, width, channel); output alike.
    """

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Mirrors it, or does not."""
        return F.image.random_flip_left_right(x)


class RandomFlipTopBottom(HybridBlock):
    """Mirrors an image from top to bottom, one time in two.

    Input (height, width, channel); output alike.
    """

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        """Mirrors it, or does not."""
        return F.image.random_flip_top_bottom(x)
