"""The program of an exported file: StableHLO, and how JAX is made to run it again.

`jax.export` has a form of its own for files, which takes one more package to read and write. What
that holds beside the StableHLO follows from the types of inputs and outputs; so these are in the
manifest, and on reading the program takes the place of that of a function which is exported then
and there, with the same types.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hybridnet.base.errors import FormatError
from hybridnet.base.lazy import jax, jnp
from hybridnet.ops.core.call import Types

from .manifest import Argument, Manifest

__all__ = ["arguments_of", "check_sizes", "program_of", "stable_hlo"]


def _structs(arrays: Sequence[Argument], scope: Any) -> list[Any]:
    """Returns the types of arrays as JAX has them; `enable_x64` is on."""
    found = []
    for array in arrays:
        text = ",".join(map(str, array.shape))
        sizes = jax.export.symbolic_shape(text, scope=scope) if array.shape else ()
        found.append(jax.ShapeDtypeStruct(sizes, np.dtype(array.dtype)))
    return found


def stable_hlo(
    program: Callable[..., tuple[Any, ...]], platforms: Sequence[str], inputs: Sequence[Argument]
) -> Any:
    """Returns a function exported for platforms, a `jax.export.Exported`; raises what JAX does."""
    with jax.enable_x64(True):
        jitted = jax.jit(program, keep_unused=True)
        given = _structs(inputs, jax.export.SymbolicScope())
        return jax.export.export(jitted, platforms=tuple(platforms))(*given)


def check_sizes(exported: Any, types: Types) -> None:
    """Raises if a program for open sizes cannot be compiled for some: few operators cannot.

    XLA finds that out last of all, and only here is there somebody to whom it can be told in time.

    Args:
        types: of its inputs, with such sizes.
    """
    if "cpu" not in exported.platforms:
        return
    with jax.enable_x64(True):
        given = [jax.ShapeDtypeStruct(kind.shape, kind.dtype) for kind in types]
        device = jax.devices("cpu")[0]
        with jax.default_device(device):
            lowered = jax.jit(exported.call).lower(*given)
            lowered.compile(compiler_options={"xla_backend_optimization_level": "0"})


def arguments_of(exported: Any) -> tuple[Argument, ...]:
    """Returns what an exported function gives."""
    return tuple(
        Argument(
            f"output{number}",
            tuple(size if type(size) is int else str(size) for size in aval.shape),
            np.dtype(aval.dtype).name,
        )
        for number, aval in enumerate(exported.out_avals)
    )


def program_of(manifest: Manifest, data: bytes) -> Any:
    """Returns the program of a file, a `jax.export.Exported`.

    Raises:
        FormatError: this JAX cannot run it.
    """
    export = jax.export
    oldest = export.minimum_supported_calling_convention_version
    newest = export.maximum_supported_calling_convention_version
    if not oldest <= manifest.calling_convention <= newest:
        raise FormatError(
            f"hn.load: the program is of version {manifest.calling_convention} of JAX's calling "
            f"convention ({manifest.made_by}), and this JAX, {jax.__version__}, runs {oldest} to "
            f"{newest}"
        )
    scope = export.SymbolicScope()
    try:
        with jax.enable_x64(True):
            given = _structs((*manifest.parameters, *manifest.inputs), scope)
            made = _structs(manifest.outputs, scope)

            def stand_in(*_: Any) -> tuple[Any, ...]:
                return tuple(jnp.zeros(struct.shape, struct.dtype) for struct in made)

            jitted = jax.jit(stand_in, keep_unused=True)
            exported = export.export(jitted, platforms=manifest.platforms)(*given)
    except Exception as error:  # JAX raises many kinds
        raise FormatError(
            f"hn.load: the manifest is damaged: types that JAX has none of: {error}"
        ) from error
    return dataclasses.replace(
        exported,
        mlir_module_serialized=data,
        calling_convention_version=manifest.calling_convention,
    )
