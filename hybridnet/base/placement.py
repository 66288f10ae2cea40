"""Placements: how an array lies on the devices of a mesh."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from .errors import ParameterError

__all__ = ["BROADCAST", "Placement", "Split", "Splits", "broadcast", "read_placement", "split"]


@dataclass(frozen=True, slots=True)
class Split:
    """Along an axis of a mesh, each device has its part of an axis of the array; see `split`."""

    axis: int | None

    def __repr__(self) -> str:
        return "broadcast" if self.axis is None else f"split({self.axis})"


#: Along an axis of a mesh, each device has the same.
BROADCAST: Final = Split(None)
broadcast: Final = BROADCAST


def split(axis: int) -> Split:
    """Returns the placement in which devices have equal parts of an array, in their order.

    Args:
        axis: of the array; negative ones count from the last.

    Examples:
        >>> mesh = hn.Mesh({"data": 2})
        >>> nd.ones((4, 3), ctx=mesh).to_placement(hn.parallel.split(0)).placement
        {'data': split(0)}
    """
    if not isinstance(axis, int) or isinstance(axis, bool):
        raise ParameterError(f"split: axis must be an integer, got {axis!r}")
    return Split(axis)


#: What says how an array lies on a mesh: for each axis of the mesh `split` of an axis of the array,
#: or `broadcast`; axes that are not named have `broadcast`. One by itself is for the first axis.
Placement = Mapping[str, Split] | Split
#: The same, read: pairs of an axis of the mesh and the axis of the array that it splits, from 0 on.
Splits = tuple[tuple[str, int], ...]


def read_placement(
    what: str, placement: Placement | None, axes: Mapping[str, int], shape: tuple[int, ...]
) -> Splits:
    """Returns which axes of a mesh split which of an array, after looking whether they can.

    Args:
        what: who asks, for messages.
        placement: what was asked; None for `broadcast`.
        axes: the names of the mesh's axes, with their sizes.
        shape: of the array.

    Raises:
        ParameterError: the mesh has no such axis, the array has none, or its size cannot be divided
            by the number of devices.
    """
    if placement is None:
        return ()
    if isinstance(placement, Split):
        placement = {next(iter(axes)): placement}
    if not isinstance(placement, Mapping):
        raise ParameterError(
            f"{what}: a placement must be split(axis), broadcast, or a dict of them by the names "
            f"of the mesh's axes, got {placement!r}"
        )
    pairs = []
    left = list(shape)
    for name, one in placement.items():
        if name not in axes:
            known = ", ".join(map(repr, axes))
            raise ParameterError(f"{what}: the mesh has no axis {name!r}; it has {known}")
        if not isinstance(one, Split):
            raise ParameterError(f"{what}: {name!r} must be split(axis) or broadcast, got {one!r}")
        if one.axis is None:
            continue
        if not -len(shape) <= one.axis < len(shape):
            raise ParameterError(f"{what}: {one} requires an array that has the axis, got {shape}")
        axis = one.axis % len(shape)
        if left[axis] % axes[name]:
            raise ParameterError(
                f"{what}: {name!r}: {one} requires a size that the {axes[name]} devices divide, "
                f"got {left[axis]} of shape {shape}; pad the array, or place it otherwise"
            )
        left[axis] //= axes[name]
        pairs.append((name, axis))
    return tuple(pairs)
