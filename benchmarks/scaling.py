"""Training on 1 to 100 machines, simulated: the state machines of the parameter server over cards.

First the simulation is held against real processes of this machine: 1, 2 and 4 workers and a
server, each behind a card that is slower than the machine (`paced.py`); what a message and a byte
cost a process is measured with one worker, without cards. Predictions may be 25 % off the best
round, which is the one that others on the machine disturbed least. Then steps of ResNet-50 and
VGG-16 are simulated (`cards.py`), with gradients that become ready one after the other
(`gradient_times.py`), on machines that nobody has here: all figures but those of the first table
are simulated.

    python benchmarks/scaling.py [--most 100] [--rate 25e6] [--skip-calibration] [--plot FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from cards import GIGABIT, Card, Costs, Layer, Simulation
from gradient_times import in_pieces, resnet50, vgg16

from hybridnet.kvstore.cluster import Cluster
from hybridnet.kvstore.protocol.words import Peer, RunPlan

#: (keys, floats in each, rounds) of the works that real processes do.
LARGE, SMALL = (8, 250_000, 6), (300, 250, 6)
#: How many workers: powers of two, the 10 machines of the MXNet paper, and ten times these.
WORKERS: Final = (1, 2, 4, 8, 10, 16, 32, 64, 100)
#: How far a prediction may be off.
OFF: Final = 0.25


# real processes -----------------------------------------------------------------------------------


def real(workers: int, rate: float, works: Sequence[tuple[int, int, int]]) -> list[Any]:
    """Returns what each worker found in each work, of a run with one server."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, str(Path(__file__).with_name("paced.py"))]
    given = {
        **os.environ,
        "DMLC_PS_ROOT_URI": "127.0.0.1",
        "DMLC_PS_ROOT_PORT": str(port),
        "DMLC_NUM_WORKER": str(workers),
        "DMLC_NUM_SERVER": "1",
        "DMLC_NODE_HOST": "127.0.0.1",
        "PACED_RATE": str(rate),
        "PACED_WORK": json.dumps(works),
    }
    others, own = [], []
    with tempfile.TemporaryDirectory() as folder:
        try:
            for role in ("scheduler", "server"):
                env = {**given, "PACED_ROLE": role, "DMLC_SERVER_ID": "0"}
                others.append(subprocess.Popen(command, env=env))
            for rank in range(workers):
                env = {**given, "PACED_ROLE": "worker", "DMLC_WORKER_ID": str(rank)}
                env |= {"PACED_SERVER": str(others[-1].pid)}
                # Another folder each: nothing goes through mapped files.
                env |= {"HYBRIDNET_DIST_STATE_DIR": f"{folder}/{rank}"}
                own.append(subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True))
            with ThreadPoolExecutor(workers) as pool:
                texts = list(pool.map(lambda one: one.communicate(timeout=280)[0], own))
        finally:
            for one in (*own, *others):
                one.kill()
                one.wait()
            shutil.rmtree(Cluster(port=port).state_folder, ignore_errors=True)
    return [json.loads(one.splitlines()[-1]) for one in texts]


def costs_of() -> Costs:
    """Measures what a message and a byte cost, with one worker and no card."""
    small, large = (20, *SMALL[:2]), (20, *LARGE[:2])
    [found] = real(1, float("inf"), [(k, f, n) for n, k, f in (small, large)])
    made = {}
    for role in ("worker", "server"):
        # Each key is two messages of one part: the push, and its answer with the value.
        (_, keys, floats), (_, most, more) = small, large
        message = found[0][role] / (2 * keys)
        rest = max(0.0, found[1][role] - 2 * most * message)
        made[role] = (message, rest / (2 * most * 4 * more))
        assert floats * 4 < 2000  # whose bytes cost nothing that could be seen
    (worker, byte), (server, other) = made["worker"], made["server"]
    return Costs(worker, server, byte, byte, other, other)


def predict(workers: int, work: tuple[int, int, int], rate: float, costs: Costs) -> float:
    """Returns the seconds of a round as the simulation has them."""
    keys, floats, _ = work
    plan = RunPlan(1, workers, 1)
    world = Simulation(plan, [Layer(floats)] * keys, steps=1, card=Card(rate, 1e-4), costs=costs)
    world.run()
    return max(one.ended[0] - one.begun[0] for one in world.workers)


def calibrate(rate: float) -> tuple[Costs, bool]:
    """Prints predictions beside measurements; returns the costs, and whether all are close."""
    costs = costs_of()
    print(
        f"measured: a message costs a worker {1e6 * costs.worker:.0f} us and a server "
        f"{1e6 * costs.server:.0f} us of processor, a byte {1e9 * costs.push:.2f} and "
        f"{1e9 * costs.fold:.2f} ns\n"
    )
    print(f"rounds of {LARGE[0]} MB through cards of {8 * rate / 1e6:.0f} Mb/s, one server:\n")
    print("| workers | predicted, ms | measured, ms (median) | off |\n| --- | --- | --- | --- |")
    close = True
    for workers in (1, 2, 4):
        found = real(workers, rate, [LARGE])
        rounds = [max(turn) for turn in zip(*(one[0]["times"] for one in found), strict=True)]
        measured, predicted = min(rounds), predict(workers, LARGE, rate, costs)
        off = predicted / measured - 1
        close = close and abs(off) <= OFF
        print(f"| {workers} | {1e3 * predicted:.0f} | {1e3 * measured:.0f} "
              f"({1e3 * statistics.median(rounds):.0f}) | {100 * off:+.0f} % |")  # fmt: skip
    print()
    return costs, close


# simulated machines -------------------------------------------------------------------------------


def step_time(world: Simulation) -> float:
    """Seconds between the ends of steps of the slowest worker; the first is left out."""
    world.run()
    return max((one.ended[-1] - one.ended[0]) / (len(one.ended) - 1) for one in world.workers)


def sweep(most: int, costs: Costs) -> dict[str, list[tuple[int, float]]]:
    """Steps of ResNet-50 by how many workers there are, and where the servers are."""
    layers = resnet50()
    alone = sum(one.forward + one.backward for one in layers)
    ways = {
        "one server": lambda n: (1, False),
        "a server for 4 workers": lambda n: (max(1, n // 4), False),
        "as many servers, on the workers' machines": lambda n: (n, True),
        "as many servers, on machines of their own": lambda n: (n, False),
    }
    found: dict[str, list[tuple[int, float]]] = {name: [] for name in ways}
    print(
        "simulated: ResNet-50, 32 images a worker, 10 Gb/s; times as fast as one machine alone:\n"
    )
    print("| workers | " + " | ".join(ways) + " |\n" + "| --- " * (len(ways) + 1) + "|")
    for workers in (count for count in WORKERS if count <= most):
        cells = []
        for name, way in ways.items():
            servers, beside = way(workers)
            world = Simulation(
                RunPlan(1, workers, servers), layers, steps=3 if workers < 32 else 2,
                card=Card(10 * GIGABIT), costs=costs, beside=beside,
            )  # fmt: skip
            speed = workers * alone / step_time(world)
            found[name].append((workers, speed))
            cells.append(f"{speed:.1f}")
        print(f"| {workers} | " + " | ".join(cells) + " |", flush=True)
    print()
    return found


def priorities(costs: Costs) -> list[tuple[float, dict[str, float]]]:
    """VGG-16 of 4 workers and 4 servers with and without small urgent parts, by card."""
    layers, found = vgg16(), []
    print("simulated: VGG-16, 4 workers and servers, ms: a step; the first layer's new value:\n")
    print("| Gb/s | dist_sync | p3 | first layer, dist_sync | first layer, p3 |")
    print("| --- | --- | --- | --- | --- |")
    for rate in (1, 10, 25, 100):
        row = {}
        for name, plan in (
            ("dist_sync", RunPlan(1, 4, 4)),
            ("p3", RunPlan(1, 4, 4, window=10, part_items=40_000)),
        ):
            world = Simulation(plan, layers, steps=2, card=Card(rate * GIGABIT), costs=costs)
            row[name] = step_time(world)
            first = world.workers[0]
            row[f"{name}, first layer"] = first.fresh[0][0] - first.begun[0]
        found.append((rate, row))
        cells = (row[one] for one in ("dist_sync", "p3", "dist_sync, first layer",
                                      "p3, first layer"))  # fmt: skip
        print(f"| {rate} | " + " | ".join(f"{1e3 * one:.0f}" for one in cells) + " |", flush=True)
    print()
    return found


def early(costs: Costs) -> None:
    """Networks whose backward pass is one program or several: when gradients can leave."""
    counts = (1, 2, 4, 8)
    print("simulated: 4 workers and servers, ms a step, by the programs of a backward pass:\n")
    print("| network, card | " + " | ".join(map(str, counts)) + " | each layer by itself |")
    print("| --- " * (len(counts) + 2) + "|")
    for name, layers in (("ResNet-50", resnet50()), ("VGG-16", vgg16())):
        for rate in (1, 10, 25):
            cells = []
            for made in (*(in_pieces(layers, count) for count in counts), layers):
                card = Card(rate * GIGABIT)
                world = Simulation(RunPlan(1, 4, 4), made, card=card, costs=costs, whole=True)
                cells.append(f"{1e3 * step_time(world):.0f}")
            print(f"| {name}, {rate} Gb/s | " + " | ".join(cells) + " |", flush=True)
    print()


def troubles(costs: Costs) -> None:
    """A worker that is slow, and a server that is killed: 8 workers and servers."""
    layers, plan = resnet50(), RunPlan(1, 8, 8)
    print("simulated: ResNet-50, 8 workers with servers, 10 Gb/s, ms a step:\n")
    print("| what happens | median | longest |\n| --- | --- | --- |")
    ends: list[float] = []
    for name in ("nothing", "one worker is half as fast", "a server is killed, back in 0.5 s"):
        slow = {3: 2.0} if "half" in name else None
        world = Simulation(plan, layers, steps=8, costs=costs, beside=True, slow=slow)
        if "killed" in name:
            world.kill(Peer("server", 2), ends[3], 0.5)
        world.run()
        ends = world.workers[0].ended
        steps = [1e3 * (b - a) for a, b in pairwise(ends)]
        print(f"| {name} | {statistics.median(steps):.0f} | {max(steps):.0f} |", flush=True)
    print()


def draw(
    found: dict[str, list[tuple[int, float]]], cards: list[tuple[float, dict[str, float]]], to: Path
) -> None:
    """Draws both figures."""
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for name, points in found.items():
        left.plot(*zip(*points, strict=True), "o-", label=name)
    most = max(workers for workers, _ in next(iter(found.values())))
    left.plot([1, most], [1, most], "k:", label="ideal")
    left.set_xscale("log", base=2)
    left.set_yscale("log", base=2)
    left.set(title="simulated: ResNet-50, 10 Gb/s", xlabel="workers", ylabel="times as fast as one")
    left.legend(fontsize=8)
    places = range(len(cards))
    names = list(cards[0][1])
    for number, name in enumerate(names):
        heights = [1e3 * row[name] for _, row in cards]
        right.bar([place + 0.2 * number for place in places], heights, 0.19, label=name)
    right.set_xticks([place + 0.3 for place in places], [f"{rate} Gb/s" for rate, _ in cards])
    right.set_yscale("log")
    right.set(title="simulated: VGG-16, 4 workers and 4 servers", ylabel="ms")
    right.legend(fontsize=8)
    figure.savefig(to, dpi=110)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=100, help="workers (default 100)")
    parser.add_argument("--rate", type=float, default=25e6, help="bytes a second in calibration")
    parser.add_argument("--skip-calibration", action="store_true", help="simulate only")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write a picture")
    given = parser.parse_args()
    costs, close = Costs(), True
    if not given.skip_calibration:
        costs, close = calibrate(given.rate)
    found = sweep(given.most, costs)
    cards = priorities(costs)
    early(costs)
    troubles(costs)
    if given.plot is not None:
        draw(found, cards, given.plot)
    return 0 if close else 1


if __name__ == "__main__":
    sys.exit(main())
