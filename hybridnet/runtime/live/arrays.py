"""The arrays that are alive: their bytes, the lines that made them, and their names.

Nothing is kept for this while programs run, but the lines (`Value.origin`). Who asks goes over all
objects that the garbage collector knows, and over JAX's arrays, which takes some tens of
milliseconds. It does not see what is frozen (`gc.freeze`), and so in a forked child what the
parent has made: the child counts its own. Memory is counted once, by its addresses: arrays of NumPy
and of JAX may share it.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from hybridnet import engine
from hybridnet.base.array_owners import owner_classes
from hybridnet.base.context import cpu
from hybridnet.base.host_array import HostArray
from hybridnet.base.jax_private import backends_have_begun
from hybridnet.base.lazy import jax

from ..platform.jax_devices import context_of, fork, has_begun
from ..segments.segment import Value

__all__ = ["LiveArray", "live_arrays", "nbytes_by_context"]


class LiveArray(NamedTuple):
    """An array that is alive, or the part of one that is on one device.

    Attributes:
        nbytes: the bytes of memory that it takes, without those that another one was counted for.
        shape: its dimensions.
        dtype: the name of its element type.
        ctx: the name of the context that it is on.
        place: the file and the line of the user's code that made it; None where that is not known.
        names: what it is called, as a parameter or an optimizer's state; most have no name.
    """

    nbytes: int
    shape: tuple[int, ...]
    dtype: str
    ctx: str
    place: tuple[str, int] | None
    names: tuple[str, ...]

    @property
    def line(self) -> str:
        """The line as text, ``train.py:12``; empty where it is not known."""
        return f"{self.place[0]}:{self.place[1]}" if self.place else ""

    @property
    def kind(self) -> str:
        """The element type and the dimensions: ``float32[64,10]``."""
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


class _HeldMemory(NamedTuple):
    """An array's memory.

    Attributes:
        shape, dtype: of the array.
        start: the address of its first byte; None where it is not known, or not there yet.
        nbytes: of the array.
        ctx: the name of the context.
        ids: the `id` of whatever stands for the array in Values.
    """

    shape: tuple[int, ...]
    dtype: str
    start: int | None
    nbytes: int
    ctx: str
    ids: list[int]


def live_arrays() -> list[LiveArray]:
    """Returns the arrays that are alive, the largest first.

    It waits for nothing, and launches nothing. JAX is not loaded for it. Operators that are
    recorded and were not launched have no memory.
    """
    values, hosts, owners = _objects()
    origins = {id(value.array): value.origin for value in values if value.origin is not None}
    names = _names(owners)
    blocks = [*_on_host(hosts), *_of_jax(hosts)]
    places: dict[engine.Origin | None, tuple[str, int] | None] = {None: None}
    found = []
    for block, nbytes in _counted_once(blocks):
        origin = next((origins[one] for one in block.ids if one in origins), None)
        if origin not in places:
            places[origin] = engine.resolve_origin(origin)
        called = dict.fromkeys(name for one in block.ids for name in names.get(one, ()))
        kind = block.shape, block.dtype, block.ctx
        found.append(LiveArray(nbytes, *kind, places[origin], tuple(called)))
    found.sort(key=lambda one: (-one.nbytes, one.names, one.line))
    return found


def nbytes_by_context(arrays: Iterable[LiveArray]) -> dict[str, int]:
    """Returns the bytes of arrays by the names of their contexts."""
    sums = dict[str, int]()
    for array in arrays:
        sums[array.ctx] = sums.get(array.ctx, 0) + array.nbytes
    return dict(sorted(sums.items()))


def _objects() -> tuple[list[Value], list[HostArray], list[Any]]:
    """Returns all Values that have arrays, all `HostArray`, and what knows arrays by names."""
    values: list[Value] = []
    hosts: list[HostArray] = []
    owners: list[Any] = []
    # Of each class whether its objects are owners: by its type, as `isinstance` asks the object,
    # and a user's may answer anything.
    owning: dict[type, bool] = {}
    classes = tuple(owner_classes)
    for held in gc.get_objects():
        kind = type(held)
        if kind is Value:
            if held.array is not None:
                values.append(held)
        elif kind is HostArray:
            hosts.append(held)
        else:
            owns = owning.get(kind)
            if owns is None:
                owns = owning[kind] = issubclass(kind, classes)
            if owns:
                owners.append(held)
    return values, hosts, owners


def _names(owners: Iterable[Any]) -> dict[int, list[str]]:
    """Returns by the `id` of an array of JAX, or `HostArray`, what its owners call it."""
    names: dict[int, list[str]] = {}
    for owner in owners:
        try:
            named = list(owner.named_arrays())
        except (AttributeError, RuntimeError):  # it is being made, or changed by another thread
            continue
        for name, array in named:
            for part in array.parts() if hasattr(array, "parts") else (array,):
                held = part.storage.value.array
                if held is not None:
                    names.setdefault(id(held), []).append(name)
    return names


def _on_host(hosts: Iterable[HostArray]) -> Iterator[_HeldMemory]:
    """Yields NumPy's arrays in the places of JAX's."""
    ctx = str(cpu())
    for host in hosts:
        array = getattr(host, "numpy", None)  # None while it is being made
        if array is not None:
            start = array.ctypes.data
            yield _HeldMemory(array.shape, array.dtype.name, start, array.nbytes, ctx, [id(host)])


def _of_jax(hosts: Iterable[HostArray]) -> Iterator[_HeldMemory]:
    """Yields JAX's arrays, the user's own included."""
    if not _has_jax():
        return
    placed = {
        id(host.placed): id(host) for host in hosts if getattr(host, "placed", None) is not None
    }
    names: dict[Any, str] = {}
    for array in _jax_arrays():
        if array.is_deleted():
            continue
        ids = [id(array)]
        if ids[0] in placed:
            ids.append(placed[ids[0]])
        shards = array.addressable_shards
        for shard in shards:
            part = array if len(shards) == 1 else shard.data
            start = part.unsafe_buffer_pointer() if part.is_ready() else None
            if shard.device not in names:
                names[shard.device] = str(context_of(shard.device))
            name = names[shard.device]
            yield _HeldMemory(part.shape, part.dtype.name, start, part.nbytes, name, ids)


def _has_jax() -> bool:
    """Whether JAX may have arrays; it is not loaded for that."""
    if "jax" not in sys.modules or fork.is_child:
        return False
    try:
        return backends_have_begun()
    except (ImportError, AttributeError, TypeError):  # private to JAX, or it is being loaded
        return has_begun()


def _jax_arrays() -> list[Any]:
    """Returns JAX's arrays on all kinds of devices that there are."""
    found = jax.live_arrays()
    if jax.default_backend() != "cpu":
        found += jax.live_arrays("cpu")
    return [*{id(array): array for array in found}.values()]


def _counted_once(blocks: Iterable[_HeldMemory]) -> list[tuple[_HeldMemory, int]]:
    """Returns blocks with those of their bytes that no other was counted for, if there are any.

    A block that lies within another hands its `ids` on to that.
    """
    found: list[tuple[_HeldMemory, int]] = []
    placed: list[tuple[str, int, int, _HeldMemory]] = []
    for block in blocks:
        if block.nbytes and block.start is None:
            found.append((block, block.nbytes))
        elif block.nbytes and block.start is not None:
            # Contexts of CPUs share one memory.
            memory = block.ctx if block.ctx.startswith("gpu") else "host"
            placed.append((memory, block.start, -block.nbytes, block))
    placed.sort(key=lambda one: one[:3])
    where, end = "", 0
    last: _HeldMemory | None = None
    for memory, start, size, block in placed:
        if memory != where:
            where, end = memory, 0
        stop = start - size
        if stop > end or last is None:
            found.append((block, stop - max(start, end)))
            end, last = stop, block
        else:
            last.ids.extend(block.ids)
    return found
