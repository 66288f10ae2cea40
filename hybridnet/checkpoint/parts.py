"""Arrays that lie in parts on a mesh, in files: each process writes the parts that it holds.

A checkpoint is one file where one process writes it, with a tensor for each part of an array. In a
gang the other processes write files of their own beside it, ``model-100.safetensors.ID.2-of-4``,
where ID is that save's. The first process writes its file when these are there, last of all, and it
says where the parts of all are: so a checkpoint is whole as soon as it is there, and that of before
is, until then.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import numpy as np

from hybridnet.base.array_types import NumpyArray
from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import FormatError
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.distributed import gang

from .stand_in import exists

__all__ = [
    "KEY",
    "Part",
    "PartedFile",
    "Region",
    "await_files",
    "described",
    "files_of",
    "is_shared",
    "next_id",
    "own_parts",
    "parts_of",
    "remove_others",
    "whole_of",
]

#: Under which name a file's metadata says where the parts are.
KEY: Final = "parts"
#: Seconds between two looks whether the others' files are there, and for how long.
_EVERY: Final = 0.05
_PATIENCE: Final = 600.0

#: Folder -> how many saves of all processes there were in it.
_saves: Final[dict[Path, int]] = {}

Region = tuple[slice, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """Where a part of an array is.

    Attributes:
        process: of which process's file.
        start: where it begins, along each axis.
        shape: how long it is, along each axis.
    """

    process: int
    start: tuple[int, ...]
    shape: tuple[int, ...]

    def key(self, name: str) -> str:
        """Returns the name of its tensor in the file."""
        spans = (f"{at}:{at + size}" for at, size in zip(self.start, self.shape, strict=True))
        return f"{name}[{','.join(spans)}]"


def parts_of(array: Any) -> list[Part]:
    """Returns the parts of an array of JAX's, each once; none where it is whole on a device."""
    sharding = getattr(array, "sharding", None)
    if sharding is None or sharding.is_fully_replicated:
        return []
    found: dict[tuple[Any, ...], Part] = {}
    alone = sharding.is_fully_addressable
    for device, index in sharding.devices_indices_map(array.shape).items():
        start, shape = _span(index, array.shape)
        process = 0 if alone else device.process_index
        found.setdefault((start, shape), Part(process, start, shape))
    return sorted(found.values(), key=lambda part: part.start)


def is_shared(array: Any) -> bool:
    """Whether an array is on devices of several processes."""
    return not getattr(array, "is_fully_addressable", True)


def own_parts(array: Any, parts: Sequence[Part], process: int) -> Iterator[tuple[Part, Any]]:
    """Yields those parts that a process, this one, writes, each with what it is."""
    held = {_span(one.index, array.shape): one.data for one in array.addressable_shards}
    for part in parts:
        if part.process == process:
            yield part, held[part.start, part.shape]


def whole_of(array: Any) -> Any:
    """Returns an array that every device has whole as one device has it."""
    return array.addressable_data(0) if hasattr(array, "addressable_data") else array


def _span(index: Region, shape: Sequence[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    bounds = [one.indices(size)[:2] for one, size in zip(index, shape, strict=True)]
    return tuple(low for low, _ in bounds), tuple(high - low for low, high in bounds)


# -- several files -------------------------------------------------------------------------------


def next_id(folder: Path) -> str:
    """Returns what names a save of all processes of this gang, in all of them and in no other gang.

    It is known by how many they have made in a folder: what a process saves by itself counts not.
    """
    team = gang.current()
    names = "" if team is None else "|".join(team.names)
    number = _saves[folder] = _saves.get(folder, 0) + 1
    return blake2b(f"{names}#{number}".encode(), digest_size=6).hexdigest()


def files_of(path: Path, saved: str, count: int) -> list[Path]:
    """Returns the files of so many processes; that of the first has the checkpoint's own name."""
    others = [f"{path.name}.{saved}.{process + 1}-of-{count}" for process in range(1, count)]
    return [path, *map(path.with_name, others)]


def await_files(files: Sequence[Path]) -> None:
    """Waits until the files of other processes are there.

    Raises:
        MXNetError: a process is gone.
        OSError: a file did not come.
    """
    until = time.monotonic() + _PATIENCE
    for file in files:
        while not exists(file):
            team = gang.current()
            if team is not None:
                team.check()
            if time.monotonic() > until:
                raise TimeoutError(f"{file}: its process has not written it")
            time.sleep(_EVERY)


def remove_others(path: Path, saved: str = "") -> None:
    """Removes the files that other processes wrote beside a file, but for those of one save."""
    pattern = re.compile(re.escape(path.name) + r"\.([0-9a-f]{12})\.\d+-of-\d+")
    for name in os.listdir(path.parent):
        found = pattern.fullmatch(name)
        if found and found[1] != saved:
            with suppress(FileNotFoundError):
                os.unlink(path.parent / name)


def described(
    variables: Mapping[str, tuple[TensorType, Sequence[Part]]], files: Sequence[Path]
) -> dict[str, str]:
    """Returns what a file's metadata says of parts.

    Args:
        variables: types and parts by name.
        files: of the processes.
    """
    if not variables:
        return {}
    entries = {
        name: {
            "shape": list(kind.shape),
            "dtype": kind.dtype.name,
            "parts": [[one.process, list(one.start), list(one.shape)] for one in parts],
        }
        for name, (kind, parts) in variables.items()
    }
    names = [file.name for file in files]
    return {KEY: json.dumps({"files": names, "variables": entries})}


class PartedFile:
    """The index of a file's arrays in parts, and their reader.

    Args:
        text: from its metadata.
        path: the file.

    Attributes:
        types: the type of each such array, by name.
        files: the files of the processes, the first of which is this one.

    Raises:
        FormatError: it cannot be read.
    """

    def __init__(self, text: str, path: Path) -> None:
        try:
            said = json.loads(text)
            self.files = [path, *(path.with_name(str(name)) for name in said["files"][1:])]
            self._parts = {
                name: [Part(number, tuple(start), tuple(shape)) for number, start, shape in parts]
                for name, parts in ((n, entry["parts"]) for n, entry in said["variables"].items())
            }
            self.types = {
                name: tensor_type(tuple(entry["shape"]), as_dtype(entry["dtype"]))
                for name, entry in said["variables"].items()
            }
            fits = all(self._covers(name) for name in self.types)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise FormatError(f"{path}: what it says of parts cannot be read: {error}") from None
        if not fits:
            raise FormatError(f"{path}: the parts of an array do not make it up")

    def keys(self, process: int) -> set[str]:
        """Returns the names of the tensors that are parts, in the file of a process."""
        return {
            part.key(name)
            for name, parts in self._parts.items()
            for part in parts
            if part.process == process
        }

    def read(self, name: str, wanted: Region, get: Callable[[int, str], NumpyArray]) -> NumpyArray:
        """Returns a region of an array; of its parts, one at a time is in memory beside that.

        Args:
            name: of the array.
            wanted: the region.
            get: reads a tensor of a process's file.
        """
        kind = self.types[name]
        start, shape = _span(wanted, kind.shape)
        made = np.empty(shape, kind.dtype)
        for part in self._parts[name]:
            low = [max(a, b) for a, b in zip(start, part.start, strict=True)]
            high = [
                min(a + n, b + m)
                for a, n, b, m in zip(start, shape, part.start, part.shape, strict=True)
            ]
            if all(a < b for a, b in zip(low, high, strict=True)):
                value = get(part.process, part.key(name))
                made[region(low, high, start)] = value[region(low, high, part.start)]
        return made

    def _covers(self, name: str) -> bool:
        """Whether the parts of an array are a grid that fills it, as those on a mesh are."""
        shape, parts = self.types[name].shape, self._parts[name]
        if any(len(part.start) != len(shape) for part in parts):
            return False
        bounds = [
            [*sorted({part.start[axis] for part in parts}), size] for axis, size in enumerate(shape)
        ]
        if math.prod(len(one) - 1 for one in bounds) != len(parts):
            return False
        grid = {
            start: tuple(high - low for low, high in zip(start, ends, strict=True))
            for start, ends in zip(
                itertools.product(*(one[:-1] for one in bounds)),
                itertools.product(*(one[1:] for one in bounds)),
                strict=True,
            )
        }
        begins = all(one[0] == 0 for one in bounds)
        known = all(0 <= part.process < len(self.files) for part in parts)
        found = {part.start: part.shape for part in parts}
        return begins and known and found == grid


def region(low: Sequence[int], high: Sequence[int], origin: Sequence[int]) -> Region:
    """Returns a box as slices of what begins at an origin."""
    return tuple(slice(a - o, b - o) for a, b, o in zip(low, high, origin, strict=True))
