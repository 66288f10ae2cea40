"""Memory that a training step of ResNet-18 needs, each contestant in a process of its own.

Two measures, when the contestant is warm:

- ``planned``: bytes of all live JAX arrays after a step, which its outputs belong to, and the
  temporaries that XLA plans for the largest program beside them. It is exact where a step is one
  program; ``programs`` counts them.
- ``resident``: the process's peak resident memory over a few steps (Linux only), with compilers,
  libraries and all; what compiling has used was given back before, as far as it can be.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from works.resnet import ResNet18
from works.runner import Array, Runner, hybrid, plain, waited
from works.training import gluon_step, jax_step

_STEPS = 4
_STATUS, _REFERENCES = Path("/proc/self/status"), Path("/proc/self/clear_refs")
#: Written to the latter, makes Linux count the peak of resident memory anew.
_RESET_PEAK = "5"


def _planned() -> int:
    import jax

    gc.collect()
    state = sum(array.nbytes for array in jax.live_arrays())
    programs = [program for program in gc.get_objects() if isinstance(program, jax.stages.Compiled)]
    return state + max(program.memory_analysis().temp_size_in_bytes for program in programs)


def resident(turn: Callable[[int], float]) -> float:
    """The peak over some steps, in bytes; not a number where the system does not tell."""
    if not _REFERENCES.exists():
        return float("nan")
    ctypes.CDLL(None).malloc_trim(0)
    _REFERENCES.write_text(_RESET_PEAK, encoding="utf-8")
    turn(_STEPS)
    return _status("VmHWM:")


def resident_idle() -> float:
    """The same between two steps."""
    if not _STATUS.exists():
        return float("nan")
    ctypes.CDLL(None).malloc_trim(0)
    return _status("VmRSS:")


def _status(name: str) -> float:
    """A number of bytes that the system tells of this process."""
    for line in _STATUS.read_text(encoding="utf-8").splitlines():
        if line.startswith(name):
            return 1024 * float(line.split()[1])
    return float("nan")


def _facts(turn: Callable[[int], float]) -> dict[str, float]:
    return {"planned MB": _planned() / 1e6, "resident MB": resident(turn) / 1e6}


def _ours() -> Runner:
    import hybridnet as hn
    from hybridnet.runtime.programs.cache import cache

    step, wait = gluon_step(ResNet18(), hn)
    turn = waited(step, wait)

    def facts() -> dict[str, float]:
        before = cache.statistics().hot
        turn(_STEPS)
        programs = (cache.statistics().hot - before) / _STEPS
        return _facts(turn) | {"programs": programs}

    return hybrid(turn, lambda: _loss(step()), facts)


def _jax_jit() -> Runner:
    import jax
    import jax.numpy as jnp

    network = ResNet18()
    state, run = jax_step(network)
    batches = [tuple(map(jnp.asarray, batch)) for batch in network.batches()]
    compiled = jax.jit(run, donate_argnums=0).lower(state, *batches[0]).compile()
    given = cycle(batches)

    def step() -> Array:
        nonlocal state
        state, losses = compiled(state, *next(given))
        return np.asarray(losses)

    turn = waited(step, lambda: jax.block_until_ready(state))
    return plain(turn, lambda: _loss(step()), facts=lambda: _facts(turn) | {"programs": 1.0})


def _loss(losses: Any) -> Array:
    return np.array([np.mean(losses)])


CONTESTANTS: dict[str, Callable[[], Runner]] = {"hybridnet": _ours, "jit": _jax_jit}
