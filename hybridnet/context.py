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
from hybridnet.base.errors import MXNetError
from hybridnet.runtime.contexts import check_device, memory_left, num_devices

__all__ = [
    "Context",
    "cpu",
    "cpu_pinned",
    "current_context",
    "gpu",
    "gpu_memory_info",
    "num_gpus",
    "set_default_context",
]


def num_gpus() -> int:
    """Returns how many GPUs this process can use."""
    return num_devices("gpu")


def gpu_memory_info(device_id: int = 0) -> tuple[int, int]:
    """Returns how many bytes of a GPU's memory are free for this process, and how many there are.

    There are as many as JAX may take, which by default is not all that the GPU has.

    Raises:
        MXNetError: there is no such GPU, or JAX does not say.
    """
    ctx = gpu(device_id)
    check_device(ctx)
    limit = memory_left(ctx)
    if limit is None:
        raise MXNetError(f"gpu_memory_info: the JAX installed here does not tell that of {ctx}")
    return limit.left, limit.size
