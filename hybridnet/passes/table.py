"""The rules as the table of ``docs/passes.md``: ``python -m hybridnet.passes.table`` prints it."""

from __future__ import annotations

import math

from .pipeline import PIPELINE
from .rule import Rule

_HEAD = "| rule | before | after | where | exact |\n|---|---|---|---|---|\n"


def rules_table() -> str:
    """Returns a table of the rules for each pass that has some, in Markdown."""
    parts = []
    for step in PIPELINE:
        if step.rules:
            rows = "".join(map(_row, step.rules))
            parts.append(f"### {step.name}\n\n{_HEAD}{rows}")
    return "\n".join(parts)


def _row(rule: Rule) -> str:
    if rule.exact:
        exact = "yes"
    elif math.isinf(rule.tolerance):
        exact = "no: unsafe"
    else:
        exact = f"to {rule.tolerance:g}"
    cells = [rule.name, _code(rule.before), _code(rule.after), rule.where, exact]
    return f"| {' | '.join(cells)} |\n".replace("|  |", "| |")


def _code(text: str) -> str:
    return f"`{text}`"


if __name__ == "__main__":
    print(rules_table(), end="")
