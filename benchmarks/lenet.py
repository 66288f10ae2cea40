"""LeNet's training step three ways against one hand-written ``jax.jit`` step, in one run.

All run the same network with the same lowerings on the same batch, by turns, so that a change of
the machine's speed meets each alike. Ratios are medians over the rounds of (way / jax.jit).

    python benchmarks/lenet.py
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import jax
import lenet_jit
import numpy as np

from hybridnet import cpu, engine, nd
from hybridnet.lenet import Bound, Eager, Settings, Traced, initial_weights

#: The most that a way may take, as a multiple of the hand-written step.
TARGET = 1.15


def jit_runner(batch_size: int) -> Callable[[int], None]:
    """Runs steps of the hand-written program; it keeps its state."""
    data, label = lenet_jit.make_batch(batch_size)
    state, step = lenet_jit.make_step("ours")

    def run(steps: int) -> None:
        nonlocal state
        for _ in range(steps):
            state, value = step(state, data, label)
        jax.block_until_ready((state, value))

    return run


def way_runner(way: Any, batch_size: int) -> Callable[[int], None]:
    """Runs steps of one of our ways, and waits for the loss and the weights at the end."""
    data, label = (np.asarray(array, np.float32) for array in lenet_jit.make_batch(batch_size))
    inputs = nd.array(data), nd.array(label)

    def run(steps: int) -> None:
        for _ in range(steps):
            loss = way.step(*inputs)
        loss.wait_to_read()
        for weight in way.weights().values():
            weight.wait_to_read()

    return run


def measure(batch_size: int, rounds: int, steps: int) -> dict[str, np.ndarray[Any, Any]]:
    """Returns the milliseconds a step of each way, one entry a round."""
    weights = initial_weights(0)
    settings = Settings(batch_size, lenet_jit.LEARNING_RATE, cpu(), lenet_jit.WEIGHT_DECAY)
    runners = {"jax.jit": jit_runner(batch_size)}
    for kind in (Eager, Bound, Traced):
        way = kind(weights, settings)
        runners[way.title] = way_runner(way, batch_size)
    for run in runners.values():
        run(4)
    nd.waitall()
    engine.wait_for_all()
    times: dict[str, list[float]] = {name: [] for name in runners}
    for _ in range(rounds):
        for name, run in runners.items():
            started = time.perf_counter()
            run(steps)
            times[name].append(1e3 * (time.perf_counter() - started) / steps)
    return {name: np.array(values) for name, values in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--steps", type=int, default=5, help="in one turn")
    options = parser.parse_args()
    times = measure(options.batch_size, options.rounds, options.steps)
    base = times["jax.jit"]
    title = f"LeNet step, batch {options.batch_size}"
    print(f"{title:<28}{'median':>10}{'least':>10}{'ratio':>8}")
    for name, values in times.items():
        ratio = float(np.median(values / base))
        verdict = "" if name == "jax.jit" else f"  target <= {TARGET}"
        print(
            f"{name:<28}{np.median(values):>7.2f} ms{values.min():>7.2f} ms{ratio:>8.3f}{verdict}"
        )


if __name__ == "__main__":
    main()
