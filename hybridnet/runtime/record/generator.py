"""The random generators: one state per context, an array like any other.

A random operator reads the state and writes the next, so that draws happen in program order in
every front end, and a trace or a graph carries the state through.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from hybridnet.base.context import Context
from hybridnet.base.locks import free_in_children
from hybridnet.base.tensor_type import tensor_type
from hybridnet.engine import RLock
from hybridnet.ops.random import initial_state

from ..platform.jax_devices import put
from ..segments.segment import Value
from . import recorder
from .storage import Storage

__all__ = ["seed", "state_of"]

_states: Final[dict[Context, Storage]] = {}
_lock: Final = free_in_children(RLock())
_seed = 0


def _fresh(ctx: Context, number: int) -> Value:
    # Each device draws its own numbers from one seed.
    host = initial_state(number + 0x9E3779B1 * ctx.device_id)
    (array,) = put(ctx, [np.array(host)])
    return Value(tensor_type(host.shape, host.dtype), array)


def state_of(ctx: Context) -> Storage:
    """Returns the state of a context's generator."""
    found = _states.get(ctx)
    if found is None:
        with _lock:
            if ctx not in _states:
                trace = recorder.set_trace(None)  # made for good, not for the trace
                try:
                    _states[ctx] = Storage(_fresh(ctx, _seed), ctx)
                finally:
                    recorder.set_trace(trace)
            found = _states[ctx]
    return found


def seed(number: int, ctx: Context | None = None) -> None:
    """Restarts the generator of a context, or of all: the same numbers follow again."""
    global _seed
    with _lock:
        if ctx is None:
            _seed = number
            for context, storage in _states.items():
                storage.write(_fresh(context, number))
            return
    state_of(ctx).write(_fresh(ctx, number))
