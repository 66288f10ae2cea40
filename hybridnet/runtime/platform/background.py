"""Work that nobody waits for (compiling ahead, writing programs to disk), and the process's end.

At the end of the program what has begun is left behind, but for what is done in a moment. A thread
that comes back from XLA into an interpreter that is gone makes the C++ library abort the process;
so does one of the user's that still computes. `_leave_behind` has such threads stop there instead,
and the process end with the status that Python gives it.
"""

from __future__ import annotations

import _imp
import atexit
import ctypes
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from time import monotonic, sleep
from types import FrameType
from typing import Final, TypeVar

from hybridnet import engine
from hybridnet.base.jax_private import is_compiling, lowering_threads
from hybridnet.base.processor import LOW_PRIORITY

__all__ = [
    "at_low_priority",
    "hook",
    "in_another_thread",
    "in_own_thread",
    "is_ending",
    "later",
    "later_in_own_thread",
]

_Result = TypeVar("_Result")

#: Seconds at the end for what has begun, and for programs to be written.
_WAIT_SECONDS: Final = 0.2
#: Seconds for what computes and is left behind to end: on a machine that has other work it may be
#: long until it gets a processor.
_STOPPING: Final = 20.0
#: Modules in which a thread waits, with no more than the interpreter below it.
_WAITING: Final = (
    "concurrent",
    "hybridnet.engine",
    "multiprocessing",
    "queue",
    "selectors",
    "subprocess",
    "threading",
)


class _Left(SystemExit):
    """Ends the Python part of work that is left behind."""


class _Exit:
    """Whether the process is ending, since when (`time.monotonic`), and what is running."""

    def __init__(self) -> None:
        self.begun: float | None = None
        self.hooked = False
        #: What runs, and the threads that run it.
        self._running: dict[engine.Completion, threading.Thread] = {}
        #: Those of `_running` that are waited for: what may still begin now is done in a moment.
        self._short: set[engine.Completion] = set()
        # The lock of `_ended` is taken by itself: a handler of signals may raise when the Condition
        # has taken it, and has not come to the block that gives it back.
        self._lock = threading.RLock()
        self._ended = threading.Condition(self._lock)

    def run(self, work: Callable[[], None], grace: float, on_complete: engine.Completion) -> None:
        """Does something, unless the process has been ending for longer than `grace` seconds."""
        with self._lock:
            late = self.begun is not None and monotonic() - self.begun >= grace
            if not late:
                self._running[on_complete] = threading.current_thread()
                if grace:
                    self._short.add(on_complete)
        error = None
        try:
            if not late:
                work()
        except Exception as caught:
            error = caught
        except _Left:  # at the next lines `begin` has forgotten it, and called `on_complete`
            pass
        finally:
            with self._lock:
                left = not late and on_complete not in self._running
                self._running.pop(on_complete, None)
                self._short.discard(on_complete)
                self._ended.notify_all()
            if not left:
                on_complete(error)

    def begin(self) -> None:
        """Lets nothing more begin, and waits a moment for what runs; the rest is left behind."""
        with self._lock:
            if self.begun is None:
                self.begun = monotonic()
            self._ended.wait_for(lambda: self._short.isdisjoint(self._running), _WAIT_SECONDS)
            self._running, left = {}, self._running
        threads = set(left.values())
        if threads:
            _yield_processors(_stop(threads))
        atexit.register(_leave_behind, threads)
        for on_complete in left:
            on_complete()

    def reset_after_fork(self) -> None:
        """In a forked child, where nothing runs."""
        self._running = {}
        self._short = set()
        self._lock = threading.RLock()
        self._ended = threading.Condition(self._lock)


_exit: Final = _Exit()


def later(work: Callable[[], None], name: str, *, grace: float = 0.0) -> None:
    """Makes the engine run a function when it has a thread to spare.

    Args:
        work: what to do.
        name: of the task.
        grace: seconds after the end of the program until which it is still begun; by default what
            has not begun by then is left out.
    """
    hook()
    run = _exit.run
    engine.push_async(lambda done: run(work, grace, done), name=name, lane="background")


def later_in_own_thread(work: Callable[[], None], name: str) -> None:
    """Does something that waits for long, as `later` does it, but holds up no thread of the engine.

    Args:
        work: what to do.
        name: of the task and of the thread.
    """
    hook()

    def begin(on_complete: engine.Completion) -> None:
        try:
            _start(work, name, on_complete)
        except RuntimeError:  # no thread can be started
            _exit.run(work, 0.0, on_complete)

    engine.push_async(begin, name=name, lane="background")


def in_own_thread(work: Callable[[], None], name: str) -> None:
    """Does something in a thread of its own that may go on as long as the process does.

    Nobody waits for it.

    Args:
        work: what to do; it must look at `is_ending` and come to an end then.
        name: of the thread.
    """
    _start(work, name, lambda error=None: None)


def _start(work: Callable[[], None], name: str, on_complete: Callable[..., None]) -> None:
    hook()
    arguments = work, 0.0, on_complete
    threading.Thread(target=_exit.run, args=arguments, name=name, daemon=True).start()


def at_low_priority(work: Callable[[], _Result], name: str) -> _Result:
    """Does something while other threads go first, and waits for it.

    What computes in C++ for long, and nobody waits for, must not take the processors from a loop
    of the user's. It is done by a thread of its own, since few processes may raise the priority of
    a thread again; where no thread can be started, by this one.

    Args:
        work: what to do: little of it in Python, as others would wait for the interpreter's lock.
        name: of the thread.

    Returns:
        What `work` returns.

    Raises:
        Exception: what `work` raises.
    """

    def run() -> _Result:
        _lower_priority()
        return work()

    return in_another_thread(run, name, otherwise=work)


def in_another_thread(
    work: Callable[[], _Result], name: str, *, otherwise: Callable[[], _Result] | None = None
) -> _Result:
    """Runs a function in a thread of its own, where no Ctrl-C stops it halfway, and waits for it.

    Args:
        work: what to do.
        name: of the thread.
        otherwise: what this thread does where none can be started; default: the same.

    Returns:
        What `work` returns.

    Raises:
        Exception: what `work` raises.
    """
    made: list[_Result] = []
    errors: list[Exception | None] = []
    ended = engine.Flag()

    def complete(error: Exception | None = None) -> None:
        errors.append(error)
        ended.set()

    try:
        _start(lambda: made.append(work()), name, complete)
    except RuntimeError:
        return (otherwise or work)()
    ended.wait()
    if made:
        return made[0]
    raise errors[0] or _Left()  # which says that the program is at its end


def _lower_priority() -> None:
    """Lowers the priority of this thread, and of those that it starts."""
    if sys.platform != "linux":  # elsewhere this is of the whole process
        return
    thread = threading.get_native_id()
    with suppress(OSError):  # a sandbox may forbid it
        niceness = os.getpriority(os.PRIO_PROCESS, thread) + LOW_PRIORITY
        os.setpriority(os.PRIO_PROCESS, thread, min(niceness, 19))


def is_ending() -> bool:
    """Whether the program is at its end."""
    return _exit.begun is not None


def hook() -> None:
    """Sees to it that the process ends well; to be called before anything is computed."""
    if _exit.hooked:
        return
    _exit.hooked = True
    engine.get()  # hooks in first, so that it waits for its tasks after ours has run
    register = getattr(threading, "_register_atexit", atexit.register)
    try:
        register(_exit.begin)
    except RuntimeError:  # the interpreter is going down already
        _exit.begin()


def _yield_processors(awaited: Collection[threading.Thread]) -> None:
    """Lowers the priority of other threads below this one's, those of XLA's compiler included.

    Python's end is some tenths of a second of its own work, twice as long beside a compilation.

    Args:
        awaited: those that this one waits for before it ends, and so are not to be held up.
    """
    spared = {threading.get_native_id(), *(each.native_id for each in awaited)}
    with suppress(OSError):  # where there is no such folder, or a thread has just ended
        for thread in map(int, os.listdir("/proc/self/task")):
            if thread not in spared:
                os.setpriority(os.PRIO_PROCESS, thread, 19)


def _stop(
    left: Collection[threading.Thread], *, imports_end: bool = False
) -> Collection[threading.Thread]:
    """Ends the Python code of threads, or sees them in XLA's compiler, where they may stay.

    Python ends a thread that wants to go on after the interpreter by unwinding its frames, those of
    JAX's C++ library included, which then drops Python's objects and crashes.

    Args:
        left: which threads. The number of one that has ended may be that of a new one by now.
        imports_end: whether this thread has the lock without which no import begins, so that those
            that import come to an end, too; else these are left for later.

    Returns:
        Those that may still go on in Python.
    """

    def is_done(frame: FrameType | None) -> bool:
        return frame is None or is_compiling(frame) or (imports_end and _is_held_up(frame))

    frames = _others_frames()
    threads = {each.ident: each for each in left if each.ident and each.is_alive()}
    chosen = {each for each in threads if imports_end or not _is_importing(frames.get(each))}
    untold = _note_untold()
    untold.update(chosen)
    begun, running = monotonic(), chosen
    while running and monotonic() < begun + _STOPPING:
        for number in list(untold):
            # Looked at here, with nothing in between: it may go on meanwhile.
            if threads[number].is_alive() and _can_be_told(_others_frames().get(number)):
                untold.discard(number)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(number), ctypes.py_object(_Left)
                )
        sleep(0.002)  # for these threads to run; nobody tells when they have come to XLA
        frames = _others_frames()
        running = {each for each in chosen if not is_done(frames.get(each))}
        if monotonic() > begun + _WAIT_SECONDS:
            running = {each for each in running if each in untold or _is_computing(frames[each])}
    frames = _others_frames()
    return [threads[each] for each in threads if not is_done(frames.get(each))]


def _others_frames() -> dict[int, FrameType]:
    """Returns where the other threads are, by their numbers.

    Without the frame of this thread: a frame that holds itself keeps all of them for the collector,
    which finds at the end what their functions, long over, had in hand, as buffers of files.
    """
    frames = sys._current_frames()
    frames.pop(threading.get_ident(), None)
    return frames


def _note_untold() -> set[int]:
    """Returns a set to which threads are added in which `_Left` has come to nothing.

    Python reports an exception that strikes in a finalizer or in a callback of the collector, and
    goes on. Here it is to be raised once more instead.
    """
    untold: set[int] = set()
    report, report_in_thread = sys.unraisablehook, threading.excepthook

    def note(unraisable: sys.UnraisableHookArgs) -> None:
        if unraisable.exc_type is _Left:
            untold.add(threading.get_ident())
        else:
            report(unraisable)

    def note_in_thread(raised: threading.ExceptHookArgs) -> None:
        if raised.exc_type is not _Left:  # which may come when what was to end has just ended
            report_in_thread(raised)

    sys.unraisablehook, threading.excepthook = note, note_in_thread
    return untold


def _can_be_told(frame: FrameType | None) -> bool:
    """Whether an exception may be raised in a thread now.

    While a C++ library sets itself up it would end the process. While the thread starts another,
    that one has its number until it runs, and would have the exception in its place: nobody would
    tell the first that the second has started.
    """
    return not _is_importing(frame) and not any(
        each.f_code is threading.Thread.start.__code__ for each in _stack(frame)
    )


def _is_importing(frame: FrameType | None) -> bool:
    return any(each.f_globals.get("__name__") == "importlib._bootstrap" for each in _stack(frame))


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    """Yields a frame and those that called it."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def _is_held_up(frame: FrameType) -> bool:
    """Whether a thread waits for the lock without which no import begins.

    Or for a module that another thread imports: it goes on when that one does.
    """
    return frame.f_globals.get("__name__") == "importlib._bootstrap" and (
        frame.f_code.co_name in ("_get_module_lock", "cb", "acquire")  # its callback, too
    )


def _leave_behind(left: Collection[threading.Thread]) -> None:
    """Lets threads that are in XLA, or may be soon, end with the process and not end it.

    Called as late as can be. When such a thread wants to go on in Python, which is gone, the C++
    library finds no other way than `abort`: the handler of that signal keeps the thread where it
    is. The process ends without the destructors of libraries whose threads still run.

    Args:
        left: threads of ours that were to end.
    """
    ours = {thread.ident for thread in threading.enumerate() if thread.daemon}
    if not ours or os.name != "posix":
        return
    frames = _others_frames()
    computing = any(_is_computing(frames.get(ident or 0)) for ident in ours)
    try:
        library = ctypes.CDLL(None)
        pause, end, on_exit = library.pause, library._exit, library.on_exit
    except (OSError, AttributeError):  # macOS has no on_exit, and its threads end quietly
        return
    sys.stdout.flush()
    sys.stderr.flush()
    library.fflush(None)
    library.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
    library.signal(int(signal.SIGABRT), ctypes.cast(pause, ctypes.c_void_p))
    on_exit(ctypes.cast(end, ctypes.c_void_p), None)
    if computing:
        _imp.acquire_lock()  # for good: no module begins to load any more
        _stop(left, imports_end=True)
        # Python collects garbage twice at its end, before and after it lets go of modules: 0.1 s
        # each beside a compilation. The second time finds what the first would have.
        gc.disable()
        # Its end would wait for threads that work for one that is left behind, for ever.
        pool = lowering_threads()
        if pool is not None:
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(pool))
        if getattr(sys, "last_type", None) is KeyboardInterrupt and not hasattr(sys, "ps1"):
            # Python remembers that Ctrl-C ended the program, for its exit status, until any thread
            # executes a string, as a module that defines a named tuple does.
            _wait_until_import_stops(ours)
            with suppress(KeyboardInterrupt):
                exec("raise KeyboardInterrupt")
        # The C++ library would say that it aborts.
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 2)
        os.close(nothing)


def _wait_until_import_stops(threads: Collection[int | None]) -> None:
    """Waits until threads that import something want to import the next, which they cannot."""
    end = monotonic() + _WAIT_SECONDS
    while monotonic() < end:
        frames = [frame for each, frame in _others_frames().items() if each in threads]
        inside = [frame for frame in frames if _is_importing(frame)]
        if all(frame.f_globals.get("__name__") == "importlib._bootstrap" for frame in inside):
            return
        sleep(0.002)


def _is_computing(frame: FrameType | None) -> bool:
    """Whether a thread may be in XLA, whose calls leave no frame: it waits for nothing else."""
    return frame is not None and not frame.f_globals.get("__name__", "").startswith(_WAITING)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_exit.reset_after_fork)
