"""What launches are asked while somebody debugs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .checks.asked import INDICES as INDICES
from .checks.asked import NANS as NANS
from .checks.asked import ask, asked
from .record import recorder
from .record.answers import forget, look_at_answers

__all__ = ["INDICES", "NANS", "asking"]


@contextmanager
def asking(question: int) -> Iterator[None]:
    """A block in which a question is asked of all launches.

    Args:
        question: `NANS` or `INDICES`.

    Raises:
        OpError: the answer of one of them, at the latest at the end.
    """
    recorder.flush_all()
    ask(question, 1)
    try:
        yield
        recorder.flush_all()
        look_at_answers(everything=True, wait=True)
    finally:
        ask(question, -1)
        if not asked.mode:
            forget()
