"""A counter of the changes that make traces of blocks worth checking.

Hybridized blocks run traces, which hold on to the arrays and blocks that there were. Everything
that replaces one (a child or parameter that is added, an initialization, a cast, a move) counts
here, so that a block can tell by one comparison that nothing did.
"""

from __future__ import annotations

import itertools
from typing import Final, final


@final
class _Count:
    """The number of changes so far."""

    __slots__ = ("number",)

    def __init__(self) -> None:
        self.number = 0


#: Blocks compare its number at each call, without calling a function.
count: Final = _Count()
_numbers: Final = itertools.count(1)


def note() -> None:
    """Counts a change."""
    count.number = next(_numbers)
