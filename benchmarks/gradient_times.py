"""Networks as a parameter server sees them: how large each key is, and when its gradient is ready.

Times are worked out, not measured: multiplications and additions over the speed of a device. A
backward pass takes twice the forward's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cards import Layer

__all__ = ["gpt2", "in_pieces", "resnet50", "taking", "vgg16"]

#: Multiplications and additions a second; that of a graphics card of the P3 paper's time.
SPEED = 4e12


def _layer(size: int, additions: float, batch: int, speed: float) -> Layer:
    time = 2 * additions * batch / speed
    return Layer(size, time, 2 * time)


def vgg16(batch: int = 32, speed: float = SPEED) -> list[Layer]:
    """VGG-16 for images of 224 x 224: 138 million floats, of which 103 in one dense layer."""
    found: list[Layer] = []
    channels, side = 3, 224
    for width, count in ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3)):
        for _ in range(count):
            weights = 9 * channels * width
            found.append(_layer(weights, weights * side * side, batch, speed))
            found.append(Layer(width))  # bias
            channels = width
        side //= 2
    units = channels * side * side
    for width in (4096, 4096, 1000):
        found.append(_layer(units * width, units * width, batch, speed))
        found.append(Layer(width))
        units = width
    return found


def resnet50(batch: int = 32, speed: float = SPEED) -> list[Layer]:
    """ResNet-50 for images of 224 x 224: 25.6 million floats in 161 keys."""
    found: list[Layer] = []

    def convolve(channels: int, width: int, kernel: int, side: int) -> None:
        weights = kernel * kernel * channels * width
        found.append(_layer(weights, weights * side * side, batch, speed))
        found.extend((Layer(width), Layer(width)))  # batch normalization's

    convolve(3, 64, 7, 112)
    channels, side = 64, 56
    for stage, count in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(count):
            if stage and not block:
                side //= 2
            convolve(channels, width, 1, side)
            convolve(width, width, 3, side)
            convolve(width, 4 * width, 1, side)
            if not block:
                convolve(channels, 4 * width, 1, side)
            channels = 4 * width
    found.append(_layer(channels * 1000, channels * 1000, batch, speed))
    found.append(Layer(1000))
    return found


def gpt2(
    count: int, units: int, batch: int, speed: float, length: int = 1024, vocab: int = 50_257
) -> list[Layer]:
    """GPT-2 for sequences of `length`: its layers, and the embedding that is the output's, too.

    Additions and multiplications as Narayanan et al. (2021) count them, with nothing computed
    twice: 24 B s h^2 (1 + s / 6h) forward for a layer, 2 B s h V for the output.
    """
    tokens = batch * length
    layer = 24 * tokens * units**2 * (1 + length / (6 * units))
    output = 2 * tokens * units * vocab
    embedding = Layer((vocab + length) * units)  # its gradient is whole at the very end
    inner = _layer(12 * units**2 + 13 * units, layer / 2, 1, speed)
    return [embedding, *[inner] * count, _layer(2 * units, output / 2, 1, speed)]


def taking(layers: Sequence[Layer], seconds: float) -> list[Layer]:
    """Returns layers whose forward and backward passes take some seconds together."""
    scale = seconds / sum(one.forward + one.backward for one in layers)
    return [
        replace(one, forward=scale * one.forward, backward=scale * one.backward) for one in layers
    ]


def in_pieces(layers: Sequence[Layer], pieces: int) -> list[Layer]:
    """Returns layers whose backward pass is some programs, each of which gives its gradients last.

    Args:
        layers: of the network.
        pieces: how many programs; they take about as long as each other.
    """
    made = list(layers)
    share, time, piece = sum(one.backward for one in layers) / pieces, 0.0, list[int]()
    for number in reversed(range(len(layers))):
        piece.append(number)
        time += layers[number].backward
        if time >= share or not number:
            for one in piece:
                made[one] = replace(layers[one], backward=0.0)
            made[piece[0]] = replace(made[piece[0]], backward=time)  # the first on the way back
            time, piece = 0.0, []
    return made
