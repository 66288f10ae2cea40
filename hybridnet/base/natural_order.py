"""The natural order of names: numbers in them count as numbers, and dense9 comes before dense10.

Layers have their names from counters that go on for as long as a process runs. As text dense10
comes before dense9, so that the same network would have its weights in one order as the layers 0
and 1 of a process, and in another as its layers 9 and 10. In natural order the two come out alike.
"""

from __future__ import annotations

import re

__all__ = ["natural_key"]


def natural_key(name: str) -> list[str | int]:
    """Returns what names are sorted by: texts and numbers in turn, ["dense", 10, ""] of dense10."""
    return [int(x) if x.isdecimal() else x for x in re.split("([0-9]+)", name)]
