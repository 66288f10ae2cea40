"""Code that runs once: what a new process, and shapes that never come again, wait for.

    python benchmarks/cold.py --mxnet-python PYTHON            # that has mxnet==1.9.1 numpy==1.23.5
    python benchmarks/cold.py --works operators sentences      # some of the works
    python benchmarks/cold.py --peers torch                    # beside PyTorch only

Every measurement is a process of its own, with an empty cache folder, by turns: each library runs
each work once a round, and ratios are medians over the rounds. MXNet and hybridnet run the same
lines, PyTorch and JAX (which has the works that are operators only) the same work in their own
words. The last row of a work is the time of processors in all of it, its import not counted unless
that is the work, which says something on a busy machine, too; compilers that are processes of
their own are not in it. ``--filled`` keeps hybridnet's cache folder from one round to the next.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from works import once, once_jax, once_torch
from works.once import Seconds

#: The works as each library is told them.
WORKS_OF = {
    "hybridnet": once.WORKS,
    "mxnet": once.WORKS,
    "torch": once_torch.WORKS,
    "jax": once_jax.WORKS,
}


def measure(python: str, library: str, work: str, folder: str) -> Seconds:
    """Runs one work in a process of its own."""
    done = subprocess.run(
        [python, __file__, "--child", library, work],
        # Packages are installed with their bytecode.
        env={**os.environ, "HYBRIDNET_CACHE_DIR": folder, "PYTHONDONTWRITEBYTECODE": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{library}, {work}:\n{done.stderr}")
    found: Seconds = json.loads(done.stdout.splitlines()[-1])
    return found


def run(library: str, work: str) -> Seconds:
    """One work in this process, and the time of processors that it took."""
    started, worked = time.perf_counter(), time.process_time()
    module = importlib.import_module(library)
    if work != "import":
        for part in (
            "nd",
            "autograd",
            "gluon",
        ):  # which hybridnet loads when they are first asked for
            getattr(module, part, None)
        worked = time.process_time()
    found = WORKS_OF[library][work](module, started)
    return {**found, f"{work}, processors in all": time.process_time() - worked}


def line(row: str, libraries: list[str], found: dict[str, list[float]]) -> str:
    """A row of the table: medians, and hybridnet's time over each peer's, turn by turn."""
    text = f"{row:34}"
    for library in libraries:
        seconds = found.get(library)
        text += f"{1e3 * statistics.median(seconds):11.2f} ms" if seconds else f"{'':>14}"
    for peer in libraries[1:]:
        ratio = ""
        if peer in found and "hybridnet" in found:
            ratio = (
                f"{statistics.median((np.array(found['hybridnet']) / found[peer]).tolist()):.2f}"
            )
        text += f"{ratio:>9}"
    return text


def main() -> None:
    """Runs the processes, and prints the rows of each work as it is done."""
    parser = argparse.ArgumentParser(description="How long code takes that runs once.")
    parser.add_argument("--works", nargs="+", choices=once.WORKS, default=list(once.WORKS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--filled", action="store_true", help="keep hybridnet's cache folder")
    parser.add_argument("--mxnet-python", help="an interpreter that has MXNet")
    parser.add_argument("--peers", nargs="*", choices=("torch", "jax"), default=["torch", "jax"])
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(run(*arguments.child)))
        return
    pythons = {"hybridnet": sys.executable}
    if arguments.mxnet_python:
        pythons["mxnet"] = arguments.mxnet_python
    pythons |= dict.fromkeys(arguments.peers, sys.executable)
    heads = "".join(f"{name:>14}" for name in pythons)
    heads += "".join(f"{'/ ' + name:>9}" for name in list(pythons)[1:])
    print(f"{'':34}{heads}", flush=True)
    with tempfile.TemporaryDirectory() as kept:
        if arguments.filled:
            for work in arguments.works:
                measure(sys.executable, "hybridnet", work, kept)
        for work in arguments.works:
            times: dict[str, dict[str, list[float]]] = {}
            for _ in range(arguments.rounds):
                for library in pythons:
                    if work not in WORKS_OF[library]:
                        continue
                    with tempfile.TemporaryDirectory() as empty:
                        folder = kept if arguments.filled else str(Path(empty) / "cache")
                        for row, seconds in measure(
                            pythons[library], library, work, folder
                        ).items():
                            times.setdefault(row, {}).setdefault(library, []).append(seconds)
            for row, found in times.items():
                print(line(row, list(pythons), found), flush=True)


if __name__ == "__main__":
    main()
