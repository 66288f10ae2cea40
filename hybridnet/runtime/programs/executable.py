"""Executables, and what may stand in the place of one."""

from __future__ import annotations

from typing import Any

__all__ = ["ExecutableWrapper", "innermost", "last_wrapper"]


class ExecutableWrapper:
    """What stands where an executable was, and hands launches on to it.

    Subclasses are called as the executable is.

    Attributes:
        whole: the executable, or what stands around that in turn.
    """

    __slots__ = ("whole",)

    def __init__(self, whole: Any) -> None:
        self.whole = whole


def last_wrapper(compiled: Any) -> ExecutableWrapper | None:
    """Returns what stands right before an executable; None where nothing does."""
    found = None
    while isinstance(compiled, ExecutableWrapper):
        found, compiled = compiled, compiled.whole
    return found


def innermost(compiled: Any) -> Any:
    """Returns the executable itself, whatever stands before it."""
    found = last_wrapper(compiled)
    return compiled if found is None else found.whole
