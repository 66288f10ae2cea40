"""Initializers that fill each weight alike, or by a fixed pattern."""

from __future__ import annotations

from typing import Any

import numpy as np

from hybridnet import nd
from hybridnet.ndarray import NDArray

from .base import Initializer, alias, register

__all__ = ["Bilinear", "Constant", "LSTMBias", "Normal", "One", "Uniform", "Zero"]


@alias("zeros")
@register
class Zero(Initializer):
    """Fills weights with 0."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = 0.0


@alias("ones")
@register
class One(Initializer):
    """Fills weights with 1."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = 1.0


@register
class Constant(Initializer):
    """Fills weights with a number, or with the values of an array of their shape.

    Args:
        value: the number, an NDArray, a NumPy array or nested lists.
    """

    def __init__(self, value: Any) -> None:
        self.value = value
        super().__init__()

    @property
    def _kwargs(self) -> dict[str, Any]:
        """The arguments it was made with, as JSON has them; arrays are read when this is called."""
        value = self.value
        plain = value.tolist() if isinstance(value, (NDArray, np.ndarray, np.generic)) else value
        return {"value": plain}

    @_kwargs.setter
    def _kwargs(self, kwargs: dict[str, Any]) -> None:
        pass

    def _init_weight(self, name: str, arr: NDArray) -> None:
        arr[:] = self.value


@register
class Uniform(Initializer):
    """Draws weights from the uniform distribution on [-scale, scale).

    Args:
        scale: the bound.
    """

    def __init__(self, scale: float = 0.07) -> None:
        super().__init__(scale=scale)
        self.scale = scale

    def _init_weight(self, name: str, arr: NDArray) -> None:
        nd.random.uniform(-self.scale, self.scale, out=arr)


@register
class Normal(Initializer):
    """Draws weights from the normal distribution around 0.

    Args:
        sigma: the standard deviation.
    """

    def __init__(self, sigma: float = 0.01) -> None:
        super().__init__(sigma=sigma)
        self.sigma = sigma

    def _init_weight(self, name: str, arr: NDArray) -> None:
        nd.random.normal(0, self.sigma, out=arr)


@register
class Bilinear(Initializer):
    """Fills the weight of a deconvolution so that it enlarges pictures bilinearly."""

    def __init__(self) -> None:
        super().__init__()

    def _init_weight(self, name: str, arr: NDArray) -> None:
        self._init_bilinear(name, arr)


@register
class LSTMBias(Initializer):
    """Fills the bias of an LSTM with 0, and the part of the forget gate with `forget_bias`.

    Its gates are in the order input, forget, cell, output. Name it in the bias' ``__init__``
    attribute, for by its name alone a bias becomes 0.

    Args:
        forget_bias: what the forget gate's part begins with.
    """

    def __init__(self, forget_bias: float = 1.0) -> None:
        super().__init__(forget_bias=forget_bias)
        self.forget_bias = forget_bias

    def _init_weight(self, name: str, arr: NDArray) -> None:
        hidden = arr.shape[0] // 4
        arr[:] = 0.0
        arr[hidden : 2 * hidden] = self.forget_bias
