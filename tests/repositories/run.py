"""Runs a repository that nobody here wrote, on MXNet 1.9.1 and on hybridnet, and compares::

    python tests/repositories/run.py gluonts --mxnet PYTHON

PYTHON is one that has ``mxnet==1.9.1 numpy==1.23.5`` (Python 3.8 has wheels for all of it); the one
that runs this has hybridnet. What else each needs is installed by hand: `--needs` prints it. From
the same numbers both take 20 steps, and each reads the files of the other. MXNet runs a second time
from parameters that are moved by a hundred-thousandth of themselves, which says how much it differs
from itself. Prints a row of the table in docs/migration.md.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
RECORDED = HERE / "recorded.json"
#: By how much of themselves parameters are moved. Of a millionth, up and down, sums show nothing.
MOVED = 1e-5


class Row(NamedTuple):
    """A repository.

    Attributes:
        name: what the table says, with a version or commit.
        packages: those that pip installs without what they ask for, which is for old Pythons.
        needs: those that pip installs with it.
        clone: owner/name of a GitHub repository, and what is checked out of it.
    """

    name: str
    packages: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    clone: tuple[str, str] | None = None


_FACES = ("easydict", "scikit-learn", "opencv-python-headless", "scipy")
_INSIGHT = ("deepinsight/insightface", "7fadd420c2351d0ffa8cac403421c1a3ed733365")
_NOTEBOOKS = ("matplotlib", "tqdm", "requests")
_D2L = ("matplotlib", "matplotlib_inline", "ipython", "pandas", "requests")
_DOPE = ("zackchase/mxnet-the-straight-dope", "249cb446a8d0d711c5ca7128ffd68d91fc2e381b")
_GLUONTS = ("pandas<2.3", "pydantic", "toolz", "tqdm", "typing-extensions")
ROWS = {
    "gluonts": Row("GluonTS 0.14.4", ("gluonts==0.14.4",), _GLUONTS),
    "sockeye": Row(
        "Sockeye 2.3.24",
        ("sockeye==2.3.24", "sacrebleu==1.4.14"),
        ("numpy<2.4", "pyyaml", "portalocker", "regex"),
    ),
    "insightface": Row("insightface 7fadd42, ArcFace", needs=_FACES, clone=_INSIGHT),
    "retinaface": Row("insightface 7fadd42, RetinaFace", needs=("easydict",), clone=_INSIGHT),
    "gluonfr": Row(
        "gluon-face 1.0.2", ("gluonfr==1.0.2",), ("scipy", "scikit-learn", "matplotlib")
    ),
    "keras": Row(
        "keras-mxnet 2.2.4.3",
        ("keras-mxnet==2.2.4.3", "keras-applications", "keras-preprocessing"),
        ("h5py", "six", "pyyaml", "scipy"),
    ),
    "autogluon": Row(
        "AutoGluon 0.1.0",
        clone=("autogluon/autogluon", "c75eaf2a79b38c03618cc926df661da655c0c733"),
    ),
    "mxfusion": Row("MXFusion 0.3.1", ("mxfusion==0.3.1",), ("networkx==2.8.8",)),
    "d2l": Row(
        "d2l-en 0.17.6",
        ("d2l==0.17.6",),
        _D2L,
        ("d2l-ai/d2l-en", "0f920da87c3d3eb6a6802469fd3e89b7d4f43160"),
    ),
    "straight_dope": Row("straight-dope 249cb44", needs=_NOTEBOOKS, clone=_DOPE),
    "tree_lstm": Row("straight-dope 249cb44, tree-LSTM", needs=_NOTEBOOKS, clone=_DOPE),
    "gluoncv": Row(
        "GluonCV 0.10.5",
        ("gluoncv==0.10.5.post0", "autocfg"),
        ("yacs", "portalocker", "scipy", "tqdm", "pandas", "matplotlib", "opencv-python-headless"),
    ),
    "dgl": Row("DGL 1.0.1", ("dgl==1.0.1",), ("networkx", "scipy", "requests", "tqdm", "psutil")),
}


def fetch(row: Row, clones: Path) -> None:
    """Clones what is not there yet."""
    if row.clone is None:
        return
    name, commit = row.clone
    folder = clones / name.partition("/")[2]
    if not folder.exists():
        url = f"https://github.com/{name}"
        subprocess.run(["git", "clone", "--quiet", "--no-checkout", url, folder], check=True)
        subprocess.run(["git", "checkout", "--quiet", commit], cwd=folder, check=True)


def drive(command: list[str], task: str, folder: Path, clones: Path, **extra: str) -> Any:
    """Runs a driver; returns what it says.

    Raises:
        RuntimeError: it says nothing. (MXNet may crash as it ends, having said all.)
    """
    done = subprocess.run(
        [*command, task, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "CLONES": str(clones), **extra},
    )
    said = [line for line in done.stdout.splitlines() if line.startswith('{"losses"')]
    if not said:
        raise RuntimeError(f"{command} {task}: {done.stdout[-1000:]}{done.stderr[-3000:]}")
    return json.loads(said[-1])


def driver(name: str, python: str, *module: str) -> list[str]:
    return [python, *module, str(HERE / f"of_{name}.py")]


def differences(ours: Any, theirs: Any) -> dict[str, float]:
    """Returns the largest relative difference of each list of losses.

    Raises:
        RuntimeError: there are others, or it is an error.
    """
    if ours.keys() != theirs.keys():
        raise RuntimeError(f"losses of {sorted(ours)}, and of {sorted(theirs)}")
    found = {}
    for name, losses in theirs.items():
        mine = ours[name]
        if isinstance(mine, str) or isinstance(losses, str) or len(mine) != len(losses):
            raise RuntimeError(f"{name}: {mine}, and {losses}")
        if not all(map(math.isfinite, [*mine, *losses])):
            raise RuntimeError(f"{name}: {mine}, and {losses}")
        pairs = zip(mine, losses, strict=True)
        found[name] = max((abs(a - b) / abs(b) for a, b in pairs), default=0.0)
    return found


def read_alike(read: Any, wrote: Any) -> float:
    """Returns by how much what was read differs from what was written, relative to the largest."""
    worst = 0.0
    for name, want in wrote["arrays"].items():
        got, scale = read["arrays"][name], max(map(abs, want))
        worst = max(worst, *(abs(a - b) / scale for a, b in zip(got, want, strict=True)))
    return worst


def written(recorded: dict[str, dict[str, list[float]]]) -> str:
    """Returns JSON with a line for each list of losses."""
    lines = []
    for name, curves in sorted(recorded.items()):
        for each, losses in sorted(curves.items()):
            kept = [float(f"{loss:.8g}") for loss in losses]
            lines.append(json.dumps([name, each, kept]))
    return "[\n" + ",\n".join(lines) + "\n]\n"


def recorded_losses() -> dict[str, dict[str, list[float]]]:
    """Returns MXNet's losses, by the driver's name and the curve's."""
    found: dict[str, dict[str, list[float]]] = {}
    if RECORDED.exists():
        for name, each, losses in json.loads(RECORDED.read_text()):
            found.setdefault(name, {})[each] = losses
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=ROWS)
    parser.add_argument("--mxnet", help="the Python that has MXNet 1.9.1")
    parser.add_argument("--clones", type=Path, default=Path(tempfile.gettempdir()) / "clones")
    parser.add_argument("--needs", action="store_true", help="print what pip is to install")
    parser.add_argument("--record", action="store_true", help="keep MXNet's losses for the test")
    options = parser.parse_args()
    name, row = options.name, ROWS[options.name]
    if options.needs:
        print(f"pip install --no-deps {' '.join(row.packages)}" if row.packages else "", end="\n")
        print(f"pip install {' '.join(map(repr, row.needs))}" if row.needs else "")
        return
    options.clones.mkdir(exist_ok=True)
    fetch(row, options.clones)
    old = driver(name, options.mxnet)
    new = driver(name, sys.executable, "-m", "hybridnet", "run")
    with tempfile.TemporaryDirectory() as work:
        folders = [Path(work) / each for each in ("of_mxnet", "of_hybridnet", "moved")]
        mxnet = drive(old, "train", folders[0], options.clones)
        moved = drive(old, "train", folders[2], options.clones, NUDGE=str(MOVED))
        hybridnet = drive(new, "train", folders[1], options.clones)
        across = []
        if mxnet.get("arrays"):
            across = [
                read_alike(drive(new, "read", folders[0], options.clones), mxnet),
                read_alike(drive(old, "read", folders[1], options.clones), hybridnet),
            ]
    apart = differences(hybridnet["losses"], mxnet["losses"])
    itself = differences(moved["losses"], mxnet["losses"])
    for each in apart:
        print(f"{each or name}: {apart[each]:.1e}, MXNet from itself {itself[each]:.1e}")
    if options.record:
        recorded = {**recorded_losses(), name: mxnet["losses"]}
        RECORDED.write_text(written(recorded))
    files = " / ".join(f"{each:.0e}" for each in across) or "-"
    worst = f"{max(apart.values()):.1e} | {max(itself.values()):.1e}"
    print(f"| {row.name} | {len(apart)} | {worst} | {files} | `run.py {name}` |")


if __name__ == "__main__":
    main()
