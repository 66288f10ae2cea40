"""The output of the commands: what is wrong with a part, as text."""

from __future__ import annotations

import textwrap
from typing import Any

from .finding import Finding
from .messages import as_finding
from .words import Words


def as_text(message: dict[str, Any], words: Words) -> str:
    """Returns what is wrong with a part, in some lines."""
    if message["kind"] == "unreadable":
        return words("check.unreadable", error=message["error"])
    finding: Finding = as_finding(dict(message["finding"]))
    lines = [words(finding.key, **finding.values)]
    place = finding.place
    if place is not None:
        where = (
            words("check.function", name=place.function) if place.function.isidentifier() else ""
        )
        lines.append(words("check.place", line=place.line, function=where))
        lines.append(f"    {place.text}")
    if finding.example:
        lines.append(words("check.example"))
        lines.append(textwrap.indent(finding.example, "    "))
    return "\n".join(lines)
