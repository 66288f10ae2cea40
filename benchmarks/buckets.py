"""Batches of ever new lengths: with and without buckets, against ``jax.jit`` and JAX op by op.

A classifier of sequences (two dense layers at each step, the mean over the steps, one more) is
trained on batches (8, length, 16), the lengths being random from 1 to 200. All contestants take
step 1, then all take step 2, and so on, in turning order, from a cold start; the losses must agree.
Ratios are of the total times: what a length costs is the compilation, when it first comes.

    python benchmarks/buckets.py [--steps 300] [--only NAME ...]
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

LONGEST, BATCH, INPUTS, HIDDEN, CLASSES = 200, 8, 16, 32, 5
RATE = 0.1
Array = np.ndarray[Any, Any]
#: The shapes of a batch: (BATCH, length, INPUTS) and (BATCH, CLASSES).
Step = Callable[[Array, Array], float]


def weights() -> dict[str, Array]:
    generator = np.random.default_rng(0)
    shapes = {"w1": (HIDDEN, INPUTS), "w2": (HIDDEN, HIDDEN), "w3": (CLASSES, HIDDEN)}
    return {k: generator.standard_normal(s, dtype=np.float32) / 6 for k, s in shapes.items()}


@dataclass
class Contestant:
    """One way to take the steps.

    Attributes:
        step: takes one, and returns the loss.
        programs: how many programs were compiled; None where nobody counts.
        times: seconds, of each step.
    """

    step: Step
    programs: Callable[[], int | None]
    times: list[float] = field(default_factory=list)


# hybridnet ----------------------------------------------------------------------------------------


def ours(way: str) -> Contestant:
    """The same Python function, eager, traced, or traced with buckets."""
    import hybridnet as hn
    from hybridnet import autograd, gluon, nd
    from hybridnet.runtime.programs.cache import cache

    made = {name: gluon.Parameter(name, shape=array.shape) for name, array in weights().items()}
    for name, param in made.items():
        param.initialize(hn.init.Constant(nd.array(weights()[name])))
    w1, w2, w3 = (param.data() for param in made.values())
    trainer = gluon.Trainer(list(made.values()), "sgd", {"learning_rate": RATE})

    def train(x: Any, y: Any, mask: Any = None) -> Any:
        with autograd.record():
            h = nd.FullyConnected(x, w1, num_hidden=HIDDEN, no_bias=True, flatten=False)
            h = nd.tanh(h)
            h = nd.FullyConnected(h, w2, num_hidden=HIDDEN, no_bias=True, flatten=False)
            h = nd.relu(h)
            if mask is None:
                h = h.mean(axis=1)
            else:
                h = (h * mask.reshape((1, -1, 1))).sum(axis=1) / mask.sum()
            out = nd.FullyConnected(h, w3, num_hidden=CLASSES, no_bias=True)
            loss = -(nd.log_softmax(out) * y).sum(axis=1).mean()
        loss.backward()
        trainer.step(1)
        return loss

    if way == "eager":
        run = train
    elif way == "function":
        run = hn.function(train)
    else:
        parts = 1 if way == "buckets" else 4
        run = hn.function(train, buckets=hn.Buckets({"x": 1}, per_octave=parts, mask="mask"))
    compiled = 0

    def step(x: Array, y: Array) -> float:
        nonlocal compiled
        before = cache.statistics().compilations
        # What is padded is best given as it comes from the data loader, in host memory.
        data = x if way.startswith("buckets") else nd.array(x)
        loss = float(run(data, nd.array(y)).asscalar())
        compiled += cache.statistics().compilations - before
        return loss

    return Contestant(step, lambda: compiled)


# JAX ----------------------------------------------------------------------------------------------


def jax_way(way: str) -> Contestant:
    """Op by op, ``jit``, which compiles for each length, or ``jit`` on batches padded by hand."""
    import jax
    import jax.numpy as jnp

    def loss(params: dict[str, Any], x: Any, y: Any, mask: Any) -> Any:
        h = jax.nn.relu(jnp.tanh(x @ params["w1"].T) @ params["w2"].T)
        if mask is None:
            h = h.mean(axis=1)
        else:
            h = (h * mask[:, None]).sum(axis=1) / mask.sum()
        return -(jax.nn.log_softmax(h @ params["w3"].T) * y).sum(axis=1).mean()

    def train(params: dict[str, Any], x: Any, y: Any, mask: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, x, y, mask)
        return {name: params[name] - RATE * grads[name] for name in params}, value

    run = train if way == "op by op" else jax.jit(train, donate_argnums=0)
    params = {name: jnp.asarray(array) for name, array in weights().items()}

    def step(x: Array, y: Array) -> float:
        nonlocal params
        mask = None
        if way == "padded":
            length = x.shape[1]
            size = 1 << (length - 1).bit_length()
            mask = jnp.asarray((np.arange(size) < length).astype(np.float32))
            x = np.pad(x, ((0, 0), (0, size - length), (0, 0)))
        params, value = run(params, jnp.asarray(x), jnp.asarray(y), mask)
        return float(value)

    return Contestant(step, lambda: getattr(run, "_cache_size", lambda: None)())


CONTESTANTS: dict[str, tuple[str, Callable[[], Contestant]]] = {
    "buckets": ("hn.function, buckets", lambda: ours("buckets")),
    "buckets4": ("... four sizes an octave", lambda: ours("buckets4")),
    "function": ("hn.function", lambda: ours("function")),
    "eager": ("eager loop", lambda: ours("eager")),
    "padded": ("jax.jit, padded by hand", lambda: jax_way("padded")),
    "jit": ("jax.jit", lambda: jax_way("jit")),
    "jax": ("JAX op by op", lambda: jax_way("op by op")),
}


def run(made: dict[str, Contestant], steps: int) -> int:
    """Takes the steps; returns how many different lengths there were."""
    draw = random.Random(0)
    generator = np.random.default_rng(1)
    names = list(made)
    lengths = [draw.randint(1, LONGEST) for _ in range(steps)]
    for number, length in enumerate(lengths):
        x = generator.standard_normal((BATCH, length, INPUTS), dtype=np.float32)
        y = np.eye(CLASSES, dtype=np.float32)[generator.integers(0, CLASSES, BATCH)]
        first = number % len(names)
        losses = {}
        for name in names[first:] + names[:first]:
            started = time.perf_counter()
            losses[name] = made[name].step(x, y)
            made[name].times.append(time.perf_counter() - started)
        np.testing.assert_allclose(
            list(losses.values()), losses[names[0]], 1e-3, err_msg=f"step {number}: {losses}"
        )
    return len(set(lengths))


def show(made: dict[str, Contestant]) -> None:
    """Prints the times, and the totals as multiples of that of the first contestant."""
    base = sum(next(iter(made.values())).times)
    print(f"{'':28}{'total':>9}{'ratio':>8}{'median':>11}{'last third':>12}{'programs':>10}")
    for name, contestant in made.items():
        times = np.array(contestant.times)
        last = times[-max(1, len(times) // 3) :].mean()
        programs = contestant.programs()
        print(
            f"{CONTESTANTS[name][0]:28}{times.sum():7.2f} s{times.sum() / base:8.2f}"
            f"{1e3 * np.median(times):8.2f} ms{1e3 * last:9.2f} ms"
            f"{'' if programs is None else programs:>10}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--only", nargs="+", choices=list(CONTESTANTS), default=list(CONTESTANTS))
    options = parser.parse_args()
    # Every run starts from nothing, whatever earlier ones have compiled.
    os.environ["HYBRIDNET_CACHE_DIR"] = "off"
    made = {name: CONTESTANTS[name][1]() for name in CONTESTANTS if name in options.only}
    lengths = run(made, options.steps)
    print(f"{options.steps} training steps, {lengths} different lengths, cold start")
    show(made)


if __name__ == "__main__":
    main()
