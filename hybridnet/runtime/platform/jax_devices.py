"""Contexts and the JAX devices they stand for."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from hybridnet.base import config
from hybridnet.base.allocator import can_map, keep_memory
from hybridnet.base.array_types import DType, NumpyArray
from hybridnet.base.context import Context
from hybridnet.base.errors import MXNetError, OutOfMemoryError
from hybridnet.base.host_array import DeviceArray, HostArray
from hybridnet.base.lazy import jax, xla_client
from hybridnet.base.memory_limits import MemoryLimit, address_space
from hybridnet.base.mesh import Mesh
from hybridnet.base.placement import Splits
from hybridnet.base.processor import environment, num_threads

from ..tiers.prices import prices
from . import background, cuda_driver
from .transfers import keep_twin, note_put

# JAX's names of platforms; host memory of every kind is the CPU's.
_PLATFORM: Final = {
    "cpu": "cpu",
    "cpu_pinned": "cpu",
    "cpu_shared": "cpu",
    "gpu": "gpu",
    "tpu": "tpu",
}

_PREALLOCATE: Final = "XLA_PYTHON_CLIENT_PREALLOCATE"
#: Bytes of addresses that XLA takes as it begins on CPUs, and for each of its threads, for which
#: it starts four: it took 330, 470 and 1,300 MiB with 2, 8 and 32 (JAX 0.12, stacks of 8 MiB).
_START_BYTES: Final = 320 << 20
_THREAD_BYTES: Final = 32 << 20

# Contexts of devices that users bring -> the context in whose memory their arrays are.
_hosts: Final[dict[Context, Context]] = {}
_devices: Final[dict[Context, jax.Device]] = {}
_shardings: Final[dict[Context, jax.sharding.Sharding]] = {}


class _Fork:
    """The state of this process after a fork.

    Attributes:
        is_child: whether it is the child of one in which JAX had been running.
    """

    is_child = False


#: Read by who launches.
fork: Final = _Fork()


def refuse_forked() -> None:
    """Raises MXNetError in the forked child of a process in which XLA computes.

    XLA's threads do not live on in a forked child, so that waiting for it would never end.
    """
    if fork.is_child:
        raise MXNetError(
            "this process was forked from one in which XLA computes, and has none: it computes by "
            "NumPy what NumPy can, on CPUs; start it with multiprocessing's 'spawn' method"
        )


def is_forked() -> bool:
    """Whether this is the forked child of a process in which XLA computes: it has NumPy only."""
    return fork.is_child


def is_stranded(array: Any) -> bool:
    """Whether an array was not there yet when its process was forked: it will never be."""
    return fork.is_child and not array.is_ready()


def _after_fork_in_child() -> None:
    # In a child that was forked while a thread imported JAX, that import would never end.
    importing = getattr(getattr(sys.modules.get("jax"), "__spec__", None), "_initializing", False)
    fork.is_child = fork.is_child or bool(_devices) or importing or cuda_driver.was_asked()
    if fork.is_child:
        config.keep_to_host()
    _devices.clear()
    _shardings.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def _configure_cpus() -> None:
    """Asks JAX for the virtual CPU devices; possible only before its first use in the process."""
    wanted = max(config.num_cpu_devices(), Mesh.most_devices())
    # JAX's own setting stands where the user made one, and where nothing was asked of us.
    if wanted > 1 and jax.config.values["jax_num_cpu_devices"] < wanted:
        # JAX may be running already: `device_of` says so when a missing device is asked for.
        with contextlib.suppress(RuntimeError):
            jax.config.update("jax_num_cpu_devices", wanted)


def _look_for_addresses() -> None:
    """Sees that XLA can begin: where it cannot start a thread, it ends the process.

    Raises:
        OutOfMemoryError: it cannot.
    """
    limit = address_space()
    threads = num_threads()
    needed = _START_BYTES + threads * _THREAD_BYTES
    if limit and not can_map(needed):
        error = OutOfMemoryError(
            f"XLA needs {needed >> 20} MiB of addresses to begin with {threads} threads, which the "
            f"process cannot get of {limit >> 20} MiB: raise the limit (ulimit -v), or take fewer "
            "threads (HYBRIDNET_NUM_THREADS=1); with HYBRIDNET_HOST=only NumPy computes"
        )
        error.needed = needed
        error.limit = MemoryLimit("the limit of address space (ulimit -v)", limit, 0)
        raise error


@contextlib.contextmanager
def _without_news() -> Iterator[None]:
    """JAX tells at INFO of each kind of device that this machine does not have."""
    logger = logging.getLogger("jax._src.xla_bridge")
    if logger.level != logging.NOTSET:  # somebody wants to know
        yield
        return
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(logging.NOTSET)


def _available(platform: str) -> list[jax.Device]:
    threads = str(num_threads())
    try:
        # XLA asks for the number of its threads as it begins, which may be now, and JAX how to take
        # memory of GPUs.
        with _without_news(), environment(NPROC=threads, **_taking_memory()):
            return list(jax.local_devices(backend=platform))
    except RuntimeError:
        return []


def _taking_memory() -> dict[str, str]:
    """Returns the environment that has JAX take memory of GPUs as it is needed.

    By itself it takes three quarters of the card when it begins, of which other processes, and the
    notebook beside this one, then have nothing. What the user said holds.
    """
    if config.gpu_preallocate() or _PREALLOCATE in os.environ:
        return {}
    return {_PREALLOCATE: "false"}


def device_of(ctx: Context) -> jax.Device:
    """Returns the JAX device of a context.

    There are as many CPU contexts as anybody names; they share JAX's CPU devices in turn. That of a
    mesh is its first.

    Raises:
        MXNetError: this process has no such device.
    """
    found = _devices.get(ctx)
    if found is not None:
        return found
    refuse_forked()
    if not _devices:
        keep_memory()
        background.hook()
        _configure_cpus()
        _look_for_addresses()
    if ctx in _hosts:
        return _devices.setdefault(ctx, device_of(_hosts[ctx]))
    if type(ctx) is Mesh:
        jax_mesh(ctx)  # raises where a device is missing
        return _devices.setdefault(ctx, device_of(ctx.contexts[0]))
    if ctx.device_type not in _PLATFORM:
        raise MXNetError(f"{ctx}: no such device was registered; see hn.runtime.register_device")
    platform = _PLATFORM[ctx.device_type]
    available = _available(platform)
    number = ctx.device_id
    if platform == "cpu" and available:
        number %= len(available)
    if number < len(available):
        return _devices.setdefault(ctx, available[number])
    have = f"{len(available)}" if available else "no"
    why = cuda_driver.why_none() if platform == "gpu" and not available else ""
    raise MXNetError(
        f"{ctx}: this process has {have} {platform} device(s); use cpu() or install a JAX for it"
        f"{why and f' ({why})'}"
    )


def check_device(ctx: Context) -> None:
    """Sees that this process has the device of a context; JAX is not loaded for cpu(0).

    Raises:
        MXNetError: it has not.
    """
    if _is_host(ctx) or ctx in _devices or (ctx.device_type == "gpu" and _is_told_of(ctx)):
        return
    device_of(ctx)


def _is_told_of(ctx: Context) -> bool:
    """Whether the driver says that there is a GPU, before JAX is loaded."""
    if _devices or fork.is_child or ctx in _hosts:
        return False
    return ctx.device_id < (cuda_driver.num_gpus() or 0)


def _is_host(ctx: Context) -> bool:
    """Whether arrays of a context are NumPy's: those in host memory, until JAX has begun."""
    if _devices or not ctx.device_type.startswith("cpu") or ctx in _hosts:
        return False
    return fork.is_child or not ctx.device_id


def known_accelerators() -> list[Context]:
    """Returns the contexts of accelerators whose devices were asked for."""
    return [ctx for ctx in list(_devices) if ctx.is_accelerator]


def has_begun() -> bool:
    """Returns whether JAX has been asked for a device: it is loaded, and holds arrays."""
    return bool(_devices)


def context_of(device: jax.Device) -> Context:
    """Returns the context of a JAX device."""
    for name in ("cpu", "gpu", "tpu"):
        devices = _available(name)
        if device in devices:
            return Context(name, devices.index(device))
    raise MXNetError(f"{device} is not a device of this process that hybridnet knows")


def sharding_of(ctx: Context) -> jax.sharding.Sharding:
    """Returns the JAX sharding that puts a whole array on each device of a context."""
    found = _shardings.get(ctx)
    if found is None:
        if type(ctx) is Mesh:
            found = sharding_on(ctx, ())
        else:
            found = jax.sharding.SingleDeviceSharding(device_of(ctx))
        found = _shardings.setdefault(ctx, found)
    return found


@lru_cache(4096)
def sharding_on(mesh: Mesh, splits: Splits) -> jax.sharding.NamedSharding:
    """Returns the JAX sharding of arrays on a mesh.

    Args:
        mesh: the mesh.
        splits: which of its axes split which of the array's; see `read_placement`.
    """
    return jax.sharding.NamedSharding(jax_mesh(mesh), partition(splits))


def spread(array: jax.Array | NumpyArray, mesh: Mesh, splits: Splits) -> jax.Array:
    """Returns an array with the value of another on the devices of a mesh, each with its part."""
    if mesh.processes > 1:  # each process has it all, and puts the parts of its own devices
        host = np.asarray(array)
        return gathered(host.shape, mesh, splits, host.__getitem__)
    # Onto several devices `device_put` takes the memory of the one that has it, whatever it is told
    # (JAX 0.10 to 0.12), and programs overwrite what is theirs.
    given = array if isinstance(array, np.ndarray) else copied(array)
    with jax.enable_x64(True):
        made: jax.Array = jax.device_put(given, sharding_on(mesh, splits))
    return made


def gathered(
    shape: tuple[int, ...],
    mesh: Mesh,
    splits: Splits,
    part: Callable[[Any], NumpyArray],
) -> jax.Array:
    """Returns an array on a mesh, of which a function gives each device's part."""
    with jax.enable_x64(True):
        made: jax.Array = jax.make_array_from_callback(shape, sharding_on(mesh, splits), part)
    return made


def joined(part: NumpyArray, mesh: Mesh, splits: Splits) -> jax.Array:
    """Returns an array on a mesh, of which each process gives what its own devices are to hold.

    Args:
        part: what this process gives.
        mesh: the mesh.
        splits: which of its axes split which of the array's.
    """
    with jax.enable_x64(True):
        made: jax.Array = jax.make_array_from_process_local_data(sharding_on(mesh, splits), part)
    return made


def partition(splits: Splits) -> jax.sharding.PartitionSpec:
    """Returns JAX's form of a placement: the names of a mesh's axes by axis of an array."""
    names: list[Any] = [()] * (1 + max([axis for _, axis in splits], default=-1))
    for name, axis in splits:
        names[axis] = (*names[axis], name)
    return jax.sharding.PartitionSpec(*(one or None for one in names))


def splits_of(sharding: jax.sharding.Sharding) -> Splits | None:
    """Returns which axes of a mesh split which of an array; None if no mesh's axes do."""
    spec = getattr(sharding, "spec", None)
    if spec is None:
        return () if sharding.is_fully_replicated else None
    pairs = []
    for axis, names in enumerate(spec):
        for name in (names,) if isinstance(names, str) else names or ():
            pairs.append((name, axis))
    return tuple(pairs)


def regions_on(mesh: Mesh, array: jax.Array) -> list[tuple[slice, ...]]:
    """Returns which region of an array each device of its mesh holds, in the order of the mesh."""
    found = array.sharding.devices_indices_map(array.shape)
    return [found[device] for device in jax_mesh(mesh).devices.flat]


@lru_cache(256)
def mesh_over(contexts: tuple[Context, ...]) -> Mesh | None:
    """Returns the mesh of contexts that are devices of one kind, each another; else None."""
    kinds = {ctx.device_type for ctx in contexts}
    if len(contexts) < 2 or len(kinds) > 1 or not kinds <= _PLATFORM.keys():
        return None
    if len({device_of(ctx) for ctx in contexts}) < len(contexts):
        return None  # contexts of CPUs may share one
    return Mesh({"device": len(contexts)}, contexts)


def stacked(arrays: Sequence[jax.Array], mesh: Mesh) -> jax.Array:
    """Returns an array on a mesh of which each device's part is an array there, uncopied.

    Args:
        arrays: of one shape and dtype, on the mesh's devices in their order.
        mesh: with one axis.

    Returns:
        All one after the other along the first axis; with the memory of the arrays.
    """
    rows, *others = arrays[0].shape
    sharding = sharding_on(mesh, ((next(iter(mesh.axes)), 0),))
    shape = (rows * len(arrays), *others)
    with jax.enable_x64(True):
        return jax.make_array_from_single_device_arrays(shape, sharding, list(arrays))


def on_each(array: jax.Array, mesh: Mesh) -> list[jax.Array]:
    """Returns what each device of a mesh holds of an array that they all have, uncopied."""
    if not array.is_fully_replicated:
        array = spread(array, mesh, ())
    held = {shard.device: shard.data for shard in array.addressable_shards}
    return [held[device_of(ctx)] for ctx in mesh.contexts]


@lru_cache(64)
def jax_mesh(mesh: Mesh) -> jax.sharding.Mesh:
    """Returns JAX's mesh for one of ours.

    Raises:
        MXNetError: this process lacks a device, or several contexts share one.
    """
    devices = [device_of(ctx) for ctx in mesh.contexts]
    if mesh.processes > 1:
        devices = _of_all(mesh, devices)
    if len(set(devices)) < len(devices):
        raise MXNetError(
            f"{mesh}: this process has {len(set(devices))} CPU devices for {len(devices)}; make "
            f"the mesh before the first array, or set HYBRIDNET_NUM_CPU_DEVICES={len(devices)}"
        )
    return jax.sharding.Mesh(np.array(devices).reshape([*mesh.axes.values()]), (*mesh.axes,))


def put(ctx: Context, arrays: Sequence[NumpyArray]) -> list[DeviceArray]:
    """Returns arrays on a context with the values of NumPy's; on CPUs they may share memory.

    They are JAX's, or `HostArray` where JAX has not begun yet, or where they are small and their
    context is an accelerator, until a program there reads them.

    Args:
        ctx: the context.
        arrays: of any dtype. Nobody else may hold their memory: programs may overwrite it.

    Raises:
        MXNetError: this process has no such device.
    """
    if _is_host(ctx):
        background.hook()
        return [HostArray(x, ctx) for x in arrays]
    if not (ctx.is_accelerator and may_stay()):
        return [put_on_device(ctx, array) for array in arrays]
    check_device(ctx)
    background.hook()
    return [put_on_device(ctx, x) if x.nbytes > prices.stays else HostArray(x, ctx) for x in arrays]


def may_stay() -> bool:
    """Whether small arrays of accelerators may stay in host memory: where NumPy may compute."""
    return config.host() != "off"


def on_device(ctx: Context, array: DeviceArray) -> jax.Array:
    """Returns an array as JAX's, which is loaded for that if need be.

    Args:
        ctx: where it is.
        array: one of JAX's, or a `HostArray`.
    """
    if type(array) is not HostArray:
        return array
    if array.placed is None:
        array.placed = put_on_device(ctx, array.numpy)
        if ctx.is_accelerator:
            keep_twin(array.placed, array.numpy)
    return array.placed


def copied(array: jax.Array) -> jax.Array:
    """Returns a copy of an array of JAX's where that is, made there, and compiles nothing."""
    with jax.enable_x64(True):
        copy: jax.Array = jax.device_put(array, array.sharding, may_alias=False)
    return copy


def place(ctx: Context, arrays: list[DeviceArray]) -> None:
    """Puts JAX's arrays in the places of those in a list that are `HostArray`."""
    arrays[:] = [on_device(ctx, array) for array in arrays]


def put_on_device(ctx: Context, array: NumpyArray) -> jax.Array:
    """Returns JAX's array with the value of NumPy's, whose memory it may share on CPUs."""
    # `jax.device_put` takes 30 us, most of it for what is known here; this takes 3. The names are
    # JAX's own: one without them has its public function called.
    if array.dtype.itemsize == 8:
        with jax.enable_x64(True):  # without it, it would be narrowed
            return _put(ctx, array)
    return _put(ctx, array)


def _of_all(mesh: Mesh, own: Sequence[jax.Device]) -> list[jax.Device]:
    """Returns the devices of all processes that are what some are in this one.

    Raises:
        MXNetError: there are more or fewer processes, or one lacks a device.
    """
    by_process: dict[int, list[jax.Device]] = {}
    for device in jax.devices(own[0].platform):
        by_process.setdefault(device.process_index, []).append(device)
    if len(by_process) != mesh.processes:
        raise MXNetError(
            f"{mesh}: requires a gang of {mesh.processes} processes, got {len(by_process)}; call "
            "hn.distributed.initialize() first of all, and start them with 'hybridnet launch'"
        )
    numbers = [by_process[own[0].process_index].index(device) for device in own]
    for process, devices in by_process.items():
        if max(numbers) >= len(devices):
            raise MXNetError(
                f"{mesh}: requires {1 + max(numbers)} devices of each process, got {len(devices)} "
                f"in rank {process}"
            )
    return [by_process[process][number] for process in sorted(by_process) for number in numbers]


def _put(ctx: Context, array: NumpyArray) -> jax.Array:
    sharding = sharding_of(ctx)
    if type(ctx) is Mesh:
        return spread(array, ctx, ())
    if ctx.is_accelerator:
        note_put(array.nbytes)
    try:
        kind = _abstract(array.shape, array.dtype)
        made: jax.Array = xla_client.batched_device_put(kind, sharding, [array], [device_of(ctx)])
    except (ImportError, AttributeError, TypeError):
        made = jax.device_put(array, sharding)
    return made


@lru_cache(4096)
def _abstract(shape: tuple[int, ...], dtype: DType) -> Any:
    with jax.enable_x64(True):  # without it, 64-bit types would be narrowed here
        return jax.core.ShapedArray(shape, dtype)


def platform_of(ctx: Context) -> str:
    """Returns 'cpu', 'gpu' or 'tpu'; for a user's device that of the memory it uses."""
    if type(ctx) is Mesh:
        ctx = ctx.contexts[0]
    return _PLATFORM[_hosts.get(ctx, ctx).device_type]


def lowered_for(ctx: Context) -> str:
    """Returns the platform that operators are lowered for; 'mesh' for several CPUs.

    There what suits one CPU is wrong: calls of libraries, which XLA cannot divide among devices,
    and sums of many slices, over which it sits for minutes.
    """
    platform = platform_of(ctx)
    return "mesh" if type(ctx) is Mesh and platform == "cpu" else platform


def host(ctx: Context, memory: Context) -> None:
    """Keeps arrays of a context, whose type JAX does not know, in the memory of another."""
    _hosts[ctx] = memory


def num_devices(device_type: str) -> int:
    """Returns how many devices of a type this process has; JAX need not be loaded for GPUs."""
    if not _devices:
        if device_type == "gpu":
            told = cuda_driver.num_gpus()
            if told is not None:
                return told
        keep_memory()
        background.hook()
        _configure_cpus()
    return len(_available(_PLATFORM[device_type]))
