"""Lab 4: operators are joined along what they read, as long as that makes no circle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def groups(operators: Sequence[Any]) -> list[list[Any]]:
    """Returns the operators that become one, one list for each group."""
    units = [[operator] for operator in operators]
    home = {operator: unit for unit in units for operator in unit}
    # What is joined once is never parted, and what could not be joined once never can be: each
    # read needs to be looked at one time only.
    for operator in operators:
        for source in operator.inputs:
            first, second = home[source], home[operator]
            if first is not second and _fits(first, second) and not _circle(first, second, home):
                first += second
                units.remove(second)
                home.update((moved, first) for moved in second)
    return [unit for unit in units if len(unit) > 1]


def _fits(first: list[Any], second: list[Any]) -> bool:
    """Whether two groups, of which the second reads the first, can be one launch."""
    both = [*first, *second]
    if any(operator.kind == "other" for operator in both):
        return False
    if len({operator.shape for operator in both}) > 1:
        return False
    heavy = [operator for operator in both if operator.kind == "heavy"]
    if len(heavy) > 1:
        return False
    # It comes first: what it reads must be there before the group begins.
    return not any(source in both for operator in heavy for source in operator.inputs)


def _circle(first: list[Any], second: list[Any], home: dict[Any, list[Any]]) -> bool:
    """Whether a way leads from one group to the other through others: both would wait."""
    return _way(first, second, home) or _way(second, first, home)


def _way(start: list[Any], end: list[Any], home: dict[Any, list[Any]]) -> bool:
    """Whether the end reads, through at least one other group, what the start makes."""
    looked_at = [end]
    waiting = [home[source] for operator in end for source in operator.inputs]
    waiting = [unit for unit in waiting if unit is not start]
    while waiting:
        unit = waiting.pop()
        if unit is start:
            return True
        if not any(unit is one for one in looked_at):
            looked_at.append(unit)
            waiting += [home[source] for operator in unit for source in operator.inputs]
    return False
