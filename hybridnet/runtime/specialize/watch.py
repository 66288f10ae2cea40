"""`Watch`: tells which inputs of a program are the same arrays launch after launch."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Sequence
from typing import Any, Final, final

__all__ = ["LEAST_BYTES", "Watch"]

#: Inputs that stay the same count from this size on, together.
LEAST_BYTES: Final = 1 << 16
# Launches after which inputs are looked at first, and between the two looks that are compared; how
# much later that is done again, and the last time.
_BEGIN: Final = 8
_RARER: Final = 8
_LAST: Final = 4096


@final
class Watch:
    """Compares the inputs of launches of one program, a few times in its life.

    Networks are trained first and used later, so it looks again when there were many more.

    Attributes:
        next: the number of launches at which it looks next.
    """

    __slots__ = ("_begun", "_seen", "next")

    def __init__(self) -> None:
        self.next = _BEGIN
        self._begun = _BEGIN
        self._seen: list[Any] | None = None

    def look(self, launches: int, inputs: Sequence[Any], donated: Sequence[int]) -> tuple[int, ...]:
        """Looks at a launch; returns the inputs, by number, that have been the same for a while.

        Args:
            launches: how many there were.
            inputs: JAX arrays.
            donated: those, by number, that the program consumes.

        Returns:
            None of them where they are small, or it is not known yet.
        """
        seen = self._seen
        if seen is None or len(seen) != len(inputs):
            self._seen = [weakref.ref(array) for array in inputs]
            self.next = launches + _BEGIN
            return ()
        self._seen = None
        self._begun *= _RARER
        self.next = self._begun if self._begun <= _LAST else sys.maxsize
        slots = tuple(
            slot
            for slot, (ref, array) in enumerate(zip(seen, inputs, strict=True))
            if ref() is array and slot not in donated
        )
        if sum(inputs[slot].nbytes for slot in slots) < LEAST_BYTES:
            return ()
        self.next = sys.maxsize
        return slots
