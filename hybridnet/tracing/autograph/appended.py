"""Rows that a loop of the graph has appended to a list, and `stack` of many of them.

Such rows are views of one array. Stacked one by one they would make a graph as long as the loop, so
runs of them go in as the array that they are rows of.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from hybridnet.ndarray import NDArray
from hybridnet.ops.core.registry import get

# Fewer rows are stacked as they are.
_FEW_ROWS: Final = 8


class _Row(NamedTuple):
    """A row: the array itself, that of which it is a row, its number, and what that held then."""

    row: NDArray
    whole: NDArray
    number: int
    stamp: object


class _RowMemory(threading.local):
    """The rows that this thread has appended, by their ids."""

    def __init__(self) -> None:
        self.rows: dict[int, _Row] = {}


_memory: Final = _RowMemory()


def forget_rows() -> None:
    """Forgets all rows: another function is traced next."""
    _memory.rows.clear()


def note_row(row: NDArray, whole: NDArray, number: int) -> None:
    """Notes that an array is a row of another."""
    _memory.rows[id(row)] = _Row(row, whole, number, whole.stamp())


def stacked(args: Sequence[Any], kwargs: Mapping[str, Any]) -> NDArray | None:
    """Returns ``stack(*args)`` by runs of rows; None where that is not worth it."""
    arrays = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
    if len(arrays) <= _FEW_ROWS or dict(kwargs) not in ({}, {"axis": 0}):
        return None
    first = arrays[0]
    if any(not isinstance(array, NDArray) or array.type is not first.type for array in arrays):
        return None
    parts: list[NDArray] = []
    place = 0
    while place < len(arrays):
        count, part = _run(arrays, place)
        parts.append(part)
        place += count
    if len(parts) > len(arrays) // 2:
        return None
    made: NDArray = first.apply_operator(get("Concat"), parts, {"dim": 0})
    return made


def _run(arrays: Sequence[NDArray], place: int) -> tuple[int, NDArray]:
    """Returns how many arrays from a place on are rows one after the other, and those as one."""
    begin = _known(arrays[place])
    if begin is None:
        array = arrays[place]
        made: NDArray = array.apply_operator(get("expand_dims"), (array,), {"axis": 0})
        return 1, made
    count = 1
    while place + count < len(arrays):
        found = _known(arrays[place + count])
        if found is None or found.whole is not begin.whole:
            break
        if found.number != begin.number + count:
            break
        count += 1
    part: NDArray = begin.whole[begin.number : begin.number + count]
    return count, part


def _known(array: NDArray) -> _Row | None:
    """Returns what is known of a row, if the memory has not been changed since."""
    found = _memory.rows.get(id(array))
    if found is None or found.whole.stamp() is not found.stamp:
        return None
    return found
