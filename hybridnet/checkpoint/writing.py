"""Saving and reading as tasks of the engine, in the order in which they were asked for.

A task that writes a checkpoint holds the Values that the variables have when it is pushed. Values
are written once; what updates a variable in place gives it another Value, and takes over the memory
of the old one only where nobody holds it. So training goes on while the old values are written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from hybridnet.base.context import Context
from hybridnet.base.dtype import INT64
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.distributed import rank, size
from hybridnet.ndarray.copies import send
from hybridnet.ops.core import Types
from hybridnet.runtime.contexts import device_of
from hybridnet.runtime.recording import Value
from hybridnet.runtime.tasks import push_task

from .faults import require
from .files import folder_var
from .parts import (
    Part,
    await_files,
    described,
    files_of,
    is_shared,
    next_id,
    own_parts,
    parts_of,
    remove_others,
    whole_of,
)
from .tensor_file import Tensor, import_safetensors, open_tensors, write_tensors

#: The type of what a saving task makes: the bytes of the file.
BYTES: Final = tensor_type((), INT64)


def push_save(
    values: Mapping[str, Value],
    folder: Path,
    path_of: Callable[..., Path],
    further: Sequence[Value] = (),
    done: Callable[[Path], None] = lambda path: None,
    ctx: Context | None = None,
) -> Value:
    """Pushes a task that writes a file.

    Args:
        values: what to write, by name.
        folder: of the file.
        path_of: gets the arrays of `further`, and returns the file.
        further: Values that tell which file.
        done: called in the task when the file is there.
        ctx: where the result is; default the first CPU.

    Returns:
        The bytes of the file, when it is written; or the error, which names the file.
    """
    import_safetensors()
    types = {name: value.type for name, value in values.items()}
    device = device_of(ctx or Context("cpu", 0))

    def task(*arrays: Any) -> list[Any]:
        path = path_of(*arrays[len(types) :])
        path.parent.mkdir(parents=True, exist_ok=True)
        written = zip(types.items(), arrays[: len(types)], strict=True)
        total = _write(path, [Tensor(name, type, array) for (name, type), array in written])
        if not (rank() and any(map(is_shared, arrays))):
            done(path)
        return [send(np.int64(total), device)]

    (made,) = push_task(
        task,
        [*values.values(), *further],
        (BYTES,),
        writes=(folder_var(folder),),
        lane="io",
        name=f"saving a checkpoint in {str(folder)!r}",
    )
    return made


def _write(path: Path, tensors: Sequence[Tensor]) -> int:
    """Writes arrays, of those in parts on a mesh what this process has; returns the bytes.

    Args:
        path: the checkpoint's file.
        tensors: the arrays.
    """
    together = any(is_shared(array) for _, _, array in tensors)
    process, count = (rank(), size()) if together else (0, 1)
    split: dict[str, tuple[TensorType, list[Part]]] = {}
    own: list[Tensor] = []
    for name, kind, array in tensors:
        parts = parts_of(array)
        if parts:
            split[name] = kind, parts
            own += [
                Tensor(part.key(name), tensor_type(part.shape, kind.dtype), data)
                for part, data in own_parts(array, parts, process)
            ]
        elif not process:
            own.append(Tensor(name, kind, whole_of(array)))
    saved = next_id(path.parent) if together and split else ""
    files = files_of(path, saved, count if split else 1)
    if process:
        return write_tensors(files[process], own) if split else 0
    await_files(files[1:])
    written = write_tensors(path, own, described(split, files))
    remove_others(path, saved)
    return written


def push_restore(path: Path, names: Sequence[str], types: Types, ctx: Context) -> list[Value]:
    """Pushes a task that reads arrays from a file.

    Args:
        path: the file.
        names: of the arrays.
        types: of them; others in the file are an error.
        ctx: where they go.
    """
    import_safetensors()
    device = device_of(ctx)

    def task() -> list[Any]:
        with open_tensors(path) as file:
            require(file, {n: (t.shape, t.dtype) for n, t in zip(names, types, strict=True)})
            return [send(file.read(name), device) for name in names]

    return push_task(
        task,
        (),
        types,
        writes=(folder_var(path.parent),),
        lane="io",
        name=f"restoring {str(path)!r}",
    )
