"""A worker's requests that have no answer: each is said again until the answer comes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final, final

from hybridnet.kvstore.protocol.calls import Slice
from hybridnet.kvstore.protocol.liveness import Repeats
from hybridnet.kvstore.protocol.machine import Moment
from hybridnet.kvstore.protocol.words import (
    SCHEDULER,
    Action,
    AskPart,
    Message,
    Peer,
    Post,
    PushPart,
    RunPlan,
    View,
)

_TICKETS: Final = 1 << 32
#: Tickets of two generations of a worker must differ, as answers to the older one still come.
_GENERATIONS: Final = 1 << 8
#: How many tickets a generation has.
_OWN: Final = _TICKETS // _GENERATIONS


@dataclass(slots=True)
class Request:
    """A message that wants an answer.

    Attributes:
        key: a ticket, or what else the answer is known by.
        message: as it is said, again and again.
        call: which it is for.
        shard: it goes to this shard's server, whoever that is; -1: to `peer`.
        peer: whom it goes to otherwise.
        slice: whose push or pull it is.
        sent: a push: its turn has come.
        kept: a push: a server said that it has it.
    """

    key: Hashable
    message: Message
    call: int | None = None
    shard: int = -1
    peer: Peer | None = None
    slice: Slice | None = None
    sent: bool = True
    kept: bool = False


@final
class Requests:
    """The messages of a worker that wait for an answer.

    Args:
        plan: the run's.
        out: takes the actions.
        moment: the time, as the machine has it.
        generation: of this process.

    Attributes:
        view: who answers for which shard.
        servers: by rank.
    """

    def __init__(self, plan: RunPlan, out: list[Action], moment: Moment, generation: int) -> None:
        self.view = View(0)
        self.servers = tuple(Peer("server", rank) for rank in range(plan.servers))
        self._out = out
        self._moment = moment
        self._requests: dict[Hashable, Request] = {}
        self._repeats: Repeats[Hashable] = Repeats(plan.patience)
        self._base = (generation % _GENERATIONS) * _OWN
        self._ticket = 0

    def __contains__(self, key: Hashable) -> bool:
        return key in self._requests

    @property
    def next(self) -> float:
        """A time before which nothing is to be said again."""
        return self._repeats.next

    def new_ticket(self) -> int:
        """Returns a number that an answer is to be known by."""
        ticket = self._ticket
        while True:
            ticket = (ticket + 1) % _OWN
            if self._base + ticket not in self._requests:
                break
        self._ticket = ticket
        return self._base + ticket

    def ask_scheduler(self, key: Hashable, message: Message, call: int | None) -> None:
        """Says something to the scheduler until it is answered."""
        self.ask(Request(key, message, call, peer=SCHEDULER))

    def ask_shard(
        self, shard: int, ticket: int, message: Message, call: int | None, one: Slice | None = None
    ) -> None:
        """Says something to who answers for a shard, whoever that is."""
        self.ask(Request(ticket, message, call, shard, slice=one))

    def ask(self, request: Request) -> None:
        """Says something until it is answered."""
        self._requests[request.key] = request
        self.say(request)

    def hold(self, request: Request) -> None:
        """Takes down something whose turn to be said is still to come."""
        self._requests[request.key] = request

    def say(self, request: Request) -> None:
        """Says it, for the first time or again."""
        self._repeats.add(request.key, self._moment.now)
        self._out.append(Post(self.target(request), request.message))

    def target(self, request: Request) -> Peer:
        """Whom it goes to."""
        if request.shard >= 0:
            return self.servers[self.view.places[request.shard].primary]
        assert request.peer is not None
        return request.peer

    def find(self, key: Hashable) -> Request | None:
        """The message that waits for this answer, if one does."""
        return self._requests.get(key)

    def every(self) -> list[Request]:
        """All of them."""
        return list(self._requests.values())

    def answered(self, key: Hashable) -> Request | None:
        """Takes a message off, if its answer is still waited for."""
        request = self._requests.pop(key, None)
        if request is not None:
            self._repeats.drop(key)
        return request

    def received(self, key: Hashable) -> None:
        """Notes that a message was heard, and its answer takes time: it is said again rarely."""
        self._repeats.slow_down(key, self._moment.now)

    def wait_again(self, request: Request) -> None:
        """Its turn to be said is still to come, or has to come once more."""
        self._repeats.drop(request.key)

    def say_due(self) -> None:
        """Says again what has waited for long; of a push only asks what has become of it."""
        for key in self._repeats.due(self._moment.now):
            request = self._requests[key]
            message = request.message
            if isinstance(message, PushPart):
                message = AskPart(message.ticket, message.part, message.number)
            self._out.append(Post(self.target(request), message))
