"""Rules by which an operator's lowering depends on the rest of its program.

The operators' own rules (`hybridnet.ops.core.alternatives`) see one call. They turn images so that
their channels are last, and leave dense layers to oneDNN, which is best for most networks; where
that is wrong for a program as a whole, it is said here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from hybridnet.ops.core import PLAIN, Site
from hybridnet.ops.nn import NAME as _BY_ONEDNN
from hybridnet.ops.nn import multiplications

from ..platform.jax_devices import lowered_for
from ..segments.code import Code

_IMAGES: Final = ("Convolution", "Pooling", "BatchNorm", "_backward_BatchNorm")
# Operators that oneDNN may compute, forward or backward, in a program.
_CALLING: Final = frozenset(
    f"{prefix}{name}"
    for prefix in ("", "_backward_")
    for name in ("Convolution", "Deconvolution", "RNN")
)
# Multiplications in a dense layer from which on its weights take so long to be read that nothing
# beside it matters.
_LARGE_DENSE: Final = 1 << 27


def may_call_onednn(code: Code) -> bool:
    """Whether oneDNN may compute convolutions or recurrent layers of a program."""
    return lowered_for(code.ctx) == "cpu" and not _CALLING.isdisjoint(_names(code))


def rule_for(code: Code) -> Callable[[Site, str], str] | None:
    """Returns what is made of the operators' own choices in a program; None: they stand.

    Dense layers without convolutions are faster by XLA's own products, where several of a step run
    at once, each on one core; oneDNN takes one after the other, on all cores. Three of them
    (784-512-512-10, batch 128), a training step: 3.5 ms by oneDNN and 2.9 without. Beside
    convolutions, which take turns anyway, they are not (LeNet 0.98, AlexNet 0.98 of the time).
    """
    if not {"Convolution", "_backward_Convolution"}.isdisjoint(_names(code)):
        return None
    return lambda site, by: PLAIN if by == _BY_ONEDNN and _is_small_product(site) else by


def _names(code: Code) -> Iterator[str]:
    """Yields the names of a structure's operators, those of its graphs included."""
    for call, _ in code.instructions:
        yield call.name
        if call.has_parts:
            yield from (part.name for part, _ in call.lay_open(lowered_for(code.ctx)).instructions)


def picks_for(sites: Mapping[Site, str]) -> dict[str, str]:
    """Returns lowerings that are better in a program than what the operators' rules chose.

    Training a network with depthwise convolutions on a CPU is faster with the batch innermost from
    end to end, since these are sums of slices. Three of them (64 channels, 28x28, batch 16), each
    with a 1x1 convolution and batch norms: 297 ms with the channels last, 110 plain, 840 mixed.

    Args:
        sites: where the program's operators have several lowerings, and what their rules chose.
    """
    if any(_is_depthwise_gradient(site) and by != _BY_ONEDNN for site, by in sites.items()):
        return _plain(site for site, by in sites.items() if by != PLAIN and _has_images(site))
    return {}


def _plain(sites: Iterable[Site]) -> dict[str, str]:
    return {site.key: PLAIN for site in sites if site.key is not None}


def _has_images(site: Site) -> bool:
    return site.platform == "cpu" and site.call.name in _IMAGES


def _is_small_product(site: Site) -> bool:
    return site.call.name == "FullyConnected" and multiplications(site) < _LARGE_DENSE


def _is_depthwise_gradient(site: Site) -> bool:
    if site.platform != "cpu" or site.wanted is None or site.call.name != "Convolution":
        return False
    groups = site.attrs["num_group"]
    return bool(groups > 1 and groups == site.attrs["num_filter"])
