"""A user's script runs; that its types are what it says is checked by `.ci/types`."""

from __future__ import annotations

import runpy
from pathlib import Path

from hybridnet import nd
from hybridnet.ops.core.registry import public_operators

SCRIPT = Path(__file__).parent / "user_script.py"


def test_it_runs():
    runpy.run_path(str(SCRIPT), run_name="__main__")


def test_operators_of_several_outputs_are_declared_as_such():
    several = {name for name, op in public_operators().items() if op.visible != 1}
    assert several <= nd.__annotations__.keys()
