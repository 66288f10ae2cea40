"""A GPU to test with where there is none: `gpu(0)` is the second virtual CPU device.

All that the library does for accelerators is done for it: lowerings for GPUs, host memory that is
not the device's, counted transfers. What goes to it is copied, and so is what is fetched, as no
memory is shared with a card. It cannot show races, failures that are told later, and what transfers
cost.

``HYBRIDNET_TEST_CONTEXT=gpu pytest tests/ndarray`` runs tests with it as the default context; what
is about CPUs (`about_cpus`) is skipped there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from hybridnet.base import context
from hybridnet.base.context import Context, gpu
from hybridnet.runtime.platform import cuda_driver, device_memory, jax_devices, transfers
from hybridnet.runtime.platform.transfers import Transfers
from hybridnet.runtime.record import recorder

__all__ = ["Card", "begin_default", "virtual_gpu"]


class Card:
    """The virtual GPU: what is counted of it, and what it says of its memory.

    Attributes:
        stats: what `memory_stats` of its device says; None: nothing, as of CPUs.
    """

    def __init__(self) -> None:
        self.stats: dict[str, int] | None = None
        self._before = transfers.transfers.copy()

    def count(self) -> None:
        """Counts from now on."""
        self._before = transfers.transfers.copy()

    @property
    def moved(self) -> Transfers:
        """What was put and fetched since `count`, or since the test began."""
        now, before = transfers.transfers.copy(), self._before
        for name in Transfers.__slots__:
            setattr(now, name, getattr(now, name) - getattr(before, name))
        return now

    def is_still(self) -> bool:
        """Whether nothing was moved since `count`."""
        moved = self.moved
        return not (moved.puts or moved.fetches)


def _far(device: Any) -> bool:
    return bool(device.id)


def _install(card: Card) -> list[tuple[Any, str, Any]]:
    """Replaces what asks JAX; returns what was there."""
    available, put, told = jax_devices._available, jax_devices._put, device_memory.stats_of

    def devices(platform: str) -> list[Any]:
        found = available("cpu") if platform != "tpu" else []
        return [x for x in found if _far(x) == (platform == "gpu")]

    def copied(ctx: Context, array: Any) -> Any:
        return put(ctx, array.copy() if ctx.is_accelerator else array)

    def stats(device: Any) -> dict[str, int] | None:
        return card.stats if _far(device) else told(device)

    made = [
        (jax_devices, "_available", devices),
        (jax_devices, "_put", copied),
        (transfers, "_read", np.array),
        (device_memory, "stats_of", stats),
        (cuda_driver, "num_gpus", lambda: 1),
    ]
    before = [(place, name, getattr(place, name)) for place, name, _ in made]
    for place, name, new in made:
        setattr(place, name, new)
    _forget()
    return before


def _forget() -> None:
    """Has contexts be asked for anew."""
    for known in (jax_devices._devices, jax_devices._shardings):
        for ctx in [ctx for ctx in known if ctx.device_id or ctx.is_accelerator]:
            del known[ctx]


@contextmanager
def virtual_gpu(*, default: bool = False) -> Iterator[Card]:
    """A block in which there is a GPU, `gpu(0)`.

    Args:
        default: whether arrays are made on it where no context is named.
    """
    recorder.flush_all()
    card = Card()
    before = _install(card)
    try:
        if default:
            with gpu(0):
                yield card
        else:
            yield card
        recorder.flush_all()
    finally:
        for place, name, was in before:
            setattr(place, name, was)
        _forget()


def begin_default() -> Card:
    """Makes it the default context of all threads for good."""
    card = Card()
    _install(card)
    context._DEFAULT = gpu(0)
    return card
