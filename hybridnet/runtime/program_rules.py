"""What of an operator's lowering depends on the rest of its program.

The operators' own rules (`hybridnet.ops.alternatives`) see one call. They turn images so that
their channels are last, which is best for most networks; where that is wrong for a program as a
whole, it is said here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hybridnet.ops.alternatives import PLAIN, Site
from hybridnet.ops.onednn_convolution import NAME as _BY_ONEDNN

__all__ = ["picks_for"]


def picks_for(sites: Mapping[Site, str]) -> dict[str, str]:
    """Returns lowerings that are better in a program than what the operators' rules chose.

    Training a network with depthwise convolutions on a CPU is faster with the batch innermost from
    end to end, since these are sums of slices. Three of them (64 channels, 28x28, batch 16), each
    with a 1x1 convolution and batch norms: 297 ms with the channels last, 110 plain, 840 mixed.

    Args:
        sites: where the program's operators have several lowerings, and what their rules chose.
    """
    if not any(_is_depthwise_gradient(one) and by != _BY_ONEDNN for one, by in sites.items()):
        return {}
    return {key: PLAIN for key in _keys(sites) if key is not None}


def _keys(sites: Mapping[Site, str]) -> Iterable[str | None]:
    images = ("Convolution", "Pooling", "BatchNorm", "_backward_BatchNorm")
    return (
        site.key
        for site, chosen in sites.items()
        if chosen != PLAIN and site.platform == "cpu" and site.call.name in images
    )


def _is_depthwise_gradient(site: Site) -> bool:
    if site.platform != "cpu" or site.wanted is None or site.call.name != "Convolution":
        return False
    groups = site.attrs["num_group"]
    return bool(groups > 1 and groups == site.attrs["num_filter"])
