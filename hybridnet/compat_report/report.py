"""Counting verdicts, and showing the counts as text or as a markdown table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, final

from .judge import Verdict
from .rows import TIERS

_HEAD: Final = ("namespace", "tier", "names", "present", "signature equal", "tested against MXNet")


@final
@dataclass(frozen=True)
class Counts:
    """Numbers of verdicts by kind; `testable` counts those `tested` asks of."""

    names: int
    present: int
    equal: int
    testable: int
    tested: int

    def cells(self) -> tuple[str, ...]:
        """Returns the columns of a table, after the namespace and the tier."""
        shares = (
            (self.present, self.names),
            (self.equal, self.present),
            (self.tested, self.testable),
        )
        return (str(self.names), *(_share(part, whole) for part, whole in shares))


def _share(part: int, whole: int) -> str:
    return f"{part}/{whole} {100 * part // whole}%" if whole else "-"


def count(verdicts: Iterable[Verdict]) -> Counts:
    """Counts verdicts."""
    every = list(verdicts)
    return Counts(
        names=len(every),
        present=sum(verdict.present for verdict in every),
        equal=sum(verdict.equal for verdict in every),
        testable=sum(verdict.tested is not None for verdict in every),
        tested=sum(verdict.tested is True for verdict in every),
    )


def _lines(verdicts: Sequence[Verdict]) -> list[tuple[str, ...]]:
    """Returns the rows of the table: by namespace and tier, and the totals of each tier."""
    groups: defaultdict[tuple[str, str], list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        for namespace in (verdict.row.namespace, "total"):
            groups[namespace, verdict.row.tier].append(verdict)
    order = sorted(groups, key=lambda key: (key[0] == "total", key[0], TIERS.index(key[1])))
    return [(*key, *count(groups[key]).cells()) for key in order]


def table(verdicts: Sequence[Verdict]) -> str:
    """Returns the counts by namespace and tier as aligned text, totals last."""
    lines = [_HEAD, *_lines(verdicts)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(_HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def markdown(verdicts: Sequence[Verdict]) -> str:
    """Returns the same as a markdown table, and below it the differing signatures with reasons."""
    lines = [_HEAD, tuple("---" for _ in _HEAD), *_lines(verdicts)]
    text = ["# Names of MXNet 1.9.1 in hybridnet", ""]
    text += ["| " + " | ".join(line) + " |" for line in lines]
    on_purpose = [verdict for verdict in verdicts if verdict.reason]
    if on_purpose:
        text += ["", "Signatures that differ on purpose:", "", "| name | difference | reason |"]
        text += ["| --- | --- | --- |"]
        text += [f"| `{v.row.name}` | {v.difference} | {v.reason} |" for v in on_purpose]
    return "\n".join(text) + "\n"


def details(verdicts: Iterable[Verdict], namespace: str) -> str:
    """Lists what is missing, differs or is untested in a namespace ('all': in every one)."""
    lines = []
    for verdict in verdicts:
        if namespace not in ("all", verdict.row.namespace):
            continue
        if not verdict.present:
            lines.append(f"{verdict.row.tier:6s}  missing    {verdict.row.name}")
            continue
        if not verdict.equal:
            lines.append(
                f"{verdict.row.tier:6s}  signature  {verdict.row.name}: {verdict.difference}"
            )
        if verdict.tested is False:
            lines.append(f"{verdict.row.tier:6s}  untested   {verdict.row.name}")
    return "\n".join(lines)
