"""What the devices' allocators say of their memory; CPUs say nothing."""

from __future__ import annotations

from typing import Any

from hybridnet.base.context import Context
from hybridnet.base.memory_limits import MemoryLimit

from .jax_devices import device_of

__all__ = ["memory_left", "stats_of"]


def stats_of(device: Any) -> dict[str, int] | None:
    """Returns what XLA's allocator of a device of JAX's counts; None where it counts nothing."""
    found: dict[str, int] | None = device.memory_stats()
    return found


def memory_left(ctx: Context) -> MemoryLimit | None:
    """Returns how much of a context's memory JAX may take, and how much of that is left.

    It takes some microseconds, and waits for nothing: programs that were dispatched count.

    Returns:
        None where nobody says: on CPUs, and where JAX is not loaded.
    """
    try:
        said = stats_of(device_of(ctx)) or {}
        size, used = int(said["bytes_limit"]), int(said["bytes_in_use"])
    except (KeyError, NotImplementedError, RuntimeError, AttributeError):
        return None
    return MemoryLimit(f"the memory of {ctx}", size, max(size - used, 0))
