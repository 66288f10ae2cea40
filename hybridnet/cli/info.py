"""``hybridnet info``: versions, devices, engine kind, cache folder."""

import platform
from collections.abc import Iterator
from importlib.metadata import version

import jax
import numpy as np

import hybridnet
from hybridnet import engine
from hybridnet.base import config
from hybridnet.base.context import Context
from hybridnet.base.processor import num_threads
from hybridnet.native import onednn
from hybridnet.runtime.contexts import cuda_driver, device_of, memory_left, num_devices


def print_info() -> None:
    """Prints what this installation is and runs on."""
    print(f"hybridnet  {hybridnet.__version__}")
    print(f"Python     {platform.python_version()} on {platform.platform()}")
    print(f"JAX        {jax.__version__} (jaxlib {version('jaxlib')})")
    print(f"NumPy      {np.__version__}")
    for kind in ("cpu", "gpu", "tpu"):
        for number in range(num_devices(kind)):
            ctx = Context(kind, number)
            limit = memory_left(ctx)
            room = "" if limit is None else f", {_gib(limit.left)} of {_gib(limit.size)} GiB free"
            print(f"device     {ctx}: {device_of(ctx).device_kind}{room}")
    for line in gpu_lines():
        print(f"GPU        {line}")
    print(f"threads    {num_threads()}")
    print(f"oneDNN     {onednn.state()}")
    print(f"engine     {engine.wanted_kind()}")
    print(f"cache      {config.cache_dir() or 'off'}")


def gpu_lines() -> Iterator[str]:
    """Yields what the driver of NVIDIA's GPUs says, and what is missing to use them."""
    told = cuda_driver.driver()
    for number, (name, size) in enumerate(zip(told.names, told.sizes, strict=True)):
        yield f"card {number}: {name}, {_gib(size)} GiB"
    if told.cuda is not None:
        release = told.release or "of unknown release"
        yield f"driver {release}, for CUDA up to {told.cuda[0]}.{told.cuda[1]}"
    found = cuda_driver.plugin()
    if found is not None:
        yield f"JAX's part for CUDA {found[1]} is installed, for drivers from {found[2]} on"
    missing = "" if num_devices("gpu") else cuda_driver.why_none()
    if missing:
        yield f"none can be used: {missing}"


def _gib(size: int) -> str:
    return f"{size / 2**30:.1f}"
