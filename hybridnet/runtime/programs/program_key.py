"""The names under which programs are kept on disk.

A name says all that decides what the bytes of an executable are: the structure (by the calls'
fingerprints), hybridnet's own source, which holds the lowerings, and the environment: JAX and its
settings, XLA's flags, the device, the features and number of the CPUs. So a program made before a
lowering was edited, or for another machine, is not found; nothing needs to be declared stale. The
structure comes first, and is known before JAX is loaded.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

from hybridnet.base.config import tuning
from hybridnet.base.context import Context
from hybridnet.base.lazy import hashlib, jax
from hybridnet.base.mesh import Mesh
from hybridnet.base.placement import Splits
from hybridnet.base.processor import num_threads, processor
from hybridnet.base.tensor_type import TensorType
from hybridnet.native import onednn
from hybridnet.ops.core import SIZE, OpCall, extended, fingerprint
from hybridnet.passes import PIPELINE

from ..platform.jax_devices import device_of
from ..segments.code import Code
from .compile_options import is_untuned
from .recipe import BY_RULES, Recipe

# Raised when the way in which programs are built or called changes outside the source below.
_FORMAT: Final = 1
# The parts of hybridnet that decide what a call is lowered to.
_SOURCES: Final = (
    "autograd",
    "base",
    "graph",
    "native",
    "ndarray",
    "ops",
    "passes",
    "runtime",
    "tape",
)
_SUFFIXES: Final = (".py", ".cc", ".h")
# JAX's settings that change programs and that a `with` can change for one thread alone.
_OF_THREAD: Final = (
    "jax_debug_infs",
    "jax_debug_nans",
    "jax_default_matmul_precision",
    "jax_default_prng_impl",
    "jax_numpy_dtype_promotion",
    "jax_threefry_partitionable",
)
_VARIABLES: Final = ("XLA_FLAGS", "LIBTPU_INIT_ARGS")


def key_of(code: Code, recipe: Recipe = BY_RULES) -> str | None:
    """Returns the name of a structure's program, the same in every process that can use it.

    Args:
        code: the structure.
        recipe: how the program is made of it.

    Returns:
        None on a mesh, see `mesh_key`; and where a call cannot be told apart from others by
        anything that outlives the process, such as an operator that the user registered or gave a
        lowering, or a graph that a user's pass changes.
    """
    structure = structure_key(code)
    if structure is None or type(code.ctx) is Mesh:
        return None
    pieces = [_environment(code.ctx, _settings())]
    if recipe is not BY_RULES:
        pieces.append(fingerprint(*recipe.facts()))
    made = hashlib.blake2b(b"".join(pieces), digest_size=SIZE).hexdigest()
    return f"{structure}-{made}"


def mesh_key(code: Code, placements: Sequence[Splits]) -> str | None:
    """Returns the name of a structure's program on a mesh, for inputs that lie in one way.

    Returns:
        None as `key_of` does; and on a mesh of several processes, which must all read the program
        or all compile it.
    """
    mesh, structure = code.ctx, structure_key(code)
    assert isinstance(mesh, Mesh)
    if structure is None or mesh.processes > 1:
        return None
    devices = [device_of(ctx).id for ctx in mesh.contexts]
    on = fingerprint([*mesh.axes.items()], devices, [*placements])
    environment = _environment(mesh.contexts[0], _settings())
    made = hashlib.blake2b(environment + on, digest_size=SIZE).hexdigest()
    return f"{structure}-{made}"


def structure_key(code: Code) -> str | None:
    """Returns what the names of a structure's programs begin with; JAX is not asked for it.

    Returns:
        None as `key_of` does; and of what may hold graphs or gradients, while there are passes or
            lowerings of a user's.
    """
    pieces = []
    for call, operands in code.instructions:
        if type(call) is OpCall:
            if call.name in extended:
                return None
        elif PIPELINE.is_extended or extended:
            return None
        known = call.fingerprint
        if known is None:
            return None
        pieces.append(known)
        pieces.append(repr(operands).encode())
    pieces.extend(map(_type_bytes, code.input_types))
    pieces.append(repr((code.outputs, code.donated)).encode())
    return hashlib.blake2b(b"".join(pieces), digest_size=SIZE).hexdigest()


@lru_cache(4096)
def _type_bytes(kind: TensorType) -> bytes:
    return f"{kind!r};".encode()


def _settings() -> tuple[object, ...]:
    config = jax.config
    return (
        *(getattr(config, name, None) for name in _OF_THREAD),
        *config.values.values(),
        *map(os.environ.get, _VARIABLES),
        tuning() == "off",
        onednn.name(),
        is_untuned(),
    )


@lru_cache(64)
def _environment(ctx: Context, settings: tuple[object, ...]) -> bytes:
    device = device_of(ctx)
    client = device.client
    return fingerprint(
        _FORMAT,
        source_digest(),
        _versions(),
        (str(client.platform), str(client.platform_version), str(device.device_kind)),
        ctx.device_type,  # devices of one kind share programs, see `executable_from`
        _host(),
        [*map(repr, jax.config.values.items())],
        [*map(repr, settings)],
    )


def _versions() -> tuple[str | None, ...]:
    return jax.__version__, getattr(jax.lib, "__version__", None)


@cache
def source_digest() -> bytes:
    """Returns a hash of the source that lowers calls; reads some hundred small files, once."""
    package = Path(__file__).parents[2]
    digest = hashlib.blake2b(digest_size=SIZE)
    if not package.is_dir():  # it is in an archive: all that is there
        digest.update(next(filter(Path.is_file, package.parents)).read_bytes())
        return digest.digest()
    for folder in _SOURCES:
        for path in sorted((package / folder).rglob("*")):
            if path.suffix not in _SUFFIXES:
                continue
            data = path.read_bytes()
            name = path.relative_to(package).as_posix()
            digest.update(f"{name} {len(data)}\n".encode())
            digest.update(data)
    return digest.digest()


@cache
def _host() -> tuple[str, str, int]:
    """The processor's kind and features, and how many threads XLA has.

    XLA compiles for all features of the processor, and splits work by the number.
    """
    return platform.machine(), processor(), num_threads()
