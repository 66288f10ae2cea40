"""Where a profiler listens to the runtime; `hybridnet.profiler` does, while it runs.

Nobody listens as a rule, so a hook on a path that must be fast asks first:

    if observe.observer is not None:
        with observe.span("program", code):
            return dispatch()
    return dispatch()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter_ns
from typing import Any, Final

from .segment import Code

__all__ = ["Observer", "name_of", "span"]

#: Called as `observer(kind, name, start, end, facts)` in the thread where it happened, at its end.
#: Times are nanoseconds of `time.perf_counter_ns`. Kinds:
#: "program", an XLA executable was handed to its device, which may still be computing;
#: "steps", a launch ran instruction by instruction (its programs lie within);
#: "compile", XLA compiled a program; "wait", a thread waited for a value.
Observer = Callable[[str, str, int, int, Mapping[str, Any]], None]

#: Set and cleared by the profiler, read by the hooks.
observer: Observer | None = None

# Operators that a program's name lists before it only counts.
_NAMED: Final = 3


def name_of(code: Code) -> str:
    """Returns a program's name: its operators, each once, or their number where there are many."""
    names = list(dict.fromkeys(call.name for call, _ in code.instructions))
    rest = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" + {rest} more" if rest > 0 else "")


@contextmanager
def span(kind: str, what: Code | str) -> Iterator[None]:
    """Tells the observer, if there is one at the end, what the block did and how long it took."""
    start = perf_counter_ns()
    try:
        yield
    finally:
        end = perf_counter_ns()
        listener = observer
        if listener is not None:
            if isinstance(what, str):
                listener(kind, what, start, end, {})
            else:
                facts = {"instructions": len(what.instructions), "device": str(what.ctx)}
                listener(kind, name_of(what), start, end, facts)
