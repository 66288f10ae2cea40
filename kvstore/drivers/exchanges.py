"""A worker's messages to servers, each until its answer comes, for who watches the traffic."""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any, Final, final

import hybridnet.kvstore.traffic as traffic
from hybridnet.kvstore.messages import Key
from hybridnet.kvstore.protocol.words import (
    Applied,
    Initialized,
    InitPart,
    PartId,
    PartStates,
    PartValue,
    Peer,
    Post,
    PullPart,
    PullStates,
    PushPart,
    PutStates,
    StatesPut,
)
from hybridnet.kvstore.transport.mapped_lane import span_size
from hybridnet.kvstore.transport.wire import Buffer, Payload

_WHAT: Final[dict[type, traffic.What]] = {
    InitPart: "init",
    PullPart: "pull",
    PullStates: "states",
    PushPart: "push",
    PutStates: "states",
}
_ANSWERS: Final = (Applied, Initialized, PartStates, PartValue, StatesPut)


@final
@dataclass(slots=True)
class _Open:
    """A message that was sent: what `traffic.Exchange` has of it."""

    what: traffic.What
    key: Key
    part: PartId
    to: Peer
    start: int
    sent: int = 0
    shared: bool = False


@final
class Exchanges:
    """The messages without an answer; kept only while somebody watches."""

    def __init__(self) -> None:
        self._open: dict[int, _Open] = {}
        self._names: dict[int, Key] = {}  # by a key's number

    def posted(self, post: Post, payload: Payload | None, rows: Buffer | None) -> None:
        """A message goes out, with values and numbers of rows; what is sent again counts again."""
        message = post.message
        if isinstance(message, InitPart):
            self._names[message.part.id[0]] = message.name
        if traffic.observer is None:
            self._open.clear()
            return
        if not isinstance(message, (InitPart, PullPart, PullStates, PushPart, PutStates)):
            return
        one = self._open.get(message.ticket)
        if one is None:
            both = isinstance(message, PushPart) and message.wants_value
            what: traffic.What = "push and pull" if both else _WHAT[type(message)]
            part = message.part.id if isinstance(message, InitPart) else message.part
            key = self._names.get(part[0], part[0])
            one = self._open[message.ticket] = _Open(what, key, part, post.to, perf_counter_ns())
        size, shared = _size(payload)
        one.sent += size + (0 if rows is None else len(rows))
        one.shared |= shared
        one.to = post.to  # a standby may have taken over

    def answered(self, me: Peer, message: Any, payload: Payload | None) -> None:
        """An answer has come to this worker, and with it a value as it travelled."""
        observer = traffic.observer
        if observer is None or not isinstance(message, _ANSWERS):
            return
        one = self._open.pop(message.ticket, None)
        if one is None:
            return
        size, shared = _size(payload)
        number = 0
        if isinstance(message, PartValue):
            number = message.round
        elif isinstance(message, (Applied, Initialized)):
            number = message.number
        observer(
            traffic.Exchange(
                one.what,
                one.key,
                _name(me),
                _name(one.to),
                one.sent,
                size,
                one.start,
                perf_counter_ns(),
                number,
                one.part[1],
                one.shared or shared,
            )
        )


def _size(payload: Payload | None) -> tuple[int, bool]:
    """Returns how many bytes a payload brings, and whether through shared memory."""
    if payload is None:
        return 0, False
    if payload.lane:
        return span_size(payload.frames[0]), True
    return payload.size, False


def _name(peer: Peer) -> str:
    return f"{peer.role} {peer.rank}"
