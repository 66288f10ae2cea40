"""How long the passes take over large graphs, and whether that grows with the graph alone.

Two kinds of graphs: one where every block gives the rules something to do, and one where they find
nothing. Sizes are taken by turns, and ratios are medians over the rounds.

    python benchmarks/graph.py
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from hybridnet import passes, sym
from hybridnet.base.tensor_type import tensor_type
from hybridnet.graph.node import Graph

SIZES = (5_000, 10_000, 20_000)
#: Seconds that the passes may take over the largest graph.
MOST_SECONDS = 5.0
#: Seconds for twice the nodes, as a multiple.
MOST_GROWTH = 2.3
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
    """Returns how long all passes take, and their report."""
    one = tensor_type(SHAPE, np.dtype(np.float32))
    context = passes.PassContext((one,) * len(graph.inputs))
    start = time.perf_counter()
    _, report = passes.optimize(graph, context)
    return time.perf_counter() - start, report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    failed = False
    for kind, make in KINDS.items():
        times: dict[int, list[float]] = {size: [] for size in SIZES}
        for _ in range(arguments.rounds):
            for size in SIZES:
                # Made anew: a graph remembers the order of its nodes.
                taken, report = seconds(make(size).graph)
                times[size].append(taken)
        growth = [
            statistics.median(b / a for a, b in zip(times[one], times[two], strict=True))
            for one, two in pairwise(SIZES)
        ]
        print(f"{kind}: {report.records[0].before} nodes -> {report.records[-1].after}")
        for size, ratio in zip(SIZES, [None, *growth], strict=True):
            shown = "" if ratio is None else f"  {ratio:.2f} x half the nodes"
            print(f"  {size:>6} nodes  {statistics.median(times[size]):6.2f} s{shown}")
        slowest = statistics.median(times[SIZES[-1]])
        failed |= slowest > MOST_SECONDS or max(growth) > MOST_GROWTH
    print(f"required: <= {MOST_SECONDS:g} s, <= {MOST_GROWTH:g} x for twice the nodes")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
