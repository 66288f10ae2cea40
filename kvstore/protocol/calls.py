"""A worker's memory: calls that are not complete, and slices of keys."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import final

from hybridnet.kvstore.protocol.words import (
    Action,
    CallPull,
    CallPush,
    CallRestore,
    CallStates,
    Done,
    KeySpec,
    Part,
    PartId,
)

#: Calls that are carried out part by part.
SliceCall = CallPush | CallPull | CallStates | CallRestore


@final
class Calls:
    """The calls that are not complete, and how many answers each of them lacks.

    Args:
        out: takes the actions.
        ended: called when one is complete.
    """

    def __init__(self, out: list[Action], ended: Callable[[], None]) -> None:
        self._out = out
        self._ended = ended
        self._left: dict[int, int] = {}

    def __bool__(self) -> bool:
        return bool(self._left)

    def __contains__(self, call: int | None) -> bool:
        return call in self._left

    def begin(self, call: int, answers: int) -> None:
        """Takes down a call that is complete after so many answers."""
        self._left[call] = answers

    def answered(self, call: int | None) -> None:
        """One of a call's answers has come; None, or a call that has failed, waits for none."""
        left = self._left.get(call)  # type: ignore[arg-type]
        if left is None or call is None:
            return
        if left > 1:
            self._left[call] = left - 1
            return
        del self._left[call]
        self._out.append(Done(call))
        self._ended()

    def drop(self, call: int) -> bool:
        """Forgets a call that fails; whether it was not complete."""
        return self._left.pop(call, None) is not None

    def drop_all(self) -> list[int]:
        """Forgets all calls; returns them."""
        calls = list(self._left)
        self._left.clear()
        return calls


@dataclass(slots=True)
class Slice:
    """A part as a worker sees it.

    Its pushes and pulls begin in the order of the calls. A push waits until the push before it is
    applied, so that a round never has two of a worker, and until the pulls before it are answered,
    so that they do not see it. A pull waits for nothing here: it names the push that it must see.

    Attributes:
        part: which.
        id: of the part.
        ready: servers have it.
        number: of the last push that has begun.
        pushing: a push has begun and is not applied.
        pulling: how many pulls are not answered.
        waiting: calls that have not begun.
    """

    part: Part
    id: PartId
    ready: bool = False
    number: int = 0
    pushing: bool = False
    pulling: int = 0
    waiting: deque[SliceCall] = field(default_factory=deque)


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


def resume_at(heights: list[tuple[int, bool]]) -> tuple[int, int]:
    """Says how many pushes of each key a restarted worker need not make again.

    A process that died in the middle of a step had pushed some of its keys, which stand one higher
    than the rest. The step is done again, and what counted already is not counted twice.

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
