"""Lab 11: the process of a server, with the part in it: a disk, connections, and nothing else."""

from __future__ import annotations

import os
import pickle
from contextlib import suppress
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from hybridnet.base.array_types import NumpyArray

from ...checking import Wrong
from ...folder import load_part
from .checks import listed

#: From a worker: its number, and 'make', 'push' or 'pull' with the arguments; or 'hello'.
Request: TypeAlias = tuple[int, str, tuple[Any, ...]]


class ServerPlan(NamedTuple):
    """The configuration of a server process.

    Attributes:
        file: the student's.
        address: where workers connect.
        folder: where it saves.
        workers: how many there are.
        consistency: 'sync' or 'async'.
        rate: a step goes so far against the gradient.
        stops: after so many pushes, over all processes, it says so.
    """

    file: str
    address: str
    folder: str
    workers: int
    consistency: str
    rate: float
    stops: tuple[int, ...]


def serve(plan: ServerPlan, counts: Any, report: Connection) -> None:
    """Answers workers until it is killed.

    Args:
        plan: what to do.
        counts: shared by all server processes of a run: pushes, pulls, saves.
        report: where it says that it has come to a stop of the plan.
    """
    desk = _Desk(plan, counts)
    inbox: SimpleQueue[tuple[Connection, Request]] = SimpleQueue()
    with suppress(FileNotFoundError):
        Path(plan.address).unlink()  # of the one before
    with Listener(plan.address) as listener:
        Thread(target=_accept, args=(listener, inbox), daemon=True).start()
        while True:
            connection, (worker, what, arguments) = inbox.get()
            if what == "hello":
                desk.connections[worker] = connection
                continue
            desk.handle(worker, what, *arguments)
            if what == "push" and counts[0] in plan.stops:
                report.send(counts[0])


def _accept(listener: Listener, inbox: SimpleQueue[tuple[Connection, Request]]) -> None:
    while True:
        connection = listener.accept()
        Thread(target=_read, args=(connection, inbox), daemon=True).start()


def _read(connection: Connection, inbox: SimpleQueue[tuple[Connection, Request]]) -> None:
    with suppress(EOFError, OSError):
        while True:
            inbox.put((connection, connection.recv()))


class _Desk:
    """The part, what it has saved, and who is connected."""

    def __init__(self, plan: ServerPlan, counts: Any) -> None:
        rate = np.float32(plan.rate)

        def update(value: NumpyArray, gradient: NumpyArray) -> NumpyArray:
            changed: NumpyArray = value - rate * gradient
            return changed

        part = load_part(Path(plan.file))
        self._server = part.Server(plan.workers, plan.consistency, update)
        self._counts = counts
        self._folder = Path(plan.folder)
        #: Key -> the shape of its value.
        self._shapes: dict[Any, tuple[int, ...]] = {}
        self.connections: dict[int, Connection] = {}
        for file in sorted(self._folder.glob("*.state")):
            key, shape, state = pickle.loads(file.read_bytes())
            self._server.restore(key, state)
            self._shapes[key] = shape

    def handle(self, worker: int, what: str, key: Any, *arguments: Any) -> None:
        """Gives the part a message; saves, and then answers."""
        if what == "make":
            if key not in self._shapes:
                self._shapes[key] = arguments[0].shape
                self._server.make(key, arguments[0])
                self._save(key)
            return
        self._counts[0 if what == "push" else 1] += 1
        answers = listed(what, getattr(self._server, what)(worker, key, *arguments))
        if what == "push" and answers:
            self._save(key)
        for answer in answers:
            self._send(what, *answer)

    def _save(self, key: Any) -> None:
        """Writes a key's file: whole, in the place of the old one, or not at all."""
        ahead = self._folder / "ahead"
        state = self._server.save(key)
        ahead.write_bytes(pickle.dumps((key, self._shapes[key], state)))
        os.replace(ahead, self._folder / f"{key}.state")
        self._counts[2] += 1

    def _send(self, what: str, worker: Any, key: Any, number: Any, value: Any) -> None:
        if value is not None:
            shape = getattr(value, "shape", None)
            if not isinstance(value, np.ndarray) or shape != self._shapes.get(key):
                raise Wrong("no_answer", what=what, found=f"{type(value).__name__} {shape}")
        connection = self.connections.get(worker)
        if connection is not None:
            with suppress(OSError):  # who has gone comes back and asks again
                connection.send((key, number, value))
