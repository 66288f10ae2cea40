"""Ratios of the lowerings of convolution and pooling to XLA's own, forward and with gradients.

For every case three programs run by turns: XLA's operation in (batch, channel, ...) order, XLA's
operation with channels last, and ours as chosen for a CPU. A ratio above 1 says that ours is that
many times faster. ``--keep-convolutions`` compiles with the option that leaves convolutions to
XLA's own kernel (and products to its library): much faster for large convolutions.

    python benchmarks/lowerings.py [--keep-convolutions] [case ...]
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

from hybridnet.ops.nn.conv.lowerings import convolution, pooling

KEEP_CONVOLUTIONS = {"xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_DOT"}

# Data shape (batch, channel, height, width), filters, kernel, stride, pad, groups.
CONVOLUTIONS = {
    "lenet conv1": ((64, 1, 28, 28), 20, 5, 1, 0, 1),
    "lenet conv2": ((64, 20, 12, 12), 50, 5, 1, 0, 1),
    "lenet conv2, batch 1": ((1, 20, 12, 12), 50, 5, 1, 0, 1),
    "cifar 16 to 16": ((64, 16, 32, 32), 16, 3, 1, 1, 1),
    "resnet 1x1": ((16, 256, 28, 28), 64, 1, 1, 0, 1),
    "resnet stride 2": ((16, 64, 28, 28), 128, 3, 2, 1, 1),
    "resnet 128, batch 1": ((1, 128, 28, 28), 128, 3, 1, 1, 1),
    "vgg 64": ((8, 64, 56, 56), 64, 3, 1, 1, 1),
    "grouped": ((16, 64, 28, 28), 64, 3, 1, 1, 4),
    "depthwise": ((16, 64, 28, 28), 64, 3, 1, 1, 64),
}
# Data shape, kernel, stride, pad.
POOLINGS = {
    "lenet pool1": ((64, 20, 24, 24), 2, 2, 0),
    "resnet pool": ((8, 64, 56, 56), 3, 2, 1),
    "inception pool": ((8, 64, 28, 28), 3, 1, 1),
    "pool, batch 1": ((1, 64, 56, 56), 2, 2, 0),
}

Candidates = dict[str, Callable[..., jax.Array]]


def random(seed: int, *shape: int) -> jax.Array:
    values = np.random.default_rng(seed).standard_normal(shape)
    return jnp.asarray(values, jnp.float32)


def around(operation: Callable[..., jax.Array], x: jax.Array, *weight: jax.Array) -> jax.Array:
    """The operation with channels last, on data with channels first."""
    turned = (jnp.moveaxis(a, 1, -1) for a in (x, *weight))
    return jnp.moveaxis(operation(*turned, layout="NHWC"), -1, 1)


def candidates(operation: Callable[..., jax.Array], **settings: Any) -> Candidates:
    native = partial(operation, platform="gpu", **settings)
    return {
        "channel first": native,
        "channel last": partial(around, native),
        "ours": partial(operation, platform="cpu", **settings),
    }


def cases() -> dict[str, tuple[Candidates, tuple[jax.Array, ...]]]:
    table = {}
    for name, (shape, filters, k, s, p, groups) in CONVOLUTIONS.items():
        weight = random(1, filters, shape[1] // groups, k, k)
        settings = {"kernel": (k, k), "stride": (s, s), "pad": (p, p), "num_group": groups}
        table[name] = candidates(convolution, **settings), (random(0, *shape), weight)
    for name, (shape, k, s, p) in POOLINGS.items():
        for kind in ("max", "avg"):
            settings = {"kernel": (k, k), "stride": (s, s), "pad": (p, p), "pool_type": kind}
            table[f"{name} {kind}"] = candidates(pooling, **settings), (random(0, *shape),)
    return table


def with_gradients(f: Callable[..., jax.Array], *arguments: jax.Array) -> Any:
    y, pull = jax.vjp(f, *arguments)
    return y, pull(jnp.ones_like(y))


def measure(programs: Candidates, arguments: tuple[jax.Array, ...], rounds: int) -> list[float]:
    """Milliseconds of each program, the median of rounds in which they run by turns."""
    times: list[list[float]] = [[] for _ in programs]
    for i in range(-1, rounds):
        for program, mine in zip(programs.values(), times, strict=True):
            start = time.perf_counter()
            jax.block_until_ready([program(*arguments) for _ in range(3)])
            if i >= 0:  # the first round warms up
                mine.append((time.perf_counter() - start) / 3 * 1e3)
    return [float(np.median(values)) for values in times]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("case", nargs="*", help="only cases whose name starts like this")
    parser.add_argument("--keep-convolutions", action="store_true")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    compiler_options = KEEP_CONVOLUTIONS if options.keep_convolutions else None
    print(f"{'case':24} {'pass':8} {'ours, ms':>9} {'to channel first':>17} {'to last':>8}")
    for name, (functions, arguments) in cases().items():
        if options.case and not name.startswith(tuple(options.case)):
            continue
        for label, wrap in (
            ("forward", lambda f: f),
            ("gradient", lambda f: partial(with_gradients, f)),
        ):
            programs = {
                key: jax.jit(wrap(f)).lower(*arguments).compile(compiler_options)
                for key, f in functions.items()
            }
            first, last, ours = measure(programs, arguments, options.rounds)
            print(f"{name:24} {label:8} {ours:9.2f} {first / ours:17.2f} {last / ours:8.2f}")


if __name__ == "__main__":
    main()
