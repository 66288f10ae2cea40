"""The properties of a lab as tests, for the test file in a student's folder."""

from __future__ import annotations

from pathlib import Path

from .folder import opened
from .report import as_text
from .watching import messages


def test_names(folder: str | Path) -> list[str]:
    """Returns the names of the properties of the lab that a folder is of."""
    return [check.name for check in opened(Path(folder)).lab.checks]


def test_part(folder: str | Path, name: str) -> None:
    """Tries one property of the part in a folder, in a process of its own.

    Raises:
        AssertionError: it does not hold; with the smallest example.
    """
    work = opened(Path(folder))
    for message in messages("check", work, name):
        if message["kind"] in ("found", "unreadable"):
            raise AssertionError(as_text(message, work.words))


# pytest would take them for tests where they are imported.
test_names.__test__ = test_part.__test__ = False  # type: ignore[attr-defined]
