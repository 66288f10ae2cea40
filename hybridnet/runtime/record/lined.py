"""Segments that note where in the user's code their instructions were recorded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, final

from hybridnet import engine
from hybridnet.base.context import Context
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.core.call import Call, Types

from ..observe import events, journal
from ..observe.journal import Lines
from ..segments.segment import Segment, Value

__all__ = ["LinedSegment", "inside_of", "lines_of", "new_segment", "recorded", "where"]


@final
class LinedSegment(Segment):
    """A segment that also notes where in the user's code each instruction was recorded.

    Attributes:
        lines: where.
        inside: the operator written in Python whose code recorded it; see `events.inside`.
    """

    __slots__ = ("inside", "lines")

    def __init__(self, ctx: Context, limit: int) -> None:
        super().__init__(ctx, limit)
        self.lines: Lines = {}
        self.inside = events.inside.operator

    def append(
        self, call: Call, values: Sequence[Value], scalars: tuple[Any, ...], types: Types
    ) -> list[Value] | None:
        """Adds one instruction; see `Segment.append`."""
        made = super().append(call, values, scalars, types)
        if made:
            self.lines[made[0].index] = engine.caller_origin(2)
        return made

    def append_one(
        self, call: Call, values: Sequence[Value], scalars: tuple[Any, ...], type: TensorType
    ) -> Value | None:
        """Adds one instruction; see `Segment.append_one`."""
        made = super().append_one(call, values, scalars, type)
        if made is not None:
            self.lines[made.index] = engine.caller_origin(2)
        return made


def new_segment(ctx: Context, limit: int) -> Segment:
    """Returns a segment, which notes lines if somebody wants them."""
    return LinedSegment(ctx, limit) if journal.is_listening() else Segment(ctx, limit)


def lines_of(segment: Segment) -> Lines:
    """Returns where a segment's instructions were recorded, as far as that was noted."""
    return segment.lines if type(segment) is LinedSegment else {}


def inside_of(segment: Segment) -> str:
    """Returns in whose code it was recorded: see `LinedSegment`; empty where that is unknown."""
    return segment.inside if type(segment) is LinedSegment else ""


def where(segment: Segment) -> str:
    """Returns ``; recorded at train.py:12`` for a message; empty where that was not noted."""
    return recorded(lines_of(segment).values())


def recorded(origins: Iterable[engine.Origin | None]) -> str:
    """Returns ``; recorded at train.py:12-15`` for a message; empty where no place is known."""
    places = journal.ranges(origins)
    return f"; recorded at {places}" if places else ""
