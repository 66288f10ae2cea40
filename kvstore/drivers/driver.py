"""The driver of a machine: it takes events from a transport and a clock, and carries out actions.

Each role has a driver of its own; this is what they share. A driver is one thread's.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import Any, Final

from hybridnet.kvstore.drivers.fitting import check_fits
from hybridnet.kvstore.drivers.plans import split_address
from hybridnet.kvstore.drivers.rules import SEALED, fits
from hybridnet.kvstore.protocol.machine import Machine
from hybridnet.kvstore.protocol.words import (
    SCHEDULER,
    Action,
    Applied,
    Arrived,
    Command,
    Commit,
    Finish,
    Fold,
    Hello,
    Incoming,
    Initialized,
    Install,
    PartStates,
    PartValue,
    Peer,
    PeerLost,
    Peers,
    PeerUp,
    Post,
    Refused,
    Remember,
    RunPlan,
    StatesPut,
    Tick,
    View,
    Wake,
    Welcome,
)
from hybridnet.kvstore.transport.interface import (
    Connected,
    Disconnected,
    Heard,
    Rejected,
    Report,
    Transport,
)
from hybridnet.kvstore.transport.wire import Buffer, Payload, WireError, decode, encode

#: What is done after something that failed: what stands between is about what failed.
FIRST: Final = (Install, Fold, Commit, Remember)
#: What is refused then instead of being answered.
ANSWERS: Final = (Applied, Initialized, PartValue, PartStates, StatesPut)
#: What says who is where.
_TELLING: Final = frozenset((Hello, Welcome, Peers))
#: Bytes in mapped files from which on it is said at once that they are there.
_EARLY_BYTES: Final = 1 << 18
#: Names of processes without a rank whose way back is remembered.
_MOST_NAMES: Final = 1 << 16


class Driver(ABC):
    """Runs a machine.

    Args:
        machine: decides.
        transport: sends and receives.
        plan: the run's.

    Attributes:
        finished: why the machine has come to its end; None: it has not.
        refused: how many messages were none, broke their bounds, or were not their sender's to say.
        bytes_sent: of payloads.
        bytes_received: of payloads.
    """

    def __init__(self, machine: Machine, transport: Transport, plan: RunPlan) -> None:
        self._machine = machine
        self._transport = transport
        self._plan = plan
        self._wake = inf
        self._view = View(0)
        self._near: dict[Peer, bool] = {}
        self._shared = 0  # bytes in mapped files that are announced, and not yet told
        self._names: dict[str, bytes] = {}
        self._way = b""  # by which the message came that is being handled
        self._aside: Peer | None = None  # who has sent it, if it is known by another way
        self._generations: dict[Peer, int] = {}
        self._lost: set[Peer] = set()
        self._events: deque[Incoming] = deque()
        self._handling = False
        self.finished: Finish | None = None
        self.refused = 0
        self.bytes_sent = self.bytes_received = 0

    def start(self) -> None:
        """Does what the machine does first."""
        self._carry_out(self._machine.start(time.monotonic()))

    def turn(self, longest: float | None = None) -> None:
        """Waits for something to happen, and does what follows.

        Args:
            longest: seconds to wait at most; None: as long as the machine allows.
        """
        wait: float | None = None
        if self._wake < inf:
            wait = max(0.0, self._wake - time.monotonic())
        if longest is not None:
            wait = longest if wait is None else min(wait, longest)
        for report in self._transport.receive(wait):
            self._take(report)
        if time.monotonic() >= self._wake:
            self._wake = inf
            self.handle(Tick())

    def handle(self, event: Incoming) -> None:
        """Hands an event to the machine, and does what follows."""
        if self._handling:  # it came up while another is handled
            self._events.append(event)
            return
        if self.finished is not None:
            return
        self._handling = True
        self._carry_out(self._machine.handle(event, time.monotonic()))
        while self._events and self.finished is None:
            self._carry_out(self._machine.handle(self._events.popleft(), time.monotonic()))
        self._handling = False

    def _take(self, report: Report) -> None:
        match report:
            case Heard():
                self._hear(report)
            case Connected(peer):
                # What was said before the first connection waited for it.
                if peer in self._lost:
                    self._lost.discard(peer)
                    self.handle(PeerUp(peer))
            case Disconnected(peer):
                self._lost.add(peer)
                known = self._generations.get(peer, 0)
                self.handle(PeerLost(peer, "its connection is gone", known))
            case Rejected(peer, reason):
                self._rejected(peer, reason)

    def _rejected(self, peer: Peer, reason: str) -> None:
        """A peer does not let this process in: it is of another run."""
        if peer == SCHEDULER:
            self.finished = Finish("wrong", f"the scheduler refuses this process: {reason}")

    def _hear(self, heard: Heard) -> None:
        try:
            events = decode(heard.frames)
            for event in events:
                check_fits(self._plan, event)
        except WireError:
            self.refused += 1
            return
        for event in events:
            self._take_in(heard, event)

    def _take_in(self, heard: Heard, event: Arrived) -> None:
        if not fits(heard, event, self._machine.me.peer.role):
            self.refused += 1
            return
        if event.run != self._plan.run:
            self.refused += 1
            if not isinstance(event.message, Refused):
                self._refuse(heard.route, event, "this process belongs to another run")
            return
        # Who sends something sealed beside its values is answered there, and only this time.
        self._aside = event.source if type(event.message) is Command else None
        if self._aside is None:
            self._know(heard, event)
        self._way = heard.route
        prepared = self._prepare(event)
        if prepared is not None:
            self.handle(prepared)

    def _know(self, heard: Heard, event: Arrived) -> None:
        """Remembers the way to who sent this."""
        source = event.source
        if type(event.message) in _TELLING:
            self._learn(heard, event.message)
        if heard.route and source.rank >= 0 and heard.peer != source:
            if event.generation < self._generations.get(source, 0):
                return  # what it is answered goes to the newest process of its name
            self._generations[source] = event.generation
            self._transport.bind(source, heard.route)
            if source in self._lost:
                self._lost.discard(source)
                self.handle(PeerUp(source))

    def _learn(self, heard: Heard, message: Any) -> None:
        if not isinstance(message, Hello):
            self._see(message.view)
        elif len(self._names) < _MOST_NAMES:
            self._names[message.name] = heard.route

    def _refuse(self, route: bytes, event: Arrived, sentence: str) -> None:
        ticket = getattr(event.message, "ticket", 0)
        answer = Refused(ticket, "wrong", sentence)
        me = self._machine.me
        frames = encode(answer, me.peer, me.generation, event.run)
        self._transport.send(event.source, frames, route=route)

    def _see(self, view: View) -> None:
        """Connects to servers where the newest view says that they are."""
        if view.number <= self._view.number:
            return
        self._view = view
        self._near.clear()
        for state in view.peers:
            listens = split_address(state.address)[0]
            if self._wants(state.peer) and listens and state.state in ("up", "lost"):
                self._transport.connect(state.peer, listens, self._near_folder(state.peer))

    def _carry_out(self, actions: Sequence[Action]) -> None:
        failure = ""
        for action in actions:
            kind = type(action)
            if kind is Post and not failure:
                self._post(action)  # type: ignore[arg-type]
            elif isinstance(action, Wake):
                self._wake = min(self._wake, action.at)
            elif failure and not isinstance(action, FIRST):
                if isinstance(action, Post) and isinstance(action.message, ANSWERS):
                    refusal = Refused(action.message.ticket, "broke", failure)
                    self._post(Post(action.to, refusal))
            elif isinstance(action, Finish):
                self.finished = action
            else:
                failure = self._act(action)

    def _post(self, post: Post) -> None:
        message, me, to = post.message, self._machine.me, post.to
        route = b""
        if to.rank < 0:
            route = self._names.get(getattr(message, "name", ""), b"") or self._way
            if not route:
                return
        elif post.generation and post.generation != self._generations.get(to, post.generation):
            route = self._way  # an older process of this name is being answered
        elif to == self._aside:
            route = self._way
        payload, rows, copy = self._data(post)
        frames = encode(message, me.peer, me.generation, self._plan.run, payload=payload, rows=rows)
        sealed = type(message) in SEALED
        self._transport.send(to, frames, route=route, copy=copy, sealed=sealed)
        if payload is not None:
            self.bytes_sent += payload.size
            self._shared += payload.shared
            if self._shared >= _EARLY_BYTES:  # the receiver has work to do while the next is copied
                self._shared = 0
                self._transport.flush()

    def _is_near(self, peer: Peer) -> bool:
        """Whether a peer sees the same mapped files as this process."""
        near = self._near.get(peer)
        if near is None:
            near = self._near[peer] = self._sees(peer)
        return near

    def _sees(self, peer: Peer) -> bool:
        state = self._view.find(peer)
        mine = split_address(self._machine.me.address)[1]
        return state is not None and split_address(state.address)[1] == mine

    def close(self, linger: float = 0.0) -> None:
        """Closes the transport."""
        self._transport.close(linger)

    def _near_folder(self, peer: Peer) -> Path | None:
        """The folder of a peer that this process sees, too."""
        return None

    def _wants(self, peer: Peer) -> bool:
        """Whether this process connects to this peer."""
        return False

    def _prepare(self, event: Arrived) -> Arrived | None:
        """Checks what a message brings, and makes of it what the machine passes on.

        Returns:
            The event to hand over; None: it was refused.
        """
        return event

    def _data(self, post: Post) -> tuple[Payload | None, Buffer | None, bool]:
        """Returns payload and rows of a message, and whether they must be copied."""
        return None, None, False

    @abstractmethod
    def _act(self, action: Any) -> str:
        """Carries out an action of the role's.

        Returns:
            "" or why it failed: what follows of the same part is left out, or refused.
        """
