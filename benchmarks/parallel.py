"""A network on eight virtual devices beside the same written by hand with JAX.

    python benchmarks/parallel.py --rounds 12

Dense layers, SGD with momentum, a batch split over the devices; the parameters the same on all
(`data`), or in parts (`sharded`); as an eager loop, and as a function (`hn.function`). By hand it
is a function of arrays with `NamedSharding`, compiled by `jax.jit`. Printed are the collectives in
the text of the compiled programs, what a device holds of parameters and momenta, and a step's time
as the median of ratios, in turns.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import numpy as jnp
from jax.sharding import NamedSharding, PartitionSpec

import hybridnet as hn
from hybridnet import autograd, gluon
from hybridnet.gluon import nn
from hybridnet.parallel import split
from hybridnet.runtime.programs.cache import cache
from hybridnet.runtime.programs.collectives import count_collectives, read_collectives

UNITS, LAYERS, CLASSES, BATCH, DEVICES = 512, 4, 10, 256, 8
RATE, MOMENTUM = 0.01, 0.9
#: Steps in a turn.
STEPS = 5

Step = Callable[[], Any]


def batch() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Returns pictures and their classes."""
    rng = np.random.default_rng(0)
    return rng.random((BATCH, UNITS), np.float32), rng.integers(0, CLASSES, BATCH)


def ours(way: str, traced: bool) -> tuple[Step, Callable[[], str], float]:
    """Returns a step, what gives the text of its program, and the share that a device holds."""
    mesh = hn.Mesh({"data": DEVICES})
    net = nn.HybridSequential()
    for _ in range(LAYERS):
        net.add(nn.Dense(UNITS, activation="relu", in_units=UNITS))
    net.add(nn.Dense(CLASSES, in_units=UNITS))
    net.initialize(hn.init.Xavier(), ctx=mesh)
    net.hybridize()
    if way == "sharded":
        hn.parallel.fully_sharded(net, mesh)
    params = list(net.collect_params().values())
    settings = {"learning_rate": RATE, "momentum": MOMENTUM}
    trainer = gluon.Trainer(net.collect_params(), "sgd", settings)
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    x, y = (hn.nd.array(one, ctx=mesh, placement=split(0)) for one in batch())

    def train(x: Any, y: Any) -> Any:
        with autograd.record():
            found = loss(net(x), y)
        found.backward()
        trainer.step(BATCH)
        return found

    call = hn.function(train) if traced else train

    def step() -> Any:
        return call(x, y)

    def text() -> str:
        before = {one: one.account.runs for one in cache.programs()}
        step().wait_to_read()
        made = [one for one in cache.programs() if hasattr(one.compiled, "last")]
        made = [one for one in made if one.account.runs > before.get(one, 0)]
        return str(max(made, key=lambda one: one.account.weight).compiled.last.as_text())

    arrays = [param.data().to_jax() for param in params]
    held = sum(one.addressable_shards[0].data.nbytes for one in arrays)
    return step, text, held / sum(one.nbytes for one in arrays)


def by_hand(way: str) -> tuple[Step, Callable[[], str], float]:
    """Returns the same of JAX's functions."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:DEVICES]), ("data",))

    def lying(*axes: str) -> NamedSharding:
        return NamedSharding(mesh, PartitionSpec(*axes))

    rng = np.random.default_rng(1)
    weights = []
    for number in range(LAYERS + 1):
        rows = UNITS if number < LAYERS else CLASSES
        weight = 0.05 * rng.standard_normal((rows, UNITS), np.float32)
        lies = lying()
        if way == "sharded":
            lies = lying("data") if rows == UNITS else lying(None, "data")
        bias = jax.device_put(np.zeros(rows, np.float32), lying())
        weights.append((jax.device_put(weight, lies), bias))
    momenta = jax.tree.map(lambda x: jax.device_put(jnp.zeros_like(x), x.sharding), weights)

    def losses(weights: Any, x: Any, y: Any) -> Any:
        for number, (weight, bias) in enumerate(weights):
            if way == "sharded":
                weight = jax.lax.with_sharding_constraint(weight, lying())
            x = x @ weight.T + bias
            x = jax.nn.relu(x) if number < LAYERS else x
        scores = jax.nn.log_softmax(x)
        return -jnp.take_along_axis(scores, y[:, None], 1)[:, 0]

    def update(weights: Any, momenta: Any, x: Any, y: Any) -> Any:
        found, back = jax.vjp(lambda w: losses(w, x, y), weights)
        (grads,) = back(jnp.ones_like(found))
        momenta = jax.tree.map(lambda m, g: MOMENTUM * m - RATE * g / BATCH, momenta, grads)
        return jax.tree.map(lambda w, m: w + m, weights, momenta), momenta, found

    lie = jax.tree.map(lambda x: x.sharding, weights)
    x, y = (jax.device_put(one, lying("data")) for one in batch())
    made = jax.jit(update, donate_argnums=(0, 1), out_shardings=(lie, lie, None))
    made = made.lower(weights, momenta, x, y).compile()
    state = [weights, momenta]

    def step() -> Any:
        state[0], state[1], found = made(*state, x, y)
        return found

    arrays = jax.tree.leaves(weights)
    held = sum(one.addressable_shards[0].data.nbytes for one in arrays)
    return step, made.as_text, held / sum(one.nbytes for one in arrays)


def timed(step: Step) -> float:
    """Returns the milliseconds of a step, of several in a row."""
    began = time.perf_counter()
    for _ in range(STEPS):
        found = step()
    getattr(found, "wait_to_read", getattr(found, "block_until_ready", None))()
    return 1e3 * (time.perf_counter() - began) / STEPS


def main() -> None:
    """Compares both ways."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=12)
    rounds = parser.parse_args().rounds
    for way in ("data", "sharded"):
        sides = {
            "eager": ours(way, traced=False),
            "function": ours(way, traced=True),
            "by hand": by_hand(way),
        }
        took: dict[str, list[float]] = {name: [] for name in sides}
        for turn in range(1 + rounds):
            for name, (step, _, _) in sides.items():
                time_of = timed(step)
                if turn:
                    took[name].append(time_of)
        for name, (_, text, held) in sides.items():
            said = f"{statistics.median(took[name]):7.2f} ms a step, a device holds {held:.3f}"
            print(f"{way:8} {name:10} {said}, {count_collectives(read_collectives(text()))}")
        for name in ("eager", "function"):
            pairs = zip(took[name], took["by hand"], strict=True)
            ratio = statistics.median(one / hand for one, hand in pairs)
            print(f"{way:8} {name} / by hand: {ratio:.3f} (median of {rounds} rounds)", flush=True)


if __name__ == "__main__":
    main()
