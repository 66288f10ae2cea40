"""Checks of launches: those that are asked for in debugging, and those that are always made."""

from __future__ import annotations

import atexit
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from hybridnet.base import config
from hybridnet.base.host_array import HostArray

from .checks.asked import INDICES as INDICES
from .checks.asked import NANS as NANS
from .checks.asked import ask, asked
from .checks.culprit import require_finite as require_finite
from .checks.opened import Opened as Opened
from .checks.opened import OpenedCall as OpenedCall
from .checks.outside import require_inside as require_inside
from .checks.positions import PositionRow as PositionRow
from .record import recorder
from .record.answers import forget, forget_last_launch, look_at_answers
from .record.answers import last_launch as last_launch
from .record.answers import note_positions as note_positions

__all__ = [
    "INDICES",
    "NANS",
    "Opened",
    "OpenedCall",
    "PositionRow",
    "ask_in_whole_program",
    "asked_now",
    "asking",
    "asks",
    "at_hand",
    "last_launch",
    "note_positions",
    "require_finite",
    "require_inside",
]


_BY_NAME: Final = {"nans": NANS, "indices": INDICES}


def asks(question: int) -> bool:
    """Whether somebody asks a question."""
    return bool(asked.mode & question)


def at_hand(array: Any) -> bool:
    """Whether the values of an array can be looked at without waiting, and without a copy."""
    if type(array) is HostArray:
        return True
    return bool(array.is_ready()) and next(iter(array.devices())).platform == "cpu"


def asked_now() -> list[str]:
    """Returns what is asked, by the names that HYBRIDNET_DEBUG takes."""
    return [name for name, question in _BY_NAME.items() if asks(question)]


def ask_in_whole_program() -> None:
    """Asks what HYBRIDNET_DEBUG says, and at the end of the program looks at what is left."""
    new = [name for name in config.debug() if name in _BY_NAME and name not in asked_now()]
    for name in new:
        ask(_BY_NAME[name], 1)
    if new:
        atexit.register(_finish)


def _finish() -> None:
    recorder.flush_all()
    look_at_answers(everything=True, wait=True)


@contextmanager
def asking(question: int) -> Iterator[None]:
    """A block in which a question is asked of all launches.

    Args:
        question: `NANS` or `INDICES`.

    Raises:
        OpError: the answer of one of them, at the latest at the end.
    """
    recorder.flush_all()
    if not asked.mode:
        forget_last_launch()
    ask(question, 1)
    try:
        yield
        _finish()
    finally:
        ask(question, -1)
        if not asked.mode:
            forget()


ask_in_whole_program()
