"""Convolution and pooling on CPUs that work with the channels on the last axis.

XLA:CPU convolves data with the channels last, and transposes what comes otherwise at each call.
Where every operator between two convolutions works in that order too, nothing is transposed in
between (see `row_sums.suits_channels_last`).

Against the plain lowerings (patches and elements of the window with the batch last, see
`lowerings`), convolutions of a single element are products of rows, which takes half the time for
the gradient of a weight at stride 2, and the gradient of a bias is a `row_sum`.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from functools import reduce
from typing import Any, Final

from hybridnet.ops.host.namespace import jax, jnp, lax

from ...core.alternatives import PLAIN, Site, alternative, builtin_choice
from . import lowerings, onednn, winograd
from .lowerings import convolved_size
from .row_sums import plus_bias, row_sum, suits_channels_last

#: The alternatives' name in what was measured, in files too.
NAME: Final = "turned"
# Sums of products in another order.
_TOLERANCE: Final = 1e-5


def _channels(site: Site) -> Any:
    layout = site.attrs["layout"]
    return site.operands[0].shape[-1 if layout is not None and layout.endswith("C") else 1]


def is_dense_or_depthwise(site: Site) -> bool:
    """Whether it has one group or one a channel: XLA's others on CPUs are scalar loops."""
    groups = site.attrs["num_group"]
    return bool(groups == 1 or groups == site.attrs["num_filter"] == _channels(site))


def _is_on_cpu(site: Site) -> bool:
    return site.platform == "cpu" and site.is_static


def _is_convolution(site: Site) -> bool:
    return _is_on_cpu(site) and is_dense_or_depthwise(site)


@alternative("Convolution", NAME, applies=_is_convolution, tolerance=_TOLERANCE)
def convolution(
    data: Any,
    weight: Any,
    bias: Any = None,
    *,
    kernel: Sequence[int],
    stride: Sequence[int],
    dilate: Sequence[int],
    pad: Sequence[int],
    num_group: int,
    layout: str | None,
    **_: Any,
) -> Any:
    """XLA's convolution with the channels last, where nothing simpler does.

    A product of rows serves windows of a single element. A depthwise convolution is the sum of the
    window's elements, each times a vector.
    """
    n = len(kernel)
    stride, dilate, pad = (
        tuple(given) or (default,) * n for given, default in ((stride, 1), (dilate, 1), (pad, 0))
    )
    is_last = layout is not None and layout.endswith("C")
    x = data if is_last else jnp.moveaxis(data, 1, -1)
    w = jnp.moveaxis(weight, 0, -1)  # the filters
    w = w if is_last else jnp.moveaxis(w, 0, -2)  # the channels
    if num_group > 1:
        y = _depthwise(x, w, stride, dilate, pad)
    elif math.prod(kernel) == 1 and not any(pad):
        rows = x[(slice(None), *(slice(None, None, step) for step in stride))]
        y = rows @ w.reshape(w.shape[-2:])
    else:
        axes = "DHW"[-n:]
        y = lax.conv_general_dilated(
            x,
            w,
            stride,
            [(zeros, zeros) for zeros in pad],
            rhs_dilation=dilate,
            dimension_numbers=(f"N{axes}C", f"{axes}IO", f"N{axes}C"),
        )
    if bias is not None:
        y = plus_bias(y, bias)
    return y if is_last else jnp.moveaxis(y, -1, 1)


def _depthwise(
    x: Any, w: Any, stride: Sequence[int], dilate: Sequence[int], pad: Sequence[int]
) -> Any:
    """Convolves each channel of (batch, *spatial, channel) with its own (*kernel, 1, channel)."""
    kernel = w.shape[:-2]
    sizes = map(convolved_size, x.shape[1:-1], kernel, stride, dilate, pad)
    reach = [step * (size - 1) + 1 for size, step in zip(sizes, stride, strict=True)]
    x = jnp.pad(x, ((0, 0), *((zeros, zeros) for zeros in pad), (0, 0)))
    parts = []
    for tap in itertools.product(*map(range, kernel)):
        start = [place * step for place, step in zip(tap, dilate, strict=True)]
        spans = zip(start, reach, stride, strict=True)
        part = x[(slice(None), *(slice(at, at + length, step) for at, length, step in spans))]
        parts.append(_times_vector(part, w[(*tap, 0)]))
    return reduce(operator.add, parts)


def _times_vector(x: Any, vector: Any) -> Any:
    """Multiplies every row by a vector."""
    times = jax.custom_vjp(operator.mul)
    times.defvjp(
        lambda x, vector: (x * vector, (x, vector)),
        lambda saved, dy: (dy * saved[1], row_sum(operator.mul, dy, saved[0])),
    )
    return times(x, vector)


@builtin_choice("Convolution")
def _choose_convolution(site: Site) -> str:
    # GFLOP/s of XLA's convolutions (channels last, products by YNNPACK) and of oneDNN 3.2, jax
    # 0.10.2, 2 cores with AVX-512, forward and gradients of data and weights: 64 filters of 3x3 on
    # (32, 32, 32, 64) 190 to 230 and 310 to 340; AlexNet's second layer 191, 252, 262 and 359, 347,
    # 354; LeNet's second 50, 51, 106 and 195, 134, 171; depthwise 3x3 of (4, 56, 56, 128) 1 and 40.
    # CPU time of a training step, plain and these, products by YNNPACK and convolutions not, with
    # jax 0.10.2 / 0.12. ResNet-18, batch 32 of 32 x 32: 1832 and 1455 ms / not measured. Three 3x3
    # convolutions of 16 filters, batch 64: 64 and 52 / 85 and 51. LeNet, whose 20 and 50 filters
    # make no whole vectors, batch 64: 19.0 and 24.1 / 17.3 and 22.6; with 24 and 48: 24.8 and 22.4.
    # The price: gradients of depthwise and 1x1 convolutions by turns, (16, 64, 28, 28), 48 and 177;
    # 383 if the depthwise ones alone are plain.
    if onednn.applies(site):
        return winograd.NAME if winograd.pays(site) else onednn.NAME
    return NAME if suits_channels_last(site.attrs["num_filter"]) else PLAIN


@alternative("Pooling", NAME, applies=_is_on_cpu, tolerance=_TOLERANCE)
def _pooling(data: Any, **params: Any) -> Any:
    """Pooling by strided slices, in which the channels are the innermost axis."""
    return lowerings.pooling(data, **params, innermost="channel")


@builtin_choice("Pooling")
def _choose_pooling(site: Site) -> str:
    # CPU time of forward and gradient between operators with the channels last, plain and these,
    # jax 0.10.2: 3x3 stride 2 of (16, 64, 55, 55) 206 and 12.7 ms, of (16, 256, 13, 13) 26 and 1.9;
    # 2x2 of (32, 64, 16, 16) 5.9 and 1.1; global average of (32, 512, 4, 4) 0.68 and 0.18.
    return NAME if suits_channels_last(_channels(site)) else PLAIN
