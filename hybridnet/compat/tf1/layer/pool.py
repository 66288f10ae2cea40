"""Pooling layers, over one, two and three spatial axes."""

from __future__ import annotations

from typing import Any

from ..graph.tensor import Tensor
from ..operations.nn.pool import avg_pool, max_pool, pool
from .base import Layer
from .windows import format_of, numbers

__all__ = [
    "AveragePooling1D", "AveragePooling2D", "AveragePooling3D", "MaxPooling1D", "MaxPooling2D",
    "MaxPooling3D",
]  # fmt: skip


class _Pooling(Layer):
    """Takes the greatest element, or the mean, of each window.

    Args:
        pool_size: the window: one number, or one for each spatial axis.
        strides: the distance of two windows, likewise.
        padding: 'valid' or 'same'.
        data_format: 'channels_last' or 'channels_first'.
        name: of the layer.
        kwargs: those of `Layer`.
    """

    spatial = 2
    kind = "MAX"

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.pool_size = numbers("pool_size", pool_size, self.spatial)
        self.strides = numbers("strides", strides, self.spatial)
        self.padding = padding
        self.data_format = data_format

    def call(self, inputs: Tensor, *args: Any, **keywords: Any) -> Tensor:
        """Returns the result."""
        layout, padding = format_of(self.data_format, self.spatial), self.padding.upper()
        size, steps = self.pool_size, self.strides
        if self.spatial == 2:
            function = max_pool if self.kind == "MAX" else avg_pool
            return function(inputs, list(size), list(steps), padding, data_format=layout)
        return pool(inputs, size, self.kind, padding, strides=steps, data_format=layout)


class MaxPooling1D(_Pooling):
    """Takes the greatest element of each window of sequences."""

    spatial = 1


class MaxPooling2D(_Pooling):
    """Takes the greatest element of each window of images."""


class MaxPooling3D(_Pooling):
    """Takes the greatest element of each window of volumes."""

    spatial = 3


class AveragePooling1D(_Pooling):
    """Takes the mean of each window of sequences."""

    spatial = 1
    kind = "AVG"


class AveragePooling2D(_Pooling):
    """Takes the mean of each window of images."""

    kind = "AVG"


class AveragePooling3D(_Pooling):
    """Takes the mean of each window of volumes."""

    spatial = 3
    kind = "AVG"
