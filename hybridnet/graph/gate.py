"""`Gate`: passes values on, but not before some other values have been computed.

To save memory, a backward pass may compute results of the forward pass again. But a compiler sees
that both are the same computation: it would do it once and keep the results, and no memory would be
saved. What has passed through a gate is another value to the compiler, and is computed later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np

from hybridnet.base.lazy import jnp, lax
from hybridnet.ops.core import Arrays, Backward, Call, Operand, Types

_UNSIGNED: Final = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


@final
class _Gate(Call):
    """Returns its first inputs as soon as all its inputs are there."""

    __slots__ = ()
    name = "_gate"

    def __init__(self, count: int) -> None:
        super().__init__(count)

    def facts(self) -> Sequence[object]:
        """The number of values that pass."""
        return (self.num_outputs,)

    def infer(self, types: Types) -> Types:
        """The types of what passes."""
        return types[: self.num_outputs]

    def lower(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """XLA's barrier; XLA for CPUs may drop that early, so there it is made of arithmetic."""
        count = self.num_outputs
        if platform != "cpu":
            passed: tuple[object, ...] = lax.optimization_barrier(tuple(operands))[:count]
            return passed
        signs = [_never(array) for array in operands[count:] if array.size]
        if not signs:
            return operands[:count]
        closed = jnp.stack(signs).any()
        return [jnp.where(closed, jnp.zeros_like(array), array) for array in operands[:count]]

    def gradient(self, back: Backward) -> Sequence[Operand | None]:
        """Returns the gradient: that of the outputs goes through to the inputs that pass."""
        return [*back.grads, *([None] * (len(back.inputs) - self.num_outputs))]


def _never(array: Any) -> Any:
    """Returns False, computed from an array's first element in a way that XLA does not see through.

    A number has no more bits set than it has bits.
    """
    first = lax.slice(array, (0,) * array.ndim, (1,) * array.ndim).reshape(())
    if first.dtype == np.bool_:
        first = first.astype(np.uint8)
    elif jnp.iscomplexobj(first):
        first = first.real
    size = first.dtype.itemsize
    bits = lax.bitcast_convert_type(first, _UNSIGNED[size])
    return lax.population_count(bits) > 8 * size


#: One for each number of values: programs are found by the identity of their calls.
_gates: Final[dict[int, _Gate]] = {}


def gate(count: int) -> Call:
    """Returns the call whose first `count` inputs pass when all its inputs are there."""
    return _gates.get(count) or _gates.setdefault(count, _Gate(count))


def is_gate(call: Call) -> bool:
    """Whether a call was made by `gate`."""
    return isinstance(call, _Gate)
