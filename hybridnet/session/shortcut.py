"""The short way to run a program again: the dispatch of what is compiled, and nothing else.

Small arrays that are fed go to XLA as they are: making JAX arrays of them first takes ten times as
long as the dispatch.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from hybridnet.base.errors import OpError
from hybridnet.base.lazy import jax
from hybridnet.ndarray import array
from hybridnet.runtime.direct import Direct
from hybridnet.runtime.segments.segment import Value

if TYPE_CHECKING:
    from .step import Program

__all__ = ["Shortcut"]

#: Larger arrays are copied into memory that XLA takes as its own, bytes.
_SMALL: Final = 1 << 20
#: Dtypes that JAX narrows, unless it is told not to.
_WIDE: Final = frozenset(map(np.dtype, ("float64", "int64")))


@final
class Shortcut:
    """The short way for one program, once it is compiled."""

    __slots__ = ("_direct", "_takes_host")

    def __init__(self) -> None:
        self._direct: Direct | None = None
        self._takes_host = True

    def run(
        self, program: Program, given: Sequence[Any], state: Value | None
    ) -> list[Value] | None:
        """Runs the program.

        Args:
            program: whose shortcut this is.
            given: the inputs of its step, NumPy arrays and NDArrays.
            state: of the random generator, if it draws.

        Returns:
            Its outputs; None where it must go the long way.
        """
        if program.parts is not None:
            return None
        call = program.call
        direct = self._direct
        if direct is None:
            direct = Direct.of(program.ctx, call, call.input_types, program.scalars)
            if direct is None:
                return None
            self._direct = direct
        arrays: list[Any] = []
        hosts = wide = False
        for number in program.reads:
            one = given[number]
            if type(one) is np.ndarray:
                if self._takes_host and one.nbytes <= _SMALL:
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
        if any(one is None for one in arrays):
            return None
        try:
            with jax.enable_x64(True) if wide else nullcontext():
                outputs = direct(arrays)
        except Exception as error:
            raise OpError(f"{call.name} on {program.ctx} failed: {error}") from error
        if outputs is None:
            self._takes_host = self._takes_host and not hosts
            return None
        pairs = zip(call.output_types, outputs, strict=True)
        return [Value(kind, one) for kind, one in pairs]
