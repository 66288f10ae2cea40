"""Executables, wrappers of them, and the memory that they take."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["ExecutableWrapper", "innermost", "last_wrapper", "size_of"]

# Host memory of a program of XLA:CPU, measured with mallinfo(3): some of its own, and so many bytes
# for each byte of its optimized HLO as a protocol buffer. (20 to 30 in programs of 3 to 133
# operators; machine code, thunks, buffer assignment, and the HLO itself, which XLA keeps.)
_FIXED: Final = 1 << 17
_PER_BYTE: Final = 24


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


def size_of(compiled: Any) -> int:
    """Returns about how many bytes of host memory an executable takes for itself."""
    try:
        modules = innermost(compiled).runtime_executable().hlo_modules()
        return _FIXED + _PER_BYTE * sum(len(m.as_serialized_hlo_module_proto()) for m in modules)
    except (AttributeError, RuntimeError, NotImplementedError):  # one that does not tell
        return _FIXED
