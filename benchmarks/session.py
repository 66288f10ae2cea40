"""Times a run of a session, beside `jax.jit` and (where it is installed) TensorFlow's session.

Each contestant gets NumPy arrays and gives NumPy arrays. They take turns, and ratios are medians
over the rounds of (hybridnet / other).

    python benchmarks/session.py
"""

from __future__ import annotations

import argparse
import importlib
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

Run = Callable[[], Any]
#: Runs that are timed together, so that a clock's resolution does not matter.
_TOGETHER = {"small": 200, "step": 20}
_RATE = 0.01


def small(tf: Any) -> Run:
    """Returns a run of ``relu(x @ w) + 1`` on 4 rows of 8."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 8])
        y = tf.nn.relu(tf.matmul(x, tf.Variable(np.eye(8, dtype="float32")))) + 1.0
        return _started(tf, graph, y, {x: np.ones((4, 8), "float32")})


def small_jit() -> Run:
    """Returns the same by `jax.jit`."""
    import jax

    function = jax.jit(lambda x, w: jax.nn.relu(x @ w) + 1.0)
    weight, data = jax.device_put(np.eye(8, dtype="float32")), np.ones((4, 8), "float32")
    return lambda: np.asarray(function(data, weight))


def step(tf: Any) -> Run:
    """Returns a training step of a 784-256-10 network on 100 rows; it gives the loss."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 784])
        target = tf.placeholder(tf.float32, [None, 10])
        first, second = (tf.Variable(array) for array in _weights())
        loss = tf.reduce_mean(
            tf.square(tf.matmul(tf.nn.relu(tf.matmul(x, first)), second) - target)
        )
        grads = tf.gradients(loss, [first, second])
        moves = [v.assign_sub(_RATE * g) for v, g in zip((first, second), grads, strict=True)]
        data, wanted = _batch()
        return _started(tf, graph, [loss, tf.group(*moves)], {x: data, target: wanted})


def step_jit() -> Run:
    """Returns the same by `jax.jit`."""
    import jax
    import jax.numpy as jnp

    def loss(weights: Any, x: Any, target: Any) -> Any:
        return jnp.mean(jnp.square(jax.nn.relu(x @ weights[0]) @ weights[1] - target))

    @jax.jit
    def update(weights: Any, x: Any, target: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(weights, x, target)
        return value, [w - _RATE * g for w, g in zip(weights, grads, strict=True)]

    state = [[jax.device_put(array) for array in _weights()]]
    data, wanted = _batch()

    def run() -> Any:
        value, state[0] = update(state[0], data, wanted)
        return np.asarray(value)

    return run


def _weights() -> list[Any]:
    random = np.random.RandomState(0)
    return [(random.randn(*shape) * 0.05).astype("float32") for shape in ((784, 256), (256, 10))]


def _batch() -> tuple[Any, Any]:
    random = np.random.RandomState(1)
    return random.rand(100, 784).astype("float32"), random.rand(100, 10).astype("float32")


def _started(tf: Any, graph: Any, fetches: Any, feeds: Any) -> Run:
    init = tf.global_variables_initializer()
    session = tf.Session(graph=graph)
    session.run(init)
    return lambda: session.run(fetches, feeds)


def contestants(name: str) -> dict[str, Run]:
    """Returns who takes part in a row, by name."""
    work, by_jit = {"small": (small, small_jit), "step": (step, step_jit)}[name]
    found = {"hybridnet": work(importlib.import_module("hybridnet.compat.tf1")), "jit": by_jit()}
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        tf = importlib.import_module("tensorflow.compat.v1")
    except ImportError:
        return found
    tf.disable_v2_behavior()
    return {**found, "tensorflow": work(tf)}


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15, help="of all contestants")
    rounds = parser.parse_args().rounds
    for name, together in _TOGETHER.items():
        runs = contestants(name)
        times: dict[str, list[float]] = {contestant: [] for contestant in runs}
        for number in range(rounds + 2):  # the first rounds compile
            for contestant, run in runs.items():
                started = time.perf_counter()
                for _ in range(together):
                    run()
                if number > 1:
                    times[contestant].append((time.perf_counter() - started) / together * 1e6)
        ours = np.array(times["hybridnet"])
        shown = [f"hybridnet {np.median(ours):.0f} us"]
        for contestant in runs:
            if contestant != "hybridnet":
                other = np.array(times[contestant])
                ratio = np.median(ours / other)
                shown.append(f"{contestant} {np.median(other):.0f} us (ratio {ratio:.2f})")
        print(f"{name}: {', '.join(shown)}", flush=True)


if __name__ == "__main__":
    main()
