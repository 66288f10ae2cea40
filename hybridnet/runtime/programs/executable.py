"""Executables, and wrappers of them."""

from __future__ import annotations

from typing import Any

__all__ = ["ExecutableWrapper", "innermost", "last_wrapper"]


class ExecutableWrapper:
    """A callable in an executable's place, which hands launches on to it.

    Subclasses are called as the executable is.

    Attributes:
        whole: the executable, or another wrapper of it.
    """

    __slots__ = ("whole",)

    def __init__(self, whole: Any) -> None:
        self.whole = whole


def last_wrapper(compiled: Any) -> ExecutableWrapper | None:
    """Returns the wrapper right around an executable; None where there is none."""
    found = None
    while isinstance(compiled, ExecutableWrapper):
        found, compiled = compiled, compiled.whole
    return found


def innermost(compiled: Any) -> Any:
    """Returns the executable itself, without its wrappers."""
    found = last_wrapper(compiled)
    return compiled if found is None else found.whole
