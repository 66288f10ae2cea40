"""The bulk size, the number of operators that are gathered before they are pushed, and `naive`.

The engine itself gathers nothing. What does (hybridnet's recorder, which turns many operators into
one task) follows these settings: it calls `follow` once, and is told of every change.
"""

from __future__ import annotations

import operator
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from hybridnet.engine.engine import Engine
from hybridnet.engine.errors import EngineError, TaskError
from hybridnet.engine.process import NaiveEngine, get, set_engine
from hybridnet.engine.rlock import RLock

ENV: Final = "HYBRIDNET_SEGMENT_LIMIT"
_DEFAULT: Final = 1024


def _default_size() -> int:
    """HYBRIDNET_SEGMENT_LIMIT: the bulk size of a thread that was given none (default 1024)."""
    text = os.environ.get(ENV, "").strip()
    if not text:
        return _DEFAULT
    if not text.isdecimal() or int(text) < 1:
        raise EngineError(f"{ENV} requires an integer >= 1, got {text!r}")
    return int(text)


class _Thread(threading.local):
    """This thread's bulk size."""

    def __init__(self) -> None:
        self.size = _default_size()


class _Naive:
    """The number of `naive` blocks that the process is in, and the engine it goes back to."""

    def __init__(self) -> None:
        self.lock = RLock()
        self.depth = 0
        self.engine: Engine | None = None


_thread: Final = _Thread()
_naive: Final = _Naive()
# Called with each new setting, before it holds; set by `follow`.
_on_bulk_size: list[Callable[[int], object]] = []
_on_naive: list[Callable[[bool], object]] = []


def follow(on_bulk_size: Callable[[int], object], on_naive: Callable[[bool], object]) -> None:
    """Registers functions that are told of the settings, for whoever gathers operations.

    Args:
        on_bulk_size: called in the thread whose bulk size changes, with the new one; it pushes
            what that thread has gathered. `bulk_size` says what holds now.
        on_naive: called when everything becomes synchronous (True) and when that ends (False); it
            pushes what any thread has gathered. Called at once inside a `naive` block.
    """
    _on_bulk_size.append(on_bulk_size)
    _on_naive.append(on_naive)
    if _naive.depth:
        on_naive(True)


def bulk_size() -> int:
    """The number of operators that this thread may gather before they are pushed."""
    return _thread.size


def set_bulk_size(size: int) -> int:
    """Sets how many operators this thread may gather before they are pushed as one.

    Natural ends (a value is read, an optimizer's step) push them sooner, and so do results that
    would take much memory. Results do not depend on it.

    Args:
        size: 0 or 1 pushes every operator at once. HYBRIDNET_SEGMENT_LIMIT is the default.

    Returns:
        The size before.

    Raises:
        EngineError: `size` is negative, or no integer.
    """
    try:
        new = operator.index(size)
    except TypeError:
        new = -1
    if new < 0:
        raise EngineError(f"set_bulk_size requires an integer >= 0, got {size!r}")
    for tell in _on_bulk_size:
        tell(new)
    was, _thread.size = _thread.size, new
    return was


@contextmanager
def bulk(size: int) -> Iterator[None]:
    """A block in which this thread gathers at most `size` operators, see `set_bulk_size`.

    with hn.engine.bulk(10):
        for _ in range(100):
            x += 1
    """
    was = set_bulk_size(size)
    try:
        yield
    finally:
        set_bulk_size(was)


@contextmanager
def naive() -> Iterator[None]:
    """A block in which everything is synchronous: each operator and task has run when it returns.

    It holds for the whole process (other threads should not compute meanwhile), as
    HYBRIDNET_ENGINE_TYPE=NaiveEngine does from the start. An error is still raised where a value
    is read, but the debugger and the profiler see each operator at its own line.

    Raises:
        TaskError: a task failed before the block, or in it, and no wait has raised that yet.
    """
    _enter()
    try:
        yield
    except BaseException:
        with suppress(TaskError):  # the block's own error came first
            _leave()
        raise
    _leave()


def _enter() -> None:
    with _naive.lock:
        if not _naive.depth:
            for tell in _on_naive:
                tell(True)
            try:
                previous = get()
                set_engine(NaiveEngine())
                _naive.engine = previous
            except BaseException:
                for tell in _on_naive:
                    tell(False)
                raise
        _naive.depth += 1


def _leave() -> None:
    with _naive.lock:
        _naive.depth -= 1
        if _naive.depth:
            return
        for tell in _on_naive:
            tell(False)
        previous, _naive.engine = _naive.engine, None
        assert previous is not None
        try:
            set_engine(previous)
        except TaskError:
            set_engine(previous)  # what it raised counts as reported now
            raise


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_naive.lock._at_fork_reinit)  # type: ignore[attr-defined]
