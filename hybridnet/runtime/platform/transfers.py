"""Transfers between host memory and that of accelerators, once each way, and their counters.

A transfer takes tens of microseconds and may wait for all that the device has to do before. So what
was put somewhere, or fetched from there, is kept beside the array: JAX keeps NumPy's copy of what
it has fetched in the array itself, which ends with it, and is given there what it need not fetch.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final, final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import Context
from hybridnet.base.host_array import HostArray
from hybridnet.base.jax_private import host_copy, keep_host_copy
from hybridnet.base.lazy import jax

from ..tiers.prices import prices

__all__ = [
    "fetch",
    "host_view",
    "in_host_memory_now",
    "keep_twin",
    "note_fetched",
    "note_moved",
    "note_put",
    "transfers",
    "twin_of",
]


@final
class Transfers:
    """The transfers between host memory and accelerators since the process began.

    Threads that count at the same moment may lose one: it is for people and tests to look at.

    Attributes:
        puts: arrays that were copied to a device.
        put_bytes: their bytes.
        fetches: arrays that were copied to host memory.
        fetched_bytes: their bytes.
    """

    __slots__ = ("fetched_bytes", "fetches", "put_bytes", "puts")

    def __init__(self) -> None:
        self.puts = self.put_bytes = self.fetches = self.fetched_bytes = 0

    def __repr__(self) -> str:
        return (
            f"{self.puts} arrays of {self.put_bytes:,} bytes put on devices, "
            f"{self.fetches} of {self.fetched_bytes:,} fetched"
        )

    def copy(self) -> Transfers:
        """Returns the counts as they are now."""
        made = Transfers()
        made.puts, made.put_bytes = self.puts, self.put_bytes
        made.fetches, made.fetched_bytes = self.fetches, self.fetched_bytes
        return made


transfers: Final = Transfers()


def note_put(nbytes: int) -> None:
    """Counts an array that is copied to an accelerator."""
    transfers.puts += 1
    transfers.put_bytes += nbytes


def note_fetched(nbytes: int) -> None:
    """Counts an array that is copied from an accelerator."""
    transfers.fetches += 1
    transfers.fetched_bytes += nbytes


def note_moved(nbytes: int, source: Context, target: Context) -> None:
    """Counts an array of so many bytes that JAX copies from one device to another."""
    if target.is_accelerator and not source.is_accelerator:
        note_put(nbytes)
    elif source.is_accelerator and not target.is_accelerator:
        note_fetched(nbytes)


def _read(array: jax.Array) -> NumpyArray:
    """Returns NumPy's of an array of JAX's, waiting for it; tests put a counted copy here."""
    return np.asarray(array)


def fetch(array: Any) -> NumpyArray:
    """Returns an array of an accelerator in host memory, where it waits for it; to be read only.

    Args:
        array: one of JAX's, a `HostArray`, or NumPy's.

    Raises:
        RuntimeError: its memory was given to a program, or what makes it failed.
    """
    kind = type(array)
    if kind is HostArray:
        numpy: NumpyArray = array.numpy
        return numpy
    if kind is np.ndarray:
        return array  # type: ignore[no-any-return]
    twin = twin_of(array)
    if twin is None:
        twin = _read(array)
        note_fetched(twin.nbytes)
        keep_twin(array, twin)
    return twin


def twin_of(array: jax.Array) -> NumpyArray | None:
    """Returns NumPy's copy of an array of JAX's that is in host memory already, or None.

    There is none either where the array's memory was given to a program.
    """
    try:
        twin: NumpyArray | None = host_copy(array)
    except AttributeError:  # private to JAX
        return None
    return None if twin is None or array.is_deleted() else twin


def keep_twin(array: jax.Array, twin: NumpyArray) -> None:
    """Keeps NumPy's copy beside an array of JAX's: whoever reads it has it without a transfer."""
    with suppress(AttributeError, TypeError):  # private to JAX, which then fetches it again
        keep_host_copy(array, twin)


def in_host_memory_now(ctx: Context, array: Any) -> NumpyArray | None:
    """Returns an array of a context as NumPy's if that takes no wait, and no transfer; else None.

    Of arrays of CPUs only those that may stay there for an accelerator, see `Prices.stays`.
    """
    if type(array) is HostArray:
        return array.numpy
    if ctx.is_accelerator:
        return twin_of(array)
    if array.nbytes > prices.stays or not array.is_ready():
        return None
    return np.asarray(array)


def host_view(ctx: Context, array: Any) -> NumpyArray:
    """Returns an array of a context in host memory, to be read only; see `fetch`.

    On CPUs it shares the array's memory, which programs may overwrite.
    """
    if type(array) is HostArray:
        return array.numpy
    return fetch(array) if ctx.is_accelerator else np.asarray(array)
