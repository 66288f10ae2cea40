"""Handlers of signals: told from what they interrupted, and kept from interrupting."""

from __future__ import annotations

import signal
import threading

# As `signal.getsignal`, but without making an enum of the answer: in a 60th of the time.
from _signal import getsignal  # type: ignore[import-not-found]
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import CodeType, FrameType
from typing import Any, Final

_NUMBERS: Final = tuple(map(int, signal.valid_signals()))


def raised_by_handler(error: BaseException) -> bool:
    """Whether the handler of a signal raised an exception: one written in Python, and set now."""
    codes = {_code_of(getsignal(number)) for number in _NUMBERS} - {None}
    trace = error.__traceback__
    while trace is not None and codes:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def _code_of(handler: object) -> CodeType | None:
    """The code that runs when a function, a method or another object is called; None if in C."""
    while isinstance(handler, partial):
        handler = handler.func
    code = getattr(handler, "__code__", None)
    if code is None and callable(handler):  # an object whose class has the code
        code = getattr(type(handler).__call__, "__code__", None)
    return code if isinstance(code, CodeType) else None


class _StandIns:
    """The stand-ins for handlers in a block: they note signals, and make them come again.

    Attributes:
        notes: whether a signal that comes is noted. Else its handler is called, for a stand-in may
            be left in its place: the handler of another signal raised while it was to be removed.
        came: the signals that were noted, in their order.
    """

    def __init__(self) -> None:
        self.notes = True
        self.came: list[int] = []

    def instead_of(self, handler: Callable[[int, FrameType | None], Any]) -> Callable[..., None]:
        """Returns what stands in for a handler."""

        def stand_in(number: int, frame: FrameType | None) -> None:
            if self.notes:
                self.came.append(number)
            else:
                signal.signal(number, handler)
                handler(number, frame)

        return stand_in


@contextmanager
def handlers_put_off() -> Iterator[None]:
    """A block in which no handler of a signal runs; it does when the block has ended.

    It is for code of others that must not be left by an exception. It takes some 10 us.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # handlers run in the main thread only
        return
    stand_ins = _StandIns()
    handlers = {number: getsignal(number) for number in _NUMBERS}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    try:
        for number, handler in handlers.items():
            signal.signal(number, stand_ins.instead_of(handler))
        yield
    finally:
        stand_ins.notes = False
        try:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        finally:
            for number in stand_ins.came:
                signal.raise_signal(number)
