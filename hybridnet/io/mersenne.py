"""Random numbers as C++ draws them, so that equal seeds give MXNet's orders and crops.

The generator is ``std::mt19937``, which NumPy has as well. How numbers of a range are made of its
bits, C++ leaves to its libraries; this is what GNU's did before version 7, with which MXNet's
packages were built.
"""

from __future__ import annotations

import math
from typing import Any, Final, final

import numpy as np

__all__ = ["MersenneTwister"]

_MAX_UINT32: Final = 2**32 - 1
_STEP: Final = 2.0**-32
# Numbers that are taken from NumPy at a time: a few first, as most images need no more of a seed.
_FIRST_NUMBERS: Final = 4
_LATER_NUMBERS: Final = 64


@final
class MersenneTwister:
    """``std::mt19937`` and the distributions of the standard library on it.

    Args:
        seed: its lower 32 bits count.
    """

    def __init__(self, seed: int) -> None:
        self._bits: Any = np.random.MT19937(0)
        self.seed(seed)

    def seed(self, seed: int) -> None:
        """Begins the numbers of a seed, when the first of them is wanted."""
        self._begins: int | None = seed & _MAX_UINT32
        self._ahead: list[int] = []
        self._block = _FIRST_NUMBERS

    def raw(self) -> int:
        """Returns 32 bits."""
        if not self._ahead:
            if self._begins is not None:
                self._bits._legacy_seeding(self._begins)
                self._begins = None
            self._ahead = self._bits.random_raw(self._block).tolist()
            self._ahead.reverse()
            self._block = min(2 * self._block, _LATER_NUMBERS)
        return self._ahead.pop()

    def integer(self, least: int, most: int) -> int:
        """Returns a number from `least` to `most`, both included."""
        scale = _MAX_UINT32 // (most - least + 1)
        past = (most - least + 1) * scale
        while (drawn := self.raw()) >= past:
            pass
        return least + drawn // scale

    def unit(self) -> float:
        """Returns a number from 0 to below 1: the float32 of C++, before it is rounded."""
        return self.raw() * _STEP

    def real(self, least: float, most: float) -> float:
        """Returns a number from `least` to below `most`."""
        return self.unit() * (most - least) + least

    def coin(self) -> bool:
        """Returns true or false, with equal chances."""
        low, high = self.raw(), self.raw()
        return (low + high * 2**32) / 2**64 < 0.5

    def normals(self, count: int, deviation: float) -> list[float]:
        """Returns numbers of a normal distribution about 0: Marsaglia's polar method."""
        made: list[float] = []
        while len(made) < count:
            while True:
                x = 2 * self.unit() - 1
                y = 2 * self.unit() - 1
                square = x * x + y * y
                if 0 < square <= 1:
                    break
            factor = math.sqrt(-2 * math.log(square) / square) * deviation
            made += [y * factor, x * factor]
        return made[:count]

    def shuffled(self, count: int) -> list[int]:
        """Returns the numbers below `count` in a random order: ``std::shuffle``."""
        order = list(range(count))
        for place in range(1, count):
            other = self.integer(0, place)
            order[place], order[other] = order[other], order[place]
        return order
