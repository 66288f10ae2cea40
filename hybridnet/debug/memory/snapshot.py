"""`MemorySnapshot`: the arrays that were alive at one moment; and how they are summed by line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from hybridnet.runtime.watching import LiveArray, Memory, live_arrays
from hybridnet.runtime.watching import memory as process_memory

from .growth import MemoryGrowth, growth_of
from .page import memory_page
from .sums import LineSum, count_of, size_of, sums_by_line

__all__ = ["LineSum", "MemorySnapshot", "take"]

# Rows of the tables that are printed.
_LINES: Final = 10
_ARRAYS: Final = 10


@final
@dataclass(frozen=True, slots=True)
class MemorySnapshot:
    """The arrays that were alive at one moment; printed, it is a table.

    Attributes:
        arrays: each with its bytes, shape, dtype, context, the line that made it, and its names as
            a parameter or an optimizer's state; the largest first. Memory that several share is
            counted once.
        process: what the process used its memory for beside.
    """

    arrays: Sequence[LiveArray]
    process: Memory

    @property
    def nbytes(self) -> int:
        """The bytes of all arrays."""
        return sum(array.nbytes for array in self.arrays)

    def by_line(self) -> list[LineSum]:
        """Returns the bytes and the number of the arrays of each line, the most bytes first.

        Arrays whose lines were not noted are told apart by their kinds, such as ``float32[64,10]``.
        """
        return sums_by_line(self.arrays)

    def growth(self, older: MemorySnapshot) -> MemoryGrowth:
        """Returns what grew since an older snapshot, by line; ``newer - older`` is the same."""
        return growth_of(older.arrays, self.arrays)

    def __sub__(self, older: MemorySnapshot) -> MemoryGrowth:
        return self.growth(older)

    def __str__(self) -> str:
        text = [f"{size_of(self.nbytes)} in {count_of(len(self.arrays))}"]
        text += [f"{size_of(size)}  on {ctx}" for ctx, size in self.process.arrays.items()]
        text += ["", "by line"]
        sums = self.by_line()
        text += [
            f"{size_of(one.nbytes)}  {one.title}, {count_of(one.number)}" for one in sums[:_LINES]
        ]
        text += _rest([one.nbytes for one in sums[_LINES:]], "lines and kinds")
        text += ["", "largest arrays"]
        text += [f"{size_of(one.nbytes)}  {_described(one)}" for one in self.arrays[:_ARRAYS]]
        text += _rest([one.nbytes for one in self.arrays[_ARRAYS:]], "arrays")
        text += ["", "the process", str(self.process)]
        return "\n".join(text)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a page of HTML, whole in one file, on which one can click on lines and names.

        Args:
            path: the file, such as "memory.html".

        Raises:
            OSError: it cannot be written.
        """
        memory_page([self.arrays]).save(path)

    def _repr_html_(self) -> str:
        return memory_page([self.arrays])._repr_html_()


def take() -> MemorySnapshot:
    """Takes a snapshot."""
    return MemorySnapshot(live_arrays(), process_memory())


def _described(array: LiveArray) -> str:
    names = f"{', '.join(array.names)}: " if array.names else ""
    return f"{names}{array.kind} on {array.ctx}{f', {array.line}' if array.line else ''}"


def _rest(sizes: Sequence[int], what: str) -> list[str]:
    return [f"{size_of(sum(sizes))}  in {len(sizes):,} more {what}"] if sizes else []
