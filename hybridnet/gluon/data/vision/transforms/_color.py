"""Changes of the colors of images, by chance. Each image gets other numbers.

Inputs are (height, width, channel) with 1 or 3 channels, red first; outputs have their shape.
"""

from __future__ import annotations

from typing import Final

from ....block import HybridBlock
from ....types import Data, Operators
from ._each_image import EachImage, each_image

# The weights of red, green and blue in a gray value, as MXNet 2 has them.
_GRAY: Final = (0.2989, 0.5870, 0.114)


def _around_one(by: float) -> tuple[float, float]:
    """Returns the range of a factor that is at most `by` away from 1, and not negative."""
    return max(0, 1 - by), 1 + by


@each_image
class RandomBrightness(EachImage):
    """Makes an image brighter or darker.

    Args:
        brightness: the factor is drawn from [max(0, 1 - brightness), 1 + brightness].
    """

    def __init__(self, brightness: float) -> None:
        super().__init__()
        self._range = _around_one(brightness)

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Changes it."""
        return F.image.random_brightness(x, *self._range)


@each_image
class RandomContrast(EachImage):
    """Raises or lowers the contrast of an image.

    Args:
        contrast: the factor is drawn from [max(0, 1 - contrast), 1 + contrast].
    """

    def __init__(self, contrast: float) -> None:
        super().__init__()
        self._range = _around_one(contrast)

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Changes it."""
        return F.image.random_contrast(x, *self._range)


@each_image
class RandomSaturation(EachImage):
    """Makes the colors of an image stronger or grayer.

    Args:
        saturation: the factor is drawn from [max(0, 1 - saturation), 1 + saturation].
    """

    def __init__(self, saturation: float) -> None:
        super().__init__()
        self._range = _around_one(saturation)

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Changes it."""
        return F.image.random_saturation(x, *self._range)


@each_image
class RandomHue(EachImage):
    """Turns the hues of an image.

    Args:
        hue: the factor is drawn from [max(0, 1 - hue), 1 + hue].
    """

    def __init__(self, hue: float) -> None:
        super().__init__()
        self._range = _around_one(hue)

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Changes it."""
        return F.image.random_hue(x, *self._range)


class RandomColorJitter(HybridBlock):
    """Changes brightness, contrast, saturation and hue of an image.

    Args:
        brightness, contrast, saturation, hue: how far each factor may be from 1; 0 leaves it.
    """

    def __init__(
        self,
        brightness: float = 0,
        contrast: float = 0,
        saturation: float = 0,
        hue: float = 0,
    ) -> None:
        super().__init__()
        self._amounts = (brightness, contrast, saturation, hue)

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Changes it."""
        return F.image.random_color_jitter(x, *self._amounts)


@each_image
class RandomLighting(EachImage):
    """Adds what another light would, along the principal components of ImageNet's colors.

    Args:
        alpha: the standard deviation of the steps along them (0.1 in "AlexNet").
    """

    def __init__(self, alpha: float) -> None:
        super().__init__()
        self._alpha = alpha

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Changes it."""
        return F.image.random_lighting(x, self._alpha)


class RandomGray(HybridBlock):
    """Takes the colors from an image with some probability; its three channels are equal then.

    Args:
        p: the probability.

    Input (height, width, 3); output alike, float32.
    """

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        self.p = p

    def hybrid_forward(self, F: Operators[Data], x: Data) -> Data:
        """Changes it, or does not."""
        x = F.cast(x, "float32")
        channels = F.split(x, num_outputs=3, axis=-1)
        parts = [part * weight for part, weight in zip(channels, _GRAY, strict=True)]
        gray = F.concat(*[parts[0] + parts[1] + parts[2]] * 3, dim=-1)
        one = F.slice(x, begin=(0, 0, 0), end=(1, 1, 1))
        chosen = F.random.uniform_like(one) < self.p
        return F.where(F.broadcast_like(chosen, x), gray, x)
