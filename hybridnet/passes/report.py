"""`Report`: what each pass changed, as a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from hybridnet.graph import Graph


@final
@dataclass(frozen=True, slots=True)
class Record:
    """The work of one pass.

    Attributes:
        name: of the pass.
        before: how many nodes there were, variables left out.
        after: how many there are.
        fired: how often each rule fired, by name.
        seconds: how long it took, checks included.
    """

    name: str
    before: int
    after: int
    fired: Mapping[str, int]
    seconds: float


@final
@dataclass(frozen=True, slots=True)
class Report:
    """The work of the passes, in the order in which they ran; prints as a table."""

    records: tuple[Record, ...]

    @property
    def fired(self) -> dict[str, int]:
        """The number of times that each rule fired, by name."""
        total: Counter[str] = Counter()
        for record in self.records:
            total.update(record.fired)
        return dict(total)

    def __str__(self) -> str:
        rows = [("pass", "nodes", "ms", "rules that fired")]
        for record in self.records:
            nodes = (
                f"{record.before}"
                if record.before == record.after
                else f"{record.before} -> {record.after}"
            )
            rules = ", ".join(
                f"{rule} x{count}" if count > 1 else rule for rule, count in record.fired.items()
            )
            rows.append((record.name, nodes, f"{record.seconds * 1e3:.1f}", rules or "-"))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)][:3]
        return "\n".join(
            f"{name:<{widths[0]}}  {nodes:<{widths[1]}}  {time:>{widths[2]}}  {rules}"
            for name, nodes, time, rules in rows
        )


def size_of(graph: Graph) -> int:
    """Returns the number of nodes, variables left out."""
    return sum(node.call is not None for node in graph.nodes)
