"""The description of the machine's GPUs by NVIDIA's driver, without JAX.

To load JAX with CUDA takes seconds, and most that is asked at first is whether there is a GPU. The
driver's library answers in milliseconds, as JAX would: it counts what CUDA_VISIBLE_DEVICES shows.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache
from importlib.util import find_spec
from typing import Any, Final, NamedTuple

__all__ = ["Driver", "driver", "num_gpus", "plugin", "was_asked", "why_none"]

#: JAX's plugins for CUDA: the package, the release of CUDA that it is for, and the oldest driver
#: that runs it (CUDA's release notes, table 2: for 13.x 580, for 12.x 525, on Linux).
_PLUGINS: Final = (("jax_cuda13_plugin", 13, 580), ("jax_cuda12_plugin", 12, 525))
#: Names that JAX_PLATFORMS has for NVIDIA's GPUs.
_NAMES: Final = frozenset({"cuda", "gpu"})
_LIBRARY: Final = "libcuda.so.1"
_RELEASE: Final = "/sys/module/nvidia/version"
_FAILURES: Final = {
    3: "not initialized: this process was forked from one that had asked it",
    35: "the driver is too old",
    100: "there is no GPU, or CUDA_VISIBLE_DEVICES hides it",
    803: "the driver's library and its kernel module are of different versions; restart",
    804: "the card is not one that forward compatibility is for",
    999: "unknown; look at `nvidia-smi` and `dmesg`",
}


class Driver(NamedTuple):
    """The GPUs that the driver reports, with its own release and that of CUDA.

    Attributes:
        number: how many GPUs this process may use.
        cuda: the newest release of CUDA that it runs, as (major, minor); None if it cannot be told.
        release: of the driver itself, such as '580.65.06'; empty if it cannot be told.
        names: of the GPUs.
        sizes: bytes of memory of each.
        fault: in words why there is none that can be used; empty where there is.
    """

    number: int
    cuda: tuple[int, int] | None = None
    release: str = ""
    names: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    fault: str = ""


def was_asked() -> bool:
    """Whether this process has asked the driver, and found a GPU: its children cannot use one."""
    return driver.cache_info().currsize > 0 and driver().number > 0


def plugin() -> tuple[str, int, int] | None:
    """Returns JAX's plugin for CUDA that is installed: package, CUDA's release, oldest driver."""
    return next((found for found in _PLUGINS if find_spec(found[0]) is not None), None)


def why_none() -> str:
    """Returns in words why this process has no GPU of NVIDIA's, and what to do; empty: unknown."""
    found = plugin()
    told = driver()
    if found is None:
        if not told.number:
            return told.fault
        return (
            f"there is a GPU ({told.names[0]}), and JAX has no part for it: "
            "pip install 'hybridnet[gpu]'"
        )
    name, release, oldest = found
    if told.cuda is not None and told.cuda[0] < release:
        have = f"driver {told.release}" if told.release else "the driver"
        other = " or install hybridnet[cuda12] in place of hybridnet[gpu]" if release > 12 else ""
        return (
            f"{have} runs CUDA up to {told.cuda[0]}.{told.cuda[1]}, and {name} needs CUDA "
            f"{release}: update the driver to {oldest} or later{other}"
        )
    return told.fault


def num_gpus() -> int | None:
    """Returns how many GPUs JAX will find; None where only JAX can tell.

    It cannot be told of cards that are not NVIDIA's, and where JAX is asked for other platforms.
    """
    wanted = {name.strip().lower() for name in os.environ.get("JAX_PLATFORMS", "").split(",")}
    wanted.discard("")
    if wanted and not wanted & _NAMES:
        return None if wanted & {"rocm", "oneapi"} else 0
    if plugin() is None:
        # JAX may have another plugin, which only it knows. Each has a module in this package.
        return 0 if find_spec("jax_plugins") is None else None
    told = driver()
    found = plugin()
    if found is not None and told.cuda is not None and told.cuda[0] < found[1]:
        return 0  # JAX's part for CUDA does not start
    return told.number


@cache
def driver() -> Driver:
    """Asks the driver, once."""
    release = _read(_RELEASE)
    try:
        library = ctypes.CDLL(_LIBRARY)
    except OSError:
        return Driver(0, release=release, fault=f"{_LIBRARY} is not there: no driver of NVIDIA's")
    try:
        return _asked(library, release)
    except AttributeError as error:
        return Driver(0, release=release, fault=f"{_LIBRARY} is no driver of NVIDIA's: {error}")


def _asked(library: Any, release: str) -> Driver:
    version = ctypes.c_int()
    library.cuDriverGetVersion(ctypes.byref(version))
    cuda = (version.value // 1000, version.value % 1000 // 10) if version.value else None
    failed = library.cuInit(0)
    count = ctypes.c_int()
    failed = failed or library.cuDeviceGetCount(ctypes.byref(count))
    if failed:
        why = _FAILURES.get(failed, "see CUDA's table of errors")
        return Driver(0, cuda, release, fault=f"cuInit: error {failed}, {why}")
    names, sizes = [], []
    for number in range(count.value):
        text, size = ctypes.create_string_buffer(256), ctypes.c_size_t()
        library.cuDeviceGetName(text, len(text), number)
        library.cuDeviceTotalMem_v2(ctypes.byref(size), number)
        names.append(text.value.decode(errors="replace"))
        sizes.append(size.value)
    return Driver(count.value, cuda, release, tuple(names), tuple(sizes))


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return ""
