"""macOS and Windows, as far as a Python on Linux shows them that lacks what Python lacks there.

See `support/systems/sitecustomize.py`: nobody has run this on the systems themselves.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SYSTEMS = Path(__file__).parents[1] / "support" / "systems"
BOTH = pytest.mark.parametrize("system", ["darwin", "win32"])
REFUSED = "require Linux or macOS, got Windows: run one process here"
pytestmark = pytest.mark.slow


def run(system, *arguments, **environ):
    """Runs Python as if on a system; returns its exit status, and the lines that it printed."""
    path = os.pathsep.join([str(SYSTEMS), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": path, "HYBRIDNET_TEST_SYSTEM": system, **environ},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=200,
        check=False,
    )
    return done.returncode, done.stdout


@BOTH
def test_everything_can_be_imported(system):
    status, said = run(system, SYSTEMS / "import_all.py", HYBRIDNET_TEST_EXTRAS="1")
    *failed, summary = said.strip().splitlines()
    assert (status, failed) == (0, []), said
    assert summary.startswith(system)


@BOTH
def test_one_process_trains_saves_and_loads(system, tmp_path):
    cache = tmp_path / "cache"
    status, said = run(
        system,
        SYSTEMS / "one_process.py",
        tmp_path,
        HYBRIDNET_CACHE_DIR=str(cache),  # programs are compiled, kept, and found
        HYBRIDNET_HOST="off",
    )
    assert status == 0 and f"{system} done" in said, said
    assert any((cache / "programs").iterdir())
    assert ("they are threads" in said) == (system == "win32")
    assert said.count(REFUSED) == (3 if system == "win32" else 0)


@BOTH
def test_the_command_works(system, tmp_path):
    (tmp_path / "train.py").write_text("import mxnet as mx\nmx.nd.ones(3)\n", encoding="utf-8")
    status, said = run(system, "-m", "hybridnet", "info")
    assert status == 0 and "JAX" in said, said
    status, said = run(system, "-m", "hybridnet", "doctor", tmp_path)
    assert status == 0 and "1 file" in said, said


def test_windows_refuses_distribution():
    status, said = run("win32", "-m", "hybridnet", "launch", "-n", "2", "python", "train.py")
    assert status == 2 and REFUSED in said, said
    status, said = run("win32", "-c", "import hybridnet", DMLC_ROLE="scheduler")
    assert status == 4 and REFUSED in said, said


@pytest.mark.parametrize(
    "kind, servers, wanted", [("store", "1", "store [3.0, 3.0]"), ("gang", "0", "gang [3. 3.]")]
)
def test_macos_distributes(kind, servers, wanted):
    program = (sys.executable, SYSTEMS / "distributed.py", kind)
    switches = ("launch", "-n", "2", "-s", servers, "--restarts", "0")
    status, said = run("darwin", "-m", "hybridnet", *switches, *program)
    assert status == 0 and said.count(f"darwin {wanted}") == 2, said
