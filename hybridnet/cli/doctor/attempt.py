"""``hybridnet doctor --try``: the imports of a project, run in a process of their own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from .findings import Findings, Group, Spot

_LONGEST: Final = 600  # seconds
_PROBE: Final = "hybridnet.cli.doctor.probe"


def try_imports(statements: Mapping[str, Sequence[Spot]], folder: Path, findings: Findings) -> None:
    """Runs import statements as ``hybridnet run`` would, in the project's folder.

    Args:
        statements: each with its places.
        folder: the project's.
        findings: where those go that fail.
    """
    with tempfile.TemporaryDirectory() as scratch:
        asked, told = Path(scratch, "asked.json"), Path(scratch, "told.json")
        asked.write_text(json.dumps(list(statements)), encoding="utf-8")
        command = [sys.executable, "-m", "hybridnet", "run", "-m", _PROBE, str(asked), str(told)]
        # Where time is up, the statement that took so long is the last that was noted.
        with suppress(subprocess.TimeoutExpired):
            subprocess.run(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_LONGEST,
                check=False,
            )
        lines = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
    done = dict(map(json.loads, lines))
    for statement, places in statements.items():
        if statement not in done:
            findings.add(
                Group.NOTE, "was not tried: the process ended before", places[0], statement
            )
        elif done[statement] is not None:
            error = " ".join(done[statement].split())
            for place in places:
                findings.add(Group.STOPS, f"tried: {error}", place, statement)
