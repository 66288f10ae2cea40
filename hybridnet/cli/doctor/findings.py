"""The findings of the doctor, in groups; what is said twice is one finding with two places."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, final


class Group(Enum):
    """The severity of a finding for who is to run the project; its value is a report heading."""

    STOPS = "will not run"
    CHANGE = "to change"
    DIFFERS = "differs"
    NOTE = "for your information"


class Spot(NamedTuple):
    """A place in the project.

    Attributes:
        file: its path from the project's folder.
        line: from 1; 0 means the whole file.
        cell: of a notebook, from 1, whose lines are counted by themselves; 0: the file is none.
    """

    file: str
    line: int = 0
    cell: int = 0

    def __str__(self) -> str:
        cell = f":cell {self.cell}" if self.cell else ""
        return f"{self.file}{cell}" + (f":{self.line}" if self.line else "")


@final
@dataclass(frozen=True)
class Finding:
    """One thing to say.

    Attributes:
        group: what it means.
        text: in words.
        places: where, in the order of the project's files; each with what it is said of there, if
            the text holds for several names.
    """

    group: Group
    text: str
    places: dict[tuple[Spot, str], None] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """The names that the finding is about, if one text holds for several."""
        return list(dict.fromkeys(name for _, name in self.places if name))

    def __str__(self) -> str:
        return f"{', '.join(self.names)}: {self.text}" if self.names else self.text


@final
class Findings:
    """Collects findings."""

    def __init__(self) -> None:
        self._found: dict[tuple[Group, str], Finding] = {}

    def add(self, group: Group, text: str, place: Spot, name: str = "") -> None:
        """Adds a finding, or a place to one that has the same group and text.

        Args:
            group: what it means.
            text: what to say, in one line.
            place: where.
            name: what it is said of, where the same holds for other names.
        """
        self._found.setdefault((group, text), Finding(group, text)).places[place, name] = None

    def of(self, group: Group) -> list[Finding]:
        """Returns the findings of a group, as they came."""
        return [one for one in self._found.values() if one.group is group]

    def __iter__(self) -> Iterator[Finding]:
        """Yields all findings, group by group."""
        for group in Group:
            yield from self.of(group)
