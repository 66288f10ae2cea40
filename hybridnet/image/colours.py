"""Augmenters of colour, random changes of an image as it is loaded: float images, red first."""

from __future__ import annotations

import random
from typing import Final

import numpy as np

from hybridnet import ndarray as nd
from hybridnet.base.array_types import ArrayLike, NumpyArray
from hybridnet.ndarray import NDArray

from .augmenters import Augmenter, RandomOrderAug

__all__ = [
    "PCA_VALUES",
    "PCA_VECTORS",
    "BrightnessJitterAug",
    "ColorJitterAug",
    "ColorNormalizeAug",
    "ContrastJitterAug",
    "HueJitterAug",
    "LightingAug",
    "RandomGrayAug",
    "SaturationJitterAug",
    "color_normalize",
]

#: How bright red, green and blue are: ITU-R BT.601.
_BRIGHTNESS: Final = [[[0.299, 0.587, 0.114]]]
#: The same as MXNet rounds BT.709 where it makes images grey.
_GREY: Final = np.repeat([[0.21], [0.72], [0.07]], 3, axis=1)
#: From red, green, blue to brightness and two axes of colour (NTSC's YIQ), and back.
_TO_YIQ: Final = np.array([[0.299, 0.587, 0.114], [0.596, -0.274, -0.321], [0.211, -0.523, 0.311]])
_FROM_YIQ: Final = np.array([[1.0, 0.956, 0.621], [1.0, -0.272, -0.647], [1.0, -1.107, 1.705]])
#: Principal axes of the colours of ImageNet, and their variances: Krizhevsky et al., 2012.
PCA_VALUES: Final = np.array([55.46, 4.794, 1.148])
PCA_VECTORS: Final = np.array(
    [[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]]
)


def color_normalize(
    src: NDArray, mean: ArrayLike | NDArray | None, std: ArrayLike | NDArray | None = None
) -> NDArray:
    """Subtracts the mean and divides by the standard deviation, in place.

    Args:
        src: float (height, width, channels); it is changed.
        mean: an array (channels,), or None.
        std: an array (channels,), or None.

    Returns:
        `src`.
    """
    if mean is not None:
        src -= mean
    if std is not None:
        src /= std
    return src


def _factor(most: float) -> float:
    return 1.0 + random.uniform(-most, most)


class BrightnessJitterAug(Augmenter):
    """Makes all of an image brighter or darker, in place.

    Args:
        brightness: the most by which the factor differs from 1.
    """

    def __init__(self, brightness: float) -> None:
        super().__init__(brightness=brightness)
        self.brightness = brightness

    def __call__(self, src: NDArray) -> NDArray:
        """Returns the changed image."""
        src *= _factor(self.brightness)
        return src


class ContrastJitterAug(Augmenter):
    """Moves an image to or from its mean brightness, in place.

    Args:
        contrast: the most by which the factor differs from 1.
    """

    def __init__(self, contrast: float) -> None:
        super().__init__(contrast=contrast)
        self.contrast = contrast
        self.coef = nd.array(_BRIGHTNESS)

    def __call__(self, src: NDArray) -> NDArray:
        """Returns the changed image."""
        factor = _factor(self.contrast)
        weighted = src * self.coef
        mean = (3.0 * (1.0 - factor) / weighted.size) * nd.sum(weighted)
        src *= factor
        src += mean
        return src


class SaturationJitterAug(Augmenter):
    """Moves each pixel to or from its grey, in place.

    Args:
        saturation: the most by which the factor differs from 1.
    """

    def __init__(self, saturation: float) -> None:
        super().__init__(saturation=saturation)
        self.saturation = saturation
        self.coef = nd.array(_BRIGHTNESS)

    def __call__(self, src: NDArray) -> NDArray:
        """Returns the changed image."""
        factor = _factor(self.saturation)
        grey = nd.sum(src * self.coef, axis=2, keepdims=True)
        grey *= 1.0 - factor
        src *= factor
        src += grey
        return src


class HueJitterAug(Augmenter):
    """Turns all colours by one angle, in the plane of colour that YIQ has.

    Args:
        hue: the most that it turns, in half turns.
    """

    def __init__(self, hue: float) -> None:
        super().__init__(hue=hue)
        self.hue = hue

    def __call__(self, src: NDArray) -> NDArray:
        """Returns the changed image."""
        angle = random.uniform(-self.hue, self.hue) * np.pi
        cos, sin = np.cos(angle), np.sin(angle)
        turn = np.array([[1.0, 0.0, 0.0], [0.0, cos, -sin], [0.0, sin, cos]])
        return nd.dot(src, nd.array((_FROM_YIQ @ turn @ _TO_YIQ).T))


class ColorJitterAug(RandomOrderAug):
    """Brightness, contrast and saturation, in an order that is drawn for each image.

    Args:
        brightness: see `BrightnessJitterAug`; 0 leaves it out, as for the others.
        contrast: see `ContrastJitterAug`.
        saturation: see `SaturationJitterAug`.
    """

    def __init__(self, brightness: float, contrast: float, saturation: float) -> None:
        made: list[Augmenter] = []
        if brightness > 0:
            made.append(BrightnessJitterAug(brightness))
        if contrast > 0:
            made.append(ContrastJitterAug(contrast))
        if saturation > 0:
            made.append(SaturationJitterAug(saturation))
        super().__init__(made)


class LightingAug(Augmenter):
    """Adds one colour to all pixels, in place, as if the light were another: PCA noise.

    NumPy's generator draws it.

    Args:
        alphastd: standard deviation of the factors.
        eigval: (3,), the variances of the principal axes.
        eigvec: (3, 3), these axes as columns.
    """

    def __init__(self, alphastd: float, eigval: NumpyArray, eigvec: NumpyArray) -> None:
        super().__init__(alphastd=alphastd, eigval=eigval, eigvec=eigvec)
        self.alphastd = alphastd
        self.eigval = eigval
        self.eigvec = eigvec

    def __call__(self, src: NDArray) -> NDArray:
        """Returns the changed image."""
        factors = np.random.normal(0, self.alphastd, size=(3,))
        src += nd.array(np.dot(self.eigvec * factors, self.eigval))
        return src


class ColorNormalizeAug(Augmenter):
    """`color_normalize` as an augmenter.

    Args:
        mean: (channels,), or None.
        std: (channels,), or None.
    """

    def __init__(self, mean: ArrayLike | NDArray | None, std: ArrayLike | NDArray | None) -> None:
        super().__init__(mean=mean, std=std)
        self.mean = mean if mean is None or isinstance(mean, NDArray) else nd.array(mean)
        self.std = std if std is None or isinstance(std, NDArray) else nd.array(std)

    def __call__(self, src: NDArray) -> NDArray:
        """Returns the changed image."""
        return color_normalize(src, self.mean, self.std)


class RandomGrayAug(Augmenter):
    """Makes an image grey, sometimes; it keeps three channels.

    Args:
        p: how probable that is.
    """

    def __init__(self, p: float) -> None:
        super().__init__(p=p)
        self.p = p
        self.mat = nd.array(_GREY)

    def __call__(self, src: NDArray) -> NDArray:
        """Returns the image, grey or not."""
        return nd.dot(src, self.mat) if random.random() < self.p else src
