"""The rows of differences.md that are about a name, in their own words."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Final, final

from hybridnet.compat_report import Row
from hybridnet.ops.core.registry import REGISTRY

_PAGE: Final = "differences.md"
_CODE: Final = re.compile(r"`([^`]+)`")
#: A name in code: of `nd.sparse.subtract(2, x)` what is before the bracket.
_NAME: Final = re.compile(r"([A-Za-z_][\w.]*)(?:\(.*\))?$")
_ABOUT: Final = re.compile(r"`[^`]+`(?:(?:,| and|, and) `[^`]+`)*")
_TABLE: Final = "# Where results differ"
_LISTS: Final = ("# Functions around operators", "# Symbols and executors")
#: Rows of these kinds alone are passed over: what only hybridnet takes, and what differs at numbers
#: that few programs have, which would be told of nearly every project.
_RARE: Final = {"accepted", "special", "kink", "whole"}


@final
@dataclass(frozen=True)
class _Row:
    names: tuple[str, ...]  # of operators with *, or of functions and modules
    text: str


@final
class Differences:
    """The rows of the page.

    Args:
        full: gives a name the long name of its module.
    """

    def __init__(self, full: Callable[[str], str]) -> None:
        self._operators: list[_Row] = []
        self._functions: list[_Row] = []
        section = ""
        lines = (files("hybridnet.data") / _PAGE).read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            section = line if line.startswith("# ") else section
            where = f"({_PAGE}, line {number})"
            if section.startswith(_TABLE) and line.startswith("| `"):
                names, kind, when, why = map(str.strip, line.strip()[1:-1].split("|"))
                if not _RARE.issuperset(kind.split(", ")):
                    text = ": ".join(filter(None, [kind, when, why]))
                    patterns = tuple(_CODE.findall(names))
                    self._operators.append(_Row(patterns, f"{text} {where}"))
            elif section in _LISTS and line.startswith("- `") and ": " in line:
                # What a row is about stands first: `a`, `b` and `c`.
                about = _ABOUT.match(line[2:])
                codes = _CODE.findall(about[0]) if about else []
                found = [match[1] for one in codes if (match := _NAME.match(one))]
                listed = tuple(full(name) for name in found)
                self._functions.append(_Row(listed, f"{line[2:]} {where}"))

    def of(self, name: str, row: Row | None) -> Iterator[str]:
        """Yields what the page says of a name.

        Args:
            name: below `mxnet`, with the long name of its module.
            row: its row of the checklist, which tells the operator.
        """
        operator = REGISTRY.get(row.operator) if row is not None and row.operator else None
        if operator is not None:
            known = (operator.name, *operator.aliases)
            for one in self._operators:
                if any(fnmatch.filter(known, pattern) for pattern in one.names):
                    yield one.text
        for one in self._functions:
            if any(_is_of(name, listed) for listed in one.names):
                yield one.text


def _is_of(name: str, listed: str) -> bool:
    """Whether a row that lists a function, a class or a module is about a name."""
    if "." not in listed:
        return name.rpartition(".")[2] == listed
    return name == listed or name.startswith(f"{listed}.")
