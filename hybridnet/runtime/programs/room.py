"""Room for what a program makes, looked for before it is given anything.

XLA allocates the memory of a program when it has taken over that of its inputs, on CPUs when it
runs at last: where that fails, the weights of a training step are gone. On accelerators who asks
for memory that is not there may be told when the program has run, and all that it makes is lost.
And Linux promises more memory than there is, and ends the process when it is used. So large
programs are looked at before they are dispatched: whether their memory can be allocated, and
whether it is there.
"""

from __future__ import annotations

import math
import os
import weakref
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from operator import attrgetter
from time import perf_counter
from typing import Any, Final

from hybridnet.base.allocator import can_map, has_room, largest_block, release_memory
from hybridnet.base.context import Context
from hybridnet.base.errors import OutOfMemoryError
from hybridnet.base.host_array import DeviceArray
from hybridnet.base.lazy import jax
from hybridnet.base.memory_limits import MemoryLimit, address_space, tightest_limit

from ..platform.device_memory import memory_left
from ..segments.code import Code, result_types
from .equations import ClosedJaxpr
from .executable import innermost

__all__ = [
    "LARGE_BYTES",
    "LEAST_BYTES",
    "check_extents",
    "is_lack",
    "look_for_compiler",
    "look_for_room",
    "memory_of",
    "promise",
    "room_left",
    "tight_limit",
    "tight_limit_on",
]

#: Programs that allocate so much are large, for whoever asks.
LARGE_BYTES: Final = 32 << 20
#: What makes less is not looked at: a look takes some microseconds, which these have not.
LEAST_BYTES: Final = 8 << 20
# XLA counts bytes in 64 bits, and ends the process where an array has more.
_TOO_MANY_BYTES: Final = 1 << 63
# Operators that an error names.
_NAMED_OPERATORS: Final = 6
# What is asked for is nothing beside what was left less than so long ago: nobody looks again.
_FRESH_SECONDS: Final = 0.1  # to read the system's numbers takes some 100 us
_SHARE: Final = 16
# XLA ends the process where it cannot start a thread. One takes a heap of glibc's (64 MiB, found
# aligned among twice as many addresses) and a stack; its compiler takes some.
_THREAD_BYTES: Final = (2 * 64 + 8) << 20
_COMPILER_BYTES: Final = 2 * _THREAD_BYTES
_left_of: Final = attrgetter("left")


def memory_of(code: Code, compiled: object, least: int = LARGE_BYTES) -> int:
    """Returns the bytes that a program allocates each time it runs; 0 if fewer than `least`."""
    try:
        found = innermost(compiled).memory_analysis()
        size = found.temp_size_in_bytes + found.output_size_in_bytes - found.alias_size_in_bytes
    except (AttributeError, RuntimeError, NotImplementedError, TypeError):
        return 0  # a program of another kind, or one that does not tell
    return int(size) if size >= least else 0


def check_extents(code: Code, closed: ClosedJaxpr) -> None:
    """Sees that XLA can count the bytes of every array of a program, axes of size 0 left out.

    Args:
        code: the program.
        closed: what it was traced to.

    Raises:
        OutOfMemoryError: it cannot.
    """
    for equation in closed.jaxpr.eqns:
        for variable in equation.outvars:
            kind = variable.aval
            if not isinstance(kind, jax.core.ShapedArray) or not kind.shape:
                continue
            if math.prod(filter(None, kind.shape)) * kind.dtype.itemsize >= _TOO_MANY_BYTES:
                raise OutOfMemoryError(
                    f"{_named(code)} on {code.ctx}: an array must take fewer than 2**63 bytes, got "
                    f"shape {kind.shape} of {kind.dtype.name}"
                )


def _named(code: Code) -> str:
    names = list(dict.fromkeys(call.name for call, _ in code.instructions))
    more = f" and {len(names) - _NAMED_OPERATORS} more" if len(names) > _NAMED_OPERATORS else ""
    return f"{', '.join(names[:_NAMED_OPERATORS])}{more}"


def is_lack(error: BaseException | None) -> bool:
    """Whether an error, Python's or XLA's, says that there was not enough memory."""
    if isinstance(error, MemoryError):
        return True
    return isinstance(error, RuntimeError) and "RESOURCE_EXHAUSTED" in str(error)


def look_for_room(code: Code, size: int, compiled: object = None) -> None:
    """Sees that a program's memory can be had.

    Args:
        code: the structure.
        size: bytes that it needs beside its inputs.
        compiled: its executable, if it has one.

    Raises:
        OutOfMemoryError: it cannot; nothing has happened.
    """
    limit = tight_limit_on(code.ctx, size)
    if limit is not None:
        needs, results = (f"{n / 2**20:,.0f} MiB" for n in (size, _result_bytes(code)))
        error = OutOfMemoryError(
            f"{_named(code)} on {code.ctx}: needs {needs} beside its inputs "
            f"({results} of it for results), which the process cannot get; no array was changed: "
            "go on with smaller batches, or drop arrays"
        )
        error.needed, error.limit, error.structure = size, limit, code
        error.planned = _planned(compiled)
        raise error


def look_for_compiler(code: Code) -> None:
    """Sees that XLA can compile a structure: where it cannot start a thread, it ends the process.

    Raises:
        OutOfMemoryError: it cannot.
    """
    if address_space() and not can_map(_COMPILER_BYTES):
        release_memory()
        if not can_map(_COMPILER_BYTES):
            error = OutOfMemoryError(
                f"{_named(code)} on {code.ctx}: compiling it needs {_COMPILER_BYTES >> 20} MiB of "
                "addresses, which the process cannot get; go on with smaller batches, or drop "
                "arrays, or raise the limit (ulimit -v)"
            )
            error.limit, error.structure = _block(_COMPILER_BYTES), code
            raise error


class _Known:
    """The free memory that the system reported last, and until when that is taken to be so."""

    left = 0
    until = 0.0


_known: Final = _Known()


# The programs that were found room for and may not have taken it yet: bytes, and an array each
# makes. Pages are given out when they are written, so that the system does not count them before.
_promised: Final[deque[tuple[int, weakref.ref[Any]]]] = deque(maxlen=64)


def promise(size: int, outputs: Sequence[DeviceArray]) -> None:
    """Notes that a program which was found room for was dispatched, and what it makes."""
    if outputs and size:
        _promised.append((size, weakref.ref(outputs[0])))


def _under_way(*, wait: bool = False) -> int:
    """Returns the bytes that were promised to programs which XLA has not run yet.

    Args:
        wait: whether to wait until it has, and there are none.
    """
    size = 0
    for entry in list(_promised):
        array = entry[1]()
        if array is not None and wait:
            with suppress(RuntimeError):  # it failed, or was given away: who reads it is told
                array.block_until_ready()
        elif array is not None and not (array.is_deleted() or array.is_ready()):
            size += entry[0]
            continue
        with suppress(ValueError):  # another thread was quicker
            _promised.remove(entry)
    return size


def tight_limit_on(ctx: Context, size: int) -> MemoryLimit | None:
    """Returns the limit of a context's memory that does not leave so many bytes; None: they fit.

    On accelerators XLA allocates a program's memory when it is dispatched, so that what others are
    still to take counts already.
    """
    if not ctx.is_accelerator:
        return tight_limit(size)
    limit = memory_left(ctx)
    return limit if limit is not None and size > limit.left else None


def tight_limit(size: int) -> MemoryLimit | None:
    """Returns the limit that does not leave so many bytes; None if they can be had.

    Where it is tight, what the C library keeps of freed memory is given back first: it may lie in
    pieces, and nobody knows how much of it has pages.
    """
    if not has_room(size + _reserve()):
        return _block(size)
    if size <= _known.left and perf_counter() < _known.until:
        return None
    limit = tightest_limit()
    if limit is not None and size + _under_way() > limit.left:
        _under_way(wait=True)
        release_memory()
        limit = tightest_limit()
        if limit is not None and size > limit.left:
            return limit
    elif limit is not None:
        _known.left, _known.until = limit.left // _SHARE, perf_counter() + _FRESH_SECONDS
    return None


def room_left(size: int) -> MemoryLimit | None:
    """Returns the limit that leaves least now; None where the system tells of none.

    Args:
        size: how many bytes are wanted; whether more can be allocated is not looked at.
    """
    limits = [tightest_limit(), None if has_room(size + _reserve()) else _block(size)]
    return min((limit for limit in limits if limit is not None), key=_left_of, default=None)


def _block(size: int) -> MemoryLimit:
    """Returns the limit on what can be allocated in one block, of which there is less than so."""
    addresses = address_space()
    name = "the limit of address space (ulimit -v)" if addresses else "what the system promises"
    reserve = _reserve()
    return MemoryLimit(name, addresses, max(largest_block(size + reserve) - reserve, 0))


def _reserve() -> int:
    """Returns the bytes that must stay free for libraries; 0 where addresses have no limit."""
    return _THREAD_BYTES if address_space() else 0


def _result_bytes(code: Code) -> int:
    types = result_types(code)
    return sum(math.prod(types[i].shape) * types[i].dtype.itemsize for i in code.outputs)


def _planned(compiled: object) -> str:
    """Returns what XLA says that a program needs, in words; empty where it does not tell."""
    try:
        found = innermost(compiled).memory_analysis()
        numbers = (
            *(found.temp_size_in_bytes, found.output_size_in_bytes),
            *(found.alias_size_in_bytes, found.argument_size_in_bytes),
        )
    except (AttributeError, RuntimeError, NotImplementedError, TypeError):
        return ""
    temporary, results, reused, inputs = (f"{n / 2**20:,.0f} MiB" for n in numbers)
    return (
        f"{temporary} for what it computes on the way, {results} for results "
        f"({reused} of them in the memory of inputs), beside {inputs} of inputs"
    )


def _after_fork_in_child() -> None:
    _known.until = 0.0
    _promised.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
