"""LeNet's first training step in a new process: with an empty and a filled cache, against JAX.

Every measurement is a process of its own, by turns: JAX operator by operator, hybridnet with an
empty cache folder, and hybridnet with the folder that the one before left. JAX is running and the
parameters and the batch are there when the clock starts; it stops when the new parameters and the
loss are. Ratios are medians over the rounds of (hybridnet / JAX operator by operator).

    python benchmarks/first_step.py
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np

#: The most that a first step may take, as a multiple of JAX's operator by operator.
TARGETS = {"empty": 1.2, "filled": 0.4}
BATCH_SIZE = 64


def jax_eager() -> float:
    """Returns the seconds of a step written with JAX's functions and no ``jit``."""
    import jax
    import lenet_jit

    params, momenta = lenet_jit.make_state()
    data, label = lenet_jit.make_batch(BATCH_SIZE)
    jax.block_until_ready((params, momenta, data, label))
    started = time.perf_counter()
    loss = partial(lenet_jit.loss, "naive")
    value, gradients = jax.value_and_grad(loss)(params, data, label)
    for name, gradient in gradients.items():
        rate, decay = lenet_jit.LEARNING_RATE, lenet_jit.WEIGHT_DECAY
        momentum = lenet_jit.MOMENTUM * momenta[name]
        momenta[name] = momentum - rate * (gradient + decay * params[name])
        params[name] = params[name] + momenta[name]
    jax.block_until_ready((params, momenta, value))
    return time.perf_counter() - started


def ours() -> float:
    """Returns the seconds of a step of the eager way of `hybridnet train`."""
    import lenet_jit

    from hybridnet import cpu, nd
    from hybridnet.lenet import Eager, Settings, initial_weights

    settings = Settings(BATCH_SIZE, lenet_jit.LEARNING_RATE, cpu(), lenet_jit.WEIGHT_DECAY)
    way = Eager(initial_weights(0), settings)
    data, label = (
        nd.array(np.asarray(array, np.float32)) for array in lenet_jit.make_batch(BATCH_SIZE)
    )
    nd.waitall()
    started = time.perf_counter()
    loss = way.step(data, label)
    loss.wait_to_read()
    for weight in way.weights().values():
        weight.wait_to_read()
    return time.perf_counter() - started


def measure(child: str, folder: Path) -> tuple[float, float]:
    """Runs a child; returns the seconds of its first step, and of the whole process."""
    environ = {**os.environ, "HYBRIDNET_CACHE_DIR": str(folder)}
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, __file__, "--child", child],
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return float(done.stdout), time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", choices=("jax", "ours"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print((jax_eager if arguments.child == "jax" else ours)())
        return
    steps: dict[str, list[float]] = {"jax": [], "empty": [], "filled": []}
    processes: dict[str, list[float]] = {"jax": [], "empty": [], "filled": []}
    for _ in range(arguments.rounds):
        with tempfile.TemporaryDirectory() as folder:
            for name in steps:
                child = "jax" if name == "jax" else "ours"
                step, process = measure(child, Path(folder) / "cache")
                steps[name].append(step)
                processes[name].append(process)
    print(f"{'':24}{'first step':>12}{'process':>10}{'ratio':>8}{'target':>8}")
    titles = {"jax": "JAX operator by operator", "empty": "empty cache", "filled": "filled cache"}
    for name, title in titles.items():
        row = f"{title:24}{np.median(steps[name]):10.3f} s{np.median(processes[name]):8.2f} s"
        if name in TARGETS:
            ratio = np.median(np.divide(steps[name], steps["jax"]))
            row += f"{ratio:8.2f}{TARGETS[name]:8.2f}"
        print(row)


if __name__ == "__main__":
    main()
