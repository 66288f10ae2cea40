"""Ctrl-C is raised between the user's statements, not in the midst of ours.

Python runs the handler of a signal between any two instructions of the main thread, whoever wrote
them. A KeyboardInterrupt that strikes while a step is being recorded, or in a finalizer, would
leave the one half done and be swallowed by the other. So the handler looks at the stack (as Trio's
does): is the main thread inside hybridnet, the exception is raised as soon as the code that called
hybridnet goes on, at its next line or its next call. Waiting ends at once, and so does anything at
a second Ctrl-C.

This costs nothing until a signal comes: no flag is looked at, no region is marked.
"""

from __future__ import annotations

import dis
import gc
import signal
import sys
import threading

# As `signal.getsignal`, but without making an enum of the answer: in a 60th of the time.
from _signal import getsignal  # type: ignore[import-not-found]
from functools import lru_cache
from types import CodeType, FrameType
from typing import Any, Final, NoReturn

from hybridnet.engine import raised_by_handler

_OWN: Final = "hybridnet."
# Of these the engine is made for exceptions at any instruction; the others are loops around what
# users do, and hold nothing that could be half done.
_LOOPS: Final = tuple(
    _OWN + name
    for name in (
        "base.idx",
        "engine.",
        "cli.",
        "gluon.data.",
        "gluon.contrib.",
        "io.",
        "labs.",
        "module.",
    )
)
#: What works for whoever called it: its frames say nothing.
_HELPERS: Final = frozenset(
    {"contextlib", "copy", "functools", "jax", "jaxlib", "numpy", "threading", "weakref"}
)
_WAITS: Final[frozenset[CodeType]] = frozenset(
    {
        threading.Condition.wait.__code__,
        threading.Event.wait.__code__,
        threading.Thread.join.__code__,
    }
)
_default: Final = signal.default_int_handler
_SIGINT: Final = int(signal.SIGINT)


def defer_interrupts() -> None:
    """Defers Ctrl-C to where nothing is half done, unless the process handles it by itself.

    Asked again and again, since others replace the handler: notebooks do for each cell.
    """
    if getsignal(_SIGINT) is _default and _is_main():
        signal.signal(signal.SIGINT, _handle)


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def is_from_signal(error: BaseException) -> bool:
    """Whether an exception came out of a signal handler, and not out of what it interrupted."""
    return isinstance(error, (KeyboardInterrupt, SystemExit)) or raised_by_handler(error)


class _Delivery:
    """A Ctrl-C that was noted, until it is raised in a frame.

    Attributes:
        frame: where: it is suspended in a call that led into hybridnet.
    """

    def __init__(self, frame: FrameType) -> None:
        self.frame = frame
        self._before = frame.f_trace
        frame.f_trace = self._at_line
        # A debugger that is there goes on; line events come to the frame by it, too.
        self._traces = sys.gettrace() is None
        if self._traces:
            sys.settrace(self._at_call)

    def _at_call(self, frame: FrameType, event: str, arg: object) -> None:
        """Raises as the frame's next call begins: it may be in C code, which has no lines."""
        if frame.f_back is self.frame and not _drops(frame) and frame.f_code.co_name != "__exit__":
            self.raise_()

    def _at_line(self, frame: FrameType, event: str, arg: object) -> Any:
        # What was called may have failed: who handles that comes first.
        if event == "return" or (event == "line" and not leaves_with(frame)):
            self.raise_()
        return self._at_line

    def raise_(self) -> NoReturn:
        """Raises KeyboardInterrupt, here."""
        global _noted
        _noted = None
        self.frame.f_trace = self._before
        if self._traces:
            sys.settrace(None)
        raise KeyboardInterrupt


def _drops(frame: FrameType) -> bool:
    """Whether an exception that leaves a frame is printed and dropped."""
    code = frame.f_code
    callbacks = (getattr(callback, "__code__", None) for callback in gc.callbacks)
    return code.co_name == "__del__" or code in callbacks


def leaves_with(frame: FrameType) -> bool:
    """Whether a frame is about to leave a `with` block, whose end an exception would pass by.

    Python calls `__exit__` with three times None then.
    """
    return frame.f_lasti in _ends_of_with(frame.f_code)


@lru_cache(maxsize=1024)
def _ends_of_with(code: CodeType) -> frozenset[int]:
    steps = [x for x in dis.get_instructions(code) if x.opname not in ("CACHE", "NOP")]
    nothing = [x.opname == "LOAD_CONST" and x.argval is None for x in steps]
    ends = {i for i in range(len(steps)) if all(nothing[i : i + 3])}
    ends |= {i - 1 for i in ends if steps[i - 1].opname == "SWAP"}  # with a value to return
    return frozenset(steps[i].offset for i in ends)


_noted: _Delivery | None = None


def _handle(number: int, frame: FrameType | None) -> None:
    global _noted
    if _noted is not None:
        _noted.raise_()
    border = _border(frame)
    if border is None:
        raise KeyboardInterrupt
    _noted = _Delivery(border)


def _border(frame: FrameType | None) -> FrameType | None:
    """Returns the frame in which Ctrl-C is to be raised; None: at once."""
    inside = False
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if _drops(frame):
            inside = True
        elif name.partition(".")[0] in _HELPERS:
            if frame.f_code in _WAITS and not inside:
                return None
        elif name.startswith(_OWN) and not name.startswith(_LOOPS):
            inside = True
        else:
            return frame if inside else None
        frame = frame.f_back
    return None
