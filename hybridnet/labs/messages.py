"""The messages between the command and the process that a part runs in: lines of JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, Final

from .finding import Finding, PartLine

#: The name that stands for all properties.
ALL: Final = "-"
#: What a line begins with, so that nothing that a part prints is taken for one.
_MARK: Final = "\x1ehybridnet-lab "


def as_line(kind: str, **values: Any) -> str:
    """Returns a message as a line."""
    return f"{_MARK}{json.dumps({'kind': kind, **values})}\n"


def as_message(line: str) -> dict[str, Any] | None:
    """Returns the message of a line; None if it is none."""
    if not line.startswith(_MARK):
        return None
    message: dict[str, Any] = json.loads(line.removeprefix(_MARK))
    return message


def as_table(finding: Finding) -> dict[str, Any]:
    """Returns what is wrong, as it is sent."""
    return asdict(finding)


def as_finding(table: dict[str, Any]) -> Finding:
    """Returns what is wrong, as it was before it was sent."""
    place = table.pop("place")
    return Finding(**table, place=None if place is None else PartLine(*place))
