"""Copies: from Python objects to host memory, to a device, and from one device to another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, final

import numpy as np

from hybridnet.base.array_types import ArrayLike, DType, NumpyArray
from hybridnet.base.context import Context, current_context
from hybridnet.base.dtype import CODE_OF
from hybridnet.base.errors import MXNetError, ParameterError, ShapeError
from hybridnet.base.host_array import DeviceArray
from hybridnet.base.lazy import jax
from hybridnet.base.mesh import Mesh
from hybridnet.base.params_file import load_array
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.core import Backward, HostOnlyCall, Operand, Types
from hybridnet.ops.core.registry import get
from hybridnet.runtime.contexts import (
    device_of,
    host_view,
    in_host_memory_now,
    is_forked,
    look_for_bytes,
    note_moved,
    on_device,
    receive,
    told_put,
)
from hybridnet.runtime.contexts import put as place
from hybridnet.runtime.recording import Value, note_dispatched, recorder

__all__ = ["CopyAcross", "adopt", "aligned", "host_array", "put", "send", "unpickled"]

# XLA's CPU client takes host memory as its own only at this alignment, and copies it otherwise.
_ALIGNMENT: Final = 64
# NumPy's kinds of what may be numbers: as text, and columns of a table that are not all alike.
_SPELLED: Final = {"U": "text", "O": "objects"}


def host_array(source: ArrayLike, dtype: DType, what: str) -> NumpyArray:
    """Returns numbers given by a user as a NumPy array.

    Conversion is as in C and in MXNet: floats lose their fraction, integers wrap, and what a
    narrow float cannot hold becomes infinite.

    Args:
        source: a number, nested sequences of numbers, or anything that NumPy reads.
        dtype: of the result.
        what: who asks, for messages.

    Returns:
        An array of that dtype; it may share memory with `source`.

    Raises:
        ShapeError: nested sequences are ragged.
        ParameterError: there is something else than real numbers in it.
    """
    try:
        host = np.asarray(source)
    except ValueError as error:
        raise ShapeError(f"{what}: needs numbers in a regular shape: {error}") from error
    if host.dtype == dtype:
        return host
    if host.dtype.kind in _SPELLED and source is not None:
        try:
            return host.astype(dtype)
        except (TypeError, ValueError) as error:
            got = _SPELLED[host.dtype.kind]
            raise ParameterError(f"{what}: needs real numbers, got other {got}: {error}") from None
    if host.dtype.kind not in "biuf" and host.dtype not in CODE_OF:
        got = type(source).__name__
        raise ParameterError(f"{what}: needs real numbers, got {got} of dtype {host.dtype}")
    with np.errstate(all="ignore"):
        return host.astype(dtype)


def aligned(shape: tuple[int, ...], dtype: DType) -> NumpyArray:
    """Returns an array, not filled, whose memory XLA takes as its own."""
    size = math.prod(shape) * dtype.itemsize
    room = np.empty(size + _ALIGNMENT, np.uint8)
    start = -room.ctypes.data % _ALIGNMENT
    return room[start : start + size].view(dtype).reshape(shape)


def put(host: NumpyArray, ctx: Context) -> Value:
    """Returns a Value holding a copy of host memory; the caller may change the original at once.

    Raises:
        OutOfMemoryError: there is no room for it.
    """
    what = f"nd.array of shape {host.shape} on {ctx}"
    look_for_bytes(what, host.nbytes, ctx)
    copy = aligned(host.shape, host.dtype)
    copy[...] = host
    try:
        (array,) = place(ctx, (copy,))
    except RuntimeError as error:
        raise told_put(error, what, host.nbytes, ctx) from error
    return Value(tensor_type(host.shape, host.dtype), array)


def adopt(host: NumpyArray, ctx: Context) -> Value:
    """Returns a Value that takes host memory over, where the device can: nobody may write it then.

    What runs with the Value may overwrite the memory, as it may that of any Value that ends.
    """
    (array,) = place(ctx, (host,))
    return Value(tensor_type(host.shape, host.dtype), array)


def send(array: DeviceArray | NumpyArray | np.generic, device: jax.Device) -> Any:
    """Starts a copy of a JAX or NumPy array to a device; returns the array that is to hold it.

    What holds a JAX array has memory of its own, also where that is on the device already, as
    contexts of CPUs may share one.
    """
    alias = None if isinstance(array, (np.ndarray, np.generic)) else False
    with jax.enable_x64(True):
        return jax.device_put(array, device, may_alias=alias)


@final
class CopyAcross(HostOnlyCall):
    """A copy to another device. Programs are for one device, so this is never part of one."""

    __slots__ = ("source", "target")
    name = "_CrossDeviceCopy"
    refusal, fault = "{name} cannot be part of a program for one device", MXNetError
    symbolic_rule = False

    def __init__(self, source: Context, target: Context) -> None:
        self.source = source
        self.target = target
        super().__init__()

    def run(self, value: Value) -> Value:
        """Starts the copy; the result is ready when the source is and the transfer is done."""
        place = self.target.computes_on
        if recorder.current_trace() is not None or place is self.source.computes_on:
            copy = get("_copy").bind({})[0]
            return recorder.record(place, copy, (value,), (), (value.type,))[0]
        if is_forked():
            return put(host_view(self.source, recorder.wait(value)), self.target)
        held = recorder.settled(value)
        if type(self.source) is Mesh and self.source.processes > 1:
            held = held.addressable_data(0)  # it is whole everywhere, see `as_in_context`
        if self.source.is_accelerator or self.target.is_accelerator:
            host = in_host_memory_now(self.source, held)
            if host is not None:
                return put(host, self.target)
            note_moved(held.nbytes, self.source, self.target)
        array = receive(self.target, on_device(self.source, held))
        note_dispatched(self.target, array)
        return Value(value.type, array)

    def infer(self, types: Types) -> Types:
        """A copy has the type of the original."""
        return types

    def gradient(self, back: Backward) -> Sequence[Operand | None]:
        """The gradient is copied back."""
        return [back.grads[0].as_in_context(self.source)]


def unpickled(state: Mapping[str, Any]) -> tuple[Any, Context]:
    """Returns the host value and the context of a pickled array, ours or MXNet's."""
    if "handle" in state:  # MXNet's
        return load_array(state["handle"]), current_context()
    return state["value"], _context_here(state["context"])


def _context_here(ctx: Context) -> Context:
    """Returns a context, or cpu(0) where there is no such device: pickled where there was one."""
    try:
        device_of(ctx)
    except MXNetError:
        return Context("cpu", 0)
    return ctx
