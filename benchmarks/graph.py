"""What the passes take: over large graphs, and of the time in which networks start and run.

Large graphs are of two kinds: in one every block gives the rules something to do, in the other they
find nothing. Sizes are taken by turns, and so are networks with passes and without, each in a
process of its own; ratios are medians over the rounds.

    python benchmarks/graph.py
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

from hybridnet import passes, sym
from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph.node import Graph

SIZES = (5_000, 10_000, 20_000)
#: Seconds that the passes may take over the largest graph.
MOST_SECONDS = 5.0
#: Seconds for twice the nodes, as a multiple.
MOST_GROWTH = 2.5
#: What a network may take, as a multiple of what it takes without passes.
MOST_OF_PLAIN = 1.03
NETWORKS = ("mlp", "lenet")
SHAPE = (4, 4)


def busy(size: int) -> sym.Symbol:
    """Returns a chain of blocks of ten operators, of which most can go."""
    x, y = sym.var("x"), sym.var("y")
    for _ in range(size // 10):
        x = sym.negative(sym.negative(x)) * 2 * 4
        x = sym.transpose(sym.transpose(sym.identity(x)))
        x = sym.relu(x + y) + sym.relu(y + x)
    return x


def settled(size: int) -> sym.Symbol:
    """Returns a chain of operators that are all needed."""
    x, y = sym.var("x"), sym.var("y")
    for _ in range(size // 4):
        x = sym.tanh(sym.broadcast_mul(sym.exp(x), y)) + x
    return x


KINDS: dict[str, Callable[[int], sym.Symbol]] = {"busy": busy, "settled": settled}


def seconds(graph: Graph) -> tuple[float, passes.Report]:
    """Returns the seconds of the processor that all passes take, and their report."""
    one = tensor_type(SHAPE, np.dtype(np.float32))
    context = passes.PassContext((one,) * len(graph.inputs))
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
            statistics.median(b / a for a, b in zip(times[one], times[two], strict=True))
            for one, two in pairwise(SIZES)
        ]
        print(f"{kind}: {report.records[0].before} nodes -> {report.records[-1].after}")
        for size, ratio in zip(SIZES, [None, *ratios], strict=True):
            shown = "" if ratio is None else f"  {ratio:.2f} x half the nodes"
            print(f"  {size:>6} nodes  {statistics.median(times[size]):6.2f} s{shown}")
        slowest = statistics.median(times[SIZES[-1]])
        reached &= slowest <= MOST_SECONDS and max(ratios) <= MOST_GROWTH
    print(f"required: <= {MOST_SECONDS:g} s, <= {MOST_GROWTH:g} x for twice the nodes")
    return reached


def networks(rounds: int) -> bool:
    """Measures networks with passes and without; returns whether they reach what they must."""
    reached = True
    for network in NETWORKS:
        times: dict[str, list[tuple[float, float]]] = {"on": [], "off": []}
        for number in range(rounds):
            for switch in sorted(times, reverse=number % 2 == 0):
                times[switch].append(_in_process(network, switch))
        for column, what in enumerate(("bound, compiled and run once", "a further step")):
            pairs = zip(times["on"], times["off"], strict=True)
            ratio = statistics.median(on[column] / off[column] for on, off in pairs)
            taken = statistics.median(one[column] for one in times["on"])
            print(f"{network}, {what}: {taken * 1e3:.2f} ms, {ratio:.3f} x without passes")
            reached &= ratio <= MOST_OF_PLAIN
    print(f"required: <= {MOST_OF_PLAIN:g} x without passes")
    return reached


def _in_process(network: str, switch: str) -> tuple[float, float]:
    """Returns the seconds that ``graph_models.py`` prints."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("graph_models.py"), network, switch],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "HYBRIDNET_CACHE_DIR": "off"},
    )
    first, step = map(float, done.stdout.split())
    return first, step


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    reached = [growth(arguments.rounds), networks(arguments.rounds)]
    return int(not all(reached))


if __name__ == "__main__":
    sys.exit(main())
