"""Type checkers see the surface as it is: every name, nothing wrong in right code, each mistake.

The checkers come with the extra ``dev``.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from places import ROOT

HERE = Path(__file__).parent
MISTAKES = {
    number
    for number, line in enumerate((HERE / "mistakes.py").read_text().splitlines(), 1)
    if "  # " in line
}
#: Of what others wrote nothing is read but NumPy, which takes a fraction of the time.
CONFIG = """
[mypy]
strict = true
warn_unused_ignores = false
follow_imports = silent
ignore_missing_imports = true
[mypy-jax.*,jaxlib.*,matplotlib.*,networkx.*,onnx.*,rich.*,google.*,zmq.*,ray.*,torch.*,tokenizers.*]
follow_imports = skip
"""


@pytest.fixture(scope="module")
def scripts(tmp_path_factory):
    """A folder of scripts beside the package, laid out as an installed one is."""
    folder = tmp_path_factory.mktemp("checked")
    package = folder / "hybridnet"
    package.mkdir()
    for path in (*(ROOT / "hybridnet").iterdir(), ROOT / "engine", ROOT / "kvstore"):
        (package / path.name).symlink_to(path)
    for name in ("user_script.py", "mistakes.py"):
        shutil.copy(HERE / name, folder)
    command = [sys.executable, ROOT / "tests" / "support" / "public_names.py"]
    names = subprocess.run(command, capture_output=True, text=True, check=True)
    (folder / "names.py").write_text(names.stdout)
    return folder


def lines_of(found):
    """Returns the lines of errors in `mistakes.py`; there are none elsewhere."""
    elsewhere = [error for error in found if error[0] != "mistakes.py"]
    assert not elsewhere
    return {line for _, line, _ in found}


@pytest.mark.slow
def test_mypy_finds_the_mistakes_and_nothing_else(scripts):
    pytest.importorskip("mypy", reason="mypy comes with the extra dev")
    (scripts / "mypy.ini").write_text(CONFIG)
    options = ["--config-file", "mypy.ini", "--cache-dir", "cache", "--no-pretty"]
    command = [sys.executable, "-m", "mypy", *options, "user_script.py", "mistakes.py", "names.py"]
    told = subprocess.run(command, cwd=scripts, capture_output=True, text=True)
    errors = re.findall(r"^([^:]+):(\d+): error: (.*)", told.stdout, re.MULTILINE)
    found = [(path, int(line), text) for path, line, text in errors]
    assert lines_of(found) == MISTAKES, told.stderr


@pytest.mark.slow
def test_pyright_finds_the_mistakes_and_nothing_else(scripts):
    command = shutil.which("pyright", path=str(Path(sys.executable).parent))
    if command is None:
        pytest.skip("pyright comes with the extra dev")
    options = ["--outputjson", "--pythonpath", sys.executable]
    names = ["user_script.py", "mistakes.py", "names.py"]
    told = subprocess.run([command, *options, *names], cwd=scripts, capture_output=True, text=True)
    found = [
        (Path(one["file"]).name, one["range"]["start"]["line"] + 1, one["message"])
        for one in json.loads(told.stdout)["generalDiagnostics"]
        if one["severity"] == "error"
    ]
    assert lines_of(found) == MISTAKES
