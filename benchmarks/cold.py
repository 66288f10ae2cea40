"""Code that runs once: what a new process, and shapes that never come again, wait for.

    python benchmarks/cold.py --mxnet-python PYTHON            # that has mxnet==1.9.1 numpy==1.23.5
    python benchmarks/cold.py --works operators sentences      # some of the works

Every measurement is a process of its own, with an empty cache folder, by turns: each library runs
each work once a round, and ratios are medians over the rounds. MXNet and hybridnet run the same
lines; ``--filled`` keeps hybridnet's cache folder from one round to the next.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Seconds = dict[str, float]
#: That are trained on.
SENTENCES = 300


def first_operator(mx: Any, started: float) -> Seconds:
    """From before the import until the first result is printed."""
    print((mx.nd.ones((2, 3)) * 2 + 1).asnumpy(), file=sys.stderr)
    return {"import and first operator": time.perf_counter() - started}


def operators(mx: Any, _: float) -> Seconds:
    """Ten ordinary operators, on shapes that never come again."""
    nd, draw = mx.nd, np.random.RandomState(0)
    times = []
    for number in range(200):
        rows, columns = 3 + number % 97, 4 + number % 89 + number // 97
        data = draw.rand(rows, columns).astype("float32")
        started = time.perf_counter()
        x = nd.array(data)
        y = nd.tanh(nd.dot(x, x.T))
        z = nd.softmax(y)
        z.sum(axis=1).wait_to_read()
        both = nd.transpose(nd.concat(y, z, dim=1))
        nd.slice(both, begin=(0, 0), end=(2, 2)).mean().asscalar()
        times.append(time.perf_counter() - started)
    return {"ten operators, new shapes": statistics.median(times[5:])}


def gradients(mx: Any, _: float) -> Seconds:
    """The same with a gradient, also on shapes that never come again."""
    nd, draw = mx.nd, np.random.RandomState(0)
    times = []
    for number in range(100):
        rows, columns = 3 + number % 97, 4 + number % 89
        data = draw.rand(rows, columns).astype("float32")
        started = time.perf_counter()
        x = nd.array(data)
        x.attach_grad()
        with mx.autograd.record():
            y = nd.softmax(nd.dot(nd.relu(x - 0.5), x.T)).max(axis=1).sum()
        y.backward()
        x.grad.asnumpy()
        times.append(time.perf_counter() - started)
    return {"six operators and gradients": statistics.median(times[5:])}


def _lstm(mx: Any, hidden: int) -> Any:
    nn = mx.gluon.nn

    class Cell(mx.gluon.Block):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(100, 32)
            self.inner = nn.Dense(4 * hidden, in_units=32)
            self.outer = nn.Dense(4 * hidden, in_units=hidden)
            self.last = nn.Dense(100, in_units=hidden)

        def forward(self, sentence: Any) -> Any:
            nd, batch = mx.nd, sentence.shape[0]
            h = c = nd.zeros((batch, hidden))
            words = self.words(sentence)
            for t in range(sentence.shape[1]):
                gates = self.inner(words[:, t]) + self.outer(h)
                i, f, g, o = nd.split(gates, num_outputs=4, axis=1)
                c = nd.sigmoid(f) * c + nd.sigmoid(i) * nd.tanh(g)
                h = nd.sigmoid(o) * nd.tanh(c)
            return self.last(h)

    return Cell()


def sentences(mx: Any, _: float) -> Seconds:
    """An LSTM cell in a loop over the words of sentences of 5 to 60, trained."""
    draw = np.random.RandomState(0)
    net = _lstm(mx, 64)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    started = time.perf_counter()
    for _number in range(SENTENCES):
        length = draw.randint(5, 61)
        x = mx.nd.array(draw.randint(0, 100, (16, length)))
        y = mx.nd.array(draw.randint(0, 100, 16))
        with mx.autograd.record():
            cost = loss(net(x), y)
        cost.backward()
        trainer.step(16)
        cost.mean().asscalar()
    return {"LSTM cells, a sentence": (time.perf_counter() - started) / SENTENCES}


def trees(mx: Any, _: float) -> Seconds:
    """A recursion over trees, each another one, with gradients."""
    nd, draw = mx.nd, np.random.RandomState(0)
    weight = nd.array(draw.rand(64, 32).astype("float32") - 0.5)
    weight.attach_grad()

    def value(depth: int) -> Any:
        if depth == 0 or (depth < 5 and draw.rand() < 0.2):
            return nd.array(draw.rand(1, 32))
        return nd.tanh(nd.dot(nd.concat(value(depth - 1), value(depth - 1), dim=1), weight))

    started = time.perf_counter()
    for _number in range(50):
        with mx.autograd.record():
            y = value(5).sum()
        y.backward()
        weight.grad.asnumpy()
    return {"trees, each": (time.perf_counter() - started) / 50}


def resnet(mx: Any, _: float) -> Seconds:
    """ResNet-18 on 32x32 images, batches in turn, the loss read."""
    nn, draw = mx.gluon.nn, np.random.RandomState(0)

    class Residual(mx.gluon.HybridBlock):  # type: ignore[misc]
        def __init__(self, channels: int, stride: int, before: int) -> None:
            super().__init__()
            self.body = nn.HybridSequential()
            self.body.add(
                nn.Conv2D(channels, 3, stride, 1, use_bias=False, in_channels=before),
                nn.BatchNorm(in_channels=channels),
                nn.Activation("relu"),
                nn.Conv2D(channels, 3, 1, 1, use_bias=False, in_channels=channels),
                nn.BatchNorm(in_channels=channels),
            )
            self.down = None
            if stride != 1 or before != channels:
                self.down = nn.HybridSequential()
                self.down.add(
                    nn.Conv2D(channels, 1, stride, use_bias=False, in_channels=before),
                    nn.BatchNorm(in_channels=channels),
                )

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return F.Activation(self.body(x) + (self.down(x) if self.down else x), act_type="relu")

    net, before = nn.HybridSequential(), 64
    net.add(nn.Conv2D(64, 3, 1, 1, use_bias=False, in_channels=3), nn.BatchNorm(in_channels=64))
    net.add(nn.Activation("relu"))
    for channels, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        net.add(Residual(channels, stride, before), Residual(channels, 1, channels))
        before = channels
    net.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(10, in_units=512))
    started = time.perf_counter()
    net.initialize(mx.init.Xavier())
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    batches = [
        (mx.nd.array(draw.rand(32, 3, 32, 32)), mx.nd.array(draw.randint(0, 10, 32)))
        for _ in range(4)
    ]
    first = 0.0
    for number in range(20):
        x, y = batches[number % 4]
        with mx.autograd.record():
            cost = loss(net(x), y)
        cost.backward()
        trainer.step(32)
        cost.mean().asscalar()
        first = first or time.perf_counter() - started
    whole = time.perf_counter() - started
    return {"ResNet-18, first step": first, "ResNet-18, 20 steps": whole}


WORKS: dict[str, Callable[[Any, float], Seconds]] = {
    "import": first_operator,
    "operators": operators,
    "gradients": gradients,
    "sentences": sentences,
    "trees": trees,
    "resnet": resnet,
}


def measure(python: str, library: str, work: str, folder: str) -> Seconds:
    """Runs one work in a process of its own."""
    done = subprocess.run(
        [python, __file__, "--child", library, work],
        # Packages are installed with their bytecode.
        env={**os.environ, "HYBRIDNET_CACHE_DIR": folder, "PYTHONDONTWRITEBYTECODE": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{library}, {work}:\n{done.stderr}")
    found: Seconds = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Runs the processes, and prints a row for each work as it is done."""
    parser = argparse.ArgumentParser(description="How long code takes that runs once.")
    parser.add_argument("--works", nargs="+", choices=WORKS, default=list(WORKS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--filled", action="store_true", help="keep hybridnet's cache folder")
    parser.add_argument("--mxnet-python", help="an interpreter that has MXNet")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        library, work = arguments.child
        started = time.perf_counter()
        mx = importlib.import_module(library)
        print(json.dumps(WORKS[work](mx, started)))
        return
    pythons = {"hybridnet": sys.executable}
    if arguments.mxnet_python:
        pythons["mxnet"] = arguments.mxnet_python
    print(f"{'':30}" + "".join(f"{name:>14}" for name in pythons) + f"{'ratio':>8}", flush=True)
    with tempfile.TemporaryDirectory() as kept:
        if arguments.filled:
            for work in arguments.works:
                measure(sys.executable, "hybridnet", work, kept)
        for work in arguments.works:
            times: dict[str, dict[str, list[float]]] = {}
            for _ in range(arguments.rounds):
                for library, python in pythons.items():
                    with tempfile.TemporaryDirectory() as empty:
                        folder = kept if arguments.filled else str(Path(empty) / "cache")
                        for row, seconds in measure(python, library, work, folder).items():
                            times.setdefault(row, {}).setdefault(library, []).append(seconds)
            for row, found in times.items():
                line = f"{row:30}"
                line += "".join(f"{1e3 * statistics.median(found[x]):11.2f} ms" for x in pythons)
                if "mxnet" in found:
                    ratios = np.divide(found["hybridnet"], found["mxnet"])
                    line += f"{statistics.median(ratios.tolist()):8.2f}"
                print(line, flush=True)


if __name__ == "__main__":
    main()
