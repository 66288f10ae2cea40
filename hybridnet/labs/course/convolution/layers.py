"""Lab 12: small layers, and what a convolution is, by plain loops over NumPy arrays.

All numbers are small and whole, so that sums of products are exact in each dtype.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from hybridnet.base.array_types import NumpyArray

#: Of the layers that are tried, and the seed that they are drawn by.
_COUNT: Final = 36
_SEED: Final = 12
#: Elements of an array that is shown.
_SHOWN: Final = 12


@dataclass(frozen=True)
class ConvolutionLayer:
    """The arguments of a convolution: shapes, stride, padding and dtype.

    Attributes:
        data: the shape (batch, channel, height, width).
        weight: the shape (filter, channel, kernel height, kernel width).
        stride: by rows and by columns.
        pad: by rows and by columns, on each side.
        dtype: of data and weight.
    """

    data: tuple[int, int, int, int]
    weight: tuple[int, int, int, int]
    stride: tuple[int, int] = (1, 1)
    pad: tuple[int, int] = (0, 0)
    dtype: str = "float32"

    @property
    def result(self) -> tuple[int, int, int, int]:
        """The shape of what comes out."""
        sizes = zip(self.data[2:], self.weight[2:], self.stride, self.pad, strict=True)
        rows, columns = ((size + 2 * p - width) // s + 1 for size, width, s, p in sizes)
        return self.data[0], self.weight[0], rows, columns

    @property
    def operands(self) -> tuple[NumpyArray, NumpyArray]:
        """Data and weight."""
        return _whole(self.data, 5, 11).astype(self.dtype), _whole(self.weight, 3, 7).astype(
            self.dtype
        )

    @property
    def result_gradient(self) -> NumpyArray:
        """The gradient of the result, from which the backward pass begins."""
        return _whole(self.result, 2, 5).astype(self.dtype)

    @property
    def window(self) -> dict[str, tuple[int, int]]:
        """The arguments by keyword."""
        return {"stride": self.stride, "pad": self.pad}

    @cached_property
    def convolved(self) -> NumpyArray:
        """The result: in each place, the sum over the window there."""
        data, weight = (x.astype("float64") for x in self.operands)
        found, padded = np.zeros(self.result), self._padded(data)
        for image, number, row, column, window in self._windows():
            found[image, number, row, column] = (padded[image][window] * weight[number]).sum()
        return found

    @cached_property
    def gradients(self) -> tuple[NumpyArray, NumpyArray]:
        """Of data and of weight: each product hands to one factor the other, times its sum's."""
        data, weight = (x.astype("float64") for x in self.operands)
        padded, back = self._padded(data), self.result_gradient.astype("float64")
        of_padded, of_weight = np.zeros_like(padded), np.zeros_like(weight)
        for image, number, row, column, window in self._windows():
            share = back[image, number, row, column]
            of_padded[image][window] += share * weight[number]
            of_weight[number] += share * padded[image][window]
        (above, left), (height, width) = self.pad, self.data[2:]
        return of_padded[:, :, above : above + height, left : left + width], of_weight

    def _padded(self, data: NumpyArray) -> NumpyArray:
        return np.pad(data, ((0, 0), (0, 0), *((p, p) for p in self.pad)))

    def _windows(self) -> Iterator[tuple[int, int, int, int, Any]]:
        """Yields the places of the result, and where in its padded image each has its window."""
        for image, number, row, column in np.ndindex(*self.result):
            top, left = row * self.stride[0], column * self.stride[1]
            rows, columns = self.weight[2:]
            window = (slice(None), slice(top, top + rows), slice(left, left + columns))
            yield image, number, row, column, window

    def __str__(self) -> str:
        lines = [f"data {self.data}, weight {self.weight}, {self.dtype}"]
        lines.append(f"stride {self.stride}, pad {self.pad}")
        data, weight = self.operands
        if data.size <= _SHOWN and weight.size <= _SHOWN and self.dtype == "float32":
            for name, array in (("data", data), ("weight", weight)):
                text = np.array2string(array.astype(int), separator=", ", prefix=f"{name} = ")
                lines.append(f"{name} = {text}")
        return "\n".join(lines)


def _whole(shape: tuple[int, ...], step: int, period: int) -> NumpyArray:
    """Returns whole numbers on both sides of 0."""
    return np.arange(2, np.prod(shape) + 2).reshape(shape) * step % period - period // 2


def _drawn(source: random.Random) -> ConvolutionLayer:
    batch, channel, filters = (source.choice((1, 1, 2, 3)) for _ in range(3))
    kernel = source.choice((1, 2, 2, 3)), source.choice((1, 2, 3, 3))
    stride = source.choice((1, 1, 2, 3)), source.choice((1, 1, 2, 3))
    pad = source.choice((0, 0, 1, 2)), source.choice((0, 0, 1, 2))
    height, width = (
        max(1, k - 2 * p) + source.choice((0, 0, 1, 2, 3)) for k, p in zip(kernel, pad, strict=True)
    )
    return ConvolutionLayer(
        (batch, channel, height, width), (filters, channel, *kernel), stride, pad
    )


def _all() -> tuple[ConvolutionLayer, ...]:
    """Returns layers from the smallest to the largest.

    A program is compiled for each, so that no more can be tried than these.
    """
    source = random.Random(_SEED)
    drawn = {_drawn(source) for _ in range(_COUNT)}
    plain = {
        ConvolutionLayer((1, 1, 2, 3), (1, 1, 1, 2)),
        ConvolutionLayer((1, 1, 3, 2), (1, 1, 2, 1), stride=(2, 1)),
        ConvolutionLayer((1, 1, 2, 2), (1, 1, 2, 2), pad=(1, 0)),
        ConvolutionLayer((1, 2, 2, 2), (1, 2, 1, 2)),
    }
    return tuple(sorted(drawn | plain, key=_size))


def _size(layer: ConvolutionLayer) -> tuple[int, Any]:
    more = sum(layer.stride) - 2 + 2 * sum(layer.pad)
    sizes = int(np.prod(layer.data)) + int(np.prod(layer.weight)) + more
    return sizes, (layer.data, layer.weight, layer.stride, layer.pad)


#: What is tried.
LAYERS: Final = _all()
