"""The usual augmenters for detection, in their usual order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.errors import ParameterError
from hybridnet.ndarray import NDArray

from .augmenters import ForceResizeAug, ResizeAug
from .create import MEAN, STD, CommonOptions, colour_augmenters, statistics
from .det_augmenters import DetAugmenter, DetBorrowAug, DetHorizontalFlipAug, DetRandomSelectAug
from .det_regions import DetRandomCropAug, DetRandomPadAug

__all__ = ["CreateDetAugmenter", "CreateMultiRandCropAugmenter", "DetAugmenterOptions"]


def CreateMultiRandCropAugmenter(
    min_object_covered: float | list[float] = 0.1,
    aspect_ratio_range: tuple[float, float] | list[tuple[float, float]] = (0.75, 1.33),
    area_range: tuple[float, float] | list[tuple[float, float]] = (0.05, 1.0),
    min_eject_coverage: float | list[float] = 0.3,
    max_attempts: int | list[int] = 50,
    skip_prob: float = 0,
) -> DetRandomSelectAug:
    """Returns one of several `DetRandomCropAug`, drawn for each image.

    Each argument is one for all of them, or a list with one for each.

    Args:
        min_object_covered: see `DetRandomCropAug`, as for the others.
        aspect_ratio_range: see there.
        area_range: see there.
        min_eject_coverage: see there.
        max_attempts: see there.
        skip_prob: how probably an image is left as it is.

    Raises:
        ParameterError: the lists have different lengths.
    """
    given = {
        "min_object_covered": min_object_covered,
        "aspect_ratio_range": aspect_ratio_range,
        "area_range": area_range,
        "min_eject_coverage": min_eject_coverage,
        "max_attempts": max_attempts,
    }
    lists = {name: value if isinstance(value, list) else [value] for name, value in given.items()}
    count = max(map(len, lists.values()))
    for name, values in lists.items():
        if len(values) not in (1, count):
            raise ParameterError(
                f"CreateMultiRandCropAugmenter: lists must have the same length, {count}, got "
                f"{len(values)} as {name}"
            )
    rows = zip(*(values * (count // len(values)) for values in lists.values()), strict=True)
    return DetRandomSelectAug([DetRandomCropAug(*row) for row in rows], skip_prob=skip_prob)


class DetAugmenterOptions(CommonOptions, total=False):
    """The keyword arguments of `CreateDetAugmenter`."""

    rand_crop: float
    rand_pad: float
    min_object_covered: float | list[float]
    aspect_ratio_range: tuple[float, float] | list[tuple[float, float]]
    area_range: tuple[float, float] | list[tuple[float, float]]
    min_eject_coverage: float | list[float]
    max_attempts: int | list[int]
    pad_val: float | Sequence[float]


def CreateDetAugmenter(
    data_shape: Sequence[int],
    resize: int = 0,
    rand_crop: float = 0,
    rand_pad: float = 0,
    rand_gray: float = 0,
    rand_mirror: bool = False,
    mean: bool | NumpyArray | NDArray | None = None,
    std: bool | NumpyArray | NDArray | None = None,
    brightness: float = 0,
    contrast: float = 0,
    saturation: float = 0,
    pca_noise: float = 0,
    hue: float = 0,
    inter_method: int = 2,
    min_object_covered: float | list[float] = 0.1,
    aspect_ratio_range: tuple[float, float] | list[tuple[float, float]] = (0.75, 1.33),
    area_range: tuple[float, float] | list[tuple[float, float]] = (0.05, 3.0),
    min_eject_coverage: float | list[float] = 0.3,
    max_attempts: Any = 50,
    pad_val: float | Sequence[float] = (127, 127, 127),
) -> list[DetAugmenter]:
    """Returns a list of augmenters for images with boxes.

    Args:
        data_shape: (channels, height, width) of what comes out.
        resize: of the shorter side first of all, pixels; 0: not.
        rand_crop: how probably a part is taken.
        rand_pad: how probably the image is put into a larger one.
        rand_gray: how probably it is made grey.
        rand_mirror: mirror every other image.
        mean: see `CreateAugmenter`, as for the next ones.
        std: see there.
        brightness: see there.
        contrast: see there.
        saturation: see there.
        pca_noise: see there.
        hue: see there.
        inter_method: see `resize_short`.
        min_object_covered: see `CreateMultiRandCropAugmenter`.
        aspect_ratio_range: see there, and `DetRandomPadAug`.
        area_range: see there; the most is for `DetRandomPadAug`, too.
        min_eject_coverage: see `CreateMultiRandCropAugmenter`.
        max_attempts: see there.
        pad_val: see `DetRandomPadAug`.

    Raises:
        ParameterError: an argument is none.
    """
    made: list[DetAugmenter] = []
    if resize > 0:
        made.append(DetBorrowAug(ResizeAug(resize, inter_method)))
    if rand_crop > 0:
        made.append(
            CreateMultiRandCropAugmenter(
                min_object_covered,
                aspect_ratio_range,
                area_range,
                min_eject_coverage,
                max_attempts,
                skip_prob=1 - rand_crop,
            )
        )
    if rand_mirror:
        made.append(DetHorizontalFlipAug(0.5))
    if rand_pad > 0:  # late, so that the others have less to do
        pad = DetRandomPadAug(aspect_ratio_range, (1.0, area_range[1]), max_attempts, pad_val)
        made.append(DetRandomSelectAug([pad], 1 - rand_pad))
    size = (data_shape[2], data_shape[1])
    made.append(DetBorrowAug(ForceResizeAug(size, inter_method)))
    what = "image.CreateDetAugmenter"
    colours = colour_augmenters(
        mean=statistics(mean, MEAN, f"{what}: mean"),
        std=statistics(std, STD, f"{what}: std"),
        brightness=brightness,
        contrast=contrast,
        saturation=saturation,
        hue=hue,
        pca_noise=pca_noise,
        rand_gray=rand_gray,
    )
    return made + [DetBorrowAug(one) for one in colours]
