"""Traced functions against `jax.jit` and eager Python: calls, tracing, and a loop.

* ``call``: a cached function of 2 and of 50 arrays of 4x4: the CPU time that the calling thread
  takes until the call has returned, so that it can be read on a busy machine.
* ``trace``: ResNet-50's training step (batch 2, 64x64 pixels), from Python code to a graph, and to
  a jaxpr. Nothing is compiled. The first time in a process, and after that, for a new function of
  the same code.
* ``loop``: a `while` of 1,000 turns whose condition is an array's, against the same Python code run
  eagerly, both until the result is there.

Each row is the least of several turns, ours and theirs in turn. Aims: calls and tracing at most 1.5
times JAX's, the loop at least 20 times faster than eager Python.

    python benchmarks/function.py
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import hybridnet as hn
from hybridnet import autograd, gluon, nd

#: ResNet-50: units, filters and stride of each stage.
STAGES = ((3, 256, 1), (4, 512, 2), (6, 1024, 2), (3, 2048, 2))
CLASSES, BATCH, PIXELS = 1000, 2, 64
TURNS = 1000


def least(
    runs: list[Callable[[], Any]],
    turns: int,
    inner: int = 1,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """Returns the least time of each run, in seconds; they take turns."""
    best = [float("inf")] * len(runs)
    for _ in range(turns):
        for number, run in enumerate(runs):
            start = clock()
            for _ in range(inner):
                run()
            best[number] = min(best[number], (clock() - start) / inner)
    return best


# -- calls -----------------------------------------------------------------------------------


def total(*parts: Any) -> Any:
    found = parts[0]
    for part in parts[1:]:
        found = found + part
    return found


def call(count: int) -> tuple[float, float]:
    """Returns the time of a call of ours and of JAX's."""
    host = np.ones((4, 4), np.float32)
    ours, theirs = hn.function(total), jax.jit(total)
    arrays = [nd.array(host) for _ in range(count)]
    buffers = [jax.device_put(host) for _ in range(count)]
    for _ in range(5):
        ours(*arrays).wait_to_read()
        theirs(*buffers).block_until_ready()
    runs = [lambda: ours(*arrays), lambda: theirs(*buffers)]
    one, other = least(runs, 25, 500, time.thread_time)
    return one, other


# -- tracing ---------------------------------------------------------------------------------


class Unit(gluon.nn.HybridBlock):
    """A bottleneck unit."""

    def __init__(self, before: int, filters: int, stride: int) -> None:
        super().__init__()
        inner = filters // 4
        self.body = gluon.nn.HybridSequential()
        for given, made, kernel, step in (
            (before, inner, 1, 1),
            (inner, inner, 3, stride),
            (inner, filters, 1, 1),
        ):
            self.body.add(
                gluon.nn.Conv2D(made, kernel, step, kernel // 2, use_bias=False, in_channels=given),
                gluon.nn.BatchNorm(in_channels=made),
            )
            if made != filters:
                self.body.add(gluon.nn.Activation("relu"))
        self.short = None
        if before != filters:
            self.short = gluon.nn.HybridSequential()
            self.short.add(
                gluon.nn.Conv2D(filters, 1, stride, use_bias=False, in_channels=before),
                gluon.nn.BatchNorm(in_channels=filters),
            )

    def forward(self, x: Any) -> Any:
        return nd.relu(self.body(x) + (x if self.short is None else self.short(x)))


def our_network() -> Any:
    net = gluon.nn.HybridSequential()
    net.add(
        gluon.nn.Conv2D(64, 7, 2, 3, use_bias=False, in_channels=3),
        gluon.nn.BatchNorm(in_channels=64),
        gluon.nn.Activation("relu"),
        gluon.nn.MaxPool2D(3, 2, 1),
    )
    before = 64
    for units, filters, stride in STAGES:
        for number in range(units):
            net.add(Unit(before, filters, 1 if number else stride))
            before = filters
    net.add(
        gluon.nn.GlobalAvgPool2D(), gluon.nn.Flatten(), gluon.nn.Dense(CLASSES, in_units=before)
    )
    net.initialize()
    return net


def our_step() -> Callable[[], Any]:
    """Returns a function that traces our step anew."""
    net = our_network()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()

    def step(x: Any, label: Any) -> Any:
        with autograd.record():
            loss = loss_of(net(x), label).mean()
        loss.backward()
        trainer.step(1)
        return loss

    x, label = nd.ones((BATCH, 3, PIXELS, PIXELS)), nd.zeros((BATCH,))
    return lambda: hn.function(step).get_concrete_function(x, label)


def their_layers() -> list[tuple[str, int, int, int]]:
    """Returns the convolutions in order: name, inputs, filters, kernel."""
    layers = [("stem", 3, 64, 7)]
    before = 64
    for stage, (units, filters, _) in enumerate(STAGES):
        inner = filters // 4
        for number in range(units):
            name = f"{stage}.{number}"
            layers += [(f"{name}.0", before, inner, 1), (f"{name}.1", inner, inner, 3)]
            layers.append((f"{name}.2", inner, filters, 1))
            if before != filters:
                layers.append((f"{name}.short", before, filters, 1))
            before = filters
    return layers


def normalized(x: Any, p: Any, statistics: Any, name: str) -> Any:
    mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
    old = statistics[name]
    statistics[name] = (0.9 * old[0] + 0.1 * mean, 0.9 * old[1] + 0.1 * variance)
    scale = p["gamma"] / jnp.sqrt(variance + 1e-5)
    return (x - mean[:, None, None]) * scale[:, None, None] + p["beta"][:, None, None]


def their_network(params: Any, statistics: Any, x: Any) -> Any:
    def conv(x: Any, name: str, stride: int = 1) -> Any:
        p = params[name]
        pad = p["w"].shape[-1] // 2
        y = lax.conv_general_dilated(x, p["w"], (stride, stride), [(pad, pad)] * 2)
        return normalized(y, p, statistics, name)

    x = jax.nn.relu(conv(x, "stem", 2))
    window = (1, 1, 3, 3), (1, 1, 2, 2), ((0, 0), (0, 0), (1, 1), (1, 1))
    x = lax.reduce_window(x, -jnp.inf, lax.max, *window)
    for stage, (units, _, stride) in enumerate(STAGES):
        for number in range(units):
            name, step = f"{stage}.{number}", 1 if number else stride
            y = jax.nn.relu(conv(x, f"{name}.0"))
            y = conv(jax.nn.relu(conv(y, f"{name}.1", step)), f"{name}.2")
            x = jax.nn.relu(y + (conv(x, f"{name}.short", step) if not number else x))
    return x.mean((2, 3)) @ params["dense"]["w"] + params["dense"]["b"]


def their_step() -> Callable[[], Any]:
    """Returns a function that traces JAX's step anew."""

    def f32(*shape: int) -> Any:
        return jax.ShapeDtypeStruct(shape, jnp.float32)

    params: dict[str, Any] = {
        name: {"w": f32(made, given, k, k), "gamma": f32(made), "beta": f32(made)}
        for name, given, made, k in their_layers()
    }
    statistics = {name: (f32(made), f32(made)) for name, _, made, _ in their_layers()}
    params["dense"] = {"w": f32(STAGES[-1][1], CLASSES), "b": f32(CLASSES)}

    def loss_of(params: Any, statistics: Any, x: Any, label: Any) -> Any:
        new = dict(statistics)
        scores = jax.nn.log_softmax(their_network(params, new, x))
        return -jnp.take_along_axis(scores, label[:, None], 1).mean(), new

    def step(params: Any, momenta: Any, statistics: Any, x: Any, label: Any) -> Any:
        grad = jax.value_and_grad(loss_of, has_aux=True)
        (loss, new), grads = grad(params, statistics, x, label)
        momenta = jax.tree.map(lambda m, g: 0.9 * m - 0.1 * g, momenta, grads)
        return jax.tree.map(jnp.add, params, momenta), momenta, new, loss

    given = (f32(BATCH, 3, PIXELS, PIXELS), jax.ShapeDtypeStruct((BATCH,), jnp.int32))

    return lambda: jax.jit(lambda *args: step(*args)).trace(params, params, statistics, *given)


# -- a loop ----------------------------------------------------------------------------------


def until(x: Any, limit: Any) -> Any:
    count = limit * 0
    while count < limit:
        x = x * 0.999 + 0.001
        count = count + 1
    return x


def loop() -> tuple[float, float]:
    """Returns the time of our loop and of the eager one."""
    x, limit = nd.ones((8, 8)), nd.array([TURNS])
    traced = hn.function(until)
    np.testing.assert_allclose(traced(x, limit).asnumpy(), until(x, limit).asnumpy(), rtol=1e-4)
    one, other = least(
        [lambda: traced(x, limit).wait_to_read(), lambda: until(x, limit).wait_to_read()], 5
    )
    return one, other


def main() -> None:
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    for count in (2, 50):
        ours, theirs = call(count)
        print(f"call, {count:2} arguments   ours {ours * 1e6:7.1f} us   jax.jit", end="")
        print(f" {theirs * 1e6:7.1f} us   ratio {ours / theirs:5.2f}  (aim: at most 1.5)")
    steps = [our_step(), their_step()]
    for what, turns in (("first", 1), ("again", 4)):
        ours, theirs = least(steps, turns)
        print(f"trace, {what}        ours {ours * 1e3:7.0f} ms   jax.jit", end="")
        print(f" {theirs * 1e3:7.0f} ms   ratio {ours / theirs:5.2f}  (aim: at most 1.5)")
    ours, theirs = loop()
    print(f"loop, {TURNS} turns    ours {ours * 1e3:7.2f} ms   eager  ", end="")
    print(f" {theirs * 1e3:7.1f} ms   ratio {theirs / ours:5.1f}  (aim: at least 20)")


if __name__ == "__main__":
    main()
