"""Exceptions of real signal handlers, at any instruction after which one may come."""

from __future__ import annotations

import ctypes
import gc
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import CodeType, FrameType
from typing import Any

from interrupted_loops import Struck
from places import ROOT

from hybridnet.engine import RLock

#: Files whose instructions count: the library's, and those of Python's that work for it.
_COUNTED = (
    *(f"{ROOT}/{folder}/" for folder in ("hybridnet", "engine", "kvstore")),
    *(module.__file__ for module in (threading, sys.modules["contextlib"])),
)
_LOCKS = (type(threading.Lock()), type(threading.RLock()), type(RLock()))

_api = ctypes.PyDLL(None)  # functions of our own: JAX sets the types of those of pythonapi, too
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
#: Notes a SIGINT, as one that comes would be, for whoever looks next.
_SIGNAL = ctypes.cast(_api.PyErr_SetInterrupt, ctypes.c_void_p)


@contextmanager
def striking() -> Iterator[None]:
    """A block in which the handler of SIGINT raises `Struck`."""

    def strike(number: int, frame: FrameType | None) -> None:
        raise Struck

    before = signal.signal(signal.SIGINT, strike)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def struck_at(work: Callable[[], Any], at: int, also: tuple[str, ...] = ()) -> int:
    """Does something during which a signal comes; Python runs its handler where it ever would.

    What notes the signal dies as the watching function returns, so that the next to look for
    signals is the code that was watched: a function that traces and raises would do so at places
    where no handler can run.

    Args:
        work: what to do.
        at: before the how manieth instruction that counts the signal comes, from 1; 0: it does not.
        also: folders whose instructions count, beside the library's.

    Returns:
        How many instructions were executed, or `at`.
    """
    count = 0
    counted = (*_COUNTED, *also)

    def is_counted(code: CodeType) -> bool:
        return code.co_filename.startswith(counted)

    def is_now() -> bool:
        nonlocal count
        count += 1
        return count == at

    watch = _watch_by_tracing if sys.version_info < (3, 12) else _watch_by_monitoring
    end = watch(is_counted, is_now)
    try:
        work()
        for _ in range(2):  # for what came at the last instruction
            pass
    finally:
        end()
    return count


def _watch_by_tracing(
    is_counted: Callable[[CodeType], bool], is_now: Callable[[], bool]
) -> Callable[[], None]:
    def at_instruction(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode" and is_now():
            sys.settrace(None)
            caller: FrameType | None = frame
            while caller is not None:
                caller.f_trace = None
                caller = caller.f_back
            signalled = _api.PyCapsule_New(1, None, _SIGNAL)  # noqa: F841, it dies here
        return at_instruction

    def at_call(frame: FrameType, event: str, argument: Any) -> Any:
        if not is_counted(frame.f_code):
            return None
        frame.f_trace_opcodes = True
        return at_instruction

    before = sys.gettrace()
    sys.settrace(at_call)
    return lambda: sys.settrace(before)


def _watch_by_monitoring(
    is_counted: Callable[[CodeType], bool], is_now: Callable[[], bool]
) -> Callable[[], None]:
    monitoring = sys.monitoring
    tool, event, thread = 4, monitoring.events.INSTRUCTION, threading.get_ident()

    def at_instruction(code: CodeType, offset: int) -> None:
        if threading.get_ident() == thread and is_counted(code) and is_now():
            monitoring.set_events(tool, 0)
            signalled = _api.PyCapsule_New(1, None, _SIGNAL)  # noqa: F841, it dies here

    def end() -> None:
        monitoring.set_events(tool, 0)
        monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)

    monitoring.use_tool_id(tool, "strikes")
    monitoring.register_callback(tool, event, at_instruction)
    monitoring.set_events(tool, event)
    return end


class Locks:
    """The locks of the library: those of its modules and of the objects that there are now.

    Attributes:
        names: what each is called.
    """

    def __init__(self) -> None:
        self.names: dict[Any, str] = {}
        for one in gc.get_objects():
            kind = type(one)
            if isinstance(one, dict) and str(one.get("__name__")).startswith("hybridnet"):
                owner, held = one["__name__"], list(one.items())
            elif str(kind.__module__).startswith(("hybridnet", "threading")):
                owner, held = f"{kind.__module__}.{kind.__qualname__}", _fields(one)
            else:
                continue
            self.names |= {
                value: f"{owner}.{name}" for name, value in held if type(value) in _LOCKS
            }

    def held(self) -> dict[Any, str]:
        """Those that somebody holds."""
        return {one: name for one, name in self.names.items() if repr(one).startswith("<locked")}


def _fields(one: Any) -> list[tuple[str, Any]]:
    slots = [
        name
        for kind in type(one).__mro__
        if isinstance(kind.__dict__.get("__slots__", ""), tuple)
        for name in kind.__dict__.get("__slots__", ())
    ]
    fields = [(name, getattr(one, name)) for name in slots if hasattr(one, name)]
    with suppress(TypeError):  # it has slots only
        fields += vars(one).items()
    return fields
