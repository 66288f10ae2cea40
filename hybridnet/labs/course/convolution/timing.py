"""Lab 12: how long convolutions take, beside XLA's own and ours.

What is taken is the time of the process on all its processors, which other programs hardly change;
what is compared runs by turns, and of each the median counts.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

import numpy as np

from hybridnet.base.lazy import jax, jnp, lax
from hybridnet.ops.core import registry

from .layers import ConvolutionLayer

_Key = TypeVar("_Key")
Convolution = Callable[..., Any]

#: LeNet's, with the batch that it is trained with.
FIRST: Final = ConvolutionLayer((64, 1, 28, 28), (20, 1, 5, 5))
SECOND: Final = ConvolutionLayer((64, 20, 12, 12), (50, 20, 5, 5))
#: How often each is timed, and how often it runs then.
_RUNS: Final = 9
_TIMES: Final = 3


def by_xla(data: Any, weight: Any, *, stride: tuple[int, int], pad: tuple[int, int]) -> Any:
    """The convolution that XLA has."""
    axes = ("NCHW", "OIHW", "NCHW")
    around = [(p, p) for p in pad]
    return lax.conv_general_dilated(data, weight, stride, around, dimension_numbers=axes)


def by_ours(data: Any, weight: Any, *, stride: tuple[int, int], pad: tuple[int, int]) -> Any:
    """The lowering that the operator of hybridnet's has where no other is chosen."""
    lowering = registry.get("Convolution").lowering
    size: dict[str, Any] = {"kernel": weight.shape[2:], "num_filter": weight.shape[0]}
    return lowering(data, weight, **size, stride=stride, pad=pad, no_bias=True, platform="cpu")


def operands_of(layer: ConvolutionLayer) -> tuple[Any, Any, Any]:
    """Returns random data, weight, and what comes back to the result."""
    generator = np.random.default_rng(0)
    shapes = (layer.data, layer.weight, layer.result)
    data, weight, back = (generator.standard_normal(shape, "float32") for shape in shapes)
    return jnp.asarray(data), jnp.asarray(weight), jnp.asarray(back)


def forward(convolution: Convolution, layer: ConvolutionLayer) -> Callable[..., Any]:
    """Returns a program: data, weight, and what comes back -> the result."""
    convolve = partial(convolution, **layer.window)
    program: Callable[..., Any] = jax.jit(lambda data, weight, back: convolve(data, weight))
    return program


def weight_gradient(convolution: Convolution, layer: ConvolutionLayer) -> Callable[..., Any]:
    """Returns a program: data, weight, and what comes back -> the gradient of the weight."""
    convolve = partial(convolution, **layer.window)
    program: Callable[..., Any] = jax.jit(
        lambda data, weight, back: jax.vjp(lambda w: convolve(data, w), weight)[1](back)
    )
    return program


def data_gradient(convolution: Convolution, layer: ConvolutionLayer) -> Callable[..., Any]:
    """Returns a program: data, weight, and what comes back -> the gradient of the data."""
    convolve = partial(convolution, **layer.window)
    program: Callable[..., Any] = jax.jit(
        lambda data, weight, back: jax.vjp(lambda x: convolve(x, weight), data)[1](back)
    )
    return program


def step(convolution: Convolution, layer: ConvolutionLayer) -> Callable[..., Any]:
    """Returns a program: data, weight, and what comes back -> the result and both gradients."""

    def both_ways(data: Any, weight: Any, back: Any) -> Any:
        result, pull = jax.vjp(partial(convolution, **layer.window), data, weight)
        return result, *pull(back)

    program: Callable[..., Any] = jax.jit(both_ways)
    return program


def medians(programs: Mapping[_Key, Callable[[], Any]]) -> dict[_Key, float]:
    """Returns how many seconds of processors each takes."""
    for program in programs.values():
        jax.block_until_ready(program())  # it is compiled
    taken: dict[_Key, list[float]] = {key: [] for key in programs}
    for _ in range(_RUNS):
        for key, program in programs.items():
            began = time.process_time()
            for _ in range(_TIMES):
                jax.block_until_ready(program())
            taken[key].append((time.process_time() - began) / _TIMES)
    return {key: statistics.median(times) for key, times in taken.items()}
