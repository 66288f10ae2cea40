"""Tunes hot programs while the process is idle.

One thread tunes the programs that have become hot, one after the other. It measures only while
nothing is launched and no other thread computes; a measurement during which that changed is not
used. The thread ends when there is nothing left to tune, and with the process.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Sequence
from time import process_time
from typing import Final, final

from hybridnet.base import config
from hybridnet.base.host_array import DeviceArray
from hybridnet.engine import RLock

from ..observe.program_log import describe, explaining, log, say
from ..platform.background import in_own_thread, is_ending
from ..programs.cache import cache
from ..programs.program import Program
from ..programs.recipe_book import book
from ..segments.code import Code
from .launches import CapturedLaunch
from .search import Quiet, Search

# Runs after which a program is worth tuning.
_HOT_RUNS: Final = 64
# Seconds without activity after which the process counts as idle, and the share of a CPU that may
# be in use then.
_QUIET_SECONDS: Final = 0.25
_MAX_CPU_SHARE: Final = 0.1
# Seconds to wait until the process is idle; then the program must become hot once more.
_MAX_WAIT_SECONDS: Final = 120.0
# Seconds of search for one program.
_SEARCH_SECONDS: Final = 60.0


@final
class Idleness(Quiet):
    """Whether the process does nothing but tune."""

    def __init__(self) -> None:
        self._tick = threading.Event()  # never set: waiting for it is a sleep
        self._launches = cache.launches()

    def wait(self) -> bool:
        """Waits until the process is idle; returns False if it is not in time, or is ending."""
        for _ in range(int(_MAX_WAIT_SECONDS / _QUIET_SECONDS)):
            if is_ending():
                return False
            launches, used = cache.launches(), process_time()
            self._tick.wait(_QUIET_SECONDS)
            if (
                launches == cache.launches()
                and process_time() - used < _MAX_CPU_SHARE * _QUIET_SECONDS
            ):
                self._launches = launches
                return not is_ending()
        return False

    def held(self) -> bool:
        """Whether nothing was launched since the last `wait`."""
        return self._launches == cache.launches()


class _Queue:
    """The launches to be tuned, and the thread that tunes."""

    def __init__(self) -> None:
        self.waiting: deque[CapturedLaunch] = deque()
        self.works = False
        self.lock = RLock()

    def reset_after_fork(self) -> None:
        """In a forked child, where the thread is not."""
        self.__init__()  # type: ignore[misc]


_queue: Final = _Queue()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_queue.reset_after_fork)


def improve(program: Program, inputs: Sequence[DeviceArray], scalars: Sequence[float]) -> int:
    """Queues a program for tuning once it is hot; see `programs.making.improvers`.

    Returns:
        The number of runs at which it is to be asked again.
    """
    if not program.account.tune:  # its second run
        program.account.tune = _HOT_RUNS if config.tuning() == "background" else sys.maxsize
    elif program.account.runs >= program.account.tune:
        program.account.tune = sys.maxsize
        tune_when_idle(program.code, inputs, scalars)
    return program.account.tune


def tune_when_idle(code: Code, inputs: Sequence[DeviceArray], scalars: Sequence[float]) -> None:
    """Queues a program: it is tuned when the process is idle, on the arrays of this launch."""
    if book.entry(code) is not None:
        return
    with _queue.lock:
        _queue.waiting.append(CapturedLaunch.of(code, inputs, scalars))
        if not _queue.works:
            _queue.works = True
            in_own_thread(_work, "tune")


def _work() -> None:
    while True:
        with _queue.lock:
            if not _queue.waiting or is_ending():
                _queue.works = False
                return
            launch = _queue.waiting.popleft()
        try:
            _tune(launch)
        except Exception as error:  # the program runs as it did
            log.info("%s: could not be tuned: %s", describe(launch.code), error)


def _tune(launch: CapturedLaunch) -> None:
    idleness = Idleness()
    if not idleness.wait():
        cache.look_again(launch.code)
        return
    search = Search(launch, _SEARCH_SECONDS, idleness)
    entry, compiled = search.run()
    if search.gave_up:
        cache.look_again(launch.code)
        return
    if not launch.is_current:
        return
    book.keep(launch.code, entry)
    if compiled is not None:
        cache.save(launch.code, entry.recipe, compiled)
        cache.replace(launch.code, compiled)
    if explaining():
        tried = len(entry.trials)
        found = "a faster way" if compiled is not None else "nothing faster"
        say("%s: tuned: %d ways tried, %s", describe(launch.code), tried, found)
