"""Ctrl-C, of which none is lost.

Python raises KeyboardInterrupt wherever the main thread happens to be. In a callback of the garbage
collector, of which JAX has one, it is printed and dropped, and the program goes on. So each Ctrl-C
is noted too, and loops ask `check` whether there was one.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["check", "interruptible"]

_noted = False


def _handle(number: int, frame: Any) -> None:
    global _noted
    _noted = True
    raise KeyboardInterrupt


def _report(unraisable: Any) -> None:
    if not isinstance(unraisable.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)


@contextmanager
def interruptible() -> Iterator[None]:
    """Notes each Ctrl-C while the block runs; for the main thread, and without effect in others."""
    global _noted
    _noted = False
    try:
        before = signal.signal(signal.SIGINT, _handle)
    except ValueError:  # another thread: signals are not for it
        yield
        return
    hook, sys.unraisablehook = sys.unraisablehook, _report
    try:
        yield
    finally:
        sys.unraisablehook = hook
        signal.signal(signal.SIGINT, before)


def check() -> None:
    """Raises KeyboardInterrupt if there was a Ctrl-C since the block of `interruptible` began."""
    if _noted:
        raise KeyboardInterrupt
