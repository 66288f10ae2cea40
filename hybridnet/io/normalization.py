"""From pixels to what a batch holds: mirrored, mean and deviation taken out, channels first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.lazy import cv2

from .mersenne import MersenneTwister

__all__ = ["Normalization", "Normalizer"]


_F: Final = np.float32
_VALUES: Final = np.arange(256, dtype=_F)


@dataclass(frozen=True, kw_only=True)
class Normalization:
    """The scaling of values: ``(value - mean) * contrast * scale / std + illumination``.

    Attributes:
        mirror: mirror every image, left and right.
        rand_mirror: mirror every other image, by chance.
        mean_img: a file with a mean image (channels, height, width); it is made if it is not there.
        mean_r: mean of red, if there is no mean image; likewise the next three.
        mean_g: of green.
        mean_b: of blue.
        mean_a: of alpha.
        std_r: standard deviation of red; likewise the next three.
        std_g: of green.
        std_b: of blue.
        std_a: of alpha.
        scale: see above.
        max_random_contrast: the most by which the contrast differs from 1.
        max_random_illumination: the most that is added.
    """

    mirror: bool = False
    rand_mirror: bool = False
    mean_img: str = ""
    mean_r: float = 0.0
    mean_g: float = 0.0
    mean_b: float = 0.0
    mean_a: float = 0.0
    std_r: float = 1.0
    std_g: float = 1.0
    std_b: float = 1.0
    std_a: float = 1.0
    scale: float = 1.0
    max_random_contrast: float = 0.0
    max_random_illumination: float = 0.0


@final
class Normalizer:
    """Writes images into rows of a batch.

    Args:
        how: what to do.
        dtype: of the batch. uint8 keeps the pixels, int8 subtracts the rounded mean.

    Attributes:
        mean: the mean image, float32 (channels, height, width), or None.
    """

    def __init__(self, how: Normalization, dtype: np.dtype[np.generic]) -> None:
        self._how = how
        self._dtype = dtype
        self._means = np.array([how.mean_r, how.mean_g, how.mean_b, how.mean_a], _F)
        self._stds = np.array([how.std_r, how.std_g, how.std_b, how.std_a], _F)
        self.mean: NumpyArray | None = None
        varies = how.max_random_contrast or how.max_random_illumination
        self._tables = None if varies else self._tables_of(how.scale, 0.0)

    @property
    def is_alike(self) -> bool:
        """Whether every image of a batch is scaled alike, pixel by pixel."""
        return self.mean is None and (self._tables is not None or self._dtype != _F)

    def _is_mirrored(self, numbers: MersenneTwister) -> bool:
        how = self._how
        return (how.rand_mirror and numbers.coin()) or how.mirror

    def write_pixels(self, image: NumpyArray, out: NumpyArray, numbers: MersenneTwister) -> None:
        """Writes the pixels of an image, mirrored or not, for `write_batch`.

        Args:
            image: uint8 (height, width[, channels]), blue first.
            out: likewise.
            numbers: where chance comes from.
        """
        if self._is_mirrored(numbers):
            cv2.flip(image, 1, dst=out)
        else:
            out[...] = image

    def write_batch(self, pixels: NumpyArray, out: NumpyArray) -> None:
        """Writes images that are all scaled alike; for small ones quicker than one by one.

        Args:
            pixels: uint8 (batch, height, width[, channels]), blue first.
            out: (batch, channels, height, width), red first.
        """
        joined = pixels.reshape(-1, *pixels.shape[2:])  # one below the other
        count = out.shape[1]
        for channel in range(count):
            row = out[:, channel]
            scaled = self._scaled(_plane(joined, channel, count), channel, self._tables)
            row[...] = scaled.reshape(row.shape)

    def write(self, image: NumpyArray, out: NumpyArray, numbers: MersenneTwister) -> None:
        """Writes an image.

        Args:
            image: uint8 (height, width[, channels]), blue first.
            out: (channels, height, width), red first.
            numbers: where chance comes from.
        """
        how = self._how
        mirrored = self._is_mirrored(numbers)
        tables, factor, light = self._tables, how.scale, 0.0
        if tables is None and self._dtype == _F:
            most, more = how.max_random_contrast, how.max_random_illumination
            factor = (numbers.real(-most, most) + 1) * how.scale
            light = numbers.real(-more, more) * how.scale
            tables = self._tables_of(factor, light)
        if mirrored and self.mean is None:
            image = cv2.flip(image, 1)
        for channel, row in enumerate(out):
            plane = _plane(image, channel, len(out))
            if self._dtype == _F and self.mean is not None:
                np.subtract(plane, self.mean[channel], out=row)
                row *= _F(factor) / self._stds[channel]
                row += _F(light) / self._stds[channel]
                continue
            # In place: the row is C-contiguous, of the table's dtype and the plane's shape.
            scaled = self._scaled(plane, channel, tables, row)
            if scaled is not row:
                row[...] = scaled
        if mirrored and self.mean is not None:
            out[...] = out[:, :, ::-1].copy()

    def _scaled(
        self,
        plane: NumpyArray,
        channel: int,
        tables: NumpyArray | None,
        out: NumpyArray | None = None,
    ) -> NumpyArray:
        """Returns a channel of images as it is in a batch, where no image is subtracted.

        Args:
            plane: uint8.
            channel: its number.
            tables: see `_tables_of`; only for float32.
            out: where float32 may be put.
        """
        if self._dtype == np.uint8:
            return plane
        if self._dtype == np.int8:
            return self._less_mean(plane, channel)
        assert tables is not None
        scaled: NumpyArray = cv2.LUT(plane, tables[channel], dst=out)
        return scaled

    def _less_mean(self, plane: NumpyArray, channel: int) -> NumpyArray:
        mean = self._means[channel] if self.mean is None else self.mean[channel]
        rounded = np.trunc(mean + np.copysign(_F(0.5), mean)).astype(np.int16)
        made: NumpyArray = (plane.astype(np.int16) - rounded).clip(-128, 127)
        return made

    def _tables_of(self, factor: float, light: float) -> NumpyArray:
        """Returns what each of the 256 values becomes in each channel, float32 (4, 256)."""
        table: NumpyArray = _VALUES - self._means[:, None]
        table *= (_F(factor) / self._stds)[:, None]
        table += (_F(light) / self._stds)[:, None]
        return table


def _plane(image: NumpyArray, channel: int, count: int) -> NumpyArray:
    """Returns one of the channels of an image that has blue first; it may have that one only."""
    if image.ndim == 2:
        return image
    place = channel if count == 1 or channel == 3 else 2 - channel
    plane: NumpyArray = cv2.extractChannel(image, place)
    return plane
