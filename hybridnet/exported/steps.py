"""A launch in a file: its program, what it was given, and of each operator what it makes.

It is a file as `export` writes it, of a function without arguments, whose result is a dict:
``inputs``, the arrays that the launch was given, and ``steps``, for each operator a dict of its
name, the user's line, its operands and the arrays that it makes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from hybridnet import engine
from hybridnet.base.array_types import NumpyArray
from hybridnet.base.lazy import jax, jnp
from hybridnet.ops.core import Arrays
from hybridnet.runtime.asking import Opened, OpenedCall

from .archive import Archive, named, write
from .exporting import PLATFORMS
from .manifest import Manifest, pack, packed_arguments
from .program import arguments_of, stable_hlo

__all__ = ["save_launch"]


def save_launch(
    path: str | os.PathLike[str],
    launch: Opened,
    inputs: Sequence[NumpyArray],
    platforms: Sequence[str],
) -> None:
    """Writes a launch to a file that `hybridnet.load` reads.

    Args:
        path: of the file, which appears whole or not at all.
        launch: its operators.
        inputs: what it was given.
        platforms: on which it can be run again; see `export`.
    """

    def branch(platform: str) -> Any:
        return lambda *operands: _computed(launch, platform, operands)

    def program(*operands: jax.Array) -> tuple[jax.Array, ...]:
        if len(platforms) == 1:
            return branch(PLATFORMS[platforms[0]])(*operands)  # type: ignore[no-any-return]
        branches = {platform: branch(PLATFORMS[platform]) for platform in platforms}
        outputs: tuple[jax.Array, ...] = jax.lax.platform_dependent(*operands, **branches)
        return outputs

    hosts = [np.ascontiguousarray(array).reshape(array.shape) for array in inputs]
    parameters = named("parameter", hosts)
    exported = stable_hlo(program, platforms, parameters)
    data = bytes(exported.mlir_module_serialized)
    outputs = arguments_of(exported)
    manifest = Manifest(
        name="step",
        platforms=tuple(platforms),
        parameters=parameters,
        inputs=(),
        structure=packed_arguments(())[0],
        results=_described(launch, len(hosts)),
        outputs=outputs,
        num_results=len(outputs),
        updates=(),
        random=(),
        calling_convention=exported.calling_convention_version,
        digest=hashlib.sha256(data).hexdigest(),
        made_by=f"jax {jax.__version__}",
    )
    write(path, Archive(manifest, data, hosts))


def _computed(launch: Opened, platform: str, inputs: Arrays) -> tuple[Any, ...]:
    """Returns the inputs, and all that all operators make."""
    results: list[Any] = []
    for one in launch.calls:
        operands = [results[i] if i >= 0 else inputs[~i] for i in one.operands]
        scalars = [jnp.asarray(x, "float64") for x in one.scalars]
        results += one.call.lower(platform, operands, scalars)
    return (*inputs, *results)


class _Number:
    """Stands for an array among the outputs of the program."""

    def __init__(self, number: int) -> None:
        self.number = number


def _described(launch: Opened, num_inputs: int) -> Any:
    """Returns the structure of the result, packed."""
    steps = []
    count = num_inputs
    for one in launch.calls:
        made = [_Number(count + i) for i in range(one.call.num_outputs)]
        count += one.call.num_outputs
        steps.append(_described_call(one, made))
    inputs = [_Number(number) for number in range(num_inputs)]
    return pack({"inputs": inputs, "steps": steps}, lambda leaf: getattr(leaf, "number", None))


def _described_call(one: OpenedCall, made: Sequence[_Number]) -> dict[str, Any]:
    place = engine.resolve_origin(one.site.origin)
    return {
        "operator": one.call.name,
        "line": None if place is None else f"{place[0]}:{place[1]}",
        "node": one.site.node,
        "operands": list(one.operands),
        "numbers": list(one.scalars),
        "results": list(made),
    }
