"""Handing a compiled program its inputs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hybridnet.base.context import Context
from hybridnet.base.lazy import jax

from .devices import sharding_of

__all__ = ["dispatch"]

_FLOAT64: Final = np.dtype(np.float64)
# What programs without scalars are given for them, by context.
_nothing: Final[dict[Context, Any]] = {}


def dispatch(ctx: Context, compiled: Any, inputs: list[Any], scalars: list[Any]) -> Sequence[Any]:
    """Starts a program; returns its outputs, which the device may still be computing.

    Args:
        ctx: its context.
        compiled: the executable.
        inputs: JAX arrays on the context.
        scalars: numbers, for its last argument.
    """
    outputs: Sequence[Any]
    if scalars:
        numbers = np.array(scalars, _FLOAT64)
        # Only here do they enter JAX, which would narrow them to float32 outside this scope.
        with jax.enable_x64(True):
            outputs = compiled(*inputs, numbers)
    else:
        nothing = _nothing.get(ctx)
        if nothing is None:
            with jax.enable_x64(True):
                nothing = jax.device_put(np.empty(0, _FLOAT64), sharding_of(ctx))
            nothing = _nothing.setdefault(ctx, nothing)
        outputs = compiled(*inputs, nothing)
    return outputs


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_nothing.clear)
