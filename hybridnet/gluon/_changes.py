"""A counter of the changes that make traces of blocks worth checking.

Hybridized blocks run traces, which hold on to the arrays and blocks that there were. Everything
that replaces one (a child or parameter that is added, an initialization, a cast, a move) counts
here, so that a block can tell by one comparison that nothing did.
"""

from __future__ import annotations

import itertools
from typing import Final

__all__ = ["latest", "note"]

_numbers: Final = itertools.count(1)
_latest = 0


def note() -> None:
    """Counts a change."""
    global _latest
    _latest = next(_numbers)


def latest() -> int:
    """Returns the number of the last change."""
    return _latest
