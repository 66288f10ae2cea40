"""Arrays on meshes of several processes."""

from __future__ import annotations

from hybridnet.base.array_types import ArrayLike, DTypeLike
from hybridnet.base.errors import ParameterError
from hybridnet.base.mesh import Mesh
from hybridnet.base.placement import Placement
from hybridnet.ndarray import NDArray
from hybridnet.ndarray.placed import joined_parts

__all__ = ["join"]


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
