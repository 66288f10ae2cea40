"""The end of a process, step by step, while its daemon threads compute.

1. The main thread comes to its end: by its last line, `sys.exit`, an exception or Ctrl-C. Python
   calls what is registered with `threading._register_atexit`. `background` lets nothing more begin
   and gives files that are being written a moment, and the engine waits for its tasks.
2. Python waits for threads that are no daemons. They compute as before.
3. Python calls the functions of `atexit`. One is `leave_behind`: if a thread may be in XLA, it
   prepares the next steps.
4. Python takes itself down: finalizers run, files are written out. A thread that comes back from
   XLA finds no interpreter. Python 3.14 keeps it where it is. Before, Python ended it; for that
   glibc unwinds the frames of JAX's C++ code, which then drop Python's objects and crash, or do not
   let themselves be unwound ("terminate called"). There `_settle_threads` keeps them in place.
   And what a library has set up Python takes down, which crashes if it was half done: so threads
   that load one are waited for.
5. The C library takes itself down: C++ objects are destroyed. Among them are LLVM's, which XLA
   crashes without while it compiles. `_skip_destructors` has the process end before, by the status
   that Python gives it.

Nothing ends what a thread does in XLA but the end of the process. Signals without a handler, as
SIGTERM, end it without any of this.
"""

from __future__ import annotations

import atexit
import ctypes
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from importlib.machinery import ExtensionFileLoader
from time import monotonic, sleep
from types import FrameType
from typing import Any, Final

#: Whether Python ends threads that come back from XLA too late.
_CRASHES: Final = sys.version_info < (3, 14) and sys.platform == "linux"
#: Modules that load JAX's C++ code, which takes a while.
_LIBRARIES: Final = ("jax", "jaxlib")
#: Modules in which a thread waits, with no more than the interpreter below it.
_WAITING: Final = (
    "concurrent.",
    "hybridnet.engine.",
    f"{__name__}.",  # it is held
    "multiprocessing.",
    "queue.",
    "selectors.",
    "subprocess.",
    "threading.",
)
#: The functions below which a library sets itself up.
_LOADING: Final = (
    ExtensionFileLoader.create_module.__code__,
    ExtensionFileLoader.exec_module.__code__,
)
#: Seconds between two looks at where threads are, and at most until all are held: those that are in
#: C++ are not, and others may wait long for a processor. And at most until libraries are loaded.
_LOOK_SECONDS: Final = 0.005
_HOLD_SECONDS: Final = 0.1
_LOAD_SECONDS: Final = 20.0
#: Seconds for which a thread waits for the interpreter's lock, before it asks for it.
_NO_TURNS_SECONDS: Final = 0.5

#: The function by which threads are held, kept as long as they are.
_held_by: Final[list[Any]] = []


def leave_behind() -> None:
    """Lets threads that compute end with the process, and not end it; to be called by `atexit`."""
    if not getattr(threading, "_SHUTTING_DOWN", True):
        return  # somebody calls the functions of `atexit`, and goes on
    if sys.modules.keys().isdisjoint(_LIBRARIES) or not _others_compute():
        return
    if _CRASHES:
        atexit.unregister(leave_behind)
        atexit._run_exitfuncs()  # the older ones, which may wait for threads or for their locks
    _settle_threads()
    _skip_destructors()
    if getattr(sys, "last_type", None) is KeyboardInterrupt and not hasattr(sys, "ps1"):
        # Python remembers that Ctrl-C ended the program, for its status, until any thread executes
        # a string, as a module that defines a named tuple does.
        with suppress(KeyboardInterrupt):
            exec("raise KeyboardInterrupt")


def _others_compute() -> bool:
    """Whether other threads may be in XLA, whose calls leave no frame: not where they only wait."""
    return any(
        not f"{frame.f_globals.get('__name__')}.".startswith(_WAITING) for frame in _others()
    )


def _others() -> list[FrameType]:
    """Returns where the other threads are."""
    frames = sys._current_frames()
    frames.pop(threading.get_ident(), None)
    return [*frames.values()]


def _is_loading(frame: FrameType | None) -> bool:
    """Whether a thread is loading a library, which would not end well half set up (step 4)."""
    while frame is not None and frame.f_code not in _LOADING:
        frame = frame.f_back
    return frame is not None


def _settle_threads() -> None:
    """Waits until other threads load no library and, before Python 3.14, has them held (step 4)."""
    hold_all = _holder() if _CRASHES else None
    begun = monotonic()
    while True:
        loads = any(map(_is_loading, _others()))
        if not (loads or (hold_all and _others_compute())):
            break
        if monotonic() > begun + (_LOAD_SECONDS if loads else _HOLD_SECONDS):
            break
        if hold_all:
            hold_all()
        sleep(_LOOK_SECONDS)
    # Who calls Python from C++ only now waits until it is gone.
    sys.setswitchinterval(_NO_TURNS_SECONDS)


def _holder() -> Callable[[], None]:
    """Returns what keeps other threads from going on in Python, and from ending when they would.

    A function that profiles a thread is called at its next call or return; this one never returns.
    A thread that is in C++ until Python is gone comes to C++'s handler for what cannot go on.
    """
    pause = ctypes.CDLL(None).pause
    with suppress(OSError, AttributeError):
        set_terminate = ctypes.CDLL("libstdc++.so.6")._ZSt13set_terminatePFvvE
        set_terminate(ctypes.cast(pause, ctypes.c_void_p))

    def hold(_: object, frame: FrameType, *__: object) -> int:
        while not _is_loading(frame):
            pause()  # without the interpreter's lock
        return 0

    pointer = ctypes.c_void_p
    function = ctypes.PYFUNCTYPE(ctypes.c_int, pointer, ctypes.py_object, ctypes.c_int, pointer)
    _held_by.append(function(hold))

    def python(name: str, result: type | None, *arguments: type) -> Any:
        return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))

    interpreter = python("PyInterpreterState_Get", pointer)()
    first = python("PyInterpreterState_ThreadHead", pointer, pointer)
    following = python("PyThreadState_Next", pointer, pointer)
    profile = python("_PyEval_SetProfile", ctypes.c_int, pointer, function, pointer)
    own = python("PyThreadState_Get", pointer)()

    def hold_all() -> None:
        state = first(interpreter)
        while state:
            if state != own:
                profile(state, _held_by[0], None)
            state = following(state)

    return hold_all


def _skip_destructors() -> None:
    """Makes the C library write out its files, and end the process then (step 5).

    Only a function of `on_exit` is told the status. Without it, as on macOS and Windows, all is
    destroyed.
    """
    with suppress(OSError, AttributeError, TypeError):
        library = ctypes.CDLL(None)
        for function in (library._exit, library.fcloseall):  # the last one is called first
            library.on_exit(ctypes.cast(function, ctypes.c_void_p), None)
