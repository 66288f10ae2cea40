"""``hybridnet info``: versions, devices, engine kind, cache folder."""

import platform
from importlib.metadata import version

import jax
import numpy as np

import hybridnet
from hybridnet import engine
from hybridnet.base import config
from hybridnet.base.context import Context
from hybridnet.base.processor import num_threads
from hybridnet.native import onednn
from hybridnet.runtime.contexts import device_of, num_devices


def print_info() -> None:
    """Prints what this installation is and runs on."""
    print(f"hybridnet  {hybridnet.__version__}")
    print(f"Python     {platform.python_version()} on {platform.platform()}")
    print(f"JAX        {jax.__version__} (jaxlib {version('jaxlib')})")
    print(f"NumPy      {np.__version__}")
    for kind in ("cpu", "gpu", "tpu"):
        for number in range(num_devices(kind)):
            device = device_of(Context(kind, number))
            print(f"device     {kind}({number}): {device.device_kind}")
    print(f"threads    {num_threads()}")
    print(f"oneDNN     {onednn.state()}")
    print(f"engine     {engine.wanted_kind()}")
    print(f"cache      {config.cache_dir() or 'off'}")
