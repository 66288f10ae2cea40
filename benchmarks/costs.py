"""Where an eager operator's time goes, part by part: what bounds the rows that ``eager.py`` misses.

Times are of the CPU that this thread took, the least tenth of many turns, so that they can be read
on a busy machine; what XLA computes in threads of its own is not in them. The floor is Python's: as
many calls and objects as recording an operator needs, with nothing done in them. At the end, what
the scopes of `hn.debug` cost whole training steps, by the clock.

python benchmarks/costs.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import nullcontext
from statistics import median
from typing import Any

from works.lenet import LeNet
from works.mlp import MLP
from works.resnet import ResNet18
from works.training import Network

import hybridnet as hn
from hybridnet.runtime.programs import program
from hybridnet.runtime.programs.shelf import Shelf
from hybridnet.runtime.record import launch, recorder
from hybridnet.runtime.segments.segment import Segment

_TURNS = 400
_CHAIN = 200


def least(times: list[float]) -> float:
    """Returns the time that a tenth of all do not reach, in microseconds."""
    return sorted(times)[len(times) // 10] * 1e6


class Parts:
    """Times functions wherever they are called."""

    def __init__(self) -> None:
        self.spent: dict[str, list[float]] = {}
        self._turn: dict[str, float] = {}

    def watch(self, owner: Any, name: str, title: str) -> None:
        """Replaces a function by one that is timed."""
        run = getattr(owner, name)

        def timed(*args: Any, **keywords: Any) -> Any:
            began = time.thread_time()
            try:
                return run(*args, **keywords)
            finally:
                spent = time.thread_time() - began
                self._turn[title] = self._turn.get(title, 0.0) + spent

        setattr(owner, name, timed)

    def note(self, title: str, spent: float) -> None:
        """Adds to the time of a part in this turn."""
        self._turn[title] = self._turn.get(title, 0.0) + spent

    def end_turn(self) -> None:
        for title, spent in self._turn.items():
            self.spent.setdefault(title, []).append(spent)
        self._turn = {}

    def show(self, per: int, unit: str) -> None:
        for title, times in self.spent.items():
            print(f"  {title:<44} {least(times) / per:8.2f} {unit}")


def timed(parts: Parts, title: str, run: Callable[[], Any]) -> Any:
    began = time.thread_time()
    made = run()
    parts.note(title, time.thread_time() - began)
    return made


class _Object:
    def __init__(self) -> None:
        self.one = self.two = None


def _floor() -> None:
    """Seven calls and three objects, two of them with attributes, for each operator."""

    def call(depth: int) -> Any:
        if depth:
            return call(depth - 1)
        return _Object(), _Object(), (None, (1,))

    for _ in range(_CHAIN):
        call(4)


def chain(taped: bool) -> Parts:
    """``x * 1.001 + b``, over and over."""
    x, b = hn.nd.ones((32, 32)), hn.nd.ones((32, 32))
    x.attach_grad()
    parts = Parts()

    def forward() -> Any:
        y = x
        for _ in range(_CHAIN // 2):
            y = y * 1.001 + b
        return y

    def taping() -> Any:
        with hn.autograd.record():
            return forward()

    for _ in range(_TURNS):
        if taped:
            y = timed(parts, "recording, and the tape", taping)
            timed(parts, "backward", y.backward)
            timed(parts, "launch", recorder.flush)
            x.grad.wait_to_read()
        else:
            y = timed(parts, "recording", forward)
            timed(parts, "launch", recorder.flush)
            y.wait_to_read()
        parts.end_turn()
    return parts


def step() -> Parts:
    """One training step of the small multilayer perceptron of ``eager.py``."""
    network = MLP(64, 128, 32)
    data, label = (hn.nd.array(array) for array in network.batches()[0])
    net, loss_of = network.block(hn), hn.gluon.loss.SoftmaxCrossEntropyLoss()
    net.initialize()
    net(data)
    trainer = hn.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.02})
    parts = Parts()

    def loss() -> Any:
        with hn.autograd.record():
            scores = timed(parts, "the network", lambda: net(data))
            return timed(parts, "the loss", lambda: loss_of(scores, label))

    for turn in range(_TURNS):
        if turn == _TURNS // 2:
            hn.engine.wait_for_all()  # for compilations
            parts = Parts()
            parts.watch(launch, "_launch", "  of that: launch, which is")
            parts.watch(Segment, "find_live", "    finding what is alive")
            parts.watch(Segment, "code", "    its structure")
            parts.watch(Shelf, "next", "    finding the program")
            parts.watch(program, "dispatch", "    XLA's dispatch")
        made = loss()
        timed(parts, "backward", made.backward)
        timed(parts, "the trainer", lambda: trainer.step(32))
        parts.end_turn()
        hn.nd.waitall()
    return parts


#: Steps of a block, of which the last half is timed: the first ones prepare what the others repeat.
_BLOCK = {LeNet: 60, ResNet18: 12}
_BLOCKS = 8


def debugged(kind: type[Network]) -> str:
    """What the scopes of `hn.debug` cost a hybridized training step, in blocks that take turns."""
    network = kind()
    batches = [tuple(map(hn.nd.array, batch)) for batch in network.batches()]
    net, loss_of = network.block(hn), hn.gluon.loss.SoftmaxCrossEntropyLoss()
    net.initialize(hn.init.Xavier())
    net.hybridize(static_alloc=True, static_shape=True)
    trainer = hn.gluon.Trainer(
        net.collect_params(), "sgd", {"learning_rate": 0.01, "momentum": 0.9}
    )

    def block() -> list[float]:
        times = []
        for turn in range(_BLOCK[kind]):
            data, label = batches[turn % len(batches)]
            began = time.perf_counter()
            with hn.autograd.record():
                loss = loss_of(net(data), label)
            loss.backward()
            trainer.step(len(label))
            loss.mean().asscalar()
            times.append(time.perf_counter() - began)
        return times[len(times) // 2 :]

    scopes = {"off": nullcontext, "nans()": hn.debug.nans, "indices()": hn.debug.indices}
    spent: dict[str, list[float]] = {name: [] for name in scopes}
    for turn in range(-2, _BLOCKS):
        for name, scope in scopes.items():
            with scope():
                times = block()
            if turn >= 0:
                spent[name].append(median(times))
            hn.engine.wait_for_all()  # for compilations
    off = spent.pop("off")
    ratios = [
        f"{name} {median(on / base for on, base in zip(times, off, strict=True)):.3f}"
        for name, times in spent.items()
    ]
    return f"  {kind.__name__:<12}{1e3 * median(off):8.2f} ms a step; of that: {', '.join(ratios)}"


def main() -> None:
    floor = []
    for _ in range(_TURNS):
        began = time.thread_time()
        _floor()
        floor.append(time.thread_time() - began)
    print(f"Python's calls and objects alone: {least(floor) / _CHAIN:.2f} us an operator")
    print(f"chain of {_CHAIN} operators on 32x32")
    chain(taped=False).show(_CHAIN, "us an operator")
    print("the same under autograd.record(), with backward")
    chain(taped=True).show(_CHAIN, "us an operator")
    print("training step of an MLP 64-128-128-10, batch 32")
    step().show(1, "us")
    print("training steps inside of hn.debug's scopes, wall time")
    for kind in _BLOCK:
        print(debugged(kind), flush=True)


if __name__ == "__main__":
    main()
