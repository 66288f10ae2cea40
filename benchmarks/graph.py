"""Times the passes over large graphs, and the start and steps of networks with and without them.

Large graphs are of two kinds: in one every block gives the rules something to do, in the other they
find nothing. Sizes are taken by turns. Networks are bound, compiled and run with the passes and
without in one process, by turns; a further process of each case does it in the other order. Times
are of the processors, all threads together; ratios are medians over pairs of neighbors.

"channels first" is ResNet-50's inference as XLA computes it where every operator is taken as it is
written: without passes, and without the layouts that our lowerings choose for a CPU.

    python benchmarks/graph.py                      # about 12 minutes on 2 cores
    python benchmarks/graph.py --quick              # small images, one process a case
    python benchmarks/graph.py --models ResNet-50
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hybridnet import passes, sym
from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph.node import Graph

SIZES = (5_000, 10_000, 20_000)
#: Seconds that the passes may take over the largest graph.
MOST_SECONDS = 5.0
#: Seconds for twice the nodes, as a multiple.
MOST_GROWTH = 2.5
#: The most that a network may take, as a multiple of what it takes without passes.
MOST_OF_PLAIN = 1.03
#: How many times faster than channels first ResNet-50 must be.
LEAST_GAIN = 1.2
SHAPE = (4, 4)


def busy(size: int) -> sym.Symbol:
    """Returns a chain of blocks of ten operators, of which most can go."""
    x, y = sym.var("x"), sym.var("y")
    for _ in range(size // 10):
        x = sym.negative(sym.negative(x)) * 2 * 4
        x = sym.transpose(sym.transpose(sym.identity(x)))
        x = sym.relu(x + y) + sym.relu(y + x)
    return x


def minimal(size: int) -> sym.Symbol:
    """Returns a chain of operators that are all needed."""
    x, y = sym.var("x"), sym.var("y")
    for _ in range(size // 4):
        x = sym.tanh(sym.broadcast_mul(sym.exp(x), y)) + x
    return x


KINDS: dict[str, Callable[[int], sym.Symbol]] = {"busy": busy, "minimal": minimal}


def seconds(graph: Graph) -> tuple[float, passes.Report]:
    """Returns the seconds of the processor that all passes take, and their report."""
    kind = tensor_type(SHAPE, np.dtype(np.float32))
    context = passes.PassContext((kind,) * len(graph.inputs))
    gc.collect()
    start = time.process_time()
    _, report = passes.optimize(graph, context)
    return time.process_time() - start, report


def growth(rounds: int) -> bool:
    """Measures large graphs; returns whether they reach what they must."""
    reached = True
    for kind, make in KINDS.items():
        times: dict[int, list[float]] = {size: [] for size in SIZES}
        for _ in range(rounds):
            for size in SIZES:
                # Made anew: a graph remembers the order of its nodes.
                taken, report = seconds(make(size).graph)
                times[size].append(taken)
        ratios = [
            statistics.median(b / a for a, b in zip(times[half], times[whole], strict=True))
            for half, whole in pairwise(SIZES)
        ]
        print(f"{kind}: {report.records[0].before} nodes -> {report.records[-1].after}")
        for size, ratio in zip(SIZES, [None, *ratios], strict=True):
            shown = "" if ratio is None else f"  {ratio:.2f} x half the nodes"
            print(f"  {size:>6} nodes  {statistics.median(times[size]):6.2f} s{shown}")
        slowest = statistics.median(times[SIZES[-1]])
        reached &= slowest <= MOST_SECONDS and max(ratios) <= MOST_GROWTH
    print(f"required: <= {MOST_SECONDS:g} s, <= {MOST_GROWTH:g} x for twice the nodes")
    return reached


class Case(NamedTuple):
    """A network to be measured: in inference or in training, batch, and size of the images."""

    network: str
    mode: str
    batch: int
    size: int

    @property
    def title(self) -> str:
        image = "" if self.network in ("MLP", "LeNet") else f", images of {self.size}"
        return f"{self.network} {self.mode}, batch {self.batch}{image}"


CASES = (
    Case("MLP", "train", 64, 0),
    Case("LeNet", "infer", 1, 0),
    Case("LeNet", "infer", 8, 0),
    Case("LeNet", "train", 64, 0),
    Case("VGG-16", "infer", 1, 224),
    Case("VGG-16", "infer", 8, 224),
    Case("VGG-16", "train", 8, 64),
    Case("ResNet-50", "infer", 1, 224),
    Case("ResNet-50", "infer", 8, 224),
    Case("ResNet-50", "train", 8, 64),
)
#: Of images, where the run is to be quick.
SMALL = 64


def networks(models: Sequence[str], rounds: int, quick: bool) -> bool:
    """Measures networks with passes and without; returns whether they reach what they must."""
    reached = True
    print(f"{'':<40}{'passes':>8}{'first run':>17}{'step':>22}")
    print(f"{'':<40}{'ms':>8}{'s':>8}{'of plain':>9}{'ms':>11}{'of plain':>11}  rules")
    for case in CASES:
        if case.network not in models:
            continue
        case = case._replace(size=min(case.size, SMALL)) if quick else case
        with_xla = case.network == "ResNet-50" and case.mode == "infer"
        found = []
        for number in range(rounds):
            switches = ["on", "off"][:: 1 if number % 2 == 0 else -1]
            found.append(_in_process(case, [*switches, "xla"] if with_xla else switches))
        first = [
            statistics.median(process["first"][switch][0] for process in found) for switch in _SIDES
        ]
        # A first run is had once a process: there are no pairs.
        start_ratio = first[0] / first[1]
        step, step_ratio = _against(found, "off")
        passes_ms = 1e3 * statistics.median(process["passes"] for process in found)
        rules = ", ".join(found[0]["fired"]) or "none: the programs are the same"
        numbers = f"{passes_ms:8.1f}{first[0]:8.2f}{start_ratio:9.3f}"
        numbers += f"{step * 1e3:11.2f}{step_ratio:11.3f}"
        print(f"{case.title:<40}{numbers}  {rules}", flush=True)
        reached &= step_ratio <= MOST_OF_PLAIN or not found[0]["fired"]
        if with_xla:
            gain = 1 / _against(found, "xla")[1]
            print(f"{'':<40}{gain:.2f} times as fast as channels first")
            reached &= gain >= LEAST_GAIN
    print(
        f"required: <= {MOST_OF_PLAIN:g} x a step without passes, >= {LEAST_GAIN:g} times as fast"
    )
    return reached


_SIDES = ("on", "off")


def _against(found: Sequence[Mapping[str, Any]], other: str) -> tuple[float, float]:
    """Returns seconds of a step with passes, and the ratio to those of another switch."""
    ours = [run[0] for process in found for run in process["steps"]["on"]]
    theirs = [run[0] for process in found for run in process["steps"][other]]
    ratios = [a / b for a, b in zip(ours, theirs, strict=True)]
    return statistics.median(ours), statistics.median(ratios)


def _in_process(case: Case, switches: Sequence[str]) -> dict[str, Any]:
    """Returns the output of ``graph_models.py``."""
    here = Path(__file__).with_name("graph_models.py")
    done = subprocess.run(
        [sys.executable, here, *map(str, case), ",".join(switches)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "HYBRIDNET_CACHE_DIR": "off"},
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> int:
    names = list(dict.fromkeys(case.network for case in CASES))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=_Plain)
    parser.add_argument("--rounds", type=int, default=5, help="of large graphs")
    parser.add_argument("--processes", type=int, default=2, help="for each network")
    parser.add_argument("--models", nargs="*", choices=names, default=names)
    parser.add_argument("--quick", action="store_true", help="small images, one process a case")
    parser.add_argument("--no-large", action="store_true", help="networks only")
    arguments = parser.parse_args()
    reached = [
        arguments.no_large or growth(arguments.rounds),
        networks(arguments.models, 1 if arguments.quick else arguments.processes, arguments.quick),
    ]
    return int(not all(reached))


_Plain = argparse.RawDescriptionHelpFormatter


if __name__ == "__main__":
    sys.exit(main())
