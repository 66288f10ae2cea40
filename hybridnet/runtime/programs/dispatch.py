"""Handing a compiled program its inputs."""

from __future__ import annotations

import os
from array import array
from collections.abc import Sequence
from typing import Final

import numpy as np

from hybridnet.base.context import Context
from hybridnet.base.host_array import DeviceArray
from hybridnet.base.lazy import jax

from ..platform.jax_devices import put_on_device
from .executable import Executable, start
from .host_program import HostProgram

# The scalars that programs were given, as bytes, by context: the array on the device that holds
# them, or None of those that came once. Most come again and again (rates of learning, and none at
# all), and to put them there takes as long as a launch.
_known: Final[dict[Context, dict[bytes, jax.Array | None]]] = {}
_MAX_NUMBERS: Final = 256


def dispatch(
    ctx: Context,
    compiled: Executable,
    inputs: list[DeviceArray],
    scalars: Sequence[float],
    made: list[Sequence[DeviceArray]] | None = None,
) -> Sequence[DeviceArray]:
    """Starts a program; returns its outputs, which the device may still be computing.

    Args:
        ctx: its context.
        compiled: the executable.
        inputs: JAX arrays on the context.
        scalars: numbers, for its last argument.
        made: gets the outputs, too. The exception of a signal's handler may come right after a
            call has returned, before what it gave has a name.
    """
    if made is None:
        made = []
    if type(compiled) is HostProgram:
        made.append(compiled(inputs, scalars))
    else:
        start(compiled, (*inputs, put_scalars(ctx, scalars)), made)
    return made[-1]


def put_scalars(ctx: Context, scalars: Sequence[float]) -> jax.Array:
    """Returns numbers on the device, as programs take them: a JAX array of float64."""
    known = _known.get(ctx)
    if known is None:
        known = _known.setdefault(ctx, {})
    key = array("d", scalars).tobytes()
    held = known.get(key)
    if held is None:
        held = put_on_device(ctx, np.array(scalars, np.float64))
        if len(known) >= _MAX_NUMBERS:
            none = known.get(b"")
            known.clear()
            if none is not None:
                known[b""] = none
        known[key] = held if key in known or not key else None
    return held


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_known.clear)
