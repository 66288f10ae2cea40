"""Events of the runtime, for the profiler and `explaining`.

Nobody listens as a rule, so a hook on a path that must be fast asks first:

    if observe.observer is not None:
        with observe.span("program", code):
            return dispatch()
    return dispatch()
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic, perf_counter_ns
from typing import Final, NamedTuple

from ..segments.code import Code

#: Called as `observer(kind, what, start, end)` in the thread where it happened, at its end: `what`
#: is the structure of a program, or text; times are nanoseconds of `time.perf_counter_ns`. Kinds:
#: "program", an XLA executable was handed to its device, which may still be computing;
#: "device", a device was at work on a program, from its dispatch to its end, which was waited for;
#: "steps", a launch ran instruction by instruction (its programs lie within);
#: "custom", the code of an operator written in Python ran; "host", NumPy ran an operator;
#: "compile", XLA compiled a program; "wait", a thread waited for a value; "transfer", a part of a
#: graph waited for a tensor of another task, from its start on; "dropped", a launch found
#: that nobody wants what it was to compute.
Observer = Callable[[str, Code | str, int, int], None]

#: Tells all who listen; None where nobody does. Read by the hooks.
observer: Observer | None = None
_listening: list[Observer] = []
#: Whether launches wait for their programs while somebody listens. Parts of a graph on several
#: devices always do then.
waits = False

# Operators that a program's name lists before it only counts.
_NAMED_OPERATORS: Final = 3


def listen(listener: Observer) -> None:
    """Registers an observer of what happens; once, however often it is called."""
    if listener not in _listening:
        _listening.append(listener)
        _update()


def unlisten(listener: Observer) -> None:
    """Ends a `listen`."""
    if listener in _listening:
        _listening.remove(listener)
        _update()


def _update() -> None:
    global observer
    observer = _tell_all if _listening else None


def _tell_all(kind: str, what: Code | str, start: int, end: int) -> None:
    for listener in tuple(_listening):
        listener(kind, what, start, end)


def name_of(code: Code) -> str:
    """Returns a program's name: its operators, each once, or their number where there are many."""
    names = list(dict.fromkeys(call.name for call, _ in code.instructions))
    rest = len(names) - _NAMED_OPERATORS
    return ", ".join(names[:_NAMED_OPERATORS]) + (f" + {rest} more" if rest > 0 else "")


class _Inside(threading.local):
    """The operator written in Python whose code, or what that has recorded, this thread runs.

    Attributes:
        operator: its name; empty outside.
    """

    operator = ""


inside: Final = _Inside()


@contextmanager
def custom(operator: str) -> Iterator[None]:
    """A block in which the code of an operator written in Python runs."""
    with within(operator), span("custom", f"{operator}::pure_python"):
        yield


@contextmanager
def within(operator: str) -> Iterator[None]:
    """A block in which what such code has recorded is launched, by whatever thread."""
    outer, inside.operator = inside.operator, operator
    try:
        yield
    finally:
        inside.operator = outer


@contextmanager
def span(kind: str, what: Code | str) -> Iterator[None]:
    """Tells who listens at the end what the block did and how long it took."""
    start = perf_counter_ns()
    try:
        yield
    finally:
        end = perf_counter_ns()
        tell = observer
        if tell is not None:
            tell(kind, what, start, end)


class Compilation(NamedTuple):
    """A compilation that is going on.

    Attributes:
        since: when it began, by `time.monotonic`.
        awaited: whether a thread waits for it; else launches go on meanwhile, less quickly.
    """

    since: float
    awaited: bool


# Read by who shows how far something has come, from another thread.
_compilations: Final[dict[object, Compilation]] = {}


@contextmanager
def compiling(awaited: bool) -> Iterator[None]:
    """A block in which XLA compiles a program."""
    key = object()
    _compilations[key] = Compilation(monotonic(), awaited)
    try:
        yield
    finally:
        _compilations.pop(key, None)  # a forked child has none


def compilation() -> Compilation | None:
    """Returns the oldest compilation that is waited for, or else the oldest; None: none is."""
    return min(_compilations.copy().values(), key=lambda one: (not one.awaited, one), default=None)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_compilations.clear)
