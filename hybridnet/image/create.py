"""The usual augmenters for classification, in their usual order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypedDict

import numpy as np

from hybridnet.base.array_types import ArrayLike, NumpyArray
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray

from .augmenters import (
    Augmenter,
    CastAug,
    CenterCropAug,
    HorizontalFlipAug,
    RandomCropAug,
    RandomSizedCropAug,
    ResizeAug,
)
from .colours import (
    PCA_VALUES,
    PCA_VECTORS,
    ColorJitterAug,
    ColorNormalizeAug,
    HueJitterAug,
    LightingAug,
    RandomGrayAug,
)

__all__ = [
    "MEAN",
    "STD",
    "AugmenterOptions",
    "CommonOptions",
    "CreateAugmenter",
    "colour_augmenters",
    "statistics",
]

#: Mean and standard deviation of ImageNet's red, green and blue.
MEAN: Final = (123.68, 116.28, 103.53)
STD: Final = (58.395, 57.12, 57.375)
#: Least area, and least and most width / height, of a part that is resized.
_LEAST_AREA: Final = 0.08
_FORMS: Final = (3 / 4, 4 / 3)


def statistics(
    given: bool | NumpyArray | NDArray | None, default: ArrayLike, what: str
) -> NumpyArray | NDArray | None:
    """Returns a mean or standard deviation as an array; None: there is none.

    Args:
        given: an array of 1 or 3 numbers; True: the default; None.
        default: ImageNet's.
        what: its name and who asks, for messages.

    Raises:
        ParameterError: it is something else.
    """
    if given is None or given is False:
        return None
    if given is True:
        return np.array(default)
    if not isinstance(given, (np.ndarray, NDArray)) or given.shape[:1] not in ((1,), (3,)):
        got = getattr(given, "shape", type(given).__name__)
        raise ParameterError(f"{what} must be True or an array of 1 or 3 numbers, got {got}")
    return given


def colour_augmenters(
    *,
    mean: NumpyArray | NDArray | None,
    std: NumpyArray | NDArray | None,
    brightness: float,
    contrast: float,
    saturation: float,
    hue: float,
    pca_noise: float,
    rand_gray: float,
) -> list[Augmenter]:
    """Returns the augmenters of colours that are asked for; see `CreateAugmenter`.

    The mean and the standard deviation are arrays or None.
    """
    made: list[Augmenter] = [CastAug()]
    if brightness or contrast or saturation:
        made.append(ColorJitterAug(brightness, contrast, saturation))
    if hue:
        made.append(HueJitterAug(hue))
    if pca_noise > 0:
        made.append(LightingAug(pca_noise, PCA_VALUES, PCA_VECTORS))
    if rand_gray > 0:
        made.append(RandomGrayAug(rand_gray))
    if mean is not None or std is not None:
        made.append(ColorNormalizeAug(mean, std))
    return made


class CommonOptions(TypedDict, total=False):
    """The keyword arguments that augmenters for classification and for detection share."""

    resize: int
    rand_mirror: bool
    mean: bool | NumpyArray | NDArray | None
    std: bool | NumpyArray | NDArray | None
    brightness: float
    contrast: float
    saturation: float
    hue: float
    pca_noise: float
    rand_gray: float
    inter_method: int


class AugmenterOptions(CommonOptions, total=False):
    """The keyword arguments of `CreateAugmenter`."""

    rand_crop: bool
    rand_resize: bool


def CreateAugmenter(
    data_shape: Sequence[int],
    resize: int = 0,
    rand_crop: bool = False,
    rand_resize: bool = False,
    rand_mirror: bool = False,
    mean: bool | NumpyArray | NDArray | None = None,
    std: bool | NumpyArray | NDArray | None = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    hue: float = 0,
    pca_noise: float = 0,
    rand_gray: float = 0,
    inter_method: int = 2,
) -> list[Augmenter]:
    """Returns a list of augmenters for images in a data set.

    Args:
        data_shape: (channels, height, width) of what comes out.
        resize: of the shorter side first of all, pixels; 0: not.
        rand_crop: take a part from anywhere; otherwise from the middle.
        rand_resize: ... of random area and form, too.
        rand_mirror: mirror every other image.
        mean: to subtract: an array of 1 or 3; True: ImageNet's.
        std: to divide by: an array of 1 or 3; True: ImageNet's.
        brightness: the most it changes, as a part of it; the next two likewise.
        contrast: see `ContrastJitterAug`.
        saturation: see `SaturationJitterAug`.
        hue: the most it turns, in half turns.
        pca_noise: standard deviation of `LightingAug`.
        rand_gray: how probably an image is made grey.
        inter_method: see `resize_short`.

    Raises:
        ParameterError: `rand_resize` without `rand_crop`, or `mean` or `std` are none.
    """
    what = "image.CreateAugmenter"
    made: list[Augmenter] = []
    if resize > 0:
        made.append(ResizeAug(resize, inter_method))
    size = (data_shape[2], data_shape[1])
    if rand_resize:
        if not rand_crop:
            raise ParameterError(f"{what}: rand_resize=True needs rand_crop=True, got {rand_crop}")
        made.append(RandomSizedCropAug(size, _LEAST_AREA, _FORMS, inter_method))
    elif rand_crop:
        made.append(RandomCropAug(size, inter_method))
    else:
        made.append(CenterCropAug(size, inter_method))
    if rand_mirror:
        made.append(HorizontalFlipAug(0.5))
    return made + colour_augmenters(
        # As float32, which `dumps` shows.
        mean=statistics(mean, np.array(MEAN, np.float32), f"{what}: mean"),
        std=statistics(std, np.array(STD, np.float32), f"{what}: std"),
        brightness=brightness,
        contrast=contrast,
        saturation=saturation,
        hue=hue,
        pca_noise=pca_noise,
        rand_gray=rand_gray,
    )
