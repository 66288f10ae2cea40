"""Lab 11: a server with the part in it, two workers that train LeNet, and kills in the middle."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import Any, Final

import numpy as np

from hybridnet import kv, nd
from hybridnet.base.array_types import NumpyArray
from hybridnet.lenet import AbstractWay, Digits, Eager, Settings
from hybridnet.runtime import deterministic

from ...checking import Wrong
from ...gang import Gang
from ...training import Outcome, take_step, train_lenet
from .client import SentRequest, ServerStore
from .drawing import draw_asked, draw_example
from .process import ServerPlan, serve

_WORKERS: Final = 2
#: Digits of a step, over both workers; passes over all of them, one more where gradients are of
#: older weights; the rate of plain descent.
_BATCH: Final = 32
_EPOCHS: Final = {"sync": 2, "async": 3}
_RATE: Final = 0.2
#: After so many pushes the server is killed; 8 are one round of one worker. None of these is a
#: multiple of 16, so that rounds are open.
_STOPS: Final = {"sync": (403, 3001), "async": (2001,)}
#: What 'async' must come to.
_ACCURATE: Final = 0.95


@dataclass
class _WorkerEnd:
    """The result that a worker returns.

    Attributes:
        outcome: of its training.
        weights: by name, at its end.
        asked: its pushes and pulls.
    """

    outcome: Outcome
    weights: dict[str, NumpyArray]
    asked: list[SentRequest]


@dataclass
class _Run:
    """The result of the training with one consistency.

    Attributes:
        workers: what each has returned.
        counts: pushes, pulls and saves that the part was asked for, shared with the servers.
        kills: seconds, on the clock that all processes of a machine share.
    """

    workers: list[_WorkerEnd]
    counts: Any
    kills: list[float]


def figure(folder: Path) -> None:
    """Draws the example of the page: who waits for whom, in 'sync' and in 'async'."""
    draw_example(folder / "figure.svg")


def run(part: Any, pictures: Path) -> Outcome:
    """Trains LeNet in 'sync' and in 'async'; the server is killed and started again."""
    runs, serial = _trained(part)
    outcome = _judge(runs, serial)
    both = list(runs.values())
    names = ("pushes", "pulls", "saves")
    outcome.counts = {name: sum(one.counts[i] for one in both) for i, name in enumerate(names)}
    outcome.counts["kills"] = sum(len(one.kills) for one in both)
    for consistency, one in runs.items():
        asked = [worker.asked for worker in one.workers]
        outcome.draw(pictures / f"{consistency}.svg", partial(draw_asked, asked, one.kills))
    return outcome


def _judge(runs: dict[str, _Run], serial: dict[str, NumpyArray]) -> Outcome:
    """Holds both runs against what they must come to."""
    first, other = runs["sync"].workers
    for name, weights in first.weights.items():
        if not np.array_equal(weights, other.weights[name]):
            raise Wrong("unequal", parameter=name)
        off = float(np.abs(weights - serial[name]).max())
        if off:
            raise Wrong("weights", parameter=name, off=off)
    # Who ends last has all pushes in its weights; the other one may be far ahead of it.
    last = max(runs["async"].workers, key=lambda one: one.asked[-1].ended)
    accuracy = last.outcome.accuracy
    if accuracy < _ACCURATE:
        raise Wrong("accuracy", accuracy=f"{accuracy:.1%}")
    return first.outcome


def _trained(part: Any) -> tuple[dict[str, _Run], dict[str, NumpyArray]]:
    """Trains LeNet by both consistencies in turn; each has a server, which is killed at its stops.

    The workers are the same: they import and compile once. After the last kill, this process makes
    the same updates serially, and returns the weights that come of them, too.
    """
    runs: dict[str, _Run] = {}
    with tempfile.TemporaryDirectory() as place, Gang(part.__file__) as gang:
        addresses = {}
        for consistency in _STOPS:
            (Path(place) / consistency).mkdir()
            addresses[consistency] = str(Path(place) / consistency / "server")
        names = [f"worker {worker}" for worker in range(_WORKERS)]
        for worker, name in enumerate(names):
            gang.start(name, _train, list(addresses.items()), worker)
        for consistency, address in addresses.items():
            folder, stops = str(Path(place) / consistency), _STOPS[consistency]
            rate = _RATE / _BATCH  # gradients are sums over digits
            plan = ServerPlan(part.__file__, address, folder, _WORKERS, consistency, rate, stops)
            runs[consistency] = _serve_and_kill(gang, plan)
        serial = _serial()
        for found in gang.results(names):
            for run, trained in zip(runs.values(), found, strict=True):
                run.workers.append(trained)
    return runs, serial


def _serve_and_kill(gang: Gang, plan: ServerPlan) -> _Run:
    """Starts a server, and one more each time it has been killed; the last one goes on."""
    run = _Run([], get_context("spawn").Array("q", 3, lock=False), [])
    server, report = _serving(gang, plan, run.counts)
    for _ in plan.stops:
        gang.hear(report)
        gang.kill(server)
        run.kills.append(monotonic())
        server, report = _serving(gang, plan, run.counts)
    return run


def _serving(gang: Gang, plan: ServerPlan, counts: Any) -> tuple[Any, Any]:
    """Starts a server; returns its process, and where it says that it is at a stop."""
    report, give = get_context("spawn").Pipe(duplex=False)
    server = gang.start("server", serve, plan, counts, give)
    give.close()
    return server, report


def _train(addresses: Sequence[tuple[str, str]], worker: int) -> list[_WorkerEnd]:
    """A worker: trains LeNet with one server after the other."""
    deterministic()  # the same bits in all processes, whatever the clock says
    return [_train_with(address, worker, _EPOCHS[kind]) for kind, address in addresses]


def _train_with(address: str, worker: int, epochs: int) -> _WorkerEnd:
    stores: list[ServerStore] = []

    class LabServer(ServerStore):
        """The store that `kv.create` makes of the name."""

        def __init__(self) -> None:
            super().__init__(address, worker)
            stores.append(self)

    kv.KVStoreBase.kv_registry.pop("labserver", None)  # of the server before
    kv.KVStoreBase.register(LabServer)
    ways: list[AbstractWay] = []

    def make(weights: dict[str, Any], settings: Settings) -> AbstractWay:
        share = replace(settings, store="labserver", rank=worker, workers=_WORKERS)
        ways.append(Eager(weights, share))
        return ways[0]

    outcome = train_lenet(
        make, epochs=epochs, batch_size=_BATCH, lr=_RATE, steps=partial(_steps, worker)
    )
    weights = {name: one.asnumpy() for name, one in ways[0].weights().items()}
    return _WorkerEnd(outcome, weights, stores[0].asked)


def _steps(
    worker: int, way: AbstractWay, digits: Digits, rows: Sequence[NumpyArray]
) -> list[float]:
    """Takes all steps, with a worker's share of each batch."""
    return [take_step(way, digits, one[worker::_WORKERS]) for one in rows]


def _share(worker: int, digits: Digits, rows: NumpyArray) -> tuple[Any, Any]:
    mine = rows[worker::_WORKERS]
    return nd.array(digits.train_images[mine]), nd.array(digits.train_labels[mine])


def _serial() -> dict[str, NumpyArray]:
    """Returns the weights after the same updates, made one after the other in this process."""
    deterministic()
    ways: list[Eager] = []

    def make(weights: dict[str, Any], settings: Settings) -> AbstractWay:
        ways.append(Eager(weights, settings))
        return ways[0]

    train_lenet(make, epochs=_EPOCHS["sync"], batch_size=_BATCH, lr=_RATE, steps=_serial_steps)
    return {name: one.asnumpy() for name, one in ways[0].weights().items()}


def _serial_steps(way: Any, digits: Digits, rows: Sequence[NumpyArray]) -> list[float]:
    """Takes all steps: the gradient of each share, their sum, the update."""
    params = list(way.net.collect_params().values())
    values = [param.data().asnumpy() for param in params]
    rate = np.float32(_RATE / _BATCH)
    for one in rows:
        gradients = []
        for worker in range(_WORKERS):
            way.learn(*_share(worker, digits, one))
            gradients.append([param.grad().asnumpy() for param in params])
        for at, param in enumerate(params):
            total = gradients[0][at]
            for others in gradients[1:]:
                total = total + others[at]
            values[at] = values[at] - rate * total
            param.data()[:] = nd.array(values[at])
    return []
