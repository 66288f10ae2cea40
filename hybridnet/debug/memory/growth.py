"""`MemoryGrowth`: what grew from one snapshot of memory to another, by line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, final

from hybridnet.runtime.watching import LiveArray

from .sums import LineSum, count_of, size_of, sums_by_line

__all__ = ["MemoryGrowth", "growth_of"]

_ROWS: Final = 20


@final
@dataclass(frozen=True, slots=True)
class MemoryGrowth:
    """The growth of memory from one snapshot to a later one, by line; printed, it is a table.

    Attributes:
        lines: of each line whose arrays became more or fewer, how many bytes and arrays they are
            more (fewer: below 0); what grew most comes first.
    """

    lines: Sequence[LineSum]

    @property
    def nbytes(self) -> int:
        """The number of bytes by which all arrays grew."""
        return sum(one.nbytes for one in self.lines)

    def __str__(self) -> str:
        total = count_of(sum(one.number for one in self.lines), "+")
        text = [f"{size_of(self.nbytes, '+')}  all in all, {total}"]
        text += [
            f"{size_of(one.nbytes, '+')}  {one.title}, {count_of(one.number, '+')}"
            for one in self.lines[:_ROWS]
        ]
        if len(self.lines) > _ROWS:
            more = self.lines[_ROWS:]
            text.append(
                f"{size_of(sum(one.nbytes for one in more), '+')}  in {len(more)} more lines"
            )
        return "\n".join(text)


def growth_of(older: Iterable[LiveArray], newer: Iterable[LiveArray]) -> MemoryGrowth:
    """Returns what grew from some arrays to others, by line."""
    before = {one.title: one for one in sums_by_line(older)}
    after = {one.title: one for one in sums_by_line(newer)}
    found = []
    for title in {**before, **after}:
        nothing = LineSum(title, 0, 0)
        old, new = before.get(title, nothing), after.get(title, nothing)
        if old != new:
            found.append(LineSum(title, new.nbytes - old.nbytes, new.number - old.number))
    return MemoryGrowth(sorted(found, key=lambda one: (-one.nbytes, -one.number, one.title)))
