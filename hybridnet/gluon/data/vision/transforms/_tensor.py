"""From images to what networks take."""

from __future__ import annotations

from collections.abc import Sequence

from hybridnet.base.array_types import DTypeLike

from ....types import Data, Operators
from ._each_image import EachImage, each_image


@each_image
class Cast(EachImage):
    """Changes the dtype.

    Args:
        dtype: the new one.

    Input of any shape and dtype; output of the same shape.
    """

    def __init__(self, dtype: DTypeLike = "float32") -> None:
        super().__init__()
        self._dtype = dtype

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Changes the dtype."""
        return F.cast(x, self._dtype)


@each_image
class ToTensor(EachImage):
    """Turns images of numbers up to 255 into channels first, float32, divided by 255.

    Input (height, width, channel) or (batch, height, width, channel); output
    (channel, height, width) or (batch, channel, height, width).
    """

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Turns them."""
        return F.image.to_tensor(x)


@each_image
class Normalize(EachImage):
    """Subtracts a mean from each channel and divides it by a standard deviation.

    Args:
        mean: one number, or one for each channel.
        std: likewise.

    Input (channel, height, width) or (batch, channel, height, width), floating; output alike.
    """

    def __init__(
        self, mean: float | Sequence[float] = 0.0, std: float | Sequence[float] = 1.0
    ) -> None:
        super().__init__()
        self._mean = mean
        self._std = std

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Normalizes."""
        return F.image.normalize(x, self._mean, self._std)
