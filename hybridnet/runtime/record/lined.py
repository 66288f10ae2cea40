"""Segments that note where in the user's code their instructions were recorded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hybridnet import engine
from hybridnet.base.attrs import Number
from hybridnet.base.context import Context
from hybridnet.base.origins import noted_origin
from hybridnet.base.tensor_type import TensorType
from hybridnet.ops.core import Call, Types

from ..observe import events, journal
from ..observe.journal import Lines
from ..segments.segment import Segment, Value

__all__ = ["LinedSegment", "inside_of", "lines_of", "recorded", "where"]


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
        self, call: Call, values: Sequence[Value], scalars: tuple[Number, ...], types: Types
    ) -> list[Value] | None:
        """Adds one instruction; see `Segment.append`."""
        made = super().append(call, values, scalars, types)
        if made:
            self.lines[made[0].index] = noted_origin(2)
        return made

    def append_one(
        self, call: Call, values: Sequence[Value], scalars: tuple[Number, ...], type: TensorType
    ) -> Value | None:
        """Adds one instruction; see `Segment.append_one`."""
        made = super().append_one(call, values, scalars, type)
        if made is not None:
            self.lines[made.index] = noted_origin(2)
        return made


def lines_of(segment: Segment) -> Lines:
    """Returns where a segment's instructions were recorded, as far as that was noted."""
    return segment.lines if isinstance(segment, LinedSegment) else {}


def inside_of(segment: Segment) -> str:
    """Returns in whose code it was recorded: see `LinedSegment`; empty where that is unknown."""
    return segment.inside if isinstance(segment, LinedSegment) else ""


def where(segment: Segment) -> str:
    """Returns ``; recorded at train.py:12`` for a message; empty where that was not noted."""
    return recorded(lines_of(segment).values())


def recorded(origins: Iterable[engine.Origin | None]) -> str:
    """Returns ``; recorded at train.py:12-15`` for a message; empty where no place is known."""
    places = journal.ranges(origins)
    return f"; recorded at {places}" if places else ""
