"""The nursery, seen from the main process: started once, asked for workers, gone with it."""

from __future__ import annotations

import atexit
import contextlib
import itertools
import json
import os
import signal
import socket
import sys
import threading
from collections import deque
from collections.abc import Iterator
from typing import Any, Final

from hybridnet.base.lazy import subprocess

from .channel import Channel, ChannelClosed

__all__ = ["end_worker", "how_it_ended", "start_worker"]

#: What the nursery runs. It imports hybridnet from where this process has it.
_PROGRAM: Final = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from hybridnet.gluon.data.workers.nursery import main; main(int(sys.argv[2]))"
)
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
_TIMEOUT: Final = 10.0  # seconds that the nursery may take for an answer

_lock: Final = threading.Lock()
#: Workers that the nursery is to be told to end. A finalizer may add one while a message is sent.
_to_end: Final[deque[int]] = deque()
_numbers: Final = itertools.count()
_nursery: Channel | None = None
_process: Any = None


def environment() -> dict[str, str]:
    """Returns the environment variables of workers: this process's, and their own settings."""
    return dict(os.environ) | _ENVIRONMENT


@contextlib.contextmanager
def _without_interrupts() -> Iterator[None]:
    """Blocks SIGINT in this thread, and in a process that it starts: Ctrl-C is not for that one."""
    were = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, were)


def _start_nursery() -> Channel:
    global _process
    ours, theirs = socket.socketpair()
    with theirs, _without_interrupts():
        _process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, json.dumps(sys.path), str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            env=environment(),
            pass_fds=[theirs.fileno()],
        )
    atexit.unregister(_end_nursery)
    atexit.register(_end_nursery)
    return Channel(ours)


def _end_nursery() -> None:
    """At exit: workers and nursery end, and are gone when this process is."""
    global _nursery, _process
    with _lock:
        nursery, process = _nursery, _process
        _nursery = _process = None
        if nursery is None:
            return
        nursery.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_TIMEOUT)


def _forget() -> None:
    """In a forked child: the nursery is the parent's, and a child of another process."""
    global _nursery, _process
    _lock._at_fork_reinit()  # type: ignore[attr-defined]
    if _nursery is not None:
        _nursery.close()
        _process.returncode = 0  # nobody here may wait for it
    _nursery = _process = None
    _to_end.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


@contextlib.contextmanager
def _nursery_alone() -> Iterator[None]:
    """Nobody else speaks with the nursery meanwhile; not even a finalizer in this thread."""
    try:
        with _lock:
            yield
    finally:
        _tell()


def _tell() -> None:
    """Passes on which workers are to end, unless somebody is speaking, who does it afterwards."""
    while _to_end and _lock.acquire(blocking=False):
        try:
            while _to_end and _nursery is not None:
                with contextlib.suppress(ChannelClosed):
                    _nursery.send(("end", _to_end.popleft()))
            _to_end.clear()
        finally:
            _lock.release()


def start_worker() -> tuple[int, Channel]:
    """Starts a worker; returns its number and the channel to it.

    It returns at once: what is sent over the channel is read when the worker is there.
    """
    global _nursery
    ours, theirs = socket.socketpair()
    number = next(_numbers)
    with theirs, _nursery_alone():
        for attempt in range(2):
            if _nursery is None:
                _nursery = _start_nursery()
            try:
                _nursery.send(("start", number), [theirs.fileno()])
                break
            except ChannelClosed:  # somebody killed it
                _nursery.close()
                _nursery = None
                _process.wait()
                if attempt:
                    raise
    return number, Channel(ours)


def end_worker(number: int) -> None:
    """Ends a worker, in the midst of whatever it does."""
    _to_end.append(number)
    _tell()


def how_it_ended(number: int) -> int | None:
    """Returns the exit code of a worker whose channel is closed; -9 for signal 9, None: unknown."""
    with _nursery_alone():
        if _nursery is None:
            return None
        try:
            _nursery.send(("how", number))
            ((code, _),) = _nursery.receive()
        except ChannelClosed:
            return None
        return None if code is None else int(code)
