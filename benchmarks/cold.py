"""Code that runs once: what a new process, and shapes that never come again, wait for.

    python benchmarks/cold.py --mxnet-python PYTHON            # that has mxnet==1.9.1 numpy==1.23.5
    python benchmarks/cold.py --works operators sentences      # some of the works

Every measurement is a process of its own, with an empty cache folder, by turns: each library runs
each work once a round, and ratios are medians over the rounds. MXNet and hybridnet run the same
lines; ``--filled`` keeps hybridnet's cache folder from one round to the next.
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
from works.once import WORKS, Seconds


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


def main() -> None:
    """Runs the processes, and prints a row for each work as it is done."""
    parser = argparse.ArgumentParser(description="How long code takes that runs once.")
    parser.add_argument("--works", nargs="+", choices=WORKS, default=list(WORKS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--filled", action="store_true", help="keep hybridnet's cache folder")
    parser.add_argument("--mxnet-python", help="an interpreter that has MXNet")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        library, work = arguments.child
        started = time.perf_counter()
        mx = importlib.import_module(library)
        print(json.dumps(WORKS[work](mx, started)))
        return
    pythons = {"hybridnet": sys.executable}
    if arguments.mxnet_python:
        pythons["mxnet"] = arguments.mxnet_python
    print(f"{'':30}" + "".join(f"{name:>14}" for name in pythons) + f"{'ratio':>8}", flush=True)
    with tempfile.TemporaryDirectory() as kept:
        if arguments.filled:
            for work in arguments.works:
                measure(sys.executable, "hybridnet", work, kept)
        for work in arguments.works:
            times: dict[str, dict[str, list[float]]] = {}
            for _ in range(arguments.rounds):
                for library, python in pythons.items():
                    with tempfile.TemporaryDirectory() as empty:
                        folder = kept if arguments.filled else str(Path(empty) / "cache")
                        for row, seconds in measure(python, library, work, folder).items():
                            times.setdefault(row, {}).setdefault(library, []).append(seconds)
            for row, found in times.items():
                line = f"{row:30}"
                line += "".join(f"{1e3 * statistics.median(found[x]):11.2f} ms" for x in pythons)
                if "mxnet" in found:
                    ratios = np.divide(found["hybridnet"], found["mxnet"])
                    line += f"{statistics.median(ratios.tolist()):8.2f}"
                print(line, flush=True)


if __name__ == "__main__":
    main()
