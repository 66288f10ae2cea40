"""Convolution and pooling on CPUs over data whose channels have been turned to the last axis.

XLA:CPU convolves data with the channels last, and turns what comes otherwise at each call. Where
every operator between two convolutions works in that order too, nothing is turned in between (see
`_channels_last.turns`).

Against the plain lowerings (patches and elements of the window with the batch last, see
`_conv_pool`), convolutions of a single element are products of rows, which takes half the time for
the gradient of a weight at stride 2, and the gradient of a bias is a `row_sum`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

from hybridnet.base.lazy import jax, jnp, lax

from . import _conv_pool
from ._channels_last import row_sum, turns
from .alternatives import PLAIN, Site, alternative, builtin_choice

__all__: list[str] = []

_NAME: Final = "turned"
# Sums of products in another order.
_TOLERANCE: Final = 1e-5


# Convolution ------------------------------------------------------------------------------------


def _is_dense(site: Site) -> bool:
    return site.platform == "cpu" and site.is_static and site.attrs["num_group"] == 1


@alternative("Convolution", _NAME, applies=_is_dense, tolerance=_TOLERANCE)
def _convolution(
    data: Any,
    weight: Any,
    bias: Any = None,
    *,
    kernel: Sequence[int],
    stride: Sequence[int],
    dilate: Sequence[int],
    pad: Sequence[int],
    layout: str | None,
    **_: Any,
) -> Any:
    """XLA's convolution with the channels last, or a product of rows for single elements."""
    n = len(kernel)
    stride, dilate, pad = (
        tuple(given) or (default,) * n for given, default in ((stride, 1), (dilate, 1), (pad, 0))
    )
    is_last = layout is not None and layout.endswith("C")
    x = data if is_last else jnp.moveaxis(data, 1, -1)
    w = jnp.moveaxis(weight, 0, -1)  # the filters
    w = w if is_last else jnp.moveaxis(w, 0, -2)  # the channels
    if math.prod(kernel) == 1 and not any(pad):
        rows = x[(slice(None), *(slice(None, None, step) for step in stride))]
        y = rows @ w.reshape(w.shape[-2:])
    else:
        axes = "DHW"[-n:]
        y = lax.conv_general_dilated(
            x,
            w,
            stride,
            [(one, one) for one in pad],
            rhs_dilation=dilate,
            dimension_numbers=(f"N{axes}C", f"{axes}IO", f"N{axes}C"),
        )
    if bias is not None:
        y = _plus_bias(y, bias)
    return y if is_last else jnp.moveaxis(y, -1, 1)


def _plus_bias(y: Any, bias: Any) -> Any:
    """Adds a vector to every row."""
    add = jax.custom_vjp(lambda y, bias: y + bias)
    add.defvjp(lambda y, bias: (y + bias, None), lambda _, dy: (dy, row_sum(lambda dy: dy, dy)))
    return add(y, bias)


@builtin_choice("Convolution")
def _choose_convolution(site: Site) -> str:
    # CPU time of a training step, plain and turned, products by YNNPACK and convolutions not, with
    # jax 0.10.2 / 0.12. ResNet-18, batch 32 of 32 x 32: 1832 and 1455 ms / not measured. Three 3x3
    # convolutions of 16 filters, batch 64: 64 and 52 / 85 and 51. LeNet, whose 20 and 50 filters
    # make no whole vectors, batch 64: 19.0 and 24.1 / 17.3 and 22.6; with 24 and 48: 24.8 and 22.4.
    return _NAME if turns(site.attrs["num_filter"]) else PLAIN


# Pooling ----------------------------------------------------------------------------------------


def _is_on_cpu(site: Site) -> bool:
    return site.platform == "cpu" and site.is_static


@alternative("Pooling", _NAME, applies=_is_on_cpu, tolerance=_TOLERANCE)
def _pooling(
    data: Any,
    *,
    kernel: Sequence[int],
    pool_type: str,
    global_pool: bool,
    pooling_convention: str,
    stride: Sequence[int],
    pad: Sequence[int],
    p_value: int | None,
    count_include_pad: bool | None,
    layout: str | None,
    **_: Any,
) -> Any:
    """Pooling by strided slices, in which the channels are the innermost axis."""
    return _conv_pool.pooling(
        data,
        kernel=kernel,
        pool_type=pool_type,
        global_pool=global_pool,
        stride=stride,
        pad=pad,
        pooling_convention=pooling_convention,
        p_value=p_value,
        count_include_pad=count_include_pad is not False,
        layout=layout,
        innermost="channel",
    )


@builtin_choice("Pooling")
def _choose_pooling(site: Site) -> str:
    # CPU time of forward and gradient between operators with the channels last, plain and turned,
    # jax 0.10.2: 3x3 stride 2 of (16, 64, 55, 55) 206 and 12.7 ms, of (16, 256, 13, 13) 26 and 1.9;
    # 2x2 of (32, 64, 16, 16) 5.9 and 1.1; global average of (32, 512, 4, 4) 0.68 and 0.18.
    shape, layout = site.operands[0].shape, site.attrs["layout"]
    is_last = layout is not None and layout.endswith("C")
    return _NAME if turns(shape[-1 if is_last else 1]) else PLAIN
