"""Where in the user's code something was recorded, and whether NaN is meant there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, NamedTuple, final

from hybridnet import engine

__all__ = ["Allowed", "CallSite", "allowing_nans", "allows_nans", "noted_origin", "recorded_at"]


class CallSite(NamedTuple):
    """Where an operator was called.

    Attributes:
        origin: the user's line; None where it is not known.
        outer: the line that called the graph it is in; None outside of graphs.
        node: the name of its node in a graph; empty outside.
        turn: which turn of a loop; None outside of loops.
    """

    origin: engine.Origin | None = None
    outer: engine.Origin | None = None
    node: str = ""
    turn: int | None = None

    @property
    def is_allowed(self) -> bool:
        """Whether NaN is meant there."""
        return allows_nans(self.origin) or allows_nans(self.outer)

    def __str__(self) -> str:
        """Such as `` at net.py:12 (node 'dense0', called at train.py:3)``; empty if not known."""
        found = engine.resolve_origin(self.origin)
        text = f" at {found[0]}:{found[1]}" if found else ""
        outer = engine.resolve_origin(self.outer)
        more = [f"node {self.node!r}"] if self.node else []
        if self.turn is not None:
            more.append(f"turn {self.turn}")
        if outer is not None and outer != found:
            more.append(f"called at {outer[0]}:{outer[1]}")
        return f"{text} ({', '.join(more)})" if more else text


class _State(threading.local):
    """The state of each thread.

    Attributes:
        allowed: whether it is in a block in which NaN and infinity are meant.
        instead: the origin of what `asker` has recorded; None where that is where it is called.
        asker: the origin of the call in whose place `instead` is named: of `backward`, say. Code of
            the user's that runs below it has lines of its own.
    """

    allowed = False
    instead: engine.Origin | None = None
    asker: engine.Origin | None = None


_state: Final = _State()


@final
class Allowed(tuple[object, ...]):
    """An origin in a block in which NaN and infinity are meant; else as any other."""

    __slots__ = ()


def noted_origin(depth: int) -> engine.Origin | None:
    """Returns the innermost call on this thread's stack that is not hybridnet's own.

    Args:
        depth: as in `engine.caller_origin`.
    """
    found = engine.caller_origin(depth + 1)
    if _state.instead is not None and found == _state.asker:
        found = _state.instead
    if found is None or not _state.allowed:
        return found
    return Allowed(found)  # type: ignore[return-value]


def allows_nans(place: engine.Origin | None) -> bool:
    """Whether an origin is in a block in which NaN and infinity are meant."""
    return type(place) is Allowed


@contextmanager
def recorded_at(place: engine.Origin | None) -> Iterator[_State]:
    """A block in which what this line of the user's records gets another origin.

    Args:
        place: the origin; None leaves it at that of the block around this one.

    Yields:
        What holds it, as `instead`, where it can be changed.
    """
    before = _state.instead, _state.asker
    _state.instead, _state.asker = place or _state.instead, engine.caller_origin(2)
    try:
        yield _state
    finally:
        _state.instead, _state.asker = before


@contextmanager
def allowing_nans() -> Iterator[None]:
    """A block in which what this thread records may make NaN and infinity."""
    was, _state.allowed = _state.allowed, True
    try:
        yield
    finally:
        _state.allowed = was
