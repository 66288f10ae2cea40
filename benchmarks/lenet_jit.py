"""One LeNet training step as a single hand-written ``jax.jit``: the mark the framework is held to.

``naive`` uses JAX's convolution and window reduction as they come; ``ours`` uses the lowerings of
``hybridnet.ops.nn.conv.lowerings``. Both are the same network: convolution 5x5x20, tanh, max
pooling 2, convolution 5x5x50, tanh, max pooling 2, dense 500, tanh, dense 10, softmax cross
entropy, trained by gradient descent with momentum and weight decay. Parameters and momenta are
donated.

    python benchmarks/lenet_jit.py --batch-size 64
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from hybridnet.base.allocator import keep_memory
from hybridnet.ops.nn.conv import lowerings

SHAPES = {
    "conv1_weight": (20, 1, 5, 5),
    "conv1_bias": (20,),
    "conv2_weight": (50, 20, 5, 5),
    "conv2_bias": (50,),
    "fc1_weight": (500, 800),
    "fc1_bias": (500,),
    "fc2_weight": (10, 500),
    "fc2_bias": (10,),
}
LEARNING_RATE, MOMENTUM, WEIGHT_DECAY = 0.05, 0.9, 1e-4

State = tuple[dict[str, jax.Array], dict[str, jax.Array]]
Step = Callable[[State, Any, Any], tuple[State, jax.Array]]


def naive_convolution(x: jax.Array, weight: jax.Array, bias: jax.Array) -> jax.Array:
    y = lax.conv_general_dilated(
        x, weight, (1, 1), "VALID", dimension_numbers=("NCHW", "OIHW", "NCHW")
    )
    return y + bias[:, None, None]


def naive_pooling(x: jax.Array) -> jax.Array:
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def our_convolution(x: jax.Array, weight: jax.Array, bias: jax.Array) -> jax.Array:
    return lowerings.convolution(x, weight, bias, kernel=(5, 5), platform=jax.default_backend())


def our_pooling(x: jax.Array) -> jax.Array:
    return lowerings.pooling(x, kernel=(2, 2), stride=(2, 2), platform=jax.default_backend())


LOWERINGS = {
    "naive": (naive_convolution, naive_pooling),
    "ours": (our_convolution, our_pooling),
}


def loss(lowering: str, p: dict[str, jax.Array], data: jax.Array, label: jax.Array) -> jax.Array:
    """Mean cross entropy of (batch, 1, 28, 28) data with (batch,) integer labels."""
    convolution, pool = LOWERINGS[lowering]
    h = pool(jnp.tanh(convolution(data, p["conv1_weight"], p["conv1_bias"])))
    h = pool(jnp.tanh(convolution(h, p["conv2_weight"], p["conv2_bias"])))
    h = jnp.tanh(h.reshape(h.shape[0], -1) @ p["fc1_weight"].T + p["fc1_bias"])
    h = jax.nn.log_softmax(h @ p["fc2_weight"].T + p["fc2_bias"])
    return -jnp.take_along_axis(h, label[:, None], 1).mean()


def make_state(seed: int = 0) -> State:
    """Random parameters and zero momenta."""
    random = np.random.default_rng(seed)
    params = {
        name: jnp.asarray(random.normal(0, 0.05, shape), jnp.float32)
        for name, shape in SHAPES.items()
    }
    return params, jax.tree.map(jnp.zeros_like, params)


def make_step(lowering: str = "ours") -> tuple[State, Step]:
    """The initial ``(parameters, momenta)`` and ``step(state, data, label) -> (state, loss)``.

    The step donates the state: use the returned one from then on.
    """

    @partial(jax.jit, donate_argnums=0)
    def step(state: State, data: jax.Array, label: jax.Array) -> tuple[State, jax.Array]:
        params, momenta = state
        value, gradients = jax.value_and_grad(partial(loss, lowering))(params, data, label)
        momenta = jax.tree.map(
            lambda m, g, p: MOMENTUM * m - LEARNING_RATE * (g + WEIGHT_DECAY * p),
            momenta,
            gradients,
            params,
        )
        return (jax.tree.map(jnp.add, params, momenta), momenta), value

    return make_state(), step


def make_batch(batch_size: int = 64) -> tuple[jax.Array, jax.Array]:
    """Random images and labels."""
    random = np.random.default_rng(1)
    data = random.random((batch_size, 1, 28, 28), dtype=np.float32)
    return jnp.asarray(data), jnp.asarray(random.integers(0, 10, batch_size), jnp.int32)


def measure(batch_size: int, rounds: int, steps: int = 5) -> dict[str, list[float]]:
    """Milliseconds a step of each lowering, one entry a round, the lowerings by turns."""
    data, label = make_batch(batch_size)
    states, step_of = {}, {}
    for name in LOWERINGS:
        states[name], step_of[name] = make_step(name)
        for _ in range(3):
            states[name], value = step_of[name](states[name], data, label)
        print(f"{name:6} loss after 3 steps {float(value):.6f}")
    times: dict[str, list[float]] = {name: [] for name in LOWERINGS}
    for _ in range(rounds):
        for name, step in step_of.items():
            start = time.perf_counter()
            for _ in range(steps):
                states[name], value = step(states[name], data, label)
            jax.block_until_ready((states[name], value))
            times[name].append((time.perf_counter() - start) / steps * 1e3)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument(
        "--keep-memory", action="store_true", help="keep freed memory, as hybridnet's arrays do"
    )
    arguments = parser.parse_args()
    if arguments.keep_memory:
        keep_memory()
    times = measure(arguments.batch_size, arguments.rounds)
    for name, values in times.items():
        print(f"{name:6} {np.median(values):7.2f} ms a step (least {min(values):.2f})")
    print(f"naive / ours {np.median(times['naive']) / np.median(times['ours']):.2f}")


if __name__ == "__main__":
    main()
