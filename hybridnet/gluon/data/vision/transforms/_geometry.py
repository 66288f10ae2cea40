"""Cutting, scaling, mirroring and turning images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hybridnet import image
from hybridnet.base.errors import DTypeError, ParameterError
from hybridnet.ndarray import NDArray

from ....block import Block
from ....types import Data, Operators
from ._each_image import EachImage, each_image

Size = int | tuple[int, int]


def _both(size: Size) -> tuple[int, int]:
    return (size, size) if isinstance(size, (int, np.integer)) else (size[0], size[1])


@each_image
class CropResize(EachImage):
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

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Cuts it out."""
        part = F.image.crop(x, *self._part)
        if not self._size:
            return part
        return F.image.resize(part, self._size, False, self._interpolation)


@each_image
class Resize(EachImage):
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

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Scales them."""
        return F.image.resize(x, *self._args)


@each_image
class RandomFlipLeftRight(EachImage):
    """Mirrors an image from left to right, one time in two.

    Input (height, width, channel); output alike.
    """

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Mirrors it, or does not."""
        return F.image.random_flip_left_right(x)


@each_image
class RandomFlipTopBottom(EachImage):
    """Mirrors an image from top to bottom, one time in two.

    Input (height, width, channel); output alike.
    """

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Mirrors it, or does not."""
        return F.image.random_flip_top_bottom(x)


class CenterCrop(Block):
    """Cuts out the middle of an image; a part of a smaller one in this form is scaled up.

    Args:
        size: (width, height) in pixels, or one number for both.
        interpolation: how, in OpenCV's numbers: 1 is bilinear.

    Input (height, width, channel); output of this size.
    """

    def __init__(self, size: Size, interpolation: int = 1) -> None:
        super().__init__()
        self._args = (_both(size), interpolation)

    def forward(self, x: NDArray) -> NDArray:
        """Cuts it out."""
        return image.center_crop(x, *self._args)[0]


class RandomCrop(Block):
    """Cuts a part out of an image, anywhere; a part of a smaller one in this form is scaled up.

    The name is MXNet 2's.

    Args:
        size: (width, height) in pixels, or one number for both.
        pad: pixels put around the image before, on all sides, or (above, below, left, right).
        pad_value: what these pixels are.
        interpolation: how, in OpenCV's numbers: 1 is bilinear.

    Input (height, width, channel); output of this size.
    """

    def __init__(
        self,
        size: Size,
        pad: int | Sequence[int] | None = None,
        pad_value: int = 0,
        interpolation: int = 1,
    ) -> None:
        super().__init__()
        self._args = (_both(size), interpolation)
        self._pad = (pad,) * 4 if isinstance(pad, int) else pad
        self._pad_value = pad_value

    def forward(self, x: NDArray) -> NDArray:
        """Cuts it out."""
        if self._pad is not None:
            above, below, left, right = self._pad
            x = image.copyMakeBorder(x, above, below, left, right, value=self._pad_value)
        return image.random_crop(x, *self._args)[0]


class RandomResizedCrop(Block):
    """Cuts a part of random size and form out of an image, anywhere, and scales it.

    Args:
        size: (width, height) of the result in pixels, or one number for both.
        scale: least and most part of the image's area.
        ratio: least and most width / height of the part.
        interpolation: how, in OpenCV's numbers: 1 is bilinear.

    Input (height, width, channel); output of this size.
    """

    def __init__(
        self,
        size: Size,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: int = 1,
    ) -> None:
        super().__init__()
        self._args = (_both(size), scale, ratio, interpolation)

    def forward(self, x: NDArray) -> NDArray:
        """Cuts it out."""
        return image.random_size_crop(x, *self._args)[0]


def _require_float32(who: str, x: NDArray) -> None:
    if np.dtype(x.dtype) != np.float32:
        raise DTypeError(f"{who}: needs float32, got {np.dtype(x.dtype)}; put it after ToTensor()")


class Rotate(Block):
    """Turns images about their middle; what comes in from outside is 0.

    Args:
        rotation_degrees: by how much.
        zoom_in: enlarge them so that nothing of the outside is seen.
        zoom_out: make them smaller so that all of them is seen.

    Input (channel, height, width) or (batch, channel, height, width) of float32; output alike.
    """

    def __init__(
        self, rotation_degrees: float, zoom_in: bool = False, zoom_out: bool = False
    ) -> None:
        super().__init__()
        self._args = (rotation_degrees, zoom_in, zoom_out)

    def forward(self, x: NDArray) -> NDArray:
        """Turns them.

        Raises:
            DTypeError: they are not float32.
        """
        _require_float32("Rotate", x)
        return image.imrotate(x, *self._args)


class RandomRotation(Block):
    """Turns images about their middle by a random angle.

    Args:
        angle_limits: least and most degrees.
        zoom_in, zoom_out: as for `Rotate`.
        rotate_with_proba: the probability that they are turned at all.

    Input and output as for `Rotate`.

    Raises:
        ParameterError: limits that are not in order, or no probability.
    """

    def __init__(
        self,
        angle_limits: tuple[float, float],
        zoom_in: bool = False,
        zoom_out: bool = False,
        rotate_with_proba: float = 1.0,
    ) -> None:
        super().__init__()
        lower, upper = angle_limits
        if lower >= upper:
            raise ParameterError(
                f"RandomRotation: angle_limits must be (least, most), got {angle_limits}"
            )
        if not 0 <= rotate_with_proba <= 1:
            raise ParameterError(
                f"RandomRotation: rotate_with_proba must be between 0 and 1, got "
                f"{rotate_with_proba}"
            )
        self._args = (angle_limits, zoom_in, zoom_out)
        self._probability = rotate_with_proba

    def forward(self, x: NDArray) -> NDArray:
        """Turns them, or does not.

        Raises:
            DTypeError: they are not float32.
        """
        if np.random.random() > self._probability:
            return x
        _require_float32("RandomRotation", x)
        turned: NDArray = image.random_rotate(x, *self._args)
        return turned
