"""The names of JAX's that are not public and that hybridnet uses, and what each is for.

JAX may drop or change any of them in any release. Each function raises ImportError, AttributeError
or TypeError then; it says what its callers do in that case. `tests/base/test_jax_private.py` holds
them against the JAX that is installed.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from hybridnet.base.lazy import jax


def device_list(*devices: jax.Device) -> Any:
    """Returns XLA's list of the devices on which an executable is loaded.

    Without it programs are neither read from disk nor compiled by a client of their own.
    """
    from jax._src.lib import xla_client  # type: ignore[attr-defined]  # for its own use, it says

    return xla_client.DeviceList(devices)


def cpu_client() -> Any:
    """Makes another client of XLA's for the CPU, with threads of the caller's priority.

    Without it JAX's own compiles in the background, at the priority of the loop.
    """
    from jax._src.lib import xla_client  # type: ignore[attr-defined]

    return xla_client.make_cpu_client(asynchronous=True, num_devices=1)


def compile_options(**options: Any) -> Any:
    """Returns XLA's options as JAX would fill them in; for what `cpu_client` compiles."""
    from jax._src import compiler

    return compiler.get_compile_options(1, 1, **options)


def executable_modules() -> tuple[ModuleType, ModuleType, ModuleType]:
    """Returns the modules ``core``, ``stages`` and ``interpreters.pxla``.

    By them a loaded executable is called by C++, as one that JAX has compiled. In public JAX offers
    that together with pickle only (`jax.experimental.serialize_executable`). Without them it is
    called by Python, which takes some ten microseconds more.
    """
    from jax._src import core, stages
    from jax._src.interpreters import pxla

    return core, stages, pxla


def initialize_lapack() -> None:
    """Makes jaxlib look up LAPACK's functions, as JAX does where it lowers a call of one.

    In a process that has lowered none, a program read from disk that calls one would end it.
    Without it such a program is compiled again.
    """
    from jax._src.lax.linalg import initialize_lapack as initialize

    initialize()


def backends_have_begun() -> bool:
    """Whether JAX has made its devices: then it is too late for this process to join others."""
    from jax._src import xla_bridge

    return bool(xla_bridge.backends_are_initialized())


def gang_state() -> Any:
    """Returns where JAX's backends find whom they belong to; `hybridnet.distributed` sets it.

    Its public function (`jax.distributed.initialize`) ends the process when another one dies.
    Without it `hybridnet.distributed.initialize` raises an error.
    """
    from jax._src import distributed

    return distributed.global_state


def gang_client(address: str, rank: int, **options: object) -> Any:
    """Returns jaxlib's connection with the other processes; see `gang_state`."""
    from jaxlib import _jax

    return _jax.get_distributed_runtime_client(address, rank, **options)


def gang_service(address: str, size: int, **options: object) -> Any:
    """Returns jaxlib's service for the processes of a gang; see `gang_state`."""
    from jaxlib import _jax

    return _jax.get_distributed_runtime_service(address, size, **options)


def host_copy(array: Any) -> Any:
    """Returns NumPy's copy of an array that JAX has fetched from an accelerator, or None.

    Without it an array is fetched whenever it is read, unless JAX itself looks there.
    """
    return array._npy_value


def keep_host_copy(array: Any, copy: Any) -> None:
    """Keeps NumPy's copy of an array where JAX keeps what it has fetched.

    Without it what was put on an accelerator is fetched once when it is read again.
    """
    array._npy_value = copy
