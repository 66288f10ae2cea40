"""Lowerings for weights that stay the same from call to call (`runtime.specialize.constants`).

What is done to a weight alone is then done once, so that each operator can have it in the order
that it likes best: convolutions on CPUs take data with the channels last and weights as
(*kernel, channel, filter), and those over a single element are matrix products. With weights in
MXNet's order, turning them at each call would cost more than that saves.

Measured with MobileNet-v1, batch 1, of 224 x 224 on 2 cores: 37 ms with the turns in the program,
17 ms without, 28 ms with the lowerings for weights that change.
"""

from __future__ import annotations

from typing import Any, Final

from hybridnet.base.dtype import FLOAT32, FLOAT64
from hybridnet.ops.host.namespace import jnp

from ...core.alternatives import Site, alternative, constant_choice
from . import channels_last, lowerings, onednn, winograd

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
    return _is_last(site) and channels_last.is_dense_or_depthwise(site)


def _is_pooling(site: Site) -> bool:
    return _is_last(site) and site.attrs["pool_type"] in ("max", "avg", "sum")


alternative("Convolution", _NAME, applies=_is_convolution, tolerance=_TOLERANCE)(
    channels_last.convolution
)


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
    return channels_last.NAME if by_slices else _NAME
