"""The meeting point of the Sends and Recvs of one run.

A producer sends a tensor under a key and goes on, whether or not anybody waits for it; a consumer
asks for the key and is called back, or waits. This is all that the parts of a graph know of each
other, so that a device in another process needs another `Rendezvous` and no other executor
(Abadi et al., "TensorFlow: Large-Scale Machine Learning on Heterogeneous Distributed Systems",
2015, sections 3.2.2 and 3.3). A tensor may be dead: its Send was reached in a branch that is not
taken, so that its reader must learn that there will be no value. When a part fails, `abort` tells
all who wait, now or later; a run has a rendezvous of its own, so that the next one starts afresh.

`LocalRendezvous` joins parts in one process. One between processes keeps to the same contract:
`send` never blocks, each send of a key answers one receive of it, in order, and the callback is
called once, in any thread, outside all locks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeVar, final

from hybridnet import engine
from hybridnet.base.errors import MXNetError, OpError
from hybridnet.engine import RLock


class Key(NamedTuple):
    """The key of a tensor in transit.

    Attributes:
        source: the name of the device that sends it.
        destination: the name of the device that it is for.
        tensor: the tensor's name in the graph.
        frame: the loop that it belongs to; '' outside loops.
        iteration: of that loop.
    """

    source: str
    destination: str
    tensor: str
    frame: str = ""
    iteration: int = 0

    def __str__(self) -> str:
        turn = f" ({self.frame}:{self.iteration})" if self.frame else ""
        return f"{self.tensor}{turn} from {self.source} to {self.destination}"


class Received(NamedTuple):
    """The result of a receive.

    Attributes:
        value: what was sent; None where it is dead or did not come.
        dead: whether its branch was not taken.
        error: why it did not come.
    """

    value: Any = None
    dead: bool = False
    error: BaseException | None = None


class Sent(NamedTuple):
    """A tensor that is handed over; see `Rendezvous.send`."""

    key: Key
    value: Any
    dead: bool = False


_Entry = TypeVar("_Entry")
#: Called once with what came.
Callback = Callable[[Received], None]
#: Called with what came together, and what its receiver calls each of these tensors.
Take = Callable[[list[tuple[Any, Received]]], None]


class Rendezvous(ABC):
    """The meeting point of the Sends and Recvs of one run; safe from many threads."""

    @abstractmethod
    def send(self, key: Key, value: object, dead: bool = False) -> None:
        """Hands a tensor over; returns at once. After an abort it is dropped.

        The value is anything that the two sides agree on; a dead tensor has none, since its branch
        was not taken.
        """

    def send_all(self, tensors: Sequence[Sent]) -> None:
        """Hands over tensors that were made together."""
        for one in tensors:
            self.send(*one)

    @abstractmethod
    def receive_all(self, wanted: Sequence[tuple[Key, Hashable]], take: Take) -> None:
        """Calls `take` with the next tensor of each of some keys, maybe before this returns.

        Those that are sent together it gets together; each one once.

        Args:
            wanted: the keys, and what the receiver calls their tensors.
            take: gets pairs of that and a tensor.
        """

    def receive_async(self, key: Key, callback: Callback) -> None:
        """Calls `callback` with the next tensor of a key, maybe before this returns."""
        self.receive_all([(key, None)], lambda came: callback(came[0][1]))

    @abstractmethod
    def abort(self, error: BaseException) -> None:
        """Ends the run: all who wait, now or later, receive this error. The first one counts."""

    def receive(self, key: Key, timeout: float | None = None) -> Received:
        """Waits for the next tensor of a key. A task of the engine had better be called back.

        Args:
            key: what it is known by.
            timeout: seconds; None waits as long as it takes.

        Returns:
            What was sent, alive or dead.

        Raises:
            OpError: it did not come in time, or the run was aborted.
        """
        found: list[Received] = []
        came = engine.Flag()

        def take(tensor: Received) -> None:
            found.append(tensor)
            came.set()

        self.receive_async(key, take)
        if not came.wait(timeout):
            raise OpError(f"receive: {key} did not come within {timeout} seconds; was it sent?")
        if found[0].error is not None:
            raise died(key, found[0].error) from found[0].error
        return found[0]


def died(key: Key, cause: BaseException) -> MXNetError:
    """Returns the error of a Recv whose Send will never come."""
    return OpError(f"receive: {key} will not come: {cause}")


@final
class LocalRendezvous(Rendezvous):
    """Joins the parts of a graph in one process; values are handed over as they are."""

    def __init__(self) -> None:
        # Held for a few steps and never while a callback runs; re-entrant for finalizers.
        self._lock = RLock()
        # For each key what was sent and not received, or else who waits, and what he calls it.
        self._sent: dict[Key, deque[Received]] = {}
        self._waiting: dict[Key, deque[tuple[Take, Hashable]]] = {}
        self._error: BaseException | None = None

    def send(self, key: Key, value: object, dead: bool = False) -> None:
        """See `Rendezvous.send`."""
        self.send_all([Sent(key, value, dead)])

    def send_all(self, tensors: Sequence[Sent]) -> None:
        """See `Rendezvous.send_all`; the callbacks of who waits are called in this thread."""
        found: dict[Take, list[tuple[Any, Received]]] = {}
        with self._lock:
            if self._error is not None:
                return
            for key, value, dead in tensors:
                tensor = Received(None if dead else value, dead)
                waiting = _next(self._waiting, key)
                if waiting is None:
                    self._sent.setdefault(key, deque()).append(tensor)
                else:
                    found.setdefault(waiting[0], []).append((waiting[1], tensor))
        for take, came in found.items():
            take(came)

    def receive_all(self, wanted: Sequence[tuple[Key, Hashable]], take: Take) -> None:
        """See `Rendezvous.receive_all`; what is there already is handed over in this thread."""
        came: list[tuple[Any, Received]] = []
        with self._lock:
            for key, name in wanted:
                if self._error is not None:
                    came.append((name, Received(error=self._error)))
                    continue
                found = _next(self._sent, key)
                if found is None:
                    self._waiting.setdefault(key, deque()).append((take, name))
                else:
                    came.append((name, found))
        if came:
            take(came)

    def abort(self, error: BaseException) -> None:
        """See `Rendezvous.abort`; those who wait are called in this thread."""
        with self._lock:
            if self._error is not None:
                return
            self._error = error
            waiting = list(chain.from_iterable(self._waiting.values()))
            self._waiting.clear()
            self._sent.clear()
        for take, name in waiting:
            take([(name, Received(error=error))])

    @property
    def pending(self) -> tuple[int, int]:
        """Counts tensors that were sent and not received, and receives that wait."""
        with self._lock:
            sent = sum(map(len, self._sent.values()))
            return sent, sum(map(len, self._waiting.values()))


def _next(queues: dict[Key, deque[_Entry]], key: Key) -> _Entry | None:
    """Takes the oldest entry of a key; None where there is none."""
    queue = queues.get(key)
    if queue is None:
        return None
    oldest = queue.popleft()
    if not queue:
        del queues[key]
    return oldest
