"""Executables: how they are started, wrappers of them, and the memory that they take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import starmap
from types import FunctionType
from typing import Any, Final

from hybridnet.base.host_array import DeviceArray
from hybridnet.engine import handlers_put_off

#: Called with the inputs and an array of the scalars; returns the outputs.
Executable = Callable[..., "Sequence[DeviceArray]"]

# Host memory of a program of XLA:CPU, measured with mallinfo(3): some of its own, and so many bytes
# for each byte of its optimized HLO as a protocol buffer. (20 to 30 in programs of 3 to 133
# operators; machine code, thunks, buffer assignment, and the HLO itself, which XLA keeps.)
_FIXED_BYTES: Final = 1 << 17
_BYTES_PER_HLO_BYTE: Final = 24


class ExecutableWrapper:
    """Stands in an executable's place, and hands launches on to it.

    Attributes:
        whole: the executable, or another wrapper of it.
    """

    __slots__ = ("whole",)

    def __init__(self, whole: Executable) -> None:
        self.whole = whole

    def __call__(self, *arguments: Any) -> Sequence[DeviceArray]:
        """Starts the program; arguments and outputs are those of `whole`."""
        made: list[Sequence[DeviceArray]] = []
        self.start(arguments, made)
        return made[0]

    def start(self, arguments: Sequence[DeviceArray], made: list[Sequence[DeviceArray]]) -> None:
        """Starts the program; see the function `start`."""
        start(self.whole, arguments, made)


def start(
    compiled: Executable, arguments: Sequence[DeviceArray], made: list[Sequence[DeviceArray]]
) -> None:
    """Calls an executable, and appends the sequence of its outputs to a list.

    ``made.append(compiled(...))`` could lose them, and with them the arrays that the program
    overwrites: the exception of a signal's handler may come after the call and before they are in
    the list. `list.extend` makes the call and stores its result in one step of C, after which a
    handler runs at the earliest. While JAX calls the executable by code in Python, which it does
    the first time, handlers have to wait.
    """
    if isinstance(compiled, ExecutableWrapper):
        compiled.start(arguments, made)
        return
    call = getattr(compiled, "_call", None)  # see `direct`
    if type(call) is FunctionType:
        made.extend(starmap(call, (arguments,)))
        return
    with handlers_put_off():
        made.extend(starmap(compiled, (arguments,)))


def direct(compiled: Executable) -> Any:
    """Returns what JAX's object hands its calls on to, once it has been called.

    Returns:
        None if it was not called yet, or if that is not C++ (where a program calls back to Python).
    """
    call = getattr(compiled, "_call", None)
    return None if type(call) is FunctionType else call


def last_wrapper(compiled: Executable) -> ExecutableWrapper | None:
    """Returns the wrapper right around an executable; None where there is none."""
    found = None
    while isinstance(compiled, ExecutableWrapper):
        found, compiled = compiled, compiled.whole
    return found


def innermost(compiled: Any) -> Any:
    """Returns the executable itself, without its wrappers."""
    found = last_wrapper(compiled)
    return compiled if found is None else found.whole


def size_of(compiled: object) -> int:
    """Returns about how many bytes of host memory an executable takes for itself."""
    try:
        modules = innermost(compiled).runtime_executable().hlo_modules()
        return _FIXED_BYTES + _BYTES_PER_HLO_BYTE * sum(
            len(m.as_serialized_hlo_module_proto()) for m in modules
        )
    except (AttributeError, RuntimeError, NotImplementedError):  # one that does not tell
        return _FIXED_BYTES
