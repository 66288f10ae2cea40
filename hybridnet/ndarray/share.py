"""Arrays on memory that others made: NumPy's, PyTorch's, JAX's, anyone's who speaks DLPack.

Memory that comes in is only read: the first write to the array gives it memory of its own. Memory
that goes out (`NDArray.__dlpack__`, `NDArray.to_jax`) is never written to or taken back while
somebody holds it; `NDArray.to_dlpack_for_write` alone gives out memory that others may write to.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import cpu
from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import MXNetError, ParameterError
from hybridnet.base.lazy import jax, jnp
from hybridnet.base.tensor_type import tensor_type
from hybridnet.runtime.contexts import context_of, device_of, host_view
from hybridnet.runtime.contexts import put as place
from hybridnet.runtime.recording import Value, recorder

from .create import array
from .ndarray import NDArray

__all__ = [
    "adopt",
    "from_dlpack",
    "from_jax",
    "from_numpy",
    "peek",
    "to_dlpack_for_read",
    "to_dlpack_for_write",
]


def from_numpy(ndarray: NumpyArray, zero_copy: bool = True) -> NDArray:
    """Makes an array from a NumPy array, sharing its memory where that is possible.

    With ``zero_copy`` the NumPy array becomes read-only, as in MXNet, because both may share
    memory: they do where it begins at a multiple of 64 bytes, as XLA requires.

    Args:
        ndarray: C-contiguous; its dtype is kept.
        zero_copy: False copies in any case.

    Raises:
        ParameterError: it is not C-contiguous.
        DTypeError: its dtype is none that hybridnet computes with.
    """
    dtype = as_dtype(ndarray.dtype)
    if not zero_copy:
        return array(ndarray, dtype=dtype)
    if not ndarray.flags["C_CONTIGUOUS"]:
        raise ParameterError("from_numpy: zero_copy=True needs a C-contiguous array")
    if not ndarray.flags.writeable:
        ndarray = ndarray.copy()  # NumPy does not lend what it may not write
    made = from_dlpack(ndarray)
    ndarray.flags.writeable = False
    return made


def adopt(host: NumpyArray, kind: type[NDArray] = NDArray) -> NDArray:
    """Makes an array on ``cpu()`` from a NumPy array and takes its memory over, without a copy.

    Unlike `from_numpy` it does not load JAX, and it takes memory that NumPy has not allocated.

    Args:
        host: a writable array in C order. Nothing else may use its memory from now on, since
            programs may write there.
        kind: the class of the array that is made.
    """
    ctx = cpu()
    (array,) = place(ctx, (host,))
    return kind.from_value(Value(tensor_type(host.shape, host.dtype), array), ctx)


def peek(data: NDArray) -> NumpyArray:
    """Returns the value, for which it waits: a view where it is in host memory, to be read only."""
    return host_view(data.context, recorder.wait(data.read()))


def from_dlpack(dlpack: object) -> NDArray:
    """Makes an array from an object with ``__dlpack__`` or a capsule of it, without a copy.

    The exporter must not change the memory as long as the array lives. XLA shares memory that
    begins at a multiple of 64 bytes, in C order; anything else is copied.

    Args:
        dlpack: the exporter; a bare capsule must be of host memory.
    """
    if type(dlpack).__name__ == "PyCapsule":
        dlpack = _Capsule(dlpack)
    with jax.enable_x64(True):
        return from_jax(jax.dlpack.from_dlpack(dlpack))


def from_jax(source: Any) -> NDArray:
    """Makes an array from a JAX array on one device, without a copy.

    Raises:
        MXNetError: the array is spread over several devices.
    """
    dtype = as_dtype(np.dtype(source.dtype))
    devices = source.devices()
    if len(devices) != 1:
        raise MXNetError(f"from_jax: needs an array on one device, got one on {len(devices)}")
    ctx = context_of(*devices)
    with jax.enable_x64(True):
        if source.format.layout.major_to_minor != tuple(range(source.ndim)):
            shared = jax.jit(jnp.copy)(source)  # programs expect C order
        else:
            # An object of its own: JAX marks the very array that its user donates as deleted.
            shared = jax.device_put(source, device_of(ctx))
    # XLA donates no memory that a DLPack capsule refers to.
    capsule = shared.__dlpack__()
    value = Value(tensor_type(tuple(source.shape), dtype), shared, shared=capsule)
    return NDArray.from_value(value, ctx)


def to_dlpack_for_read(data: NDArray) -> object:
    """Returns a DLPack capsule of an array's memory, which must not be written to."""
    return data.to_dlpack_for_read()


def to_dlpack_for_write(data: NDArray) -> object:
    """Returns a DLPack capsule of an array's memory; see `NDArray.to_dlpack_for_write`."""
    return data.to_dlpack_for_write()


class _Capsule:
    """Gives a bare DLPack capsule of host memory the methods that importers ask for."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: object) -> object:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # kDLCPU
