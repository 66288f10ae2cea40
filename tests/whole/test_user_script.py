"""A user's script runs; that its types are what it says is checked by `.ci/types`."""

from __future__ import annotations

import runpy
from pathlib import Path

SCRIPT = Path(__file__).parent / "user_script.py"


def test_it_runs():
    runpy.run_path(str(SCRIPT), run_name="__main__")
