"""Dispatching a session's program that is compiled, without recording it.

Small arrays that are fed go to XLA as they are: making JAX arrays of them first takes ten times as
long as the dispatch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from hybridnet.ndarray import array
from hybridnet.runtime.record import recorder
from hybridnet.runtime.record.prepared import PreparedCall
from hybridnet.runtime.segments.segment import Value

from .step import SessionProgram

__all__ = ["dispatch"]

#: Larger arrays are copied into memory that XLA takes as its own, bytes.
_SMALL: Final = 1 << 20
#: Dtypes that JAX narrows, unless it is told not to.
_WIDE: Final = frozenset(map(np.dtype, ("float64", "int64")))


def dispatch(
    program: SessionProgram, given: Sequence[Any], state: Value | None
) -> list[Value] | None:
    """Runs a program.

    Args:
        program: what runs.
        given: the inputs of its step, NumPy arrays and NDArrays.
        state: of the random generator, if it draws.

    Returns:
        Its outputs; None where it has to be recorded, or is on several devices.

    Raises:
        OpError: it failed.
    """
    if program.parts is not None:
        return None
    prepared = program.prepared or _prepare(program)
    if prepared is None:
        return None
    recorder.mark()
    arrays: list[Any] = []
    hosts = wide = False
    for number in program.reads:
        one = given[number]
        if type(one) is np.ndarray:
            if program.takes_arrays_of_numpy and one.nbytes <= _SMALL:
                arrays.append(one.copy())  # whose it is may change it at once
                hosts = True
                wide = wide or one.dtype in _WIDE
                continue
            one = array(one, program.ctx, one.dtype)
        elif one.context is not program.ctx:
            return None
        arrays.append(one.read().array)
    if state is not None:
        arrays.append(state.array)
    made = prepared(arrays, wide=wide)
    if made is None and hosts:
        program.takes_arrays_of_numpy = False
    return made


def _prepare(program: SessionProgram) -> PreparedCall | None:
    call = program.call
    count = len(call.input_types)
    program.prepared = PreparedCall.pure(
        program.ctx, call, call.input_types, program.scalars, count, range(count)
    )
    return program.prepared
