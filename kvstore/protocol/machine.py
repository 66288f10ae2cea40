"""The base of the machines: events in, actions out, a `Wake` for the next deadline."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import inf
from typing import Any, final

from hybridnet.kvstore.protocol.words import (
    Action,
    Arrived,
    Incoming,
    Message,
    Peer,
    Post,
    ProcessIdentity,
    RunPlan,
    Tick,
    Wake,
)


@final
class Moment:
    """The time of what is being handled, for all parts of a machine.

    Attributes:
        now: seconds.
    """

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 0.0


class Machine(ABC):
    """Decides what events lead to; see `protocol.words` for how a driver uses it.

    Subclasses put their handlers into `_on`, by the class of the event, and `_told`, by the class
    of the message that arrived; handlers append actions to `_out`.

    Args:
        plan: the run's.
        me: this process.
    """

    def __init__(self, plan: RunPlan, me: ProcessIdentity) -> None:
        self.plan = plan
        self.me = me
        self._moment = Moment()
        self._out: list[Action] = []
        self._wake = inf
        #: Nothing is handled any more.
        self._closed = False
        self._on: dict[type, Callable[[Any], None]] = {}
        self._told: dict[type, Callable[[Peer, int, Any], None]] = {}

    def start(self, now: float) -> list[Action]:
        """Returns what a process does first."""
        self._moment.now = now
        self._begin()
        return self._flush()

    def handle(self, event: Incoming, now: float) -> list[Action]:
        """Takes an event; returns what is to be done, in order.

        Args:
            event: what has happened.
            now: seconds.
        """
        if self._closed:
            return []
        self._moment.now = now
        if type(event) is Arrived:
            if event.run == self.plan.run:
                self._receive(event.source, event.generation, event.message)
        elif type(event) is Tick:
            self._wake = inf
            self._tick()
        else:
            handler = self._on.get(type(event))
            if handler is None:
                raise TypeError(f"{type(self).__name__} takes no {type(event).__name__}")
            handler(event)
        return self._flush()

    @property
    def _now(self) -> float:
        return self._moment.now

    @abstractmethod
    def _begin(self) -> None:
        """Does what a process does first."""

    @abstractmethod
    def _tick(self) -> None:
        """Does what is due."""

    @abstractmethod
    def _deadline(self) -> float:
        """When something is due next."""

    def _receive(self, source: Peer, generation: int, message: Message) -> None:
        handler = self._told.get(type(message))
        if handler is not None:  # what is not for this role is dropped
            handler(source, generation, message)

    def _post(self, to: Peer, message: Message) -> None:
        self._out.append(Post(to, message))

    def _flush(self) -> list[Action]:
        deadline = inf if self._closed else self._deadline()
        if deadline < self._wake:
            self._wake = deadline
            self._out.append(Wake(deadline))
        out = self._out[:]
        self._out.clear()  # the list stays: parts of a machine hold it
        return out
