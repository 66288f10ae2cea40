"""XLA's programs of collective calls: one for each kind of call, types and device.

A program spans one device of each process: that with the same number among its process's own as the
device of the arrays. What a process gives is one part of a JAX array over all these devices, split
along its first axis, and what it gets is its part of the result.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, final

import numpy as np

from hybridnet.base.errors import MXNetError
from hybridnet.base.lazy import jax, jnp, lax
from hybridnet.base.tensor_type import TensorType

_AXIS: Final = "rank"

Shape = tuple[int, ...]

#: What a call does with a process's part of one array: (part, size) -> part.
_Body = Callable[[Any, int], Any]


def _summed(part: jax.Array, size: int) -> Any:
    return lax.psum(part, _AXIS)


def _averaged(part: jax.Array, size: int) -> Any:
    return lax.psum(part, _AXIS) / jnp.asarray(size, part.dtype)


def _multiplied(part: jax.Array, size: int) -> jax.Array:
    # XLA's CPUs have no such collective; in this order the result is the same everywhere.
    return jnp.prod(lax.all_gather(part, _AXIS), axis=0, dtype=part.dtype)


def _extreme(part: jax.Array, choose: Callable[[jax.Array, str], jax.Array]) -> Any:
    if part.dtype == jnp.bool_:
        return choose(part.astype(jnp.uint8), _AXIS).astype(jnp.bool_)
    return choose(part, _AXIS)


#: What numbers of all processes can be reduced by.
REDUCTIONS: Final[dict[str, _Body]] = {
    "sum": _summed,
    "mean": _averaged,
    "prod": _multiplied,
    "min": lambda part, size: _extreme(part, lax.pmin),
    "max": lambda part, size: _extreme(part, lax.pmax),
}


@final
@dataclass(frozen=True, slots=True)
class AllReduce:
    """All get the reduced array."""

    op: str

    def shape(self, shape: Shape, size: int) -> Shape:
        """Returns the shape of the result for a process's array."""
        return shape

    def body(self, part: jax.Array, size: int) -> Any:
        """See `_Body`."""
        return REDUCTIONS[self.op](part, size)

    def __str__(self) -> str:
        return f"all_reduce({self.op})"


@final
@dataclass(frozen=True, slots=True)
class ReduceScatter:
    """Each gets its part, along an axis, of the reduced array."""

    op: str
    axis: int = 0

    def shape(self, shape: Shape, size: int) -> Shape:
        """Returns the shape of the result for a process's array."""
        return _resized(shape, self.axis, shape[self.axis] // size)

    def body(self, part: jax.Array, size: int) -> Any:
        """See `_Body`."""
        if self.op in ("sum", "mean"):
            mine = lax.psum_scatter(part, _AXIS, scatter_dimension=self.axis, tiled=True)
            return mine if self.op == "sum" else mine / jnp.asarray(size, part.dtype)
        rows = part.shape[self.axis] // size
        whole = REDUCTIONS[self.op](part, size)
        return lax.dynamic_slice_in_dim(whole, lax.axis_index(_AXIS) * rows, rows, self.axis)

    def __str__(self) -> str:
        return f"reduce_scatter({self.op}{f', axis={self.axis}' if self.axis else ''})"


@final
@dataclass(frozen=True, slots=True)
class AllGather:
    """All get the arrays of all, one after the other along an axis."""

    axis: int

    def shape(self, shape: Shape, size: int) -> Shape:
        """Returns the shape of the result for a process's array."""
        return _resized(shape, self.axis, shape[self.axis] * size)

    def body(self, part: jax.Array, size: int) -> Any:
        """See `_Body`."""
        return lax.all_gather(part, _AXIS, axis=self.axis, tiled=True)

    def __str__(self) -> str:
        return f"all_gather(axis={self.axis})"


@final
@dataclass(frozen=True, slots=True)
class Broadcast:
    """All get the array of one."""

    root: int

    def shape(self, shape: Shape, size: int) -> Shape:
        """Returns the shape of the result for a process's array."""
        return shape

    def body(self, part: jax.Array, size: int) -> Any:
        """See `_Body`. The sum of one array's bits and zeros is that array, whatever is in it."""
        if part.dtype == jnp.bool_:
            bits = part.astype(jnp.uint8)
        else:
            width = 8 * np.dtype(part.dtype).itemsize
            bits = lax.bitcast_convert_type(part, np.dtype(f"uint{width}"))
        mine = jnp.where(lax.axis_index(_AXIS) == self.root, bits, jnp.zeros_like(bits))
        total = lax.psum(mine, _AXIS)
        if part.dtype == jnp.bool_:
            return total.astype(jnp.bool_)
        return lax.bitcast_convert_type(total, part.dtype)

    def __str__(self) -> str:
        return f"broadcast(root={self.root})"


@final
@dataclass(frozen=True, slots=True)
class Reduce:
    """One gets the sum, and all others zeros: the gradient of `Broadcast`."""

    root: int

    def shape(self, shape: Shape, size: int) -> Shape:
        """Returns the shape of the result for a process's array."""
        return shape

    def body(self, part: jax.Array, size: int) -> Any:
        """See `_Body`."""
        total = lax.psum(part, _AXIS)
        return jnp.where(lax.axis_index(_AXIS) == self.root, total, jnp.zeros_like(total))

    def __str__(self) -> str:
        return f"reduce(root={self.root})"


@final
@dataclass(frozen=True, slots=True)
class ProductOfOthers:
    """Each gets the product of the arrays of all others: for the gradient of a product."""

    def shape(self, shape: Shape, size: int) -> Shape:
        """Returns the shape of the result for a process's array."""
        return shape

    def body(self, part: jax.Array, size: int) -> Any:
        """See `_Body`."""
        all_parts = lax.all_gather(part, _AXIS)
        others = all_parts.at[lax.axis_index(_AXIS)].set(jnp.ones_like(part))
        return jnp.prod(others, axis=0, dtype=part.dtype)

    def __str__(self) -> str:
        return "product_of_others"


Kind = AllReduce | ReduceScatter | AllGather | Broadcast | Reduce | ProductOfOthers


@final
@dataclass(frozen=True, slots=True)
class Collective:
    """A collective call of arrays of some types; `str` says it, the same in all processes."""

    kind: Kind
    types: tuple[TensorType, ...]

    def __str__(self) -> str:
        return f"{self.kind} of {', '.join(map(str, self.types))}"


def run_collective(plan: Collective, arrays: Sequence[jax.Array]) -> list[jax.Array]:
    """Starts a collective call; returns at once, or with XLA's error.

    Args:
        plan: the call.
        arrays: JAX arrays of its types, all on the same device.

    Returns:
        JAX arrays on that device, which may still be being computed.
    """
    (device,) = arrays[0].devices()
    program, sharding = _compiled(plan, device)
    with jax.enable_x64(True):
        parts = [array.reshape(1) if array.ndim == 0 else array for array in arrays]
        size = sharding.mesh.size
        given = [
            jax.make_array_from_single_device_arrays(_whole(part.shape, size), sharding, [part])
            for part in parts
        ]
        made = [result.addressable_data(0) for result in program(*given)]
        return [
            result.reshape(()) if array.ndim == 0 and result.shape == (1,) else result
            for array, result in zip(arrays, made, strict=True)
        ]


def _resized(shape: Shape, axis: int, extent: int) -> Shape:
    return (*shape[:axis], extent, *shape[axis + 1 :])


def _whole(shape: Shape, size: int) -> Shape:
    return (size * shape[0], *shape[1:])


@lru_cache(None)
def _compiled(plan: Collective, device: jax.Device) -> tuple[Any, Any]:
    """Returns the program of a call, and how its arrays are split over the processes."""
    mesh = jax.sharding.Mesh(np.array(_peers(device)), (_AXIS,))
    split = jax.sharding.PartitionSpec(_AXIS)
    sharding = jax.sharding.NamedSharding(mesh, split)
    size = mesh.size

    def call(*parts: jax.Array) -> tuple[Any, ...]:
        return tuple(plan.kind.body(part, size) for part in parts)

    with jax.enable_x64(True):
        mapped = jax.shard_map(call, mesh=mesh, in_specs=split, out_specs=split, check_vma=False)
        given = [
            jax.ShapeDtypeStruct(_whole(kind.shape or (1,), size), kind.dtype, sharding=sharding)
            for kind in plan.types
        ]
        return jax.jit(mapped).lower(*given).compile(), sharding


def _peers(device: jax.Device) -> list[jax.Device]:
    """Returns, for each process, its device that a process's device works with."""
    devices: defaultdict[int, list[Any]] = defaultdict(list)
    for one in jax.devices(device.platform):
        devices[one.process_index].append(one)
    number = devices[device.process_index].index(device)
    for process, own in devices.items():
        if number >= len(own):
            raise MXNetError(
                f"distributed: rank {process} has no device like {device}, the number {number} of "
                f"rank {device.process_index}; use arrays on a device that all have"
            )
    return [devices[process][number] for process in sorted(devices)]
