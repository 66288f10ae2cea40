"""The processes that fork workers: of a single thread, without JAX.

One is told over its channel to fork a worker, or a nursery that imports the user's modules once for
all of its workers; to end some; and how one ended. When the channel closes, nobody has use for it
any more, or the main process has ended: then so do its processes and it.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Final, NoReturn, final

from . import pickler as pickler  # loaded once, for all workers
from .channel import Channel, ChannelClosed
from .program import command
from .worker import become_like, run

_PAUSE: Final = 0.01  # seconds between two looks at a worker that is ending
_LOOKS_BEFORE_KILL: Final = 100  # looks, after which one that has closed its socket is killed


@final
class _Nursery:
    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._running: dict[int, int] = {}  # process -> number of the worker
        self._processes: dict[int, int] = {}  # number of a running worker -> its process
        self._ended: dict[int, int] = {}  # number -> how, as `os.waitstatus_to_exitcode` has it
        self._given_up: set[int] = set()  # nobody will ask how these ended

    def serve(self) -> NoReturn:
        """Does what it is told until the channel is closed, and exits."""
        signal.signal(signal.SIGCHLD, lambda *_: self._reap())
        signal.signal(signal.SIGTERM, lambda *_: self._exit())
        try:
            while True:
                for (kind, number), descriptors in self._channel.receive():
                    if kind == "end":
                        self._end(number)
                    elif kind == "how":
                        self._channel.send(self._how_it_ended(number))
                    else:
                        self._fork(number, descriptors[0], run if kind == "worker" else _grow)
        except ChannelClosed:
            self._exit()

    def _exit(self) -> NoReturn:
        # Workers may be in the midst of something. A nursery ends its own first, on this signal.
        for number in list(self._processes):
            self._kill(number, signal.SIGTERM)
        os._exit(0)

    def _fork(self, number: int, descriptor: int, what: Callable[[Channel], int]) -> None:
        # Until the process is noted, nobody may look for it.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        process = os.fork()
        if not process:
            _become(what, descriptor, self._channel)
        os.close(descriptor)
        self._running[process] = number
        self._processes[number] = process
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})

    def _end(self, number: int) -> None:
        if self._ended.pop(number, None) is None and number in self._processes:
            self._given_up.add(number)
            self._kill(number, signal.SIGTERM)

    def _kill(self, number: int, how: signal.Signals) -> None:
        process = self._processes.get(number)  # those that were waited for are not here
        if process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, how)

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            while True:
                process, status = os.waitpid(-1, os.WNOHANG)
                if not process:
                    return
                self._note(process, status)

    def _note(self, process: int, status: int) -> None:
        number = self._running.pop(process)
        del self._processes[number]
        if number in self._given_up:
            self._given_up.discard(number)
        else:
            self._ended[number] = os.waitstatus_to_exitcode(status)

    def _how_it_ended(self, number: int) -> int | None:
        """Returns a worker's exit code, for which it waits: its socket was seen to close."""
        for _ in range(_LOOKS_BEFORE_KILL):
            self._reap()
            if number not in self._processes:
                return self._ended.pop(number, None)
            time.sleep(_PAUSE)
        self._given_up.add(number)
        self._kill(number, signal.SIGKILL)
        return None


def _become(what: Callable[[Channel], int], descriptor: int, nursery: Channel) -> NoReturn:
    """Is another process from here on; never returns into what the nursery was doing.

    Args:
        what: to run; returns the exit code.
        descriptor: of the socket to the main process.
        nursery: the channel of the nursery, which is not this process's.
    """
    code = 1
    try:
        nursery.close()
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        code = what(Channel(socket.socket(fileno=descriptor)))
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        os._exit(code)


def _grow(channel: Channel) -> int:
    """Is a nursery whose workers begin with the user's modules imported."""
    setup = channel.receive_first()
    become_like(setup)
    for name in setup["modules"]:
        with contextlib.suppress(Exception):  # a worker that needs it says what is wrong
            importlib.import_module(name)
    if not _is_single_threaded():
        # To fork is not safe any more. A new interpreter goes on in this place, with the channel;
        # workers import the modules each for themselves then.
        os.set_inheritable(channel.fileno(), True)
        os.execv(sys.executable, command(channel.fileno()))
    gc.collect()
    gc.freeze()
    _Nursery(channel).serve()


def _is_single_threaded() -> bool:
    with contextlib.suppress(OSError):
        return len(os.listdir("/proc/self/task")) == 1
    return threading.active_count() == 1


def main(descriptor: int) -> NoReturn:
    """Runs until the other end of a socket is closed.

    Args:
        descriptor: of the socket.
    """
    # Ctrl-C is for the main process, which ends everything here; it blocked the signal meanwhile.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    gc.collect()
    gc.freeze()  # what is there now is shared with the workers: do not touch its pages
    _Nursery(Channel(socket.socket(fileno=descriptor))).serve()
