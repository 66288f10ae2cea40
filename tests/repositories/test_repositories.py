"""Repositories that nobody here wrote train as they did on MXNet 1.9.1.

MXNet's losses were recorded by ``run.py NAME --mxnet PYTHON --record``. What pip can install is run
where HYBRIDNET_TEST_NIGHTLY is set; what is cloned, by hand.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from places import ROOT
from repositories.run import HERE, ROWS, Row, differences, drive, driver, recorded_losses

CLOSE = 1e-4  # relative to the loss
nightly = pytest.mark.skipif(
    not os.environ.get("HYBRIDNET_TEST_NIGHTLY"), reason="nightly: set HYBRIDNET_TEST_NIGHTLY"
)


def test_every_repository_has_a_driver_a_record_and_a_row_of_the_page():
    drivers = {path.stem.removeprefix("of_") for path in HERE.glob("of_*.py")}
    assert drivers == set(ROWS) == set(recorded_losses())
    page = (ROOT / "docs" / "migration.md").read_text()
    assert all(f"`{name}`" in page and row.name in page for name, row in ROWS.items())


def environment(row: Row, folder: Path) -> str:
    """Makes one with what this Python has and what the repository needs; returns its Python."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    (site,) = folder.glob("lib/*/site-packages")
    ours = sysconfig.get_paths()["purelib"]
    (site / "ours.pth").write_text(f"{ROOT}\nimport site; site.addsitedir({ours!r})\n")
    for packages in (["--no-deps", *row.packages], row.needs):
        done = subprocess.run(
            [python, "-m", "pip", "install", "--quiet", *packages],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if "ERROR" in line]
            pytest.skip(f"pip does not install it here: {errors[:1]}")
    return str(python)


@nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", [name for name, row in ROWS.items() if row.clone is None])
def test_a_repository_trains_as_on_mxnet(name, tmp_path):
    python = environment(ROWS[name], tmp_path / "environment")
    command = driver(name, python, "-m", "hybridnet", "run")
    said = drive(command, "train", tmp_path / "made", tmp_path)
    recorded = recorded_losses()[name]
    for each, apart in differences(said["losses"], recorded).items():
        assert apart < CLOSE, each
