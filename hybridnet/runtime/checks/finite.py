"""`FiniteCall`: whether arrays are finite, computed where they are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, final
from weakref import WeakValueDictionary

import numpy as np

from hybridnet.base.dtype import BOOL
from hybridnet.base.lazy import jnp
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.core import Arrays, Backward, Call, Types, only

__all__ = ["finite_call"]


@final
class FiniteCall(Call):
    """Tells of each of some arrays of floats whether all its elements are finite, bool[arrays]."""

    __slots__ = ("count",)
    name = "_all_finite_each"

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    def facts(self) -> Sequence[object]:
        """The number of arrays that it takes."""
        return (self.count,)

    def infer(self, types: Types) -> Types:
        """One bool for each."""
        return (tensor_type((self.count,), BOOL),)

    def lower(self, platform: str, operands: Arrays, scalars: Arrays) -> Arrays:
        """By sums of squares, which a library computes as fast as memory can be read.

        A sum that overflows tells of a fault that is none; then who looks for it finds nobody.
        """
        return [jnp.stack([_is_finite(array) for array in operands])]

    def evaluate(self, operands: Arrays, scalars: Arrays) -> Arrays:
        """By NumPy."""
        return [np.array([bool(np.isfinite(array).all()) for array in operands])]

    def gradient(self, back: Backward) -> Sequence[Any]:
        """There is none."""
        return [None] * len(back.inputs)


def _is_finite(array: Any) -> Any:
    if not array.size:
        return jnp.asarray(True)
    flat = array.reshape(-1)
    wide = jnp.promote_types(array.dtype, np.float32)
    return jnp.isfinite(jnp.dot(flat, flat, preferred_element_type=wide))


_calls: Final[WeakValueDictionary[tuple[int], FiniteCall]] = WeakValueDictionary()


def finite_call(count: int) -> FiniteCall:
    """Returns the call for so many arrays."""
    call: FiniteCall = only(_calls, (count,), FiniteCall)
    return call
