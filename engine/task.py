"""The units of scheduling: Vars, tasks, and the record of a task that failed."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Final, Literal, Protocol, final

from hybridnet.engine.errors import CompletionError, TaskError

Lane = Literal["compute", "copy", "io", "priority", "background"]
LANES: Final[tuple[Lane, ...]] = ("compute", "copy", "io", "priority", "background")
#: The lane of tasks that nobody waits for.
BACKGROUND: Final = "background"

# Lanes of tasks that no pool runs: a thread waiting for one Var, for an idle engine, or for one
# that has background tasks at most.
WAIT_LANE: Final = "(wait)"
IDLE_LANE: Final = "(idle)"
QUIET_LANE: Final = "(quiet)"

# The life of a task; schedule.py holds the table of what may follow what.
NEW: Final = "new"
WAITING: Final = "waiting"
READY: Final = "ready"
RUNNING: Final = "running"
DONE: Final = "done"
FAILED: Final = "failed"
DROPPED: Final = "dropped"

# The life of a Var. From `delete_variable` on it is closing: no new task may name it. Once the
# schedule has taken in all tasks pushed before that it is draining: the last one to end deletes it.
LIVE: Final = "live"
CLOSING: Final = "closing"
DRAINING: Final = "draining"
DELETED: Final = "deleted"

# Where a push stood: (file, line), or (code, index of the instruction), which is cheaper to take
# and is turned into a line only when somebody asks.
Origin = tuple[str | CodeType, int]
# Modules that call a function on behalf of others: the origin of a push is never a line of theirs.
_GLUE: Final = frozenset({"contextlib", "functools", "threading"})
# Packages whose code the user's calls, and not the other way around: an error that is raised there
# was brought about further out.
_BENEATH: Final = frozenset({"hybridnet", "jax", "jaxlib", "numpy"})


class Latch(Protocol):
    """A lock that a waiting thread sleeps on: a `threading.Lock`, made already taken."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Sleep until `release` was called."""

    def release(self) -> None:
        """Wake the sleeper."""


class Var:
    """The engine's tag for one resource: an array's storage, a random state, a file, a key.

    Make one with `Engine.new_variable`. Its fields belong to the schedule.
    """

    __slots__ = ("__weakref__", "failure", "held", "name", "owner", "queue", "state")

    def __init__(self, name: str | None = None) -> None:
        self.name = name
        #: number of tasks now granted a read, or -1 while one is granted a write.
        self.held = 0
        #: tasks not yet granted, oldest first, with "is it a write"; None when there are none.
        self.queue: deque[tuple[Task, bool]] | None = None
        #: the failure that left this Var without a value; None when its value is good.
        self.failure: Failure | None = None
        #: "live", "closing", "draining" or "deleted", in this order.
        self.state = LIVE
        #: the schedule that used this Var last.
        self.owner: object = None

    def __repr__(self) -> str:
        return f"<Var {self.name or hex(id(self))} {self.state}>"


class Task:
    """One callable with what it reads and writes. Compared by identity."""

    __slots__ = (
        "depth",
        "error",
        "failure",
        "fn",
        "is_async",
        "lane",
        "latch",
        "name",
        "origin",
        "outer",
        "priority",
        "reads",
        "seq",
        "start_ns",
        "state",
        "takers",
        "updates",
        "waits",
        "writes",
    )

    def __init__(
        self,
        fn: Callable[..., Any] | None,
        reads: tuple[Var, ...] = (),
        writes: tuple[Var, ...] = (),
        priority: int = 0,
        lane: str = "compute",
        name: str | None = None,
        origin: Origin | None = None,
        is_async: bool = False,
        latch: Latch | None = None,
    ) -> None:
        #: what to call; None for a wait, and again after the call, to free what it captured.
        self.fn = fn
        #: Vars that are read only, without duplicates.
        self.reads = reads
        #: Vars that are written, without duplicates.
        self.writes = writes
        #: those of `writes` that are read too: a poisoned one stops the task.
        self.updates: tuple[Var, ...] = ()
        self.priority = priority
        self.lane = lane
        self.name = name
        self.origin = origin
        self.is_async = is_async
        #: released when the task ends; only waits have one.
        self.latch = latch
        self.state = NEW
        #: threads that came to run it; the first does.
        self.takers: list[int] = []
        #: number of Vars not yet granted.
        self.waits = 0
        #: position in the order of pushes, 1 for the first; 0 before the schedule has seen it.
        self.seq = 0
        #: 0 if the program pushed it, n + 1 if a task of depth n did.
        self.depth = 0
        #: what the callable raised, between its end and `complete`.
        self.error: BaseException | None = None
        #: why it failed or was skipped.
        self.failure: Failure | None = None
        #: the task in whose call this one runs (pools that run tasks inline nest them).
        self.outer: Task | None = None
        #: `time.perf_counter_ns()` at its start, when an observer is set.
        self.start_ns = 0
        if reads and writes:
            self._merge()
        elif len(reads) > 1:
            self.reads = tuple(dict.fromkeys(reads))
        elif len(writes) > 1:
            self.writes = tuple(dict.fromkeys(writes))

    def _merge(self) -> None:
        """Name every Var once: one that is both read and written counts as written."""
        writes = self.writes
        if len(writes) > 1:
            self.writes = writes = tuple(dict.fromkeys(writes))
        reads = self.reads
        if len(reads) > 1:
            reads = tuple(dict.fromkeys(reads))
        for var in reads:
            if var in writes:
                self.updates = tuple([v for v in reads if v in writes])
                reads = tuple([v for v in reads if v not in writes])
                break
        self.reads = reads

    @property
    def title(self) -> str:
        """The name to show: the one given, or the callable's own."""
        return self.name or str(getattr(self.fn, "__qualname__", None) or self.lane)

    def __repr__(self) -> str:
        return f"<Task {self.title} #{self.seq} {self.state}>"


@final
class Completion:
    """`on_complete`: call it with no argument, or with the error that the task failed with.

    It ends the task exactly once: whoever does must own its one ticket, and `list.pop` gives a
    ticket to one thread only (a single C call under the GIL). The finalizer runs when no reference
    is left, so it races with nobody.
    """

    __slots__ = ("_end", "_task", "_ticket")

    def __init__(self, end: Callable[[Task, BaseException | None], None], task: Task) -> None:
        self._end = end
        self._task = task
        self._ticket = [True]

    def claim(self) -> bool:
        """Take the right to end the task; False if it is taken."""
        try:
            return self._ticket.pop()
        except IndexError:
            return False

    def __call__(self, error: BaseException | None = None) -> None:
        """End the task.

        Raises:
            CompletionError: if it was called before.
            TypeError: if `error` is neither None nor an exception.
        """
        if error is not None and not isinstance(error, BaseException):
            raise TypeError(f"on_complete requires an exception or None, got {error!r}")
        if not self.claim():
            raise CompletionError(
                f"on_complete requires one call per task, got a second one for task "
                f"{self._task.title!r}"
            )
        self._end(self._task, error)

    def __del__(self) -> None:
        if self.claim():
            message = "on_complete was dropped without a call; keep it and call it exactly once"
            self._end(self._task, CompletionError(message))


class _Current(threading.local):
    """The task that runs in this thread, innermost."""

    task: Task | None = None


current: Final = _Current()


class Failure:
    """One task that failed: what every Var it poisoned points to."""

    __slots__ = ("error", "origin", "reported", "task")

    def __init__(self, task: str, origin: Origin | None, error: BaseException) -> None:
        self.task = task
        self.origin = origin
        self.error = error
        #: True once some wait has raised it.
        self.reported = False

    def describe(self) -> str:
        """One line: the task, the line that pushed it, and the error."""
        origin = resolve_origin(self.origin)
        where = f", pushed at {origin[0]}:{origin[1]}," if origin else ""
        return f"task {self.task!r}{where} failed: {type(self.error).__name__}: {self.error}"

    def raise_(self) -> None:
        """Raise the failure as a fresh `TaskError`, `from` the original error."""
        self.reported = True
        raise self.to_error() from self.error

    def to_error(self) -> TaskError:
        """The exception that a wait raises for this failure, a new one each time."""
        return TaskError(self.describe(), self.task, resolve_origin(self.origin))


def caller_origin(depth: int) -> Origin | None:
    """The innermost call on this thread's stack that is not hybridnet's own.

    Args:
        depth: frames to skip for sure; 1 is the caller of this function.

    Returns:
        `(code, instruction)`, without the frame, so that no local variable is kept alive; in a
        thread of the engine, the origin of the task that runs there.
    """
    frame: FrameType | None = sys._getframe(depth)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not (module.startswith("hybridnet.") or module == "hybridnet" or module in _GLUE):
            return frame.f_code, frame.f_lasti
        frame = frame.f_back
    return None if current.task is None else current.task.origin


def raised_origin(error: BaseException) -> Origin | None:
    """Where in the user's code an error that was caught came from: its innermost call there.

    Args:
        error: with its traceback, which ends where it was caught.

    Returns:
        As `caller_origin`; None where no code of the user's was running.
    """
    found: Origin | None = None
    trace = error.__traceback__
    while trace is not None:
        module = trace.tb_frame.f_globals.get("__name__", "")
        if not (module.partition(".")[0] in _BENEATH or module in _GLUE):
            found = trace.tb_frame.f_code, trace.tb_lasti
        trace = trace.tb_next
    return found


def resolve_origin(origin: Origin | None) -> tuple[str, int] | None:
    """`(file, line)` of an origin; the file relative to the working folder if it lies in it.

    That of a notebook's cell is "Cell In[7]", as IPython calls it in its own messages.
    """
    if origin is None:
        return None
    place, position = origin
    if isinstance(place, str):
        return place, position
    line = place.co_firstlineno
    for start, end, candidate in place.co_lines():
        if start <= position < end and candidate is not None:
            line = candidate
    name = place.co_filename
    here = os.getcwd() + os.sep
    return (name[len(here) :] if name.startswith(here) else _cell(name) or name), line


def _cell(name: str) -> str | None:
    """Returns what IPython calls the cell of a notebook that it runs under a file's name."""
    notebook = sys.modules.get("IPython")
    shell = None if notebook is None else notebook.get_ipython()
    format_name = getattr(getattr(shell, "compile", None), "format_code_name", None)
    found = None if format_name is None else format_name(name)
    return None if found is None else " ".join(found)
