"""Who knows arrays by names, such as parameters: asked only when somebody looks at memory.

A class whose objects hold arrays says once that they do. Nothing is noted when an object is made:
who wants the names goes over the objects that are alive.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Protocol, TypeVar

__all__ = ["ArrayOwner", "owner_classes", "owns_arrays"]


class ArrayOwner(Protocol):
    """An object that knows arrays by names."""

    def named_arrays(self) -> Iterable[tuple[str, Any]]:
        """Returns the NDArrays that it holds, each with its name; waits for nothing."""


_Class = TypeVar("_Class", bound=type[ArrayOwner])

#: The classes that have said so; their subclasses do it as well.
owner_classes: Final[list[type]] = []


def owns_arrays(cls: _Class) -> _Class:
    """Says of a class that its objects know arrays by names; for use as a decorator."""
    owner_classes.append(cls)
    return cls
