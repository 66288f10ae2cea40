"""Memory statistics of accelerators, from their allocators; CPUs have none."""

from __future__ import annotations

from typing import Any, NamedTuple

from hybridnet.base.context import Context
from hybridnet.base.memory_limits import MemoryLimit

from .jax_devices import device_of, known_accelerators

__all__ = ["DeviceUse", "memory_left", "stats_of", "uses"]


class DeviceUse(NamedTuple):
    """The use of an accelerator's memory by this process, in bytes.

    Attributes:
        used: what arrays and programs take now; they take a little more of the card.
        peak: the most that this ever was.
        limit: what JAX may take.
    """

    used: int
    peak: int
    limit: int


def stats_of(device: Any) -> dict[str, int] | None:
    """Returns what XLA's allocator of a device of JAX's counts; None where it counts nothing."""
    found: dict[str, int] | None = device.memory_stats()
    return found


def _use_of(ctx: Context) -> DeviceUse | None:
    try:
        said = stats_of(device_of(ctx)) or {}
        used = int(said["bytes_in_use"])
        return DeviceUse(used, int(said.get("peak_bytes_in_use", 0)), int(said["bytes_limit"]))
    except (KeyError, NotImplementedError, RuntimeError, AttributeError):
        return None


def memory_left(ctx: Context) -> MemoryLimit | None:
    """Returns how much of a context's memory JAX may take, and how much of that is left.

    It takes some microseconds, and waits for nothing: programs that were dispatched count.

    Returns:
        None where nobody says: on CPUs, and where JAX has no such allocator.
    """
    found = _use_of(ctx)
    if found is None:
        return None
    most = f" ({found.peak / 2**20:,.0f} MiB of it were in use at the most)" if found.peak else ""
    left = max(found.limit - found.used, 0)
    return MemoryLimit(f"the memory of {ctx}{most}", found.limit, left)


def uses() -> dict[str, DeviceUse]:
    """Returns the use of each accelerator that this process has asked for, by its context's name.

    JAX is not loaded for it.
    """
    found = {str(ctx): _use_of(ctx) for ctx in known_accelerators()}
    return {name: use for name, use in sorted(found.items()) if use is not None}
