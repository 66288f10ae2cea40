"""Sums of arrays by the lines that made them, and sizes in words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from hybridnet.runtime.watching import LiveArray

__all__ = ["LineSum", "count_of", "group_of", "size_of", "sums_by_line"]


class LineSum(NamedTuple):
    """The arrays of one line.

    Attributes:
        title: the line, such as ``train.py:12``; of arrays whose line was not noted their kind.
        nbytes: of all of them.
        number: how many they are.
    """

    title: str
    nbytes: int
    number: int


def group_of(array: LiveArray) -> str:
    """Returns the title of the line that an array is counted to."""
    return array.line or f"{array.kind} (line not noted)"


def sums_by_line(arrays: Iterable[LiveArray]) -> list[LineSum]:
    """Returns the bytes and the number of the arrays of each line, the most bytes first."""
    sums: dict[str, list[int]] = {}
    for array in arrays:
        sizes = sums.setdefault(group_of(array), [0, 0])
        sizes[0] += array.nbytes
        sizes[1] += 1
    found = [LineSum(title, *sizes) for title, sizes in sums.items()]
    return sorted(found, key=lambda one: (-one.nbytes, -one.number, one.title))


def size_of(nbytes: int, sign: str = "") -> str:
    """Returns bytes as text of 12 characters; `sign` is "+" where it is to have one."""
    size, unit = float(nbytes), "B"
    for larger in ("KiB", "MiB", "GiB"):
        if abs(size) < 1000:
            break
        size, unit = size / 1024, larger
    digits = 0 if unit == "B" else 2
    return f"{size:{sign}8,.{digits}f} {unit:<3}"


def count_of(number: int, sign: str = "") -> str:
    """Returns a number of arrays as text."""
    return f"{number:{sign},} array{'' if abs(number) == 1 else 's'}"
