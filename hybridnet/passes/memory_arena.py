"""`Arena`: memory from which pieces are taken and given back, in a plan."""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import final


@final
class Arena:
    """Memory that grows as needed. A piece is put into the smallest hole that holds it.

    Each step takes logarithmic time in the number of holes.

    Attributes:
        size: bytes in use so far.
    """

    def __init__(self) -> None:
        self.size = 0
        #: (bytes, offset) of the holes, sorted; no two of them touch.
        self._holes: list[tuple[int, int]] = []
        #: Offset -> bytes of the hole that begins, or ends, there.
        self._from: dict[int, int] = {}
        self._to: dict[int, int] = {}

    def take(self, size: int) -> int:
        """Returns the offset of `size` bytes that nothing else uses."""
        index = bisect_left(self._holes, (size, 0))
        if index < len(self._holes):
            whole, offset = self._holes[index]
            self._remove(offset, whole)
            if whole > size:
                self._add(offset + size, whole - size)
            return offset
        # A hole at the end grows.
        last = self._to.get(self.size, 0)
        offset = self.size - last
        if last:
            self._remove(offset, last)
        self.size = offset + size
        return offset

    def give_back(self, offset: int, size: int) -> None:
        """Takes back `size` bytes at an offset that `take` returned."""
        before = self._to.get(offset, 0)
        if before:
            self._remove(offset - before, before)
        after = self._from.get(offset + size, 0)
        if after:
            self._remove(offset + size, after)
        self._add(offset - before, before + size + after)

    def _add(self, offset: int, size: int) -> None:
        insort(self._holes, (size, offset))
        self._from[offset] = self._to[offset + size] = size

    def _remove(self, offset: int, size: int) -> None:
        del self._holes[bisect_left(self._holes, (size, offset))]
        del self._from[offset], self._to[offset + size]
