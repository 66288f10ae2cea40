"""The things that `for` loops of known length go over: ranges, rows of arrays, several of these."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, final

from hybridnet.ndarray import NDArray
from hybridnet.ops.core.registry import get

from .builtins import Together, get_item
from .number import to_number


@final
class RangeRows:
    """The numbers of a range.

    Attributes:
        count: how many there are.
    """

    def __init__(self, numbers: range) -> None:
        self._numbers = numbers
        self.count = len(numbers)

    def element(self, number: int) -> Any:
        """Returns an element as Python sees it."""
        return self._numbers[number]

    def dynamic(self, number: Any) -> Any:
        """Returns an element whose number is known only when the function runs."""
        return number * self._numbers.step + self._numbers.start

    def data(self, first: int) -> list[NDArray]:
        """Returns arrays whose rows are the elements from the first one on."""
        rest = self._numbers[first:]
        attrs = {"start": rest.start, "stop": rest.stop, "step": rest.step, "dtype": "int64"}
        return [NDArray.apply_operator(get("_arange"), (), attrs)]

    def built(self, rows: Iterator[NDArray], lasts: dict[int, object]) -> Any:
        """Returns an element in a turn of a loop in the graph.

        Args:
            rows: what stands for rows of `data`.
            lasts: gets the last element by the id of this one.
        """
        made = to_number(next(rows), "int64")
        lasts[id(made)] = self._numbers[-1]
        return made


@final
class ArrayRows:
    """The rows of an array; see `RangeRows`."""

    def __init__(self, array: NDArray) -> None:
        self._array = array
        self.count = len(array)

    def element(self, number: int) -> Any:
        """Returns a row, a view."""
        return self._array[number]

    def dynamic(self, number: object) -> Any:
        """Returns a row, a copy."""
        return get_item(self._array, number)

    def data(self, first: int) -> list[NDArray]:
        """Returns the rows from the first one on."""
        return [self._array[first:]]

    def built(self, rows: Iterator[NDArray], lasts: dict[int, object]) -> Any:
        """Returns what stands for a row."""
        made = next(rows)
        last = self._array[self.count - 1]
        if made.shape != last.shape:
            made = made.reshape(last.shape)
        lasts[id(made)] = last
        return made


@final
class TogetherRows:
    """The elements of `zip` and `enumerate`; see `RangeRows`."""

    def __init__(self, parts: Sequence[Rows]) -> None:
        self._parts = parts
        self.count: int = min(part.count for part in parts)

    def element(self, number: int) -> Any:
        """Returns the elements together."""
        return tuple(part.element(number) for part in self._parts)

    def dynamic(self, number: object) -> Any:
        """Returns the elements together."""
        return tuple(part.dynamic(number) for part in self._parts)

    def data(self, first: int) -> list[NDArray]:
        """Returns the rows of all, cut to the same number."""
        count = self.count - first
        return [array[:count] for part in self._parts for array in part.data(first)]

    def built(self, rows: Iterator[NDArray], lasts: dict[int, object]) -> Any:
        """Returns what stands for the elements."""
        return tuple(part.built(rows, lasts) for part in self._parts)


Rows = RangeRows | ArrayRows | TogetherRows


def rows_of(iterated: object) -> Rows | None:
    """Returns what a loop goes over, if a loop in the graph could."""
    if isinstance(iterated, range):
        return RangeRows(iterated)
    if isinstance(iterated, NDArray) and iterated.shape:
        return ArrayRows(iterated)
    if isinstance(iterated, Together):
        parts = [rows_of(part) for part in iterated.parts]
        found = [part for part in parts if part is not None]
        return TogetherRows(found) if len(found) == len(parts) else None
    return None
