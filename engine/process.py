"""The kinds of engine, the process-wide one, and what happens at fork and at interpreter exit.

Fork. The forking thread takes every engine's lock first, so no schedule is halfway through a
change in the child. In the child there are no other threads; each engine forgets the tasks it had
(their Vars are poisoned, as their values may be incomplete) and starts anew, with the same Vars.
Nothing changes for the parent. A lock that cannot be had in time is not waited for: the child
rebuilds the state of the Vars in any case.

Exit. Python first runs `threading._register_atexit` callbacks (so does concurrent.futures), then
joins non-daemon threads, then runs atexit callbacks, during which 3.12 and later refuse new
threads. We drain in the first step: tasks may still start threads, and what others tear down in
atexit (JAX its devices) is still there. Tasks not done in time are dropped; the threads are
daemons and end with the process.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from collections.abc import Mapping
from typing import Final, final

from hybridnet.engine.engine import Engine, live_engines
from hybridnet.engine.errors import EngineError
from hybridnet.engine.pool import AbstractPool, InlinePool, ThreadPool
from hybridnet.engine.rlock import RLock


@final
class NaiveEngine(Engine):
    """Runs every task in the pushing thread, before `push` returns, if its Vars allow.

    They always do, except where a task pushes another that conflicts with itself (that one runs
    right after it), and behind a `push_async` task that is not complete (those run when it is).
    Errors surface at the waits, as with every engine.
    """

    def __init__(self) -> None:
        super().__init__(InlinePool())


@final
class ThreadedEngine(Engine):
    """Runs tasks in a few threads per lane.

    Args:
        pool: what carries the tasks out; by default a `ThreadPool`.
        workers: threads per lane of the default pool, e.g. `{"compute": 4}`.
    """

    def __init__(
        self, pool: AbstractPool | None = None, workers: Mapping[str, int] | None = None
    ) -> None:
        if pool is not None and workers is not None:
            raise EngineError("ThreadedEngine requires a pool or workers, got both")
        super().__init__(pool or ThreadPool(workers))


KINDS: Final[dict[str, type[NaiveEngine] | type[ThreadedEngine]]] = {
    "NaiveEngine": NaiveEngine,
    "ThreadedEngine": ThreadedEngine,
}
#: Environment variables that say which kind is wanted, the first that is there; MXNet's is one.
ENVS: Final = ("HYBRIDNET_ENGINE_TYPE", "MXNET_ENGINE_TYPE")
#: MXNet's other kinds, which differ in where their threads are.
_SAME_KINDS: Final = {
    "ThreadedEnginePerDevice": "ThreadedEngine",
    "ThreadedEnginePooled": "ThreadedEngine",
}

EXIT_TIMEOUT = 10.0  # seconds; long enough to write a checkpoint, short enough not to seem hung
FORK_TIMEOUT: Final = 1.0  # seconds; the lock is held for microseconds at a time


class _Process:
    """The state of this module: one instance."""

    def __init__(self) -> None:
        self.default: Engine | None = None
        self.lock = RLock()
        self.at_fork: list[Engine] = []
        self.has_exit_hook = False


_process: Final = _Process()


def wanted_kind() -> str:
    """The kind of engine that the environment asks for; "ThreadedEngine" if it does not.

    Raises:
        EngineError: if there is none of this name.
    """
    for variable in ENVS:
        asked = os.environ.get(variable, "").strip()
        if asked:
            kind = _SAME_KINDS.get(asked, asked)
            if kind not in KINDS:
                known = ", ".join(KINDS)
                raise EngineError(f"{variable} requires one of {known}, got {asked!r}")
            return kind
    return "ThreadedEngine"


def get() -> Engine:
    """The process-wide engine, made at the first call.

    Raises:
        EngineError: if the environment names no kind of engine.
    """
    engine = _process.default
    if engine is not None:
        return engine
    with _process.lock:
        if _process.default is None:
            _process.default = KINDS[wanted_kind()]()
            _register_exit()
        return _process.default


def set_engine(engine: Engine) -> Engine | None:
    """Make `engine` the process-wide one, after the tasks of the present one have ended.

    Vars stay usable: they belong to whichever engine works on them. Whoever observes the present
    one observes the new one.

    Returns:
        The engine that was replaced, not closed, or None if there was none yet.

    Raises:
        TaskError: if a task of the present engine failed unnoticed; then nothing is changed.
    """
    previous = _process.default
    if previous is not None:
        previous.wait_for_all()
        engine.set_observer(previous.observer)
    with _process.lock:
        _process.default = engine
        _register_exit()
    return previous


def _register_exit() -> None:
    if _process.has_exit_hook:
        return
    _process.has_exit_hook = True
    register = getattr(threading, "_register_atexit", atexit.register)
    try:
        register(_at_exit)
    except RuntimeError:  # the interpreter is already shutting down
        atexit.register(_at_exit)


def _at_exit() -> None:
    for engine in list(live_engines):
        try:
            engine.close(EXIT_TIMEOUT)
        except KeyboardInterrupt:
            continue  # Ctrl-C during the wait: go on without this engine's tasks
        for failure in engine.core.schedule.take_failures():
            print(f"hybridnet.engine: at exit, unreported: {failure.describe()}", file=sys.stderr)


def _before_fork() -> None:
    for engine in list(live_engines):
        if engine.core.hold(FORK_TIMEOUT):
            _process.at_fork.append(engine)


def _after_fork_in_parent() -> None:
    while _process.at_fork:
        _process.at_fork.pop().core.unhold()


def _after_fork_in_child() -> None:
    # Finalizers of what the parent left behind may wait for threads that this process lacks.
    gc.freeze()
    _process.at_fork.clear()
    _process.lock = RLock()
    for engine in list(live_engines):
        engine.reset_after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )
