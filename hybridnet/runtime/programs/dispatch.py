"""Handing a compiled program its inputs."""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence
from itertools import starmap
from typing import Any, Final

import numpy as np

from hybridnet.base.context import Context
from hybridnet.base.lazy import jax

from ..platform.jax_devices import sharding_of
from .host_program import HostProgram

__all__ = ["dispatch", "known_scalars", "put_scalars"]

_FLOAT64: Final = np.dtype(np.float64)
# The scalars that programs were given, as bytes, by context: the array on the device that holds
# them, or None of those that came once. A program is handed such an array in half the time that
# NumPy's takes (47 us and 80 with 13 inputs and outputs), and most come again and again: rates of
# learning, and none at all. To make one takes 100 us, which would be lost on those that never do.
_known: Final[dict[Context, dict[bytes, Any]]] = {}
_NEVER: Final = object()
_MOST: Final = 256


def dispatch(
    ctx: Context,
    compiled: Any,
    inputs: list[Any],
    scalars: Sequence[Any],
    made: list[Sequence[Any]] | None = None,
) -> Sequence[Any]:
    """Starts a program; returns its outputs, which the device may still be computing.

    Args:
        ctx: its context.
        compiled: the executable.
        inputs: JAX arrays on the context.
        scalars: numbers, for its last argument.
        made: gets the outputs, too. Ctrl-C may come right after a call has returned, before what
            it gave has a name; so it is put into the list by what calls it.
    """
    if made is None:
        made = []
    if type(compiled) is HostProgram:
        made.append(compiled(inputs, scalars))
        return made[-1]
    # What JAX's own object hands on to, once it has been called, is called without it.
    compiled = getattr(compiled, "_call", None) or compiled
    numbers = known_scalars(ctx, scalars)
    if type(numbers) is np.ndarray:
        # Only here do they enter JAX, which would narrow them to float32 outside this scope.
        with jax.enable_x64(True):
            made.extend(starmap(compiled, ((*inputs, numbers),)))
    else:
        made.extend(starmap(compiled, ((*inputs, numbers),)))
    return made[-1]


def known_scalars(ctx: Context, scalars: Sequence[Any]) -> Any:
    """Returns numbers as a program takes them: on the device, if they came before.

    Returns:
        A JAX array of float64, or one of NumPy's, with which a program must be called while JAX
        knows 64 bits.
    """
    known = _known.get(ctx)
    if known is None:
        known = _known.setdefault(ctx, {})
    key = array("d", scalars).tobytes()
    held = known.get(key, _NEVER)
    if held is _NEVER:
        if len(known) >= _MOST:
            none = known.get(b"")
            known.clear()
            known[b""] = none  # programs without scalars come again and again
        known[key] = None
        return np.array(scalars, _FLOAT64)
    if held is None:
        held = known[key] = put_scalars(ctx, scalars)
    return held


def put_scalars(ctx: Context, scalars: Sequence[Any]) -> Any:
    """Returns numbers on the device, as programs take them: a JAX array of float64."""
    with jax.enable_x64(True):
        return jax.device_put(np.array(scalars, _FLOAT64), sharding_of(ctx))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_known.clear)
