"""The same work on a machine that has other work, too, against PyTorch and MXNet in turn.

Other work is processes of equal priority that count; or the contestants have one processor only, or
a control group's quota, as containers have. Each load is a table of its own, made as ``nets.py``
makes its own, and at the end each contestant's slow-down against the idle machine. With
``--waiting``, instead, what a process that has trained uses of the processors while it waits.

    python benchmarks/busy.py [--works lenet-step mlp-large-step] [--mxnet-python PATH]
    python benchmarks/busy.py --waiting 600
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from nets import seats_of
from rows import NETS, TITLES
from turns import Result, measure, show

WORKS = ("lenet-step", "resnet18-step", "lstm-step", "mlp-small-step", "vgg11-1")
CONTESTANTS = ("hybridnet", "torch", "mxnet hybridized")
IDLE, ONE_PROCESSOR, QUOTA = "idle", "one processor", "a quota of 1.5 processors"
#: By load, how many processes count beside the work.
LOADS = {IDLE: 0, "1 busy process": 1, "2 busy processes": 2, ONE_PROCESSOR: 0, QUOTA: 0}
#: Where control groups are: of the one kind, with a file for both numbers, and of the older.
GROUPS = {
    Path("/sys/fs/cgroup"): {"cpu.max": "150000 100000"},
    Path("/sys/fs/cgroup/cpu"): {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "150000"},
}
WAITING = """
import sys, time
import numpy as np
from hybridnet import autograd, gluon, nd

net = gluon.nn.HybridSequential()
net.add(gluon.nn.Conv2D(20, 5, activation="relu"), gluon.nn.MaxPool2D(2), gluon.nn.Dense(10))
net.initialize()
trainer = gluon.Trainer(net.collect_params(), "sgd")
for _ in range(200):
    with autograd.record():
        loss = (net(nd.array(np.random.rand(64, 1, 28, 28))) ** 2).mean()
    loss.backward()
    trainer.step(64)
    loss.asscalar()
time.sleep(30)  # what goes on in the background is done
before = time.process_time()
time.sleep(float(sys.argv[-1]))
print(time.process_time() - before)
"""


class Unavailable(Exception):
    """A load that cannot be had on this machine."""


@contextlib.contextmanager
def load(name: str) -> Iterator[None]:
    """Puts a load on the machine, or takes processors from this process and those it starts."""
    command = [sys.executable, "-c", "while True: pass"]
    if name == QUOTA:
        with quota():
            yield
        return
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


@contextlib.contextmanager
def quota() -> Iterator[None]:
    """Puts this process, and so those it starts, in a control group with a quota."""
    own = str(os.getpid())
    for root, numbers in GROUPS.items():
        group = root / f"busy-{own}"
        if not (root / "cgroup.procs").exists():
            continue
        try:
            if "cpu.max" in numbers:
                (root / "cgroup.subtree_control").write_text("+cpu")
            group.mkdir()
            for file, number in numbers.items():
                (group / file).write_text(number)
            (group / "cgroup.procs").write_text(own)
        except OSError as error:
            raise Unavailable(f"control groups cannot be written: {error}") from error
        try:
            yield
        finally:
            (root / "cgroup.procs").write_text(own)
            group.rmdir()
        return
    raise Unavailable("there are no control groups")


def wait(seconds: float) -> None:
    """Shows what a process that has trained uses of the processors in an hour of waiting."""
    command = [sys.executable, "-c", WAITING, str(seconds)]
    used = float(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    print(f"{used:.4f} s in {seconds:.0f} s of waiting: {3600 * used / seconds:.2f} s an hour")


def main() -> None:
    """Measures each work under each load."""
    parser = argparse.ArgumentParser(description="Works beside other work.")
    parser.add_argument("--works", nargs="+", default=WORKS, choices=[row.work for row in NETS])
    parser.add_argument("--loads", nargs="+", default=list(LOADS), choices=list(LOADS))
    parser.add_argument("--rounds", type=int, default=15, help="of turns, at most (default 15)")
    parser.add_argument("--seconds", type=float, default=40, help="of turns of a row (default 40)")
    parser.add_argument("--mxnet-python", help="interpreter that has MXNet 1.9.1")
    parser.add_argument("--torch-python", default=sys.executable, help="one that has PyTorch")
    parser.add_argument("--waiting", type=float, metavar="SECONDS", help="show that instead")
    options = parser.parse_args()
    if options.waiting:
        wait(options.waiting)
        return
    options.contestants = CONTESTANTS
    options.tensorflow_python = options.other_jax_python = None
    os.environ["HYBRIDNET_CACHE_DIR"] = "off"
    for row in NETS:
        if row.work not in options.works:
            continue
        found: dict[str, Result] = {}
        for name in options.loads:
            print(f"\n== {row.work}, {name}", flush=True)
            try:
                with load(name):
                    seats = seats_of(row, options)
                    found[name] = measure(row, seats, options.rounds, options.seconds)
            except Unavailable as error:
                print(f"   left out: {error}", flush=True)
            else:
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
