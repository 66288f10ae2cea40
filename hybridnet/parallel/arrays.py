"""Arrays on meshes, of what several processes have, and of what a loader yields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from hybridnet.base.array_types import ArrayLike, DTypeLike
from hybridnet.base.errors import ParameterError
from hybridnet.base.mesh import Mesh
from hybridnet.base.numpy_mode import mode
from hybridnet.base.placement import Placement, split
from hybridnet.ndarray import NDArray, array
from hybridnet.ndarray.placed import joined_parts

__all__ = ["join", "load"]


def join(
    part: ArrayLike, mesh: Mesh, placement: Placement, dtype: DTypeLike = "float32"
) -> NDArray:
    """Returns an array on a mesh, of which each process gives what its own devices are to hold.

    So each process loads its part of a batch, and none has all of it.

    Args:
        part: numbers: of what is split over the processes this one's part, of all else the whole.
        mesh: of as many processes as make the call.
        placement: see `NDArray.to_placement`.
        dtype: of the array.

    Returns:
        An array as large as the parts of all processes.

    Raises:
        ParameterError: it cannot lie so.
    """
    if not isinstance(mesh, Mesh):
        raise ParameterError(f"join: requires a Mesh, got {mesh!r}")
    return NDArray.from_value(joined_parts(part, mesh, placement, dtype), mesh)


def load(batches: Iterable[Any], mesh: Mesh, batch_axis: int = 0) -> Iterator[Any]:
    """Yields the batches of a loader with each device's part of them on that device.

    Args:
        batches: a `gluon.data.DataLoader`, say: arrays, and lists, tuples and dicts of them. On a
            mesh of several processes each gives its part of every batch, all as many.
        mesh: its first axis splits the batch.
        batch_axis: of the arrays.

    Raises:
        ParameterError: the devices do not divide a batch (the last one of a DataLoader may be
            smaller, see its `last_batch`), or there is something else in it than arrays.

    Examples:
        >>> mesh = hn.Mesh({"data": 2})
        >>> loader = gluon.data.DataLoader(nd.arange(8).reshape((8, 1)), batch_size=4)
        >>> [x.placement for x in hn.parallel.load(loader, mesh)]
        [{'data': split(0)}, {'data': split(0)}]
    """
    if not isinstance(mesh, Mesh):
        raise ParameterError(f"load: requires a Mesh, got {mesh!r}")
    for batch in batches:
        yield _loaded(batch, mesh, batch_axis)


def _loaded(batch: Any, mesh: Mesh, axis: int) -> Any:
    if isinstance(batch, dict):
        return {name: _loaded(part, mesh, axis) for name, part in batch.items()}
    if isinstance(batch, (list, tuple)):
        parts = [_loaded(part, mesh, axis) for part in batch]
        return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
    if not isinstance(batch, (NDArray, np.ndarray)):
        raise ParameterError(
            "load: a batch must be arrays, or lists, tuples and dicts of them, got "
            f"{type(batch).__name__}"
        )
    if mesh.processes > 1:
        made = join(batch, mesh, split(axis), batch.dtype)
    else:
        name, size = next(iter(mesh.axes.items()))
        if -batch.ndim <= axis < batch.ndim and batch.shape[axis] % size:
            raise ParameterError(
                f"load: requires batches that the {size} devices along {name!r} divide, got shape "
                f"{batch.shape}; a DataLoader with last_batch='discard' or 'rollover' yields none "
                "that is smaller"
            )
        made = array(batch, mesh, batch.dtype, placement=split(axis))
    return made.as_np_ndarray() if mode.array else made
