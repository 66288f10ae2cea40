"""Runs scripts under `hybridnet launch`, and looks at what is left."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["launch", "popen", "script"]


_START = """
    import os, sys
    import numpy as np
    import hybridnet as hn

    def say(*words):  # as one piece, since several processes write
        sys.stdout.write(" ".join(map(str, words)) + "\\n")
        sys.stdout.flush()
"""


def script(folder: Path, text: str, name: str = "train.py") -> Path:
    """Writes a script that begins with the imports that all need."""
    path = folder / name
    path.write_text(textwrap.dedent(_START) + textwrap.dedent(text))
    return path


def popen(
    path: Path,
    *switches: Any,
    environ: dict[str, str] | None = None,
    runner: tuple[str, ...] = (),
    arguments: Sequence[Any] = (),
) -> Any:
    """Starts a job whose workers run a script, by Python or by a module of its."""
    command = [sys.executable, "-m", "hybridnet", "launch", *map(str, switches)]
    return subprocess.Popen(
        [*command, sys.executable, *runner, str(path), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=path.parent,
        env={**os.environ, "HYBRIDNET_CACHE_DIR": "off", **(environ or {})},
    )


def launch(path: Path, *switches: Any, **more: Any) -> tuple[int, list[str], str]:
    """Runs a job; returns its status, the lines printed, sorted, and what came to stderr."""
    running = popen(path, *switches, **more)
    out, error = running.communicate(timeout=120)
    return running.returncode, sorted(out.splitlines()), error
