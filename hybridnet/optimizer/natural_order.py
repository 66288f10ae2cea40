"""The order in which states are saved: that of their weights' names, with numbers as numbers.

A trainer numbers its weights in the order of their names, as text, as MXNet's does. But layers have
their names from counters that go on for as long as a process runs, and as text dense10 comes before
dense9. So the same network has its weights in one order as layers 0 and 1 of a process, and in
another as layers 9 and 10; where their shapes are equal, states would go to the other's weight
without a word. In natural order the two come out alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["natural_numbers"]


def natural_numbers(params: Mapping[Any, Any], *, whatever_order: bool = False) -> dict[Any, Any]:
    """Returns for each number of a parameter the one that it has in the natural order of names.

    Args:
        params: parameters, by number.
        whatever_order: also where they are not numbered by their names.

    Returns:
        Empty where they are not numbered by their names, but as somebody has listed them.
    """
    names = [params[number].name for number in params]
    if not whatever_order and names != sorted(names):
        return {}
    order = sorted(params, key=lambda number: _in_pieces(params[number].name))
    return dict(zip(order, params, strict=True))


def _in_pieces(name: str) -> list[Any]:
    """Returns a name as texts and numbers in turn: dense10 as ["dense", 10, ""]."""
    return [int(x) if x.isdecimal() else x for x in re.split("([0-9]+)", name)]
