"""The liveness of peers: who is lost since when, and which messages are to be sent again when.

A connection that is gone, or a process of which the supervisor says that it has ended, makes a peer
*lost*: it may come back. What waits longer than a given time is *due*: a standby takes over, the
peer is declared dead, a call fails. A process that is being started again has more time for that,
as a loaded machine may need it. A slow peer is none of this: transports hear its heartbeats
from a thread that needs no Python.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from math import inf
from typing import Generic, TypeVar, final

from hybridnet.kvstore.protocol.words import Patience, Peer

K = TypeVar("K", bound=Hashable)


@dataclass(frozen=True, slots=True)
class PeerLoss:
    """When and how a peer was lost.

    Attributes:
        since: the time.
        reason: in words.
        ended: its process has, so that what still arrives from it does not bring it back.
        returns: another is being started in its place.
    """

    since: float
    reason: str
    ended: bool = False
    returns: bool = False


@final
class LossWatch:
    """The peers that are lost."""

    def __init__(self) -> None:
        self._losses: dict[Peer, PeerLoss] = {}

    def lose(
        self, peer: Peer, now: float, reason: str, ended: bool = False, returns: bool = False
    ) -> None:
        """Takes down a loss. A peer that is lost already stays so since then."""
        known = self._losses.get(peer)
        if known is None:
            self._losses[peer] = PeerLoss(now, reason, ended, returns)
        elif ended:
            self._losses[peer] = PeerLoss(known.since, reason, ended, returns)

    def expect(self, peer: Peer) -> None:
        """A peer is being started again; if it is not lost, nothing changes."""
        loss = self._losses.get(peer)
        if loss is not None and not loss.returns:
            self._losses[peer] = replace(loss, returns=True)

    def find(self, peer: Peer) -> PeerLoss | None:
        """The loss of a peer, if it is lost."""
        return self._losses.get(peer)

    def hear(self, peer: Peer) -> bool:
        """Something has come from the peer: whether it was lost and is there again.

        A process that has ended is not: what comes from it was on its way.
        """
        loss = self._losses.get(peer)
        if loss is None or loss.ended:
            return False
        del self._losses[peer]
        return True

    def forget(self, peer: Peer) -> None:
        """The peer is there again, or nobody waits for it any more."""
        self._losses.pop(peer, None)

    def due(self, after: float, now: float, restart: float = 0.0) -> list[Peer]:
        """The peers that have been lost for this long, or `restart` if that is longer for them.

        Args:
            after: seconds since they were lost.
            now: the time.
            restart: the same, of those that are being started again.
        """
        losses = self._losses.items()
        return [peer for peer, loss in losses if now >= _time_of(loss, after, restart)]

    def next(self, after: float, now: float, restart: float = 0.0) -> float:
        """When the next one is due that is not due yet; `inf` if there is none. See `due`."""
        times = (_time_of(loss, after, restart) for loss in self._losses.values())
        return min((time for time in times if time > now), default=inf)

    def __bool__(self) -> bool:
        return bool(self._losses)


def _time_of(loss: PeerLoss, after: float, restart: float) -> float:
    """When something is due because of a loss."""
    return loss.since + (max(after, restart) if loss.returns else after)


@final
class Repeats(Generic[K]):
    """The messages without an answer, and when each is said again: later each time.

    Args:
        patience: how long the times are.
    """

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._times: dict[K, tuple[float, float]] = {}
        self._next = inf

    @property
    def next(self) -> float:
        """A time before which nothing is due; `inf` if there is nothing."""
        return self._next if self._times else inf

    def add(self, key: K, now: float) -> None:
        """Notes that something has been said now, for the first time or anew."""
        pause = self._patience.ask
        self._times[key] = (now + pause, pause)
        self._next = min(self._next, now + pause)

    def slow_down(self, key: K, now: float) -> None:
        """Notes that it was heard, and only its answer takes time: it is asked for rarely."""
        pause = self._patience.longest
        self._times[key] = (now + pause, pause)

    def drop(self, key: K) -> None:
        """Forgets what was answered."""
        self._times.pop(key, None)

    def due(self, now: float) -> list[K]:
        """Returns what is to be said again now; it counts as said."""
        if now < self._next:
            return []
        patience, found, following = self._patience, [], inf
        for key, (time, pause) in self._times.items():
            if time <= now:
                found.append(key)
                pause = min(pause * patience.growth, patience.longest)
                time = now + pause
                self._times[key] = (time, pause)
            following = min(following, time)
        self._next = following
        return found
