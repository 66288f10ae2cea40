"""A client of XLA's whose threads let all others go first: it compiles beside a loop.

XLA compiles in threads of its own: those of the client, made with it, and those that generate code,
made at the first compilation of the process for all clients. Each has the priority of the thread
that made it, whoever asks it to compile. So there is a second client beside JAX's, which a thread
of low priority makes. What it compiles comes as bytes, as from the disk, and JAX's loads it.

A step of ResNet-18 by NumPy, on two processors, takes 0.39 s, or 0.6 when it leaves one of them to
a compilation: beside that of its own program 0.62 to 0.79 s, and 0.71 to 1.2 by JAX's client.
"""

from __future__ import annotations

import os
from typing import Any, Final

import numpy as np

from hybridnet.base.allocator import release_memory
from hybridnet.base.jax_private import compile_options, cpu_client, device_list
from hybridnet.base.lazy import jax
from hybridnet.base.locks import free_in_children
from hybridnet.base.processor import environment, num_threads
from hybridnet.engine import RLock

from .recipe import Options

__all__ = ["compile_to_bytes"]

# Bytes of an executable after which it is worth 40 ms to give back what compiling it needed.
_LARGE_BYTES: Final = 1 << 18

_lock: Final = free_in_children(RLock())
_clients: Final[list[object]] = []


def compile_to_bytes(lowered: jax.stages.Lowered, options: Options) -> bytes:
    """Compiles for the CPU, and returns the executable in XLA's own form.

    Args:
        lowered: a `jax.stages.Lowered` without callbacks of Python's.
        options: compile options.

    Raises:
        AttributeError, ImportError, TypeError: this JAX has other names for what is needed. (It has
            no public ones.)
        Exception: whatever XLA has against the program.
    """
    client = _client()
    given = compile_options(
        device_assignment=np.zeros((1, 1), int),
        env_options_overrides=dict(options),
        backend=client,
    )
    devices = device_list(client.local_devices()[0])
    with jax.enable_x64(True):
        module = lowered.compiler_ir()
    made = client.compile_and_load(module, executable_devices=devices, compile_options=given)
    data = bytes(client.serialize_executable(made))
    del made, module
    if len(data) >= _LARGE_BYTES:
        release_memory()  # which to load it will take: for ResNet-18's step 195 MB, and then 100
    return data


def _client() -> Any:
    with _lock:
        if not _clients:
            with environment(NPROC=str(num_threads())):  # as JAX's has it: it counts in programs
                _clients.append(cpu_client())
        return _clients[0]


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_clients.clear)
