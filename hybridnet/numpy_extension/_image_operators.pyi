# Written by `python -m hybridnet.stubs`, which overwrites what is changed here.

from typing import Any, overload

from hybridnet.base.array_types import Real, Reals, Sizes, Switch, Whole
from hybridnet.numpy.multiarray import ndarray
from hybridnet.numpy.operands import ArrayLike

def adjust_lighting(
    data: ArrayLike, alpha: Reals, *, out: ndarray | Any = None, name: str | Any = None
) -> ndarray:
    """Adds a color along the principal components of ImageNet's colors (AlexNet, 2012).

    Args:
        data: (height, width, channel) with 1 or 3 channels; one channel is left as it is.
        alpha: how far along each of the three components.
    """

@overload
def crop(
    data: ArrayLike,
    x: Whole,
    y: Whole,
    width: Whole,
    height: Whole,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """Cuts a rectangle out of an image.

    Args:
        data: (height, width, channel) or (batch, height, width, channel).
        x: the first column.
        y: the first row.
        width: how many columns.
        height: how many rows.
    """

@overload
def crop(data: ArrayLike, *, _unpacked: object, **options: object) -> ndarray: ...
def flip_left_right(
    data: ArrayLike, *, out: ndarray | Any = None, name: str | Any = None
) -> ndarray:
    """Mirrors an image from left to right.

    Args:
        data: (height, width, channel).
    """

def flip_top_bottom(
    data: ArrayLike, *, out: ndarray | Any = None, name: str | Any = None
) -> ndarray:
    """Mirrors an image from top to bottom.

    Args:
        data: (height, width, channel).
    """

@overload
def normalize(
    data: ArrayLike,
    mean: Reals = (0.0, 0.0, 0.0, 0.0),
    std: Reals = (1.0, 1.0, 1.0, 1.0),
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """Subtracts a number from each channel and divides by another.

    Args:
        data: (channel, height, width) or (batch, channel, height, width).
        mean: what is subtracted: a number for all channels, or one for each.
        std: what is divided by: a number for all channels, or one for each.

    Returns:
        The shape and dtype of `data`; whole numbers are cut off.
    """

@overload
def normalize(data: ArrayLike, *, _unpacked: object, **options: object) -> ndarray: ...
@overload
def random_brightness(
    data: ArrayLike,
    min_factor: Real,
    max_factor: Real,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """Multiplies an image by a random factor.

    Args:
        data: (height, width, channel) with 1 or 3 channels; or a batch
            of such, each with a factor of its own.
        min_factor: the least factor.
        max_factor: the greatest.
    """

@overload
def random_brightness(data: ArrayLike, *, _unpacked: object, **options: object) -> ndarray: ...
@overload
def random_color_jitter(
    data: ArrayLike,
    brightness: Real,
    contrast: Real,
    saturation: Real,
    hue: Real,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """Changes brightness, contrast, saturation and hue at random, in random order.

    Args:
        data: (height, width, channel) with 1 or 3 channels.
        brightness: how far the factor is from 1 at most; 0 leaves it out.
        contrast: likewise.
        saturation: likewise.
        hue: how far the hue is turned at most, as a part of the color circle.
    """

@overload
def random_color_jitter(data: ArrayLike, *, _unpacked: object, **options: object) -> ndarray: ...
@overload
def random_contrast(
    data: ArrayLike,
    min_factor: Real,
    max_factor: Real,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """Moves an image away from its mean gray value, or towards it.

    Args:
        data: (height, width, channel) with 1 or 3 channels; or a batch
            of such, each with a factor of its own.
        min_factor: the least factor.
        max_factor: the greatest.
    """

@overload
def random_contrast(data: ArrayLike, *, _unpacked: object, **options: object) -> ndarray: ...
def random_flip_left_right(
    data: ArrayLike, *, out: ndarray | Any = None, name: str | Any = None
) -> ndarray:
    """Mirrors an image from left to right one time in two.

    Args:
        data: (height, width, channel); or a batch of such, of which each is mirrored or not by
            itself.
    """

def random_flip_top_bottom(
    data: ArrayLike, *, out: ndarray | Any = None, name: str | Any = None
) -> ndarray:
    """Mirrors an image from top to bottom one time in two.

    Args:
        data: (height, width, channel); or a batch of such, of which each is mirrored or not by
            itself.
    """

@overload
def random_hue(
    data: ArrayLike,
    min_factor: Real,
    max_factor: Real,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """Turns the hue of each pixel by a part of the color circle.

    Args:
        data: (height, width, channel) with 1 or 3 channels; or a batch
            of such, each with a factor of its own.
        min_factor: the least factor.
        max_factor: the greatest.
    """

@overload
def random_hue(data: ArrayLike, *, _unpacked: object, **options: object) -> ndarray: ...
def random_lighting(
    data: ArrayLike, alpha_std: Real = 0.05, *, out: ndarray | Any = None, name: str | Any = None
) -> ndarray:
    """Adds a random color along the principal components of ImageNet's colors (AlexNet, 2012).

    Args:
        data: (height, width, channel) with 1 or 3 channels; one channel is left as it is. Or a
            batch of such, each with a color of its own.
        alpha_std: the standard deviation of how far, along each component.
    """

@overload
def random_saturation(
    data: ArrayLike,
    min_factor: Real,
    max_factor: Real,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """Moves each pixel away from its gray value, or towards it.

    MXNet leaves out what red and green add to the gray value.

    Args:
        data: (height, width, channel) with 1 or 3 channels; or a batch
            of such, each with a factor of its own.
        min_factor: the least factor.
        max_factor: the greatest.
    """

@overload
def random_saturation(data: ArrayLike, *, _unpacked: object, **options: object) -> ndarray: ...
@overload
def resize(
    data: ArrayLike,
    size: Sizes = (),
    keep_ratio: Switch = False,
    interp: Whole = 1,
    *,
    out: ndarray | Any = None,
    name: str | Any = None,
) -> ndarray:
    """Resizes an image. Whole numbers are rounded; they may differ by one from OpenCV's.

    Args:
        data: (height, width, channel) or (batch, height, width, channel).
        size: (width, height), or one number for both.
        keep_ratio: with one number, that it is the shorter side, and the longer one in proportion.
        interp: 0 takes the nearest pixel, 1 interpolates linearly, 2 cubically, 3 averages areas,
            and 4 is Lanczos over 8 pixels.
    """

@overload
def resize(data: ArrayLike, *, _unpacked: object, **options: object) -> ndarray: ...
def to_tensor(data: ArrayLike, *, out: ndarray | Any = None, name: str | Any = None) -> ndarray:
    """Turns an image of numbers up to 255 into what networks take.

    Args:
        data: (height, width, channel) or (batch, height, width, channel).

    Returns:
        float32 of shape (channel, height, width), or that with the batch in front; divided by 255.
    """
