"""The report of the doctor's findings, as text for people and as JSON for machines."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from .findings import Finding, Findings, Group

_WIDTH: Final = 100
#: So many places of a finding are told; JSON has all.
_MOST_PLACES: Final = 3


def as_text(findings: Findings, root: Path, files: int) -> str:
    """Returns the report: groups with their findings, and the verdict as its last line."""
    lines = []
    for group in Group:
        found = findings.of(group)
        if found:
            lines.append(f"{group.value} ({len(found)})")
            for one in found:
                lines += _paragraph(one)
            lines.append("")
    lines.append(f"{root}, {files} files: {verdict(findings)}")
    return "\n".join(lines)


def _paragraph(finding: Finding) -> Iterator[str]:
    yield from textwrap.wrap(
        str(finding), _WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
    )
    places = list(dict.fromkeys(str(place) for place, _ in finding.places))
    more = len(places) - _MOST_PLACES
    yield f"      {', '.join(places[:_MOST_PLACES])}" + (f", and {more} more" if more > 0 else "")


def verdict(findings: Findings) -> str:
    """Returns what all findings mean, in one line."""
    stops, change, differs = (
        len(findings.of(group)) for group in (Group.STOPS, Group.CHANGE, Group.DIFFERS)
    )
    begin = f"{_things(stops)} will not run" if stops else "nothing was found that stops it"
    return f"{begin}, {change} to change, {differs} in which it differs"


def _things(count: int) -> str:
    return f"{count} thing{'s' * (count != 1)}"


def as_json(findings: Findings, root: Path, files: int) -> str:
    """Returns the report as an object of JSON: path, files, verdict, runs, and a list of findings.

    Each finding has group, text, and places with file, line and cell (0 is none), and name.
    """
    found = [
        {
            "group": one.group.value,
            "text": one.text,
            "places": [{**place._asdict(), "name": name} for place, name in one.places],
        }
        for one in findings
    ]
    whole = {
        "path": str(root),
        "files": files,
        "runs": not findings.of(Group.STOPS),
        "verdict": verdict(findings),
        "findings": found,
    }
    return json.dumps(whole, indent=2, ensure_ascii=False)
