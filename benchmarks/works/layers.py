"""Networks as lists of layers: from one list each framework's own network is built.

Shapes and weights are given as MXNet and PyTorch have them: images (batch, channel, height,
width), convolutions (out, in, height, width), products (out, in), sequences (step, batch, unit).
Frameworks with channels last turn the first weights and the data once, before anything is timed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from works.runner import Array

Shape = tuple[int, ...]
Kind = Literal["conv", "dense", "recurrent", "bias", "gamma", "beta"]


@dataclass(frozen=True)
class Conv:
    """Convolution of squares; depthwise where `groups` is the number of filters."""

    filters: int
    kernel: int
    stride: int = 1
    pad: int = 0
    groups: int = 1
    bias: bool = True


@dataclass(frozen=True)
class BatchNorm:
    """Over batch, height and width."""


@dataclass(frozen=True)
class Activation:
    """ReLU or tanh."""

    kind: Literal["relu", "tanh"]


@dataclass(frozen=True)
class MaxPool:
    """Over squares; windows do not stick out at the end."""

    size: int
    stride: int
    pad: int = 0


@dataclass(frozen=True)
class GlobalAverage:
    """(batch, channel, height, width) -> (batch, channel)."""


@dataclass(frozen=True)
class Flatten:
    """(batch, channel, height, width) -> (batch, all)."""


@dataclass(frozen=True)
class Dense:
    """A product with a bias."""

    units: int


@dataclass(frozen=True)
class Residual:
    """relu(body(x) + skip(x)); no `skip` is the identity."""

    body: tuple[Layer, ...]
    skip: tuple[Layer, ...] = ()


@dataclass(frozen=True)
class LSTM:
    """Layers of LSTM; (step, batch, unit) -> (batch, hidden), the last state."""

    hidden: int
    layers: int


Layer = Conv | BatchNorm | Activation | MaxPool | GlobalAverage | Flatten | Dense | Residual | LSTM


@dataclass(frozen=True)
class Parameter:
    """One array that is learned.

    Attributes:
        kind: what it is; `recurrent` weights are (4 * hidden, in) for the gates input, forget,
            cell, output.
        shape: as in PyTorch.
        image: (channel, height, width) of what is flattened before it; None for most.
    """

    kind: Kind
    shape: Shape
    image: Shape | None = None


def parameters(layers: Sequence[Layer], shape: Shape) -> dict[str, Parameter]:
    """Returns the learned parameters, in order; names sort in that order.

    Args:
        layers: the network.
        shape: of the data.
    """
    listed, _, _ = _walk(layers, shape, None)
    return {f"p{number:03}_{param.kind}": param for number, param in enumerate(listed)}


def statistics(layers: Sequence[Layer], shape: Shape) -> tuple[int, ...]:
    """Returns the channels of each batch normalization, in order."""
    return tuple(
        param.shape[0] for param in parameters(layers, shape).values() if param.kind == "gamma"
    )


def _walk(
    layers: Sequence[Layer], shape: Shape, image: Shape | None
) -> tuple[list[Parameter], Shape, Shape | None]:
    found: list[Parameter] = []
    for layer in layers:
        more, shape, image = _step(layer, shape, image)
        found += more
    return found, shape, image


def _step(
    layer: Layer, shape: Shape, image: Shape | None
) -> tuple[list[Parameter], Shape, Shape | None]:
    """Returns the parameters of a layer, the shape of its output, and what was flattened."""

    def windows(size: int, stride: int, pad: int) -> Shape:
        return tuple((n + 2 * pad - size) // stride + 1 for n in shape[2:])

    match layer:
        case Conv():
            kernel = (layer.kernel, layer.kernel)
            found = [Parameter("conv", (layer.filters, shape[1] // layer.groups, *kernel))]
            if layer.bias:
                found.append(Parameter("bias", (layer.filters,)))
            sizes = windows(layer.kernel, layer.stride, layer.pad)
            return found, (shape[0], layer.filters, *sizes), image
        case BatchNorm():
            channels = shape[1:2]
            return [Parameter("gamma", channels), Parameter("beta", channels)], shape, image
        case MaxPool():
            sizes = windows(layer.size, layer.stride, layer.pad)
            return [], (*shape[:2], *sizes), image
        case GlobalAverage():
            return [], shape[:2], image
        case Flatten():
            return [], (shape[0], math.prod(shape[1:])), shape[1:]
        case Dense():
            weight = Parameter("dense", (layer.units, shape[1]), image)
            return [weight, Parameter("bias", (layer.units,))], (shape[0], layer.units), None
        case Residual():
            found, after, _ = _walk(layer.body, shape, image)
            return found + _walk(layer.skip, shape, image)[0], after, image
        case LSTM():
            return list(_recurrent(layer, shape[2])), (shape[1], layer.hidden), image
        case Activation():
            return [], shape, image


def _recurrent(layer: LSTM, inputs: int) -> Iterator[Parameter]:
    gates = 4 * layer.hidden
    for number in range(layer.layers):
        yield Parameter("recurrent", (gates, layer.hidden if number else inputs))
        yield Parameter("recurrent", (gates, layer.hidden))
        yield Parameter("bias", (gates,))
        yield Parameter("bias", (gates,))


def first_values(table: dict[str, Parameter]) -> dict[str, Array]:
    """Returns He et al.'s first weights; gammas are 1, other vectors 0."""
    random = np.random.default_rng(0)

    def first(parameter: Parameter) -> Array:
        shape = parameter.shape
        if len(shape) == 1:
            return np.full(shape, parameter.kind == "gamma", np.float32)
        deviation = np.float32(math.sqrt(2 / math.prod(shape[1:])))
        return random.standard_normal(shape, np.float32) * deviation

    return {name: first(parameter) for name, parameter in table.items()}


def first_statistics(channels: Sequence[int]) -> list[tuple[Array, Array]]:
    """Returns a mean and a variance for each batch normalization, as inference uses them."""
    random = np.random.default_rng(2)
    return [
        (
            random.normal(0, 0.1, count).astype(np.float32),
            random.uniform(0.5, 1.5, count).astype(np.float32),
        )
        for count in channels
    ]


def channels_last(parameter: Parameter, value: Array) -> Array:
    """Turns a weight for frameworks with channels last: (height, width, in, out), (in, out)."""
    if parameter.kind == "conv":
        return np.ascontiguousarray(value.transpose(2, 3, 1, 0))
    if parameter.kind == "dense" and parameter.image is not None:
        value = value.reshape(-1, *parameter.image).transpose(0, 2, 3, 1).reshape(value.shape)
    if parameter.kind in ("dense", "recurrent"):
        return np.ascontiguousarray(value.T)
    return value


def images_last(data: Array) -> Array:
    """Turns images to (batch, height, width, channel); leaves other data."""
    return np.ascontiguousarray(data.transpose(0, 2, 3, 1)) if data.ndim == 4 else data


def taken(values: dict[str, Any]) -> Iterator[Any]:
    """Yields the parameters in the order of the layers, whatever the order of the dictionary."""
    return iter(values[name] for name in sorted(values))
