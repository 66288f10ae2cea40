"""Lab 11: a worker's side: it asks until it is answered, whatever becomes of the server."""

from __future__ import annotations

from multiprocessing.connection import Client, Connection
from time import monotonic, sleep
from typing import Any, Final, NamedTuple

import numpy as np

from hybridnet import kv, nd
from hybridnet.base.array_types import NumpyArray

from ...checking import Wrong

#: Seconds to wait for a server to listen, or to answer.
_PATIENCE: Final = 90.0
#: Seconds between two attempts to connect, while another server begins.
_PAUSE: Final = 0.02


class SentRequest(NamedTuple):
    """A push or a pull.

    Attributes:
        what: 'push' or 'pull'.
        began: seconds, on the clock that all processes of a machine share.
        ended: when it was answered.
    """

    what: str
    began: float
    ended: float


class ServerStore(kv.KVStoreBase):
    """A store whose values are on the server, which updates them.

    Args:
        address: of the server.
        worker: the number of this one.

    Attributes:
        asked: what it has asked for, of each push and pull.
    """

    def __init__(self, address: str, worker: int) -> None:
        self.asked: list[SentRequest] = []
        self._address = address
        self._worker = worker
        self._numbers: dict[Any, int] = {}
        self._connection: Connection | None = None

    def broadcast(self, key: Any, value: Any, out: Any, priority: int = 0) -> None:
        """Makes a key; the first worker to come decides its value, and all of them get it."""
        self._numbers[key] = 0
        make = ("make", (key, value.asnumpy()))
        self._fill(self._ask(key, [make, ("pull", (key, 0))]), out)

    def pushpull(self, key: Any, value: Any, out: Any = None, priority: int = 0) -> None:
        """Pushes a gradient (a list of one) and pulls the weight that has it in it."""
        number = self._numbers[key] = self._numbers[key] + 1
        (gradient,) = value
        push = ("push", (key, number, gradient.asnumpy()))
        self._fill(self._ask(key, [push, ("pull", (key, number))]), out)

    def is_capable(self, capability: str) -> bool:
        """It can update."""
        return True

    def set_optimizer(self, optimizer: Any) -> None:
        """The server has a rule of its own, of which it was told when it began."""

    @staticmethod
    def _fill(value: NumpyArray, out: Any) -> None:
        for one in out:
            one[:] = nd.array(value)

    def _ask(self, key: Any, requests: list[tuple[str, tuple[Any, ...]]]) -> NumpyArray:
        """Sends requests until all are answered; returns the value."""
        began, sent = monotonic(), False
        found: NumpyArray = np.empty(0)
        waits = {what for what, _ in requests if what != "make"}
        while True:
            try:
                if not sent:
                    self._send(requests)
                    sent = True
                what, value = self._answer(key, waits)
            except (EOFError, OSError):  # the server is gone: all that is open goes to the next
                self._connection, sent = None, False
                requests = [one for one in requests if one[0] in {*waits, "make"}]
                continue
            waits.discard(what)
            self.asked.append(SentRequest(what, began, monotonic()))
            if what == "pull":
                found = value
            if not waits:
                return found

    def _send(self, requests: list[tuple[str, tuple[Any, ...]]]) -> None:
        connection = self._connected()
        for what, arguments in requests:
            connection.send((self._worker, what, arguments))

    def _answer(self, key: Any, waits: set[str]) -> tuple[str, Any]:
        """Returns the next answer to what is waited for; others were answered before."""
        number = self._numbers[key]
        while True:
            connection = self._connected()
            if not connection.poll(_PATIENCE):
                what = min(waits)
                raise Wrong("never", what=what, worker=self._worker, number=number, name=key)
            about, at, value = connection.recv()
            what = "push" if value is None else "pull"
            if (about, at) == (key, number) and what in waits:
                return what, value if value is None else np.asarray(value)

    def _connected(self) -> Connection:
        """Returns the connection; makes one when a server listens."""
        deadline = monotonic() + _PATIENCE
        while self._connection is None:
            try:
                self._connection = Client(self._address)
                self._connection.send((self._worker, "hello", ()))
            except OSError:
                self._connection = None
                if monotonic() > deadline:
                    raise Wrong("process_hangs", seconds=round(_PATIENCE)) from None
                sleep(_PAUSE)
        return self._connection
