"""Lowerings for weights that stay the same from call to call (`runtime.specialize.constants`).

What is done to a weight alone is then done once, so that each operator can have it in the order
that it likes best: convolutions on CPUs take data with the channels last and weights as
(*kernel, channel, filter), and those over a single element are matrix products. With weights in
MXNet's order, turning them at each call would cost more than that saves.

Measured with MobileNet-v1, batch 1, of 224 x 224 on 2 cores: 37 ms with the turns in the program,
17 ms without, 28 ms with the lowerings for weights that change.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, Final

from hybridnet.base.dtype import FLOAT32, FLOAT64
from hybridnet.base.lazy import jnp, lax

from ...core.alternatives import Site, alternative, constant_choice
from . import lowerings, onednn, turned, winograd
from .lowerings import convolved_size

__all__: list[str] = []

_NAME: Final = "channels_last"
# Sums of products in another order.
_TOLERANCE: Final = 1e-5


def _is_last(site: Site) -> bool:
    """Whether it is a forward pass on a CPU over floating data with the channels last."""
    return (
        site.platform == "cpu"
        and site.wanted is None
        and str(site.attrs["layout"]).endswith("C")
        and site.operands[0].dtype in (FLOAT32, FLOAT64)
    )


def _is_convolution(site: Site) -> bool:
    # XLA's grouped convolution on CPUs is a scalar loop.
    groups = site.attrs["num_group"]
    return _is_last(site) and (groups == 1 or _is_depthwise(site))


def _is_depthwise(site: Site) -> bool:
    groups = site.attrs["num_group"]
    return bool(groups == site.operands[0].shape[-1] == site.attrs["num_filter"])


def _is_pooling(site: Site) -> bool:
    return _is_last(site) and site.attrs["pool_type"] in ("max", "avg", "sum")


@alternative("Convolution", _NAME, applies=_is_convolution, tolerance=_TOLERANCE)
def _convolution(
    data: Any,
    weight: Any,
    bias: Any = None,
    *,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    dilate: tuple[int, ...],
    pad: tuple[int, ...],
    num_group: int,
    layout: str,
    **_: Any,
) -> Any:
    """Convolution of (batch, *spatial, channel); weights are turned to (*kernel, channel, filter).

    Args are those of the operator.
    """
    n = len(kernel)
    stride, dilate, pad = (
        given or (default,) * n for given, default in ((stride, 1), (dilate, 1), (pad, 0))
    )
    ordered = jnp.moveaxis(weight, 0, -1)
    if num_group > 1:
        y = _depthwise(data, ordered, kernel, stride, dilate, pad)
    elif math.prod(kernel) == 1 and not any(pad):
        steps = (slice(None), *(slice(None, None, one) for one in stride))
        matrix = ordered.reshape(ordered.shape[n:])
        y = lax.dot_general(data[steps], matrix, (((n + 1,), (0,)), ((), ())))
    else:
        axes = layout[1:-1]
        y = lax.conv_general_dilated(
            data,
            ordered,
            stride,
            [(one, one) for one in pad],
            rhs_dilation=dilate,
            dimension_numbers=(layout, f"{axes}IO", layout),
        )
    return y if bias is None else y + bias


def _depthwise(
    x: Any,
    w: Any,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    dilate: tuple[int, ...],
    pad: tuple[int, ...],
) -> Any:
    """Every filter sees one channel: each tap is an elementwise product."""
    sizes = map(convolved_size, x.shape[1:-1], kernel, stride, dilate, pad)
    reach = [step * (size - 1) + 1 for size, step in zip(sizes, stride, strict=True)]
    x = jnp.pad(x, ((0, 0), *((one, one) for one in pad), (0, 0)))
    total = None
    for tap in itertools.product(*map(range, kernel)):
        start = [place * step for place, step in zip(tap, dilate, strict=True)]
        spans = zip(start, reach, stride, strict=True)
        part = x[(slice(None), *(slice(at, at + one, step) for at, one, step in spans))]
        scaled = part * w[(*tap, 0)]
        total = scaled if total is None else total + scaled
    return total


@alternative("Pooling", _NAME, applies=_is_pooling, tolerance=_TOLERANCE)
def _pooling(data: Any, *, global_pool: bool, pool_type: str, **params: Any) -> Any:
    """Pooling of (batch, *spatial, channel) by XLA's own reduction; args are the operator's."""
    if global_pool:
        reduced: dict[str, Any] = {"max": jnp.max, "avg": jnp.mean, "sum": jnp.sum}
        return reduced[pool_type](data, tuple(range(1, data.ndim - 1)), keepdims=True)
    # "tpu" means as it comes; only its gradient is slow on CPUs.
    return lowerings.pooling(data, pool_type=pool_type, **{**params, "platform": "tpu"})


@constant_choice("Convolution")
def _choose_convolution(site: Site) -> str | None:
    return winograd.packed_choice(site) if onednn.applies_packed(site) else _NAME


@constant_choice("Pooling")
def _choose_pooling(site: Site) -> str | None:
    # By slices and by XLA's reduction: all of VGG-11 with 1 image 85.3 and 89.6 ms, with 4 and by
    # oneDNN's convolutions 214 and 223; ResNet-50 59.7 and 61.7.
    by_slices = site.attrs["pool_type"] == "max" and not site.attrs["global_pool"]
    return turned.NAME if by_slices else _NAME
