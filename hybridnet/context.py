"""`hn.context`: where arrays live, and how many devices there are."""

from __future__ import annotations

from hybridnet.base.context import Context as Context
from hybridnet.base.context import cpu as cpu
from hybridnet.base.context import cpu_pinned as cpu_pinned
from hybridnet.base.context import current_context as current_context
from hybridnet.base.context import gpu as gpu
from hybridnet.base.context import set_default_context as set_default_context
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
