"""The number of threads with which NumPy multiplies matrices, and oneDNN convolves and steps LSTMs.

Their threads wait for each other in turns. Where something else holds a processor (a compilation,
other processes), a product on all processors takes as long as that holds it: a step of LeNet by
NumPy beside four busy processes takes 2,700 ms with two threads, and 250 with one. So it has as
many threads as there are processors left.

How many threads share a product also decides in which order it is added up, and so how it is
rounded. Where a program must give the same bits each time, with ``HYBRIDNET_HOST=only``, the number
stays.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from time import perf_counter, process_time
from typing import Any, Final, final

from hybridnet.base import config
from hybridnet.base.lazy import threadpoolctl
from hybridnet.base.locks import free_in_children, if_free
from hybridnet.base.processor import idle_seconds, num_threads
from hybridnet.engine import RLock
from hybridnet.native import convolutions, onednn

# Seconds until others are looked at for the first time, and then from time to time. The system
# counts in hundredths of a second.
_FIRST_LOOK_SECONDS: Final = 0.05
_PERIOD_SECONDS: Final = 0.2


def _libraries() -> Any:
    return _copies_of_openblas("scipy.linalg" in sys.modules, "scipy.special" in sys.modules)


@cache
def _copies_of_openblas(*with_scipy: bool) -> Any:
    """Returns the copies that are loaded: NumPy's, and SciPy's own where that was loaded later."""
    return threadpoolctl.ThreadpoolController().select(internal_api="openblas").lib_controllers


@final
class _Threads:
    """The numbers of threads of the copies of OpenBLAS, for which several limits may hold."""

    def __init__(self) -> None:
        self._lock = free_in_children(RLock())
        self._limits: list[int] = []
        # What the numbers are without these, and what was made of them, by library.
        self._without: dict[str, int] = {}
        self._made: dict[str, int] = {}

    def add(self, limit: int) -> None:
        """Lets them be no more than this, until it is removed."""
        with self._lock:
            self._limits.append(limit)
            self._set()

    def remove(self, limit: int) -> None:
        with self._lock:
            self._limits.remove(limit)
            self._set()

    def _set(self) -> None:
        libraries = {library.filepath: library for library in _libraries()}
        for file, library in libraries.items():
            number = library.get_num_threads()
            if number != self._made.get(file):  # somebody else has set it, or it is new
                self._without[file] = number
        most = min(self._limits, default=max(self._without.values(), default=1))
        convolutions.use_threads(most)
        onednn.use_threads(most)
        for file, library in libraries.items():
            number = self._made[file] = min(self._without[file], most)
            library.set_num_threads(number)
            # Else no other thread could set the number any more.
            getattr(library, "clear_controlling_thread", lambda: None)()


_threads: Final = _Threads()


@cache
def keep_to_limit() -> None:
    """Lets NumPy have no more threads than were asked for; see `num_threads`."""
    _threads.add(num_threads())
    others.look(perf_counter())


def _must_stay() -> bool:
    return config.host() == "only" or config.deterministic()


@contextmanager
def leave_one() -> Iterator[None]:
    """A block in which NumPy leaves a processor to what the block does."""
    if _must_stay():
        yield
        return
    limit = max(1, num_threads() - 1)
    _threads.add(limit)
    try:
        yield
    finally:
        _threads.remove(limit)


def build_onednn() -> None:
    """Compiles what calls oneDNN in a process, and waits, while NumPy leaves it a processor.

    A product on all of them waits for the thread that shares its processor with the compiler: one
    step of an LSTM took 2.4 s beside it, and 0.04 with a thread less.
    """
    with leave_one():
        onednn.build()


@final
class _Others:
    """The load of other processes: how many processors they leave.

    Attributes:
        due: when they are to be looked at (`perf_counter`).
    """

    def __init__(self) -> None:
        self.due = math.inf
        self._looking = free_in_children(RLock())
        # When it was looked, the processors' idle seconds by then, and those that this process had.
        self._last: tuple[float, float, float] | None = None
        self._limit: int | None = None
        self._copies = 0

    def look(self, now: float) -> None:
        """Lets NumPy have as many threads as there were processors for this process.

        Those are the ones that it used since the last look, and those that nobody did. With no more
        threads than these it uses them all, so the number stays until others come or go.
        """
        if_free(self._looking, lambda: self._look(now))

    def _look(self, now: float) -> None:
        idle = None if num_threads() < 2 or _must_stay() else idle_seconds()
        if idle is None:
            self.due = math.inf
            return
        used = process_time()
        limit = 1  # until more are known to be free
        self.due = now + _FIRST_LOOK_SECONDS
        if self._last is not None:
            then, idle_then, used_then = self._last
            free = (idle - idle_then + used - used_then) / (now - then)
            limit = max(1, min(num_threads(), round(free)))
            self.due = now + _PERIOD_SECONDS
        self._last = now, idle, used
        copies = len(_libraries())
        if limit != self._limit or copies != self._copies:
            self._copies = copies
            _threads.add(limit)
            if self._limit is not None:
                _threads.remove(self._limit)
            self._limit = limit


others: Final = _Others()
