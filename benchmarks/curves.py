"""The loss curve of several workers beside that of one process, on real digits.

    python benchmarks/curves.py [--steps 100] [--workers 2] [--servers 2]

LeNet, and a factorisation machine (Rendle, 2010) whose table of factors is a row-sparse key,
learn from the digits that come with hybridnet: by one process, and by workers and servers that
``hybridnet launch`` starts. The batches are the same: each worker has its share, and the one
process adds up the gradients of these shares. So the curves must be the same bit for bit, which is
what is reported, with the seconds of the steps. Ideal is the time of one process divided by the
workers, or by the processors, whichever are fewer. Several processes on one machine say nothing of
a network.

The operators run one by one, as NumPy has them (``HYBRIDNET_HOST=only``): a compiler may order a
sum in one process otherwise than in another whose program has one operator more.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.cli.lenet import initial_weights, lenet_block
from hybridnet.io.mnist import load_mnist

Rows = slice
MODELS = ("lenet", "machine")
SIZE = 32  # of a batch of all workers
FACTORS = 8


class Model(ABC):
    """What is trained: its keys in a store, and the gradients of a share of a batch."""

    @abstractmethod
    def values(self) -> list[Any]:
        """Returns the first value of each key."""

    @abstractmethod
    def gradients(self, rows: Rows) -> tuple[list[Any], float]:
        """Returns the gradient for each key, and the sum of the losses, of some of the digits."""

    @abstractmethod
    def pull(self, store: Any, rows: Rows) -> None:
        """Takes from a store what the gradients of these digits need."""


class LeNet(Model):
    """The network of ``hybridnet train``."""

    optimizer = ("sgd", {"learning_rate": 0.07, "momentum": 0.9})

    def __init__(self) -> None:
        images, labels, *_ = load_mnist(None)
        self._images = images.reshape(-1, 1, 28, 28).astype(np.float32) / 255
        self._labels = labels.astype(np.float32)
        self._net = lenet_block()
        self._net.initialize()
        weights = initial_weights(0)
        self._parameters = list(self._net.collect_params().values())
        for one in self._parameters:
            one.set_data(nd.array(weights[one.name.removeprefix(self._net.prefix)]))
        self._loss = gluon.loss.SoftmaxCrossEntropyLoss()

    def values(self) -> list[Any]:
        return [one.data() for one in self._parameters]

    def gradients(self, rows: Rows) -> tuple[list[Any], float]:
        with autograd.record():
            made = self._net(nd.array(self._images[rows]))
            loss = self._loss(made, nd.array(self._labels[rows]))
        loss.backward()
        return [one.grad().copy() for one in self._parameters], float(loss.sum().asscalar())

    def pull(self, store: Any, rows: Rows) -> None:
        for number, one in enumerate(self._parameters):
            store.pull(number, out=one.data(), priority=-number)


class Machine(Model):
    """A factorisation machine that tells odd digits from even ones by the pixels that are on.

    Each pixel has a row of the table: its weight, and its factors. Of a step only the rows of the
    pixels that are on somewhere in the batch are pulled and pushed.
    """

    optimizer = ("adagrad", {"learning_rate": 0.01})

    def __init__(self) -> None:
        images, labels, *_ = load_mnist(None)
        self._on = images.reshape(len(images), -1) > 127
        self._labels = (labels % 2).astype(np.float32)
        self._bias = nd.zeros((1,))
        self._bias.attach_grad()
        start = np.random.RandomState(0).normal(0, 0.01, (self._on.shape[1], 1 + FACTORS))
        self._table = nd.array(start.astype(np.float32))
        self._pulled = nd.sparse.zeros("row_sparse", start.shape)
        self._loss = gluon.loss.SigmoidBinaryCrossEntropyLoss()

    def values(self) -> list[Any]:
        return [self._table.tostype("row_sparse"), self._bias]

    def gradients(self, rows: Rows) -> tuple[list[Any], float]:
        on = self._on[rows]
        wanted = np.flatnonzero(on.any(axis=0))
        given = nd.array(on[:, wanted].astype(np.float32))
        have = self._pulled.indices.asnumpy()
        table = self._pulled.data[nd.array(np.searchsorted(have, wanted))]
        table.attach_grad()
        with autograd.record():
            linear = nd.dot(given, table[:, :1])
            factors = table[:, 1:]
            pairs = (nd.dot(given, factors) ** 2 - nd.dot(given, factors**2)).sum(axis=1)
            score = linear.reshape((-1,)) + 0.5 * pairs + self._bias
            loss = self._loss(score, nd.array(self._labels[rows]))
        loss.backward()
        gradient = nd.sparse.row_sparse_array((table.grad, wanted), shape=self._table.shape)
        return [gradient, self._bias.grad.copy()], float(loss.sum().asscalar())

    def pull(self, store: Any, rows: Rows) -> None:
        wanted = np.flatnonzero(self._on[rows].any(axis=0))
        store.row_sparse_pull(0, out=self._pulled, row_ids=nd.array(wanted))
        store.pull(1, out=self._bias)


def train(name: str, steps: int, workers: int) -> dict[str, Any]:
    """Trains one model; this process has its own share of each batch, or all shares.

    Args:
        name: of the model.
        steps: how many.
        workers: how many shares a batch has.

    Returns:
        The losses of its shares, a digest of the last weights, and the seconds of the steps.
    """
    alone = "DMLC_ROLE" not in os.environ
    store = hn.kv.create("local" if alone else "dist_sync")
    model: Model = LeNet() if name == "lenet" else Machine()
    rule, numbers = model.optimizer  # type: ignore[attr-defined]
    store.set_optimizer(hn.optimizer.create(rule, rescale_grad=1 / SIZE, **numbers))
    values = model.values()
    for key, value in enumerate(values):
        store.init(key, value)
    share, shares = SIZE // workers, range(workers) if alone else [store.rank]
    losses: list[list[float]] = []
    began = time.perf_counter()
    for step in range(steps):
        first = step * SIZE % 3968  # of the 4,000 digits to train on, whole batches
        mine = [slice(first + one * share, first + (one + 1) * share) for one in shares]
        model.pull(store, slice(mine[0].start, mine[-1].stop))
        found = [model.gradients(rows) for rows in mine]
        losses.append([loss for _, loss in found])
        for key in range(len(values)):
            store.push(key, [given[key] for given, _ in found], priority=-key)
    last = [nd.zeros(value.shape) for value in values]
    store.pull(list(range(len(values))), out=last, ignore_sparse=False)
    digest = hashlib.sha256(b"".join(one.asnumpy().tobytes() for one in last)).hexdigest()
    seconds = time.perf_counter() - began
    return {"shares": list(shares), "losses": losses, "weights": digest, "seconds": seconds}


def run(name: str, steps: int, workers: int, servers: int) -> list[dict[str, Any]]:
    """Runs this file by workers and servers, or with no server alone; returns what each says."""
    here = [sys.executable, str(Path(__file__)), "--train", name, "--steps", str(steps)]
    here += ["--workers", str(workers)]
    launch = [sys.executable, "-m", "hybridnet", "launch", "-n", str(workers), "-s", str(servers)]
    environ = {**os.environ, "HYBRIDNET_HOST": "only", "HYBRIDNET_CACHE_DIR": "off"}
    command = [*launch, *here] if servers else here
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env=environ, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def compare(name: str, steps: int, workers: int, servers: int) -> dict[str, Any]:
    """Trains a model both ways; returns the curves, whether they are equal, and the times."""
    (alone,) = run(name, steps, workers, 0)
    several = sorted(run(name, steps, workers, servers), key=lambda one: one["shares"])
    by_step = zip(*(one["losses"] for one in several), strict=True)
    joined = [list(itertools.chain(*shares)) for shares in by_step]
    weights = {one["weights"] for one in (alone, *several)}
    return {
        "curve": [sum(one) / SIZE for one in alone["losses"]],
        "equal": joined == alone["losses"] and len(weights) == 1,
        "alone": alone["seconds"],
        "several": max(one["seconds"] for one in several),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--servers", type=int, default=2)
    parser.add_argument("--train", choices=MODELS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.train:
        line = json.dumps(train(given.train, given.steps, given.workers))
        sys.stdout.write(f"{line}\n")  # as one piece, since several processes write
        return 0
    ideal = min(given.workers, len(os.sched_getaffinity(0)))
    print(f"{given.workers} workers, {given.servers} servers, {given.steps} steps of {SIZE} digits")
    all_equal = True
    for name in MODELS:
        found = compare(name, given.steps, given.workers, given.servers)
        curve, all_equal = found["curve"], all_equal and found["equal"]
        print(
            f"{name}: loss {curve[0]:.3f} -> {curve[-1]:.3f}, "
            f"{'equal bit for bit' if found['equal'] else 'NOT EQUAL'}; one process "
            f"{found['alone']:.1f} s, {given.workers} workers {found['several']:.1f} s, "
            f"{found['several'] * ideal / found['alone']:.2f} of the ideal time"
        )
    return 0 if all_equal else 1


if __name__ == "__main__":
    sys.exit(main())
