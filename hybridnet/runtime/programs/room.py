"""Room for what a program makes, looked for before it is given anything.

XLA allocates the memory of a program when it has taken over that of its inputs, on CPUs when it
runs at last: where that fails, the weights of a training step are gone. So the memory of large
programs is asked for, and given back, before they are dispatched.
"""

from __future__ import annotations

import math
from typing import Any, Final

from hybridnet.base.allocator import has_room
from hybridnet.base.errors import OutOfMemoryError
from hybridnet.base.lazy import jax

from ..segments.code import Code
from .equations import ClosedJaxpr
from .executable import innermost

#: Programs that make less do without: a look takes some microseconds, which these have not.
_LARGE_BYTES: Final = 32 << 20
# XLA counts bytes in 64 bits, and ends the process where an array has more.
_COUNTED: Final = 1 << 63
# Operators that an error names.
_NAMED: Final = 6


def memory_of(code: Code, compiled: object) -> int:
    """Returns the bytes that a program allocates each time it runs; 0 if they are few."""
    if code.ctx.device_type == "gpu":
        return 0  # XLA allocates them before it takes anything over
    try:
        found = innermost(compiled).memory_analysis()
        size = found.temp_size_in_bytes + found.output_size_in_bytes - found.alias_size_in_bytes
    except (AttributeError, RuntimeError, NotImplementedError, TypeError):
        return 0  # a program of another kind, or one that does not tell
    return int(size) if size >= _LARGE_BYTES else 0


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
            if math.prod(filter(None, kind.shape)) * kind.dtype.itemsize >= _COUNTED:
                raise OutOfMemoryError(
                    f"{_named(code)} on {code.ctx}: an array must take fewer than 2**63 bytes, got "
                    f"shape {kind.shape} of {kind.dtype.name}"
                )


def _named(code: Code) -> str:
    names = list(dict.fromkeys(call.name for call, _ in code.instructions))
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def look_for_room(code: Code, size: int) -> None:
    """Sees that a program's memory can be allocated.

    Raises:
        OutOfMemoryError: it cannot; nothing has happened.
    """
    if not has_room(size):
        needs, results = (f"{n / 2**20:,.0f} MiB" for n in (size, _result_bytes(code)))
        raise OutOfMemoryError(
            f"{_named(code)} on {code.ctx}: needs {needs} beside its inputs "
            f"({results} of it for results), which the process cannot get; no array was changed: "
            "go on with smaller batches, or drop arrays"
        )


def _result_bytes(code: Code) -> int:
    types = list[Any]()
    for call, operands in code.instructions:
        types += call.infer(tuple(types[i] if i >= 0 else code.input_types[~i] for i in operands))
    return sum(math.prod(types[i].shape) * types[i].dtype.itemsize for i in code.outputs)
