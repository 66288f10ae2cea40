"""The program of an exported file: StableHLO, and how JAX is made to run it again.

`jax.export` has a form of its own for files, which takes one more package to read and write. What
that holds beside the StableHLO follows from the types of inputs and outputs; so these are in the
manifest, and on reading the program takes the place of that of a function which is exported then
and there, with the same types.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from hybridnet.base.errors import FormatError
from hybridnet.base.lazy import jax, jnp, mlir
from hybridnet.ops.core import PLAIN, Types, picking

from .manifest import Argument, Manifest

# What a program may consist of: MLIR's dialects of computations and functions ...
_DIALECTS: Final = frozenset({"builtin", "chlo", "func", "stablehlo"})
# ... less the operators that reach outside of it: StableHLO's specification has no others.
_OUTSIDE: Final = frozenset({"infeed", "outfeed", "recv", "send"})
# Custom calls run code of the process by its name. These are what JAX itself calls for linear
# algebra, random numbers and open sizes; any other could be a function of Python or of C.
_CUSTOM_CALL: Final = re.compile(
    r"lapack_[sdcz](gees|geev|gehrd|geqrf|gesdd|getrf|gtsv|heevd|hetrd|orgqr|potrf|syevd|sytrd|trsm"
    r"|ungqr)_ffi"
    r"|(cusolver|hipsolver)_(geqrf|gesdd|gesvdj?|getrf|orgqr|potrf|syevd|sytrd)_ffi"
    r"|cusparse_gtsv2_ffi|(cu|hip)_(lu_pivots_to_permutation|threefry2x32_ffi)"
    r"|ApproxTopK|Eigh|LuDecomposition|ProductOfElementaryHouseholderReflectors|Qr"
    r"|shape_assertion|stablehlo\.dynamic_(approx_top_k|reduce_window|rng_bit_generator|top_k)"
)


def _structs(arrays: Sequence[Argument], scope: Any) -> list[Any]:
    """Returns the types of arrays as JAX has them; `enable_x64` is on."""
    found = []
    for array in arrays:
        text = ",".join(map(str, array.shape))
        sizes = jax.export.symbolic_shape(text, scope=scope) if array.shape else ()
        found.append(jax.ShapeDtypeStruct(sizes, np.dtype(array.dtype)))
    return found


def stable_hlo(
    program: Callable[..., tuple[jax.Array, ...]],
    platforms: Sequence[str],
    inputs: Sequence[Argument],
) -> jax.export.Exported:
    """Returns a function exported for platforms, a `jax.export.Exported`; raises what JAX does.

    Operators are lowered plainly, and not by libraries that another machine may lack.
    """
    with jax.enable_x64(True), picking({}, revise=lambda site, by: PLAIN):
        jitted = jax.jit(program, keep_unused=True)
        given = _structs(inputs, jax.export.SymbolicScope())
        return jax.export.export(jitted, platforms=tuple(platforms))(*given)


def check_sizes(exported: jax.export.Exported, types: Types) -> None:
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


def arguments_of(exported: jax.export.Exported) -> tuple[Argument, ...]:
    """Returns what an exported function gives."""
    return tuple(
        Argument(
            f"output{number}",
            tuple(size if type(size) is int else str(size) for size in aval.shape),
            np.dtype(aval.dtype).name,
        )
        for number, aval in enumerate(exported.out_avals)
    )


def program_of(manifest: Manifest, data: bytes) -> jax.export.Exported:
    """Returns the program of a file, a `jax.export.Exported`, which does nothing but compute.

    Raises:
        FormatError: this JAX cannot run it, or it holds what could do something else.
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

            def stand_in(*_: object) -> tuple[jax.Array, ...]:
                return tuple(jnp.zeros(struct.shape, struct.dtype) for struct in made)

            jitted = jax.jit(stand_in, keep_unused=True)
            exported = export.export(jitted, platforms=manifest.platforms)(*given)
    except Exception as error:  # JAX raises many kinds
        raise FormatError(
            f"hn.load: the manifest is damaged: types that JAX has none of: {error}"
        ) from error
    program = dataclasses.replace(
        exported,
        mlir_module_serialized=data,
        calling_convention_version=manifest.calling_convention,
    )
    _check_operators(program)
    return program


def _check_operators(program: Any) -> None:
    """Raises if a program holds what is no computation; reads it, and compiles nothing.

    Raises:
        FormatError: it does, or is no program at all.
    """
    with mlir.make_ir_context():
        try:
            module = program.mlir_module(serialized=False)
        except Exception as error:  # of jaxlib's own kinds
            raise FormatError(f"hn.load: the program cannot be read: {error}") from error
        for operation in _operations(module.operation):
            dialect, _, kind = operation.name.rpartition(".")
            what = operation.name
            if what == "stablehlo.custom_call":
                target = operation.attributes["call_target_name"].value
                if _CUSTOM_CALL.fullmatch(target):
                    continue
                what = f"a custom call of {target!r}"
            elif dialect in _DIALECTS and kind not in _OUTSIDE:
                continue
            raise FormatError(
                f"hn.load: the program must only compute, and holds {what}, which may do anything "
                "else; hn.export writes no such program: do not use this file"
            )


def _operations(operation: Any) -> Iterator[Any]:
    """Yields an operation of MLIR and all inside it."""
    inside = [operation]
    while inside:
        found = inside.pop()
        yield found
        inside += [
            within.operation for region in found.regions for block in region for within in block
        ]
