"""Where in the user's code something was recorded, and whether NaN is meant there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, final

from hybridnet import engine

__all__ = ["Allowed", "allowing_nans", "allows_nans", "noted_origin", "recorded_at"]


class _State(threading.local):
    """The state of each thread.

    Attributes:
        allowed: whether it is in a block in which NaN and infinity are meant.
        instead: the origin of all that it records; None where that is where it is called.
    """

    allowed = False
    instead: engine.Origin | None = None


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
    if _state.instead is not None:
        return _state.instead
    found = engine.caller_origin(depth + 1)
    if found is None or not _state.allowed:
        return found
    return Allowed(found)  # type: ignore[return-value]


def allows_nans(place: engine.Origin | None) -> bool:
    """Whether an origin is in a block in which NaN and infinity are meant."""
    return type(place) is Allowed


@contextmanager
def recorded_at(place: engine.Origin | None) -> Iterator[_State]:
    """A block in which what this thread records has an origin, not that where it is called.

    Args:
        place: the origin; None leaves it at that of the block around this one.

    Yields:
        What holds it, as `instead`, where it can be changed.
    """
    was, _state.instead = _state.instead, place or _state.instead
    try:
        yield _state
    finally:
        _state.instead = was


@contextmanager
def allowing_nans() -> Iterator[None]:
    """A block in which what this thread records may make NaN and infinity."""
    was, _state.allowed = _state.allowed, True
    try:
        yield
    finally:
        _state.allowed = was
