"""`hn.context`: where arrays live, and how many devices there are."""

from __future__ import annotations

from hybridnet.base.context import (
    Context,
    cpu,
    cpu_pinned,
    current_context,
    gpu,
    set_default_context,
)
from hybridnet.runtime.platform.jax_devices import num_devices

__all__ = [
    "Context",
    "cpu",
    "cpu_pinned",
    "current_context",
    "gpu",
    "num_gpus",
    "set_default_context",
]


def num_gpus() -> int:
    """Returns how many GPUs this process can use."""
    return num_devices("gpu")
