"""The process that forks workers: a single thread, without JAX and without anything of the user's.

It is told over a channel to start a worker on a socket, to end some, and how one ended. When the
channel closes, the main process has ended, and so do the workers and it.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import sys
import time
import traceback
from typing import Final, NoReturn, final

from . import pickler as pickler  # loaded once, for all workers
from .channel import Channel, ChannelClosed
from .worker import run

__all__ = ["main"]

_PAUSE: Final = 0.01  # seconds between two looks at a worker that is ending
_PATIENCE: Final = 100  # looks, after which one that has closed its socket is killed


@final
class _Nursery:
    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._running: dict[int, int] = {}  # process -> number of the worker
        self._processes: dict[int, int] = {}  # number of a running worker -> its process
        self._ended: dict[int, int] = {}  # number -> how, as `os.waitstatus_to_exitcode` has it
        self._given_up: set[int] = set()  # nobody will ask how these ended

    def serve(self) -> None:
        signal.signal(signal.SIGCHLD, lambda *_: self._reap())
        try:
            while True:
                for (kind, number), descriptors in self._channel.receive():
                    if kind == "start":
                        self._start(number, descriptors[0])
                    elif kind == "end":
                        self._end(number)
                    else:
                        self._channel.send(self._how_it_ended(number))
        except ChannelClosed:
            for number in list(self._processes):
                self._kill(number, signal.SIGKILL)

    def _start(self, number: int, descriptor: int) -> None:
        # Until the process is noted, nobody may look for it.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        process = os.fork()
        if not process:
            _work(self._channel, descriptor)
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
        for _ in range(_PATIENCE):
            self._reap()
            if number not in self._processes:
                return self._ended.pop(number, None)
            time.sleep(_PAUSE)
        self._given_up.add(number)
        self._kill(number, signal.SIGKILL)
        return None


def _work(nursery: Channel, descriptor: int) -> NoReturn:
    """Is a worker from here on; never returns into what the nursery was doing."""
    code = 1
    try:
        nursery.close()
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        code = run(Channel(socket.socket(fileno=descriptor)))
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        os._exit(code)


def main(descriptor: int) -> None:
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
    os._exit(0)
