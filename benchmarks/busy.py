"""The same work on a machine that has other work, too, against PyTorch and MXNet in turn.

Other work is processes of equal priority that count; or the contestants have one processor only.
Each load is a table of its own, made as ``nets.py`` makes its own, and at the end each contestant's
slow-down against the idle machine.

    python benchmarks/busy.py [--works lenet-step mlp-large-step] [--mxnet-python PATH]
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

from nets import seats_of
from rows import NETS, TITLES
from turns import Result, measure, show

WORKS = ("lenet-step", "resnet18-step", "lstm-step", "mlp-small-step", "vgg11-1")
CONTESTANTS = ("hybridnet", "torch", "mxnet hybridized")
IDLE, ONE_PROCESSOR = "idle", "one processor"
#: By load, how many processes count beside the work.
LOADS = {IDLE: 0, "1 busy process": 1, "2 busy processes": 2, ONE_PROCESSOR: 0}


@contextlib.contextmanager
def load(name: str) -> Iterator[None]:
    """Puts a load on the machine, or takes processors from this process and those it starts."""
    command = [sys.executable, "-c", "while True: pass"]
    before = os.sched_getaffinity(0)
    others = [subprocess.Popen(command) for _ in range(LOADS[name])]
    if name == ONE_PROCESSOR:
        os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
        for other in others:
            other.kill()
            other.wait()


def main() -> None:
    """Measures each work under each load."""
    parser = argparse.ArgumentParser(description="Works beside other work.")
    parser.add_argument("--works", nargs="+", default=WORKS, choices=[row.work for row in NETS])
    parser.add_argument("--loads", nargs="+", default=list(LOADS), choices=list(LOADS))
    parser.add_argument("--rounds", type=int, default=15, help="of turns, at most (default 15)")
    parser.add_argument("--seconds", type=float, default=40, help="of turns of a row (default 40)")
    parser.add_argument("--mxnet-python", help="interpreter that has MXNet 1.9.1")
    parser.add_argument("--torch-python", default=sys.executable, help="one that has PyTorch")
    options = parser.parse_args()
    options.contestants = CONTESTANTS
    options.tensorflow_python = options.other_jax_python = None
    os.environ["HYBRIDNET_CACHE_DIR"] = "off"
    for row in NETS:
        if row.work not in options.works:
            continue
        found: dict[str, Result] = {}
        for name in options.loads:
            print(f"\n== {row.work}, {name}", flush=True)
            with load(name):
                seats = seats_of(row, options)
                found[name] = measure(row, seats, options.rounds, options.seconds)
            show(found[name])
        for name, result in found.items():
            if IDLE in found and name != IDLE:
                slower = ", ".join(
                    f"{TITLES[one]} {result.value(one) / found[IDLE].value(one):.2f}"
                    for one in result.times
                )
                print(f"   {name}, times the idle machine's: {slower}", flush=True)


if __name__ == "__main__":
    main()
