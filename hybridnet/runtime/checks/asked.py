"""The debug checks that are asked of launches, in the whole process."""

from __future__ import annotations

from typing import Final, final

from hybridnet.base.locks import free_in_children
from hybridnet.engine import RLock

from ..observe import journal
from ..programs.program import replaced

__all__ = ["INDICES", "NANS", "ask", "asked"]

#: Whether what comes out is finite.
NANS: Final = 1
#: Whether positions are inside of arrays, also where an operator clips them.
INDICES: Final = 2


@final
class _Asked:
    """The number of scopes that ask each question.

    Attributes:
        mode: the questions that are asked, added up; 0 where there are none, which is all that
            launches look at then.
    """

    __slots__ = ("counts", "lock", "mode")

    def __init__(self) -> None:
        self.lock = free_in_children(RLock())
        self.counts = {NANS: 0, INDICES: 0}
        self.mode = 0


asked: Final = _Asked()


def ask(question: int, change: int) -> None:
    """Begins to ask a question of all launches (1), or takes that back (-1)."""
    with asked.lock:
        asked.counts[question] += change
        asked.mode = sum(question for question, count in asked.counts.items() if count)
        replaced[0] += 1  # what was prepared is prepared for other questions
    journal.note_lines(change)
