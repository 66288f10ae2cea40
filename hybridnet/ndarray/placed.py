"""Arrays on a mesh: how they lie, and to have them lie otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hybridnet.base.errors import ParameterError
from hybridnet.base.mesh import Mesh
from hybridnet.base.placement import BROADCAST, Placement, Split, read_placement
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.core import registry
from hybridnet.ops.shape import splits_text
from hybridnet.runtime.contexts import splits_of, spread
from hybridnet.runtime.recording import Value, recorder

if TYPE_CHECKING:
    from .ndarray import NDArray

__all__ = ["lying_as", "placed", "placement_of", "spread_over"]


def placement_of(data: NDArray) -> dict[str, Split]:
    """Returns how an array lies, by the names of its mesh's axes; launches what makes it.

    Raises:
        ParameterError: the array is on no mesh, or lies in a way that has no name.
    """
    mesh = _mesh_of("placement", data)
    splits = splits_of(recorder.ready_array(data.read()).sharding)
    if splits is None:
        raise ParameterError("placement: XLA has the array lie in a way that has no name")
    return dict.fromkeys(mesh.axes, BROADCAST) | {name: Split(axis) for name, axis in splits}


def placed(data: NDArray, placement: Placement | None) -> Any:
    """Returns the array lying on its mesh as is said; see `NDArray.to_placement`."""
    what = "to_placement"
    mesh = _mesh_of(what, data)
    splits = splits_text(read_placement(what, placement, mesh.axes, data.shape))
    op = registry.get("_to_placement")
    return type(data).apply_operator(op, (data,), {"splits": splits})


def lying_as(data: NDArray, other: NDArray) -> Any:
    """Returns an array that lies as another of its mesh does; launches what makes that."""
    return data if type(data.context) is not Mesh else placed(data, placement_of(other))


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


def _mesh_of(what: str, data: NDArray) -> Mesh:
    mesh = data.context
    if isinstance(mesh, Mesh):
        return mesh
    raise ParameterError(
        f"{what}: requires an array on a mesh, got one on {mesh}; move it with "
        "as_in_context(hn.Mesh(...))"
    )
