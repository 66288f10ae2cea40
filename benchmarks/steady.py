"""A training loop step by step: how long until it is as fast as it gets, and whether it stays so.

    python benchmarks/steady.py --mxnet-python PYTHON    # that has mxnet==1.9.1 numpy==1.23.5
    python benchmarks/steady.py --works lenet --load "2 busy processes"    # as busy.py has them

Eager gluon loops on batches in turn whose losses are read at each step, the same lines for both
libraries, each in a process of its own: hybridnet with an empty cache folder, then with the folder
that the process before left, then MXNet. Against MXNet: the first step, and the slowest of steps 4
to 20; of steps 20 to the last: the median, and the 95th percentile over it.
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
from itertools import pairwise

from busy import IDLE, LOADS, load
from works.lenet import LeNet
from works.resnet import ResNet18
from works.training import Network, gluon_step

WORKS: dict[str, type[Network]] = {"lenet": LeNet, "resnet18": ResNet18}


def run(python: str, library: str, work: str, steps: int, folder: str) -> list[float]:
    """Returns the seconds of each step in a process of its own, from before the import."""
    done = subprocess.run(
        [python, __file__, "--child", library, "--works", work, "--steps", str(steps)],
        env={**os.environ, "HYBRIDNET_CACHE_DIR": folder, "PYTHONDONTWRITEBYTECODE": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{library}, {work}:\n{done.stderr}")
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found


def loop(library: str, work: str, steps: int) -> list[float]:
    """Trains, and returns the seconds of each step; the import counts for the first."""
    times = [time.perf_counter()]
    step, _ = gluon_step(WORKS[work](), importlib.import_module(library))
    for _ in range(steps):
        step()
        times.append(time.perf_counter())
    return [after - before for before, after in pairwise(times)]


def main() -> None:
    """Runs the loops, and prints a row for each."""
    parser = argparse.ArgumentParser(description="Training loops, step by step.")
    parser.add_argument("--works", nargs="+", choices=WORKS, default=list(WORKS))
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--load", default=IDLE, choices=LOADS, help="beside the loop, see busy.py")
    parser.add_argument("--mxnet-python", help="an interpreter that has MXNet")
    parser.add_argument("--all", action="store_true", help="print the milliseconds of each step")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(loop(arguments.child, arguments.works[0], arguments.steps)))
        return
    print("| work | library | first | slowest of 4 to 20 | median from 20 on | 95th / median |")
    print("| --- | --- | --- | --- | --- | --- |")
    for work in arguments.works:
        with tempfile.TemporaryDirectory() as folder, load(arguments.load):
            contestants = [
                ("hybridnet", sys.executable, "hybridnet"),
                ("hybridnet, second process", sys.executable, "hybridnet"),
            ]
            if arguments.mxnet_python:
                contestants.append(("MXNet", arguments.mxnet_python, "mxnet"))
            for title, python, library in contestants:
                times = run(python, library, work, arguments.steps, folder)
                late = sorted(times[20:])
                median = statistics.median(late)
                tail = late[int(0.95 * len(late))] / median
                print(
                    f"| {work} | {title} | {times[0]:.2f} s | {1e3 * max(times[3:20]):.1f} ms "
                    f"| {1e3 * median:.1f} ms | {tail:.2f} |",
                    flush=True,
                )
                if arguments.all:
                    print(" ".join(f"{1e3 * seconds:.0f}" for seconds in times))


if __name__ == "__main__":
    main()
