"""Faults in a student's part, and where they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, final


class PartLine(NamedTuple):
    """A line of the student's file.

    Attributes:
        line: its number, from 1.
        text: of it.
        function: the function that it is in.
    """

    line: int
    text: str
    function: str


@final
@dataclass
class Finding:
    """A fault in a student's part.

    Attributes:
        key: of the sentence that tells of it.
        values: what stands in it.
        example: the smallest one; '' where there is none.
        place: where in the student's file it was raised; None where it was not.
    """

    key: str
    values: dict[str, str] = field(default_factory=dict)
    example: str = ""
    place: PartLine | None = None
