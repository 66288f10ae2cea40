"""The versions that a project requires, in the files that say so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from .findings import Findings, Group
from .project import Project, Unreadable

_REQUIREMENTS: Final = re.compile(
    r"(.*requirements.*\.(txt|in)|setup\.(py|cfg)|environment.*\.ya?ml|pyproject\.toml|Pipfile)$"
)
#: Files that name a package without a version only where they require it.
_LISTS: Final = (".txt", ".in", ".yml", ".yaml")
_REQUIREMENT: Final = re.compile(
    r"""(?:^\s*(?:-\s*)?["']?|["']|,\s*)"""
    r"""(?P<name>mxnet(?:[-_](?:cu\d\w*|mkl|native|nightly))?|numpy|python|python_requires)"""
    r"""(?:\[[^\]]*\])?\s*(?P<pin>(?:=\s*["'](?=[\d^~<>=!]))?[=<>!~^\d][^"'#;]*)?\s*(?:["'#;,]|$)"""
)
_CLAUSE: Final = re.compile(r"(>=|>|!=|===?|=|~=|<=|<|\^|~)?\s*(\d+(?:\.\d+)*)")
#: The least versions that hybridnet takes, as pyproject.toml has them.
LEAST: Final = {"numpy": (2, 0), "python": (3, 11)}


def look_at_requirements(project: Project, findings: Findings) -> None:
    """Says what is to change in files that say what a project requires."""
    for path in project.files:
        if not _REQUIREMENTS.match(path.name):
            continue
        try:
            lines = project.read(path).decode("utf-8", "replace").splitlines()
        except Unreadable as error:
            findings.add(Group.NOTE, str(error), project.place(path), path.name)
            continue
        for number, line in enumerate(lines, 1):
            place = project.place(path, number)
            for name, pin in _requirements(line):
                if name.startswith("mxnet") and (re.search(r"\d", pin) or path.suffix in _LISTS):
                    text = "require hybridnet in its place"
                    findings.add(Group.CHANGE, text, place, f"{name}{pin}")
                elif name in LEAST and _excludes(pin, LEAST[name]):
                    least = ".".join(map(str, LEAST[name]))
                    text = f"{name}{pin} is too old: hybridnet needs {least} or newer"
                    findings.add(Group.CHANGE, text, place)


def _requirements(line: str) -> Iterator[tuple[str, str]]:
    for found in _REQUIREMENT.finditer(line.partition("#")[0]):
        name = found["name"].lower().replace("_requires", "").replace("_", "-")
        yield name, re.sub(r"""^=\s*["']|\s+""", "", found["pin"] or "")


def _excludes(pin: str, least: tuple[int, ...]) -> bool:
    """Whether a pin such as ``>=1.14,<1.20`` certainly leaves out a version and all newer ones."""
    for sign, text in _CLAUSE.findall(pin):
        version = tuple(map(int, text.split(".")))
        if sign == "<" and version <= least:
            return True
        if sign == "~=":  # 1.16.4 allows 1.16, and 1.16 allows 1
            version = version[:-1]
        elif sign in ("^", "~"):
            version = version[: 1 if sign == "^" else 2]
        elif sign not in ("=", "==", "===", "<="):
            continue
        if version < least[: len(version)]:
            return True
    return False
