"""Convolutions of 3x3 on CPUs by Winograd's method (`native/winograd.h`), where oneDNN is there.

A tile of 4x4 takes 36 multiplications for each channel and filter instead of 144, and transforms
of what is read and written: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks"
(2016). What is infinite or NaN in the data spreads over the tiles that see it.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Final

from ...core.alternatives import Site, alternative, constant_choice
from . import onednn
from .onednn import Window

#: What the alternatives are called.
NAME: Final = "winograd"
#: With transformed weights; these must stay the same.
PACKED: Final = "winograd_packed"
# Rounding errors are up to four times those of plain sums.
_TOLERANCE: Final = 1e-5

_TILE: Final = 4
_PLANES: Final = 36
_TAPS: Final = 9
# Channels are in groups of so many: whole vectors on each processor (`kGroup` in winograd.h).
_GROUP: Final = 16


# What transforming one number costs, of data and results and of weights, in multiplications of the
# product between: some 85 of these a nanosecond on two cores.
_TILE_COST: Final = 60
_WEIGHT_COST: Final = 36
# It is taken where it is thought to take less than this part of the time of a plain sum.
_MAX_TIME_SHARE: Final = 0.8


def _window(site: Site) -> Window:
    data, weight = site.operands[:2]
    return onednn.convolution_window(data, weight, **site.attrs)


def _is_small(site: Site) -> bool:
    """Whether a convolution is of 3x3, with nothing between, and of whole vectors of channels."""
    if len(site.attrs["kernel"]) != 2 or not onednn.applies(site):
        return False
    window = _window(site)
    ones = window.groups, *window.stride, *window.dilate
    channels = window.source[1], window.destination[1]
    return window.kernel == (3, 3) and set(ones) == {1} and not any(c % _GROUP for c in channels)


def _is_packed(site: Site) -> bool:
    return onednn.applies_packed(site) and _is_small(site)


def pays(site: Site) -> bool:
    """Whether a convolution is faster so than as a plain sum."""
    if not _is_small(site):
        return False
    window = _window(site)
    channels, (batch, filters, *sizes) = window.source[1], window.destination
    weights = channels * filters
    tiles = batch * math.prod(-(-size // _TILE) for size in sizes)
    planes = tiles * weights + _TILE_COST * tiles * (channels + filters)
    if not site.constant_weights:
        planes += _WEIGHT_COST * weights
    return _PLANES * planes < _MAX_TIME_SHARE * _TAPS * batch * math.prod(sizes) * weights


alternative("Convolution", NAME, applies=_is_small, tolerance=_TOLERANCE)(
    partial(onednn.convolution, winograd=True)
)
for _operator in ("Convolution", "_fused_convolution"):
    alternative(_operator, PACKED, applies=_is_packed, tolerance=_TOLERANCE)(
        partial(onednn.packed_convolution, winograd=True)
    )


@constant_choice("_fused_convolution")
def packed_choice(site: Site) -> str:
    """Returns how oneDNN computes a convolution whose weights stay the same."""
    return PACKED if pays(site) else onednn.PACKED
