"""Arrays on a mesh: how they lie, and to have them lie otherwise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hybridnet.base.array_types import ArrayLike, DTypeLike, NumpyArray
from hybridnet.base.dtype import as_dtype
from hybridnet.base.errors import ParameterError
from hybridnet.base.mesh import Mesh
from hybridnet.base.placement import BROADCAST, Placement, Split, Splits, read_placement
from hybridnet.base.tensor_type import TensorType, tensor_type
from hybridnet.ops.core import registry
from hybridnet.ops.shape import splits_text
from hybridnet.runtime.contexts import gathered, joined, regions_on, splits_of, spread
from hybridnet.runtime.recording import Value, recorder

from .copies import host_array

__all__ = [
    "from_regions",
    "joined_parts",
    "lying_as",
    "placed",
    "placement_of",
    "regions_of",
    "splits_held",
    "spread_over",
    "whole",
]


def placement_of(data: Any) -> dict[str, Split]:
    """Returns how an array lies, by the names of its mesh's axes; launches what makes it.

    Raises:
        ParameterError: the array is on no mesh, or lies in a way that has no name.
    """
    mesh = _mesh_of("placement", data)
    splits = splits_of(recorder.ready_array(data.read()).sharding)
    if splits is None:
        raise ParameterError("placement: XLA has the array lie in a way that has no name")
    return dict.fromkeys(mesh.axes, BROADCAST) | {name: Split(axis) for name, axis in splits}


def regions_of(data: Any, what: str) -> list[tuple[slice, ...]]:
    """Returns which region of an array each device of its mesh holds; launches what makes it.

    Args:
        data: the array.
        what: who asks, for messages.

    Returns:
        For each place of the mesh, the last axis first, a slice with both ends for each axis.

    Raises:
        ParameterError: the array is on no mesh.
    """
    mesh = _mesh_of(what, data)
    array = recorder.ready_array(data.read())
    return [
        tuple(slice(*one.indices(size)[:2]) for one, size in zip(region, data.shape, strict=True))
        for region in regions_on(mesh, array)
    ]


def placed(data: Any, placement: Placement | None) -> Any:
    """Returns the array lying on its mesh as is said; see `NDArray.to_placement`."""
    what = "to_placement"
    mesh = _mesh_of(what, data)
    return _split(data, read_placement(what, placement, mesh.axes, data.shape))


def _split(data: Any, splits: Splits) -> Any:
    op = registry.get("_to_placement")
    return type(data).apply_operator(op, (data,), {"splits": splits_text(splits)})


def lying_as(data: Any, other: Any) -> Any:
    """Returns an array that lies as another of its mesh does; launches what makes that.

    In a trace an array from outside lies as it does now, and XLA chooses for those from inside.
    """
    if type(data.context) is not Mesh:
        return data
    splits = splits_held(other)
    if splits is None:
        return data
    held = data.storage.value.array if recorder.current_trace() is None else None
    lies = held is not None and held.shape == data.shape and splits_of(held.sharding) == splits
    return data if lies else _split(data, splits)


def splits_held(data: Any) -> Splits | None:
    """Returns which axes of its mesh split which of an array; launches what makes it.

    None where that has no name, and in a trace for arrays from inside.
    """
    trace = recorder.current_trace()
    if trace is None:
        return splits_of(recorder.ready_array(data.read()).sharding)
    if data.storage.owner is trace:
        return None
    with recorder.outside_trace():  # a task may still be making what it holds
        return splits_of(recorder.ready_array(data.storage.value).sharding)


def spread_over(data: Any, mesh: Mesh, placement: Placement | None) -> Value:
    """Returns a copy of an array on a mesh, of which no device has more than its part.

    Args:
        data: NumPy's array, which nobody else writes to, or an NDArray on one device.
        mesh: where to.
        placement: see `NDArray.to_placement`.
    """
    splits = read_placement("placement", placement, mesh.axes, data.shape)
    if isinstance(data, np.ndarray):
        return Value(tensor_type(data.shape, data.dtype), spread(data, mesh, splits))
    value = data.read()
    return Value(value.type, spread(recorder.ready_array(value), mesh, splits))


def whole(data: Any, array: Any) -> Any:
    """Returns the JAX array of one on a mesh so that this process has all of it.

    Where the mesh is of several processes, and the array lies in parts, all of them must ask.
    """
    if data.context.processes == 1:
        return array
    if not array.is_fully_replicated:
        array = recorder.wait(placed(data, None).read())
    return array.addressable_data(0)


def from_regions(
    kind: TensorType,
    mesh: Mesh,
    placement: Placement | None,
    read: Callable[[tuple[slice, ...]], NumpyArray],
) -> Value:
    """Returns an array on a mesh whose parts are read one by one.

    Args:
        kind: its shape and dtype.
        mesh: where to.
        placement: see `NDArray.to_placement`.
        read: returns a region of it.
    """
    splits = read_placement("restore", placement, mesh.axes, kind.shape)
    known: dict[str, NumpyArray] = {}

    def part(wanted: tuple[slice, ...]) -> NumpyArray:
        key = str(wanted)
        if key not in known:  # devices that have the same come one after the other
            known.clear()
            known[key] = read(wanted)
        return known[key]

    return Value(kind, gathered(kind.shape, mesh, splits, part))


def joined_parts(part: ArrayLike, mesh: Mesh, placement: Placement, dtype: DTypeLike) -> Value:
    """Returns an array on a mesh of which each process gives its part; see `parallel.join`."""
    host = host_array(part, as_dtype(dtype), "join")
    splits = read_placement("join", placement, dict.fromkeys(mesh.axes, 1), host.shape)
    try:
        made = joined(host.copy(), mesh, splits)
    except ValueError as error:  # JAX knows what of the array is this process's
        raise ParameterError(
            f"join: requires a part that this process's devices divide, got shape {host.shape} "
            f"for {placement} on {mesh}: {error}"
        ) from error
    return Value(tensor_type(made.shape, host.dtype), made)


def _mesh_of(what: str, data: Any) -> Mesh:
    mesh = data.context
    if isinstance(mesh, Mesh):
        return mesh
    raise ParameterError(
        f"{what}: requires an array on a mesh, got one on {mesh}; move it with "
        "as_in_context(hn.Mesh(...))"
    )
