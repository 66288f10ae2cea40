"""Nurseries, seen from the main process: started when they are needed, gone when it is."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import signal
import socket
import sys
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar, final

from hybridnet.base import config
from hybridnet.base.lazy import subprocess
from hybridnet.base.locks import free_in_children, if_free
from hybridnet.engine import RLock
from hybridnet.runtime.asking import asked_now

from .channel import Channel, ChannelClosed
from .program import command
from .worker import Setup

_Result = TypeVar("_Result")

#: A worker computes with one thread, beside others; on CPUs; and compiles nothing.
_ENVIRONMENT: Final = {
    "HYBRIDNET_HOST": "only",
    "HYBRIDNET_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OPENCV_FOR_THREADS_NUM": "1",
}
#: What the first nursery has, or imports in no time; all else is imported in one of its own.
_THERE: Final = frozenset({"hybridnet", "numpy"}) | sys.stdlib_module_names
_TIMEOUT: Final = 10.0  # seconds that the nursery may take to end


def environment() -> dict[str, str]:
    """Returns the environment variables of workers: this process's, and their own settings."""
    debug = {"HYBRIDNET_DEBUG": ",".join(config.debug().union(asked_now()))}
    return dict(os.environ) | _ENVIRONMENT | debug


@final
class Nursery:
    """A process that forks workers.

    Args:
        channel: to it; closed with this object, which ends it and its workers.

    Attributes:
        is_closed: whether it is gone.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._lock = RLock()
        # Workers that it is to be told to end: a finalizer may add one while a message is sent.
        self._to_end: deque[int] = deque()
        self.is_closed = False
        _all.add(self)

    def _alone(self, speak: Callable[[], _Result]) -> _Result:
        """Nobody else speaks with it meanwhile; not even a finalizer in this thread."""
        try:
            with self._lock:
                return speak()
        except ChannelClosed:
            self.is_closed = True
            raise
        finally:
            self._pass_on()

    def _pass_on(self) -> None:
        """Says which workers are to end, unless somebody is speaking, who does it afterwards."""
        while self._to_end and if_free(self._lock, self._end_those):
            pass

    def _end_those(self) -> None:
        while self._to_end:
            with contextlib.suppress(ChannelClosed):
                self._channel.send(("end", self._to_end.popleft()))

    def fork(self, kind: str) -> tuple[int, Channel]:
        """Forks a process from the nursery; returns its number and the channel to it.

        It returns at once: what is sent over the channel is read when the process is there.

        Args:
            kind: 'worker', or 'nursery' for one that imports modules before it is asked for more.

        Raises:
            ChannelClosed: somebody has killed this nursery.
        """
        ours, theirs = socket.socketpair()
        number = next(_numbers)
        channel = Channel(ours)
        with theirs:
            self._alone(lambda: self._channel.send((kind, number), [theirs.fileno()]))
        return number, channel

    def end_worker(self, number: int) -> None:
        """Ends a worker, in the midst of whatever it does."""
        self._to_end.append(number)
        self._pass_on()

    def how_it_ended(self, number: int) -> int | None:
        """Returns the exit code of a worker whose channel is closed: -9 for signal 9.

        None where nobody knows.
        """
        try:
            ((code, _),) = self._alone(lambda: self._asked(("how", number)))
        except ChannelClosed:
            return None
        return None if code is None else int(code)

    def _asked(self, question: Any) -> Sequence[Any]:
        self._channel.send(question)
        return self._channel.receive()

    def prepare(self, setup: Setup) -> None:
        """Tells a nursery that was just forked what to become like, and to import.

        Raises:
            ChannelClosed: somebody has killed it.
        """
        self._alone(lambda: self._channel.send(setup))

    def close(self) -> None:
        """Ends it and its workers."""
        self.is_closed = True
        self._channel.close()


_all: Final[weakref.WeakSet[Nursery]] = weakref.WeakSet()
_numbers: Final = itertools.count()
_lock: Final = free_in_children(RLock())
_first: Nursery | None = None
_process: Any = None
#: The nursery that was asked for last, and what for: loaders of one script want the same.
_latest: tuple[Any, Nursery] | None = None


def nursery_for(setup: Setup, modules: Sequence[str]) -> Nursery:
    """Returns a nursery whose workers begin with modules imported.

    Args:
        setup: environment, module search path, arguments and folder to import them with.
        modules: their names.

    Raises:
        ChannelClosed: somebody kills nurseries.
    """
    global _latest
    names = sorted(name for name in modules if name.partition(".")[0] not in _THERE)
    with _lock:
        first = _first_nursery()
        if not names:
            return first
        wanted = dict(setup, modules=names)
        if _latest is None or _latest[0] != wanted or _latest[1].is_closed:
            _, channel = first.fork("nursery")
            nursery = Nursery(channel)
            nursery.prepare(wanted)
            _latest = (wanted, nursery)
        return _latest[1]


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Blocks SIGINT in this thread, and in a process that it starts: Ctrl-C is not for that one."""
    were = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, were)


def _first_nursery() -> Nursery:
    global _first, _process
    if _first is not None and not _first.is_closed:
        return _first
    if _process is not None:
        _process.wait(_TIMEOUT)
    ours, theirs = socket.socketpair()
    with theirs, _without_interrupts():
        _process = subprocess.Popen(
            command(theirs.fileno()),
            stdin=subprocess.DEVNULL,
            env=environment(),
            pass_fds=[theirs.fileno()],
        )
    atexit.unregister(_end)
    atexit.register(_end)
    _first = Nursery(Channel(ours))
    return _first


def _end() -> None:
    """At exit: all of them end, and are gone when this process is."""
    global _first, _process, _latest
    process = _process
    _first = _process = _latest = None
    for nursery in list(_all):
        nursery.close()
    if process is not None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_TIMEOUT)


def _forget() -> None:
    """In a forked child: they are the parent's."""
    global _first, _process, _latest
    for nursery in list(_all):
        nursery.close()
    if _process is not None:
        _process.returncode = 0  # nobody here may wait for it
    _first = _process = _latest = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
