"""Questions about many arrays at once: asked one by one they take a step most of its time."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

from hybridnet.runtime.recording import Value
from hybridnet.tape import Edge

from ._host import AbstractArray

__all__ = ["are_dense", "edge_of", "stamp_of"]

# For `map`: these run no line of Python's for each array.
#: Returns the `NDArray.edge` of an array.
edge_of: Final[Callable[[Any], Edge | None]] = attrgetter("_edge")
#: Returns the `NDArray.stamp` of a dense array.
stamp_of: Final[Callable[[Any], Value]] = attrgetter("_storage.value")


@lru_cache(maxsize=128)
def are_dense(kinds: frozenset[type]) -> bool:
    """Whether all arrays of some classes are of storage type 'default'.

    Args:
        kinds: ``frozenset(map(type, arrays))``, which is one class or two.
    """
    return {getattr(kind, "stype", None) for kind in kinds} == {AbstractArray.stype}
