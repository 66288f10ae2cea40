"""Lab 10: the `send` and `receive` of a real process, over connections to its two neighbours."""

from __future__ import annotations

from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from time import monotonic
from typing import Any, Final, NamedTuple

import numpy as np

from hybridnet.base.array_types import NumpyArray

from ...checking import Wrong
from .checks import check_result, check_sent

#: Seconds that a process waits for its neighbour: a step and what is compiled for it.
_PATIENCE: Final = 120.0


class Sending(NamedTuple):
    """A part that was sent or received.

    Attributes:
        what: 'send' or 'receive'.
        number: of the part, in this call, from 0.
        began: seconds, on the clock that all processes of a machine share.
        ended: so, too.
        size: elements.
    """

    what: str
    number: int
    began: float
    ended: float
    size: int


@dataclass
class Link:
    """A process's place in a ring.

    Each message has the number of the call, and a call ends with one that has no part: so a process
    that sends too few or too many parts is noticed, and nobody takes a part of another call for one
    of this.

    Attributes:
        rank: of the process.
        size: of the ring.
        part: the student's module.
        before: from the process before.
        after: to the next one.
        calls: how many have been made.
        sent: bytes, in all of them.
        longest: what was sent and received in the last call that had the most elements.
    """

    rank: int
    size: int
    part: Any
    before: Connection
    after: Connection
    calls: int = 0
    sent: int = 0
    longest: list[Sending] = field(default_factory=list)
    _now: list[Sending] = field(default_factory=list)
    _most: int = 0

    def all_reduce(self, array: NumpyArray) -> NumpyArray:
        """Adds up an array (n,) over all processes, by the student's function.

        Raises:
            Wrong: it has sent or returned something else than it should.
            EOFError, ConnectionError: a neighbour has ended.
        """
        self._now = []

        def send(part: Any) -> None:
            check_sent(part, array)
            began = monotonic()
            self.after.send((self.calls, part))
            self.sent += part.nbytes
            self._note("send", began, part.size)

        def receive() -> NumpyArray:
            began = monotonic()
            part = self._next()
            if part is None:
                raise Wrong("too_few", rank=self.rank, before=(self.rank - 1) % self.size)
            self._note("receive", began, part.size)
            return part

        result = self.part.all_reduce(self.rank, self.size, array, send, receive)
        check_result(self.rank, result, array)
        self.after.send((self.calls, None))
        if self._next() is not None:
            raise Wrong("left_over", rank=self.rank, count=1)
        self.calls += 1
        if len(array) >= self._most:
            self._most, self.longest = len(array), self._now
        return np.asarray(result)

    def _next(self) -> NumpyArray | None:
        """Returns the next part from the process before; None at the end of the call."""
        if not self.before.poll(_PATIENCE):
            raise Wrong("starved", ranks=self.rank)
        _, part = self.before.recv()
        found: NumpyArray | None = part
        return found

    def _note(self, what: str, began: float, size: int) -> None:
        number = sum(one.what == what for one in self._now)
        self._now.append(Sending(what, number, began, monotonic(), size))
