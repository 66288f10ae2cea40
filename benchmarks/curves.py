"""The loss curve of several workers beside that of one process, on real digits.

    python benchmarks/curves.py [--steps 100] [--workers 2] [--servers 2] [--processor]

LeNet, and a factorisation machine (Rendle, 2010) whose table of factors is a row-sparse key,
learn from the digits that come with hybridnet: by one process, and by workers and servers that
``hybridnet launch`` starts. The batches are the same: each worker has its share, and the one
process adds up the gradients of these shares. So the curves must be the same bit for bit, which is
what is reported, with the seconds of the steps. Ideal is the time of one process divided by the
workers, or by the processors, whichever are fewer. Several processes on one machine say nothing of
a network.

`--processor` reports processor time instead, of all processes and of the workers alone, for a step
after the first 20; and that of as many processes side by side of which each computes one worker's
share and updates a store of its own: what the machine makes of several processes anyhow.

The operators run one by one, as NumPy has them (``HYBRIDNET_HOST=only``): a compiler may order a
sum in one process otherwise than in another whose program has one operator more.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import resource
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.io.mnist import load_mnist
from hybridnet.lenet import initial_weights, lenet_block

Rows = slice
MODELS = ("lenet", "machine")
SIZE = 32  # of a batch of all workers
FIRST = 20  # steps whose processor time is left out
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


def train(name: str, steps: int, workers: int, only: int | None = None) -> dict[str, Any]:
    """Trains one model; this process has its own share of each batch, or all shares.

    Args:
        name: of the model.
        steps: how many.
        workers: how many shares a batch has.
        only: without a launcher, the share that it has; None: all.

    Returns:
        The losses of its shares, a digest of the last weights, the seconds of the steps, and the
        processor time of those after the first.
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
    if only is not None:
        shares = [only]
    losses: list[list[float]] = []
    began, used = time.perf_counter(), time.process_time()
    for step in range(steps):
        if step == FIRST:
            used = time.process_time()
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
    return {
        "shares": list(shares),
        "losses": losses,
        "weights": digest,
        "seconds": time.perf_counter() - began,
        "processor": time.process_time() - used,
    }


def run(
    name: str, steps: int, workers: int, servers: int, shares: Sequence[int] | None = None
) -> list[dict[str, Any]]:
    """Runs this file by workers and servers, or with no server alone; returns what each says.

    Args:
        name: of the model.
        steps: how many.
        workers: how many shares a batch has.
        servers: how many servers; 0: one process alone.
        shares: without servers, a process side by side with the others for each of these.
    """
    here = [sys.executable, str(Path(__file__)), "--train", name, "--steps", str(steps)]
    here += ["--workers", str(workers)]
    launch = [sys.executable, "-m", "hybridnet", "launch", "-n", str(workers), "-s", str(servers)]
    environ = {**os.environ, "HYBRIDNET_HOST": "only", "HYBRIDNET_CACHE_DIR": "off"}
    commands = [[*launch, *here] if servers else here]
    if shares is not None:
        commands = [[*here, "--only", str(one)] for one in shares]
    begun = [
        subprocess.Popen(one, stdout=subprocess.PIPE, text=True, env=environ) for one in commands
    ]
    said = [one.communicate()[0] for one in begun]
    if any(one.returncode for one in begun):
        raise SystemExit(f"{name}: a process ended with an error")
    return [json.loads(line) for one in said for line in one.splitlines()]


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


def processor(name: str, steps: int, workers: int, servers: int) -> dict[str, float]:
    """Returns the milliseconds of processor time that a step takes, of several kinds of run."""

    def of_all(steps: int, servers: int) -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        run(name, steps, workers, servers)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def of_workers(found: list[dict[str, Any]]) -> float:
        return sum(one["processor"] for one in found) * 1000 / steps

    end = steps + FIRST
    return {
        "alone": of_workers(run(name, end, workers, 0)),
        "side by side": of_workers(run(name, end, workers, 0, range(workers))),
        "workers": of_workers(run(name, end, workers, servers)),
        "all": (of_all(end, servers) - of_all(FIRST, servers)) * 1000 / steps,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--servers", type=int, default=2)
    parser.add_argument("--processor", action="store_true")
    parser.add_argument("--only", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--train", choices=MODELS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.train:
        line = json.dumps(train(given.train, given.steps, given.workers, given.only))
        sys.stdout.write(f"{line}\n")  # as one piece, since several processes write
        return 0
    ideal = min(given.workers, len(os.sched_getaffinity(0)))
    print(f"{given.workers} workers, {given.servers} servers, {given.steps} steps of {SIZE} digits")
    if given.processor:
        for name in MODELS:
            ms = processor(name, given.steps, given.workers, given.servers)
            kinds = ", ".join(f"{kind} {one:.1f}" for kind, one in ms.items())
            print(f"{name}: ms of processor time a step: {kinds}")
        return 0
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
