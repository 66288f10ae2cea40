"""Training on a mesh of 8 to 1,024 devices, simulated: data parallel and fully sharded.

    python benchmarks/scaling_mesh.py [--skip-calibration] [--plot FILE]

First the formulas (`mesh_model.py`) are held against collectives of this machine. Processes send
to each other in a ring (Gloo), all through one card of a known rate: the loopback of a network of
their own (Linux: `unshare`, `tc`). Virtual devices of one process share its memory, whose rate
and latency are taken from 2 devices to predict 4 and 8. Then steps are simulated of
networks and machines that nobody has here: all figures but those of the first tables are simulated,
from what is published, which is printed with them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from cards import GIGABIT, Layer
from gradient_times import gpt2, resnet50, taking
from mesh_model import Link, Machines, Shared, data_parallel, fully_sharded, state_bytes

import hybridnet as hn
from hybridnet import nd
from hybridnet.parallel import split

DEVICES: Final = (8, 16, 32, 64, 128, 256, 512, 1024)
#: Bytes in calibration; the rate and the latency are from the first and the last.
SIZES: Final = (1 << 20, 4 << 20, 16 << 20)
ROUNDS: Final = 20
TURNS: Final = 4
#: Of processes, which share a card of this many bits a second.
RING_ROUNDS: Final = 4
CARD: Final = 800e6
#: What a link gives of its published rate.
SHARE: Final = 0.8
NVLINK: Final = Link(SHARE * 300e9, 3.4e-6)
INFINIBAND: Final = Link(SHARE * 200e9 / 8, 14e-6)
ETHERNET: Final = Link(100 * GIGABIT / 8, 50e-6)
BEGIN: Final = 8.4e-6
NETWORKS: Final = {
    "InfiniBand": Machines(NVLINK, INFINIBAND, begin=BEGIN),
    "Ethernet": Machines(NVLINK, ETHERNET, begin=BEGIN),
}
IMAGES, PER_SECOND, ON_EIGHT = 256, 2180, 16925
SPEED: Final = 137e12
HOLDS: Final = 40e9  # bytes of a device
ASSUMED: Final = f"""\
Assumed: machines of 8 A100. NVLink has 300 GB/s from each device and to it (NVIDIA, A100 white
paper), and a turn of a ring takes {1e6 * NVLINK.latency:.1f} us. Between machines is InfiniBand,
200 Gb/s for each device (DGX A100 data sheet), a turn {1e6 * INFINIBAND.latency:.0f} us, or
Ethernet, a card of 100 Gb/s for all 8, a turn {1e6 * ETHERNET.latency:.0f} us. {SHARE:.0%} of these
rates are had (of Ethernet's, what TCP leaves). Turns, and the {1e6 * BEGIN:.1f} us until a
collective begins, are NCCL's own estimates (src/graph/tuning.cc, ring). Gradients and gathered
parameters are bfloat16; collectives of at most 30 MiB run beside computing and do not slow it;
nobody waits for data or for a slow device. ResNet-50: {IMAGES} images a device, {PER_SECOND} a
second (MXNet on an A100, mixed precision; NVIDIA, DeepLearningExamples). GPT-2: 16 (124M) or 8
(1.5B) sequences of 1,024 a device, {SPEED / 1e12:.0f} TFLOP/s (what Narayanan et al., 2021,
measured on A100 for 1.7B parameters), nothing computed twice.
"""

#: Gives a network a card of some rate, and runs a command behind it.
PACED: Final = (
    f"ip link set lo up && tc qdisc add dev lo root tbf rate {CARD:.0f}bit burst 256kb latency 1s "
    '&& exec "$@"'
)

#: Of each kind of collective, by size.
Seconds = dict[str, list[float]]
Predict = Callable[[str, float, int], float]
Step = Callable[[Sequence[Layer], int, Machines], float]


# real collectives ---------------------------------------------------------------------------------


def measure(devices: int, processes: int, rounds: int) -> Seconds:
    """Returns the seconds of collectives by their sizes, the best of some rounds each."""
    mesh = hn.Mesh({"data": devices}, processes=processes)
    found: Seconds = {"all-reduce": [], "all-gather": []}
    for size in SIZES:
        rows = nd.ones((devices, size // 4), ctx=mesh).to_placement(split(0))
        parts = nd.ones((size // 4,), ctx=mesh).to_placement(split(0))
        for kind, work in (
            ("all-reduce", lambda rows=rows: rows.sum(axis=0)),
            ("all-gather", lambda parts=parts: parts.to_placement(None)),
        ):
            work().wait_to_read()
            times = []
            for _ in range(rounds):
                began = time.perf_counter()
                work().wait_to_read()
                times.append(time.perf_counter() - began)
            found[kind].append(min(times))
    return found


def measure_in_turns(counts: Sequence[int]) -> dict[int, Seconds]:
    """Returns what some numbers of virtual devices take, in turns: others use the machine, too."""
    found: dict[int, Seconds] = {}
    for _ in range(TURNS):
        for count in counts:
            new = measure(count, 1, ROUNDS)
            old = found.get(count, new)
            found[count] = {kind: list(map(min, old[kind], new[kind])) for kind in new}
    return found


def in_processes(count: int) -> Seconds:
    """Returns what a gang of processes measures, each with one device, behind a card."""
    command = [
        "unshare",
        "-rn",
        "sh",
        "-c",
        PACED,
        "sh",
        sys.executable,
        "-m",
        "hybridnet",
        "launch",
        "-n",
        str(count),
        "-s",
        "0",
    ]
    command += [sys.executable, __file__, "--worker"]
    env = {**os.environ, "HYBRIDNET_NUM_CPU_DEVICES": "1"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise SystemExit(f"scaling_mesh: {count} processes ended with {done.stderr[-2000:]}")
    found: Seconds = json.loads(lines[-1])
    return found


def work() -> None:
    """What a process of a gang does: rank 0 prints what it measured."""
    hn.distributed.initialize()
    found = measure(hn.distributed.size(), hn.distributed.size(), RING_ROUNDS)
    if hn.distributed.rank() == 0:
        print(json.dumps(found), flush=True)


def in_ring(kind: str, size: float, devices: int) -> float:
    """Returns the seconds of a collective of processes behind one card, each with its share."""
    turns = 2 if kind == "all-reduce" else 1
    return turns * Link(CARD / 8 / devices, 0.0).all_gather(size, devices)


def in_memory(known: Seconds) -> Predict:
    """Returns what predicts collectives of virtual devices, from what two of them took."""
    shared = {}
    for kind, seconds in known.items():
        rate = 2 * (SIZES[-1] - SIZES[0]) / (seconds[-1] - seconds[0])
        shared[kind] = Shared(rate, max(seconds[0] / 2 - SIZES[0] / rate, 0.0))
    return lambda kind, size, devices: shared[kind].seconds(size, devices)


def compare(title: str, found: Mapping[int, Seconds], predict: Predict) -> float:
    """Prints predictions beside measurements; returns how far the worst is off."""
    worst = 0.0
    print(f"{title}:\n")
    print("| collective | devices | MiB | predicted, ms | measured, ms | off |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kind in ("all-reduce", "all-gather"):
        for devices, measured in found.items():
            for size, seconds in zip(SIZES, measured[kind], strict=True):
                guess = predict(kind, size, devices)
                off = guess / seconds - 1
                worst = max(worst, abs(off))
                print(f"| {kind} | {devices} | {size >> 20} | {1e3 * guess:.2f} | "
                      f"{1e3 * seconds:.2f} | {100 * off:+.0f} % |")  # fmt: skip
    print(flush=True)
    return worst


def calibrate() -> None:
    """Holds the formulas against this machine."""
    gangs = {n: in_processes(n) for n in (2, 4, 8)}
    title = f"measured: processes in a ring, by Gloo, behind one card of {CARD / 1e6:.0f} Mb/s"
    worst = compare(title, gangs, in_ring)
    hn.Mesh({"data": 8})  # the process has as many devices
    virtual = measure_in_turns((2, 4, 8))
    predict = in_memory(virtual.pop(2))
    other = compare("measured: virtual devices of a process; from 2 of them", virtual, predict)
    print(f"at most {worst:.0%} off in a ring, {other:.0%} in one memory\n")


# simulated machines -------------------------------------------------------------------------------


def cases() -> dict[str, tuple[Sequence[Layer], Step]]:
    """Returns networks, with what a device computes of each, and how they are trained."""
    images = taking(resnet50(IMAGES), IMAGES / PER_SECOND)
    small, large = gpt2(12, 768, 16, SPEED), gpt2(48, 1600, 8, SPEED)
    return {
        "ResNet-50, data": (images, data_parallel),
        "ResNet-50, sharded": (images, fully_sharded),
        "GPT-2 124M, data": (small, data_parallel),
        "GPT-2 124M, sharded": (small, fully_sharded),
        "GPT-2 1.5B, sharded": (large, fully_sharded),
    }


def efficiency(layers: Sequence[Layer], step: Step, devices: int, machines: Machines) -> float:
    """Returns the share of the time of a step that a device computes."""
    alone = sum(one.forward + one.backward for one in layers)
    return alone / step(layers, devices, machines)


def sweep() -> dict[str, dict[str, list[float]]]:
    """Prints the table; returns the same by network and machines."""
    found = {
        network: {
            name: [efficiency(*case, n, machines) for n in DEVICES]
            for name, case in cases().items()
        }
        for network, machines in NETWORKS.items()
    }
    names = list(cases())
    print("simulated: % of a step that devices compute, by InfiniBand / by Ethernet:\n")
    print("| devices | " + " | ".join(names) + " |\n" + "| --- " * (len(names) + 1) + "|")
    for number, devices in enumerate(DEVICES):
        cells = [" / ".join(f"{100 * found[n][name][number]:.0f}" for n in found) for name in names]
        print(f"| {devices} | " + " | ".join(cells) + " |")
    published = ON_EIGHT / (8 * PER_SECOND)
    print(f"\nResNet-50 on 8: published {published:.0%}, with the loading of data")
    layers, _ = cases()["GPT-2 1.5B, sharded"]
    # Korthikanti et al. (2022): 34 s b h bytes a layer, where no scores of attention are kept.
    kept = 34 * 1024 * 8 * 1600 * 48
    print(
        f"GPT-2 1.5B: {state_bytes(layers) / 1e9:.1f} GB of parameters, gradients and states and "
        f"{kept / 1e9:.1f} of activations are more than the {HOLDS / 1e9:.0f} of a device; "
        f"sharded over 8 it holds {(state_bytes(layers, 8) + kept) / 1e9:.1f}"
    )
    return found


def draw(found: Mapping[str, Mapping[str, Sequence[float]]], to: Path) -> None:
    """Draws the table."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
    styles = ("C0-", "C0--", "C1-", "C1--", "C2--")
    for ax, (network, ways) in zip(axes, found.items(), strict=True):
        for style, (name, shares) in zip(styles, ways.items(), strict=True):
            ax.plot(DEVICES, [100 * one for one in shares], f"{style}", marker=".", label=name)
        ax.set_xscale("log", base=2)
        ax.set_xticks(DEVICES, [str(n) for n in DEVICES])
        ax.set(title=f"simulated: NVLink, {network}", xlabel="devices", ylim=(0, 102))
    axes[0].set_ylabel("% of a step computing")
    axes[0].legend(fontsize=8, loc="lower left")
    figure.savefig(to, dpi=100)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--skip-calibration", action="store_true", help="simulate only")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="write a picture")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        work()
        return
    if not given.skip_calibration:
        calibrate()
    print(ASSUMED)
    found = sweep()
    if given.plot is not None:
        draw(found, given.plot)


if __name__ == "__main__":
    main()
