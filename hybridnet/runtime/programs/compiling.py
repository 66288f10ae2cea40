"""Executables: made of a structure by XLA, turned into bytes, and made of these again.

The bytes are XLA's own serialized executable; on a mesh they come after a line of JSON, which says
how outputs lie. What else is needed to call the executable (types, device, donation) follows from
the structure, so no pickle is read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from hybridnet.base.array_types import DType
from hybridnet.base.host_array import DeviceArray
from hybridnet.base.jax_private import (
    compile_options,
    device_list,
    executable_modules,
    initialize_lapack,
)
from hybridnet.base.lazy import jax
from hybridnet.base.mesh import Mesh
from hybridnet.base.placement import Splits
from hybridnet.native import onednn
from hybridnet.ops.core import Site, constraining, named, picking
from hybridnet.ops.host import by_jax

from ..platform.background import at_low_priority
from ..platform.jax_devices import (
    device_of,
    jax_mesh,
    lowered_for,
    platform_of,
    sharding_of,
    sharding_on,
    splits_of,
)
from ..segments.code import Code, result_types
from .aside import compile_to_bytes
from .collectives import instruction_name
from .compile_options import (
    options_for,
    options_for_blocks,
    options_for_memory,
    options_for_size,
    options_for_waiting,
)
from .equations import ClosedJaxpr
from .executable import Executable
from .mesh_program import MeshExecutable
from .program_rules import picks_for, rule_for
from .recipe import BY_RULES, Options, Recipe
from .room import check_extents, look_for_compiler
from .transposes import sink

_FLOAT64: Final = np.dtype(np.float64)
# What the names of XLA's calls of LAPACK begin with.
_LAPACK: Final = b"lapack_"

# Executables that were made of bytes, with these until they are written. (Of what XLA has loaded it
# would leave out the machine code.)
_as_bytes: Final[WeakKeyDictionary[Any, bytes]] = WeakKeyDictionary()


def lower(code: Code) -> Callable[..., tuple[Any, ...]]:
    """Returns the JAX function of a structure: (*inputs, scalars) -> outputs."""
    platform = lowered_for(code.ctx)

    def program(*arguments: Any) -> tuple[Any, ...]:
        *inputs, numbers = arguments
        results: list[Any] = []
        position = 0
        for number, (call, operands) in enumerate(code.instructions):
            scalars: Sequence[Any] = ()
            if call.num_scalars:
                scalars = [numbers[position + i] for i in range(call.num_scalars)]
                position += call.num_scalars
            arrays = [results[i] if i >= 0 else inputs[~i] for i in operands]
            with named(instruction_name(number, call.name)):
                results.extend(call.lower(platform, arrays, scalars))
        return tuple(results[i] for i in code.outputs)

    return program


def _argument_shapes(code: Code) -> list[tuple[tuple[int, ...], DType]]:
    """Returns shape and dtype of what an executable takes: the inputs, and all scalars as one."""
    count = sum(call.num_scalars for call, _ in code.instructions)
    return [*((kind.shape, kind.dtype) for kind in code.input_types), ((count,), _FLOAT64)]


def sites_of(code: Code, recipe: Recipe = BY_RULES) -> dict[Site, str]:
    """Returns where in a structure operators have several lowerings, and which a recipe chooses."""
    return _traced(code, recipe)[1]


def compile_code(
    code: Code,
    recipe: Recipe = BY_RULES,
    *,
    for_disk: bool = False,
    in_background: bool = False,
) -> Executable:
    """Compiles a structure as a whole; takes from milliseconds to minutes.

    Args:
        code: the structure.
        recipe: how, where there is a choice.
        for_disk: whether XLA must be able to write it to disk, which it cannot where temporary
            memory comes in blocks.
        in_background: whether nobody waits for it, so that XLA leaves the processors to others.

    Raises:
        OutOfMemoryError: there is no room to compile it in.
        Exception: whatever a lowering or XLA has against it.
    """
    if type(code.ctx) is Mesh:
        made = on_mesh(code, recipe)
        made.trace()
        return made
    look_for_compiler(code)
    traced, sites = _traced_to_compile(code, recipe)
    check_extents(code, traced.jaxpr)
    beside = options_beside(code, traced.jaxpr, in_blocks=not for_disk)
    options = {**beside, **_other_options(code, recipe, traced, sites)}
    with jax.enable_x64(True):
        lowered = traced.lower()
    aside = _compiled_aside(code, lowered, options) if for_disk and in_background else None
    return aside or compile_lowered(lowered, options, in_background=in_background)


def on_mesh(code: Code, recipe: Recipe = BY_RULES) -> MeshExecutable:
    """Returns the executable of a structure on a mesh, which compiles programs as it is called."""
    return MeshExecutable(code, lambda: _traced_on_mesh(code, recipe))


def _traced_on_mesh(code: Code, recipe: Recipe) -> jax.stages.Traced:
    mesh = code.ctx

    def constrain(array: Any, splits: Splits) -> Any:
        return jax.lax.with_sharding_constraint(array, sharding_on(mesh, splits))

    with constraining(constrain):
        traced, _ = _traced(code, recipe)
    check_extents(code, traced.jaxpr)
    return traced


def _compiled_aside(code: Code, lowered: jax.stages.Lowered, options: Options) -> Executable | None:
    """Compiles by threads that let all others go first, see `aside`; None if that is impossible."""
    if platform_of(code.ctx) != "cpu" or not _gives(code, lowered.out_info):
        return None
    try:
        data = at_low_priority(lambda: compile_to_bytes(lowered, options), "hybridnet-compile")
    except (AttributeError, ImportError, TypeError):  # this JAX has other names
        return None
    made = executable_from(code, data)
    _as_bytes[made] = data
    return made


def compile_in_blocks(code: Code, recipe: Recipe) -> Executable | None:
    """Compiles a structure whose program was made for the disk once more, with blocks of memory.

    Nobody waits for it, and it leaves the processors to others.

    Args:
        code: the structure.
        recipe: as it was compiled.

    Returns:
        None where that would be the same program.
    """
    traced, sites = _traced_to_compile(code, recipe)
    beside = options_beside(code, traced.jaxpr)
    if beside == options_beside(code, traced.jaxpr, in_blocks=False):
        return None
    options = {**beside, **_other_options(code, recipe, traced, sites)}
    with jax.enable_x64(True):
        lowered = traced.lower()
    return compile_lowered(lowered, options, in_background=True)


def _other_options(
    code: Code, recipe: Recipe, traced: jax.stages.Traced, sites: Iterable[Site]
) -> Options:
    platform = platform_of(code.ctx)
    size = options_for_size(platform, traced.jaxpr.jaxpr)
    return {**_options(code, recipe, sites), **size, **options_for_waiting(platform)}


def compile_lowered(lowered: Any, options: Options, *, in_background: bool) -> Executable:
    """Compiles a lowered structure by XLA.

    Args:
        lowered: a `jax.stages.Lowered`.
        options: compile options.
        in_background: as for `compile_code`.
    """

    def compile_it() -> Executable:
        with jax.enable_x64(True):
            made: Executable = lowered.compile(compiler_options=options)
        return made

    return at_low_priority(compile_it, "hybridnet-compile") if in_background else compile_it()


def options_beside(code: Code, closed: ClosedJaxpr, *, in_blocks: bool = True) -> Options:
    """Returns the compile options that a structure has by any recipe.

    Args:
        code: the structure.
        closed: what it was traced to, the whole or a part of it.
        in_blocks: whether its temporary memory may come in blocks.
    """
    platform = platform_of(code.ctx)
    overwritten = sum(code.input_types[slot].nbytes for slot in code.donated)
    options = options_for_memory(platform, overwritten, closed.jaxpr)
    return {**options, **options_for_blocks(platform, closed.jaxpr)} if in_blocks else options


def options_of(code: Code, recipe: Recipe = BY_RULES) -> Options:
    """Returns the compile options with which a structure is compiled by a recipe."""
    return _options(code, recipe, sites_of(code, recipe))


def _options(code: Code, recipe: Recipe, sites: Iterable[Site]) -> Options:
    if recipe.options is not None:
        return recipe.options
    return options_for(platform_of(code.ctx), sites)


def shapes_of(code: Code) -> list[jax.ShapeDtypeStruct]:
    """Returns what an executable takes, for `jax.jit(...).trace`; needs 64-bit types."""
    sharding = sharding_of(code.ctx)
    return [
        jax.ShapeDtypeStruct(shape, dtype, sharding=sharding)
        for shape, dtype in _argument_shapes(code)
    ]


def _traced_to_compile(code: Code, recipe: Recipe) -> tuple[jax.stages.Traced, dict[Site, str]]:
    """Returns what `_traced` returns, the program with as few transposes as can be."""
    traced, sites = _traced(code, recipe)
    if platform_of(code.ctx) != "cpu":
        return traced, sites
    sunk = sink(traced.jaxpr)
    return (traced if sunk is None else _trace(code, sunk)), sites


def _traced(code: Code, recipe: Recipe) -> tuple[jax.stages.Traced, dict[Site, str]]:
    """Returns a structure as `jax.stages.Traced`, and what `sites_of` returns."""
    traced, sites = _traced_with(code, recipe.picks)
    # What the tuner picked stays: it was measured in this program.
    picks = {**picks_for(sites), **recipe.picks}
    return (traced, sites) if picks == recipe.picks else _traced_with(code, picks)


def _traced_with(code: Code, picks: Mapping[str, str]) -> tuple[jax.stages.Traced, dict[Site, str]]:
    seen: dict[Site, str] = {}
    revise = rule_for(code)
    with picking(picks, seen, revise):
        return _trace(code, lower(code)), seen


def _trace(code: Code, program: Executable) -> jax.stages.Traced:
    """Traces what computes a structure, as `jax.stages.Traced`."""
    # 64-bit types exist while the program is built and nowhere else: the process's own JAX
    # configuration is not ours to change.
    with jax.enable_x64(True):
        jitted = jax.jit(
            program,
            donate_argnums=code.donated,
            keep_unused=True,
            out_shardings=sharding_of(code.ctx),
        )
        # (A finalizer that runs while the host computes may be what compiles.)
        return by_jax(jitted.trace, *shapes_of(code))


def to_bytes(code: Code, executable: Any) -> bytes | None:
    """Returns an executable of a structure as bytes, in the form XLA has for that.

    Returns:
        None where this backend has none, or the outputs are not what the structure says: then
        nobody could tell later what the bytes give. Those of an executable that was compiled aside
        are returned once, and not kept.
    """
    known = _as_bytes.pop(executable, None)
    if known is not None:
        return known
    try:
        if not _gives(code, executable.out_info):
            return None
        head = b""
        if type(code.ctx) is Mesh:
            lies = [splits_of(one) for one in jax.tree.leaves(executable.output_shardings)]
            if None in lies:
                return None
            head = json.dumps(lies).encode() + b"\n"
        loaded = executable.runtime_executable()
        return head + bytes(loaded.client.serialize_executable(loaded))
    except (AttributeError, NotImplementedError, RuntimeError, TypeError):
        return None


def _gives(code: Code, said: object) -> bool:
    """Whether JAX says of a program's outputs what its structure says."""
    outputs = [(tuple(leaf.shape), np.dtype(leaf.dtype)) for leaf in jax.tree.leaves(said)]
    types = result_types(code)
    return outputs == [(types[i].shape, types[i].dtype) for i in code.outputs]


def executable_from(code: Code, data: bytes) -> Executable:
    """Loads the executable of a structure from bytes made by `to_bytes` in the same environment.

    Loading runs what is in the bytes: they must come from somebody who may run code here.

    Raises:
        RuntimeError: XLA cannot load them.
    """
    _find_calls(data)
    device = device_of(code.ctx)
    loaded = device.client.deserialize_executable(
        data,
        executable_devices=device_list(device),
        compile_options=_for_device(device),
    )
    lies = [sharding_of(code.ctx)] * len(code.outputs)
    given = [sharding_of(code.ctx)] * (1 + len(code.input_types))
    try:
        return _quick(code, [device], loaded, given, lies)
    except (ImportError, AttributeError, TypeError):
        return _Plain(device, loaded)


def mesh_program_from(code: Code, data: bytes, placements: Sequence[Splits]) -> Executable:
    """Loads a program on a mesh, as `executable_from` does those on one device.

    Args:
        code: the structure.
        data: made by `to_bytes`.
        placements: how its inputs lie, and the numbers.

    Raises:
        Exception: XLA cannot load them, or JAX not call it.
    """
    mesh = code.ctx
    assert isinstance(mesh, Mesh)
    head, _, body = data.partition(b"\n")
    _find_calls(body)
    devices = [*jax_mesh(mesh).devices.flat]
    loaded = devices[0].client.deserialize_executable(
        body, executable_devices=device_list(*devices)
    )
    lies = [tuple(map(tuple, pairs)) for pairs in json.loads(head)]
    given = [sharding_on(mesh, splits) for splits in placements]
    return _quick(code, devices, loaded, given, [sharding_on(mesh, splits) for splits in lies])


def _find_calls(data: bytes) -> None:
    """Makes what an executable calls of other libraries be there.

    Raises:
        RuntimeError: it is not.
    """
    if onednn.PREFIX in data and not onednn.load():
        raise RuntimeError(f"the program calls oneDNN, which is {onednn.state()}")
    if _LAPACK in data:
        _find_lapack()


@lru_cache(64)
def _for_device(device: jax.Device) -> Any:
    """Returns the options by which an executable runs on a device, whichever it was made for."""
    return compile_options(
        device_assignment=np.full((1, 1), device.id),
        env_options_overrides={},
        backend=device.client,
    )


def _find_lapack() -> None:
    """Makes jaxlib look up LAPACK's functions.

    Raises:
        RuntimeError: this jaxlib has another way.
    """
    try:
        initialize_lapack()
    except (ImportError, AttributeError) as error:
        raise RuntimeError(f"LAPACK's functions cannot be looked up: {error}") from error


def _quick(
    code: Code,
    devices: Sequence[jax.Device],
    loaded: object,
    given: Sequence[jax.sharding.Sharding],
    lies: Sequence[jax.sharding.Sharding],
) -> Executable:
    """Wraps a loaded executable as JAX wraps one it has compiled: calls are made by C++.

    Args:
        code: the structure.
        devices: those that run it.
        loaded: the executable.
        given: how its arguments lie.
        lies: how its outputs lie.

    Raises:
        AttributeError, ImportError, TypeError: this JAX has other names for what is needed.
    """
    core, stages, pxla = executable_modules()

    def abstract(shape: tuple[int, ...], dtype: DType) -> Any:
        return core.ShapedArray(shape, dtype)

    types = result_types(code)
    outputs = [abstract(types[i].shape, types[i].dtype) for i in code.outputs]
    arguments = [abstract(*argument) for argument in _argument_shapes(code)]
    count = len(arguments)
    with jax.enable_x64(True):  # without it, 64-bit types would be narrowed here
        unloaded = pxla.UnloadedMeshExecutable(
            xla_executable=loaded,
            device_list=device_list(*devices),
            backend=devices[0].client,
            input_avals=arguments,
            input_shardings=[*given],
            output_avals=outputs,
            output_shardings=[*lies],
            committed=True,
            name="program",
            unordered_effects=[],
            ordered_effects=[],
            keepalive=[],
            host_callbacks=[],
            kept_var_idx=set(range(count)),
            mut=None,
            xla_in_layouts=[None] * count,
            dispatch_in_layouts=[None] * count,
            xla_out_layouts=[None] * len(outputs),
            all_args_info=None,
            pgle_profiler=None,
        )
        made: Executable = stages.Compiled(
            unloaded.load(),
            [],
            ((*range(count),), {}),  # only its shape as a tree counts
            jax.tree.structure((0,) * len(outputs)),
            no_kwargs=True,
        )
    return made


class _Plain:
    """Calls a loaded executable through names that every JAX has; somewhat slower."""

    def __init__(self, device: jax.Device, loaded: Any) -> None:
        self._device = device
        self._execute = loaded.execute

    def __call__(self, *arguments: object) -> Sequence[DeviceArray]:
        *inputs, numbers = arguments
        outputs: Sequence[DeviceArray] = self._execute(
            [*inputs, jax.device_put(numbers, self._device)]
        )
        return outputs
