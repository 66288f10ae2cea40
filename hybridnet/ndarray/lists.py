"""Questions about many arrays at once: asked one by one they take a step most of its time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hybridnet.runtime.recording import Value
from hybridnet.tape import Edge

from ._host import AbstractArray

__all__ = ["are_dense", "edges_of", "stamps_of"]


def are_dense(arrays: Iterable[Any]) -> bool:
    """Whether all arrays are of storage type 'default'."""
    # Their classes say it, of which there are one or two.
    kinds = {type(x) for x in arrays}
    return {getattr(kind, "stype", None) for kind in kinds} == {AbstractArray.stype}


def edges_of(arrays: Iterable[Any]) -> list[Edge | None]:
    """Returns the `NDArray.edge` of each array."""
    return [x._edge for x in arrays]


def stamps_of(arrays: Iterable[Any]) -> list[Value]:
    """Returns the `NDArray.stamp` of each dense array."""
    return [x._storage.value for x in arrays]
