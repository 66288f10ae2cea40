"""What a worker remembers: calls, slices of keys, and messages without an answer."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field

from hybridnet.kvstore.protocol.words import (
    CallPull,
    CallPush,
    CallRestore,
    CallStates,
    KeySpec,
    Message,
    Part,
    Peer,
)

__all__ = ["OpenCall", "Request", "Slice", "SlicedKey", "resume_at"]


@dataclass(slots=True)
class OpenCall:
    """A call that is not complete.

    Attributes:
        call: the driver's number of it.
        left: how many answers are missing.
    """

    call: int
    left: int


@dataclass(slots=True)
class Slice:
    """A part as a worker sees it.

    Its pushes and pulls begin in the order of the calls. A push waits until the push before it is
    applied, so that a round never has two of a worker, and until the pulls before it are answered,
    so that they do not see it. A pull waits for nothing here: it names the push that it must see.

    Attributes:
        part: which.
        ready: servers have it.
        number: of the last push that has begun.
        pushing: a push has begun and is not applied.
        pulling: how many pulls are not answered.
        waiting: calls that have not begun.
    """

    part: Part
    ready: bool = False
    number: int = 0
    pushing: bool = False
    pulling: int = 0
    waiting: deque[CallPush | CallPull | CallStates | CallRestore] = field(default_factory=deque)


@dataclass(slots=True)
class SlicedKey:
    """A key as a worker sees it.

    Attributes:
        number: of the key.
        spec: what it holds.
        slices: its parts.
        pushes: how many this process was asked for.
    """

    number: int
    spec: KeySpec
    slices: tuple[Slice, ...]
    pushes: int = 0


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


def resume_at(heights: list[tuple[int, bool]]) -> tuple[int, int]:
    """Says how many pushes of each key a restarted worker need not make again.

    A process that died in the middle of a step had pushed some of its keys, which stand one higher
    than the rest. The step is done again, and what counted already is not counted twice. Keys that
    are pushed more rarely are further behind; they go on where they are.

    Args:
        heights: from each server the highest number of a push, and whether a part of it stands at
            one less.

    Returns:
        The highest number, and how many pushes count already.
    """
    # (0, False) is a server without parts: it says nothing.
    heights = [one for one in heights if one != (0, False)] or [(0, False)]
    high = max(height for height, _ in heights)
    below = high > 0 and any(
        height == high - 1 or (height == high and less) for height, less in heights
    )
    return high, high - 1 if below else high
