"""Exceptions that came out of the handler of a signal, and not out of what it interrupted."""

from __future__ import annotations

import signal
from functools import partial
from types import CodeType

__all__ = ["raised_by_handler"]


def raised_by_handler(error: BaseException) -> bool:
    """Whether the handler of a signal raised an exception: one written in Python, and set now."""
    codes = {_code_of(signal.getsignal(number)) for number in signal.valid_signals()} - {None}
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
