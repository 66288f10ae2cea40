"""`load`: an exported model as a function over arrays."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from hybridnet.base.context import Context, current_context
from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import DTypeError, MXNetError, ParameterError, ShapeError
from hybridnet.base.lazy import jax
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ndarray import NDArray, array
from hybridnet.ndarray.copies import put
from hybridnet.ops.core import Arrays, Backward, Call, Operand, Types
from hybridnet.ops.random import initial_state
from hybridnet.runtime.traces import init_scope

from . import archive
from .exporting import PLATFORMS
from .manifest import Argument, Manifest, packed_arguments, unpack
from .program import program_of


@final
class _ExportedCall(Call):
    """The program of an exported file.

    Args:
        manifest: of the file.
        exported: its program.
    """

    __slots__ = ("_exported", "_manifest", "_types")
    one_dtype = False

    def __init__(self, manifest: Manifest, exported: jax.export.Exported) -> None:
        self._manifest = manifest
        self._exported = exported
        self._types: dict[Types, Types] = {}
        self.num_visible = manifest.num_results
        self.num_outputs = manifest.num_results + len(manifest.updates)
        self.num_scalars = 0
        self.takes_state = False

    @property
    def name(self) -> str:
        """The name of the function."""
        return self._manifest.name

    @property
    def no_gradient(self) -> str:
        """Why it has no gradient: it was exported without it."""
        return f"{self.name} was exported without its gradient"

    def facts(self) -> Sequence[object]:
        """The digest of the program."""
        return (self._manifest.digest,)

    def infer(self, types: Types) -> Types:
        """The types that JAX finds, for sizes that are open, too."""
        found = self._types.get(types)
        if found is None:
            with jax.enable_x64(True):
                given = [jax.ShapeDtypeStruct(kind.shape, kind.dtype) for kind in types]
                made = jax.eval_shape(self._exported.call, *given)
            found = tuple(tensor_type(tuple(aval.shape), np.dtype(aval.dtype)) for aval in made)
            self._types[types] = found
        return found

    def lower(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """Calls the program."""
        outputs: Sequence[jax.Array] = self._exported.call(*operands)
        return outputs

    def gradient(self, back: Backward) -> Sequence[Operand | None]:
        """There is none."""
        return [None] * len(back.inputs)


@final
class LoadedFunction:
    """An exported model; made by `load`. Call it with arguments as it was exported with.

    It runs on the context of its arguments, and may be called inside an `hn.function`. Parameters
    that the model overwrites are those of this object; gradients do not flow through it.

    Args:
        found: what is in the file.

    Attributes:
        manifest: what the file says of itself.
    """

    def __init__(self, found: archive.Archive) -> None:
        self.manifest = found.manifest
        exported = program_of(found.manifest, found.program)
        self._call = _ExportedCall(found.manifest, exported)
        self._hosts = found.parameters
        self._parameters: dict[Context, list[NDArray]] = {}

    def __call__(self, *args: object) -> Any:
        """Runs the model.

        Raises:
            ParameterError, ShapeError, DTypeError: an argument is not what the model takes.
            MXNetError: it was not exported for this kind of device.
        """
        manifest = self.manifest
        structure, leaves = packed_arguments(args)
        if structure != manifest.structure:
            raise ParameterError(
                f"{manifest.name}: takes {', '.join(map(_text, manifest.inputs))} in the structure "
                f"{manifest.structure}, got {structure}"
            )
        ctx = next(
            (leaf.context for leaf in leaves if isinstance(leaf, NDArray)), current_context()
        )
        self._check_platform(ctx)
        arrays = [array(x, ctx) if isinstance(x, np.ndarray) else x for x in leaves]
        self._check(arrays)
        parameters = self._on(ctx)
        outputs = NDArray.apply_call(self._call, [*parameters, *arrays], (), ctx)
        for place, output in zip(manifest.updates, outputs[manifest.num_results :], strict=True):
            parameters[place].write(output.read())
        return unpack(manifest.results, outputs[: manifest.num_results])

    def seed(self, number: int) -> None:
        """Restarts the random generators of the model."""
        for place in self.manifest.random:
            state = np.array(initial_state(number))
            self._hosts[place] = state
            for parameters in self._parameters.values():
                parameters[place].write(put(state, parameters[place].context))

    def _on(self, ctx: Context) -> list[NDArray]:
        """Returns the parameters on a device."""
        found = self._parameters.get(ctx)
        if found is None:
            with init_scope():
                made = [NDArray.from_value(put(host, ctx), ctx) for host in self._hosts]
            found = self._parameters.setdefault(ctx, made)
        return found

    def _check_platform(self, ctx: Context) -> None:
        kind = "cpu" if ctx.device_type.startswith("cpu") else ctx.device_type
        if not any(PLATFORMS.get(platform) == kind for platform in self.manifest.platforms):
            raise MXNetError(
                f"{self.manifest.name}: was exported for {', '.join(self.manifest.platforms)}, and "
                f"cannot run on {ctx}; export it for that platform too"
            )

    def _check(self, arrays: Sequence[NDArray]) -> None:
        sizes: dict[str, int] = {}
        for number, (given, wanted) in enumerate(zip(arrays, self.manifest.inputs, strict=True)):
            what = f"{self.manifest.name}: array {number} must be {_text(wanted)}, got {given.type}"
            if given.inferred_dtype != as_dtype(wanted.dtype):
                raise DTypeError(what)
            if len(given.shape) != len(wanted.shape):
                raise ShapeError(what)
            for size, expected in zip(given.shape, wanted.shape, strict=True):
                if isinstance(expected, str):
                    expected = sizes.setdefault(expected, size)
                if size != expected or (size == 0 and 0 not in wanted.shape):
                    raise ShapeError(f"{what} (a name stands for one size, at least 1)")

    def __repr__(self) -> str:
        takes = ", ".join(map(_text, self.manifest.inputs))
        return f"<exported {self.manifest.name}({takes}) for {', '.join(self.manifest.platforms)}>"


def _text(argument: Argument) -> str:
    return f"{argument.dtype}[{','.join(map(str, argument.shape))}]"


def load(path: str | os.PathLike[str]) -> LoadedFunction:
    """Reads a file written by `hn.export`. Nothing in it is run before it is called.

    Raises:
        FormatError: it is no such file, is damaged, or of a version that is not known.
        OSError: it cannot be read.
    """
    return LoadedFunction(archive.read(path))
