"""`hybridnet run`: scripts as MXNet's users write them run unmodified, in their own process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hybridnet.kvstore.cluster import CANNOT_SERVE

SCRIPTS = Path(__file__).parent / "scripts"
WRONG = "def f():\n    raise ValueError('no')\n\n\nf()\n"


def run(*arguments, **environ):
    return subprocess.run(
        [sys.executable, "-m", "hybridnet", "run", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, **environ},
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "script,arguments,printed,status",
    [
        ("gluon_mlp.py", ["--epochs", "12"], "learned 1.9.1\n", 0),
        ("gluon_mlp.py", ["--epochs", "12", "--hybridize"], "learned 1.9.1\n", 0),
        ("symbolic.py", [], "refused ShapeError\n", 0),
        ("wide.py", [], "learned default\n[0.256, -0.387]\n", 0),
        (
            "before_module.py",
            [],
            "True True\nccSGD 0.9844\n[2.413, 2.132, 2.81, 2.719]\n",
            0,
        ),
        ("loader.py", [], "sample\n" * 5 + "[[0.0, 2.0], [8.0, 18.0], [32.0]]\n", 0),
        ("modules.py", [], "14.0\nfile False\n[1, 2, 3] 2.0\n", 0),
        ("processes.py", ["--flag", "value"], "[2.0, 4.0]\nDense True\n", 7),
    ],
)
def test_scripts_run_unmodified(script, arguments, printed, status):
    done = run(SCRIPTS / script, *arguments)
    assert not done.stderr, done.stderr
    assert (sorted(done.stdout), done.returncode) == (sorted(printed), status)


def test_errors_show_the_lines_of_the_script_alone(tmp_path):
    script = tmp_path / "wrong.py"
    script.write_text(WRONG)
    done = run(script)
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):" and lines[-1] == "ValueError: no"
    assert all(f'File "{script}"' in line for line in lines if "File" in line)

    # What runs at exit, as a store's good-bye, finds the error where Python puts it.
    script.write_text(
        f"import atexit, sys\natexit.register(lambda: print(sys.last_value))\n{WRONG}"
    )
    assert run(script).stdout == "no\n"

    missing = run(tmp_path / "none.py")
    assert missing.returncode == 2
    assert missing.stderr == f"hybridnet run: {tmp_path / 'none.py'}: No such file or directory\n"


def test_modules_run_and_numpy_stays_as_it_is_on_demand(tmp_path):
    (tmp_path / "tool.py").write_text(
        "import sys, numpy, mxnet\nprint(sys.argv[1:], hasattr(numpy, 'float'), __name__)\n"
    )
    environ = {"PYTHONPATH": str(tmp_path)}
    assert run("-m", "tool", "a", **environ).stdout == "['a'] True __main__\n"
    assert run("--no-numpy-names", "-m", "tool", **environ).stdout == "[] False __main__\n"


def test_a_server_does_not_go_on_into_the_script(tmp_path):
    """It serves; here there is no run to serve in."""
    script = tmp_path / "train.py"
    script.write_text("import mxnet\nprint('trained')\n")
    for role in ("server", "scheduler"):
        done = run(script, DMLC_ROLE=role)
        assert (done.stdout, done.returncode) == ("", CANNOT_SERVE)
        assert "a distributed store requires a scheduler, servers and workers" in done.stderr
    assert run(script, DMLC_ROLE="worker").stdout == "trained\n"
