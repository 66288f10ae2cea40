"""Thousands of training steps: what the process holds after the first two does not grow."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import jax
import numpy as np
import pytest
from helpers import settle, thorough

import hybridnet as hn
from hybridnet import autograd, gluon, kv, nd, optimizer, sym
from hybridnet.runtime.record import launch
from hybridnet.tape import replay

pytestmark = pytest.mark.optimized

_STEPS = thorough(10_000, 4000)
_PERIOD = 1000  # steps between two looks at the process
_READ_EVERY = 10  # steps between two losses that are read, as a progress bar does
_BATCH, _INPUTS, _CLASSES = 16, 12, 4
# What is kept in each step grows between any two looks; what an allocator takes once, or a program
# that is compiled again, between two of them. So the smallest growth counts.
_SLACK = _PERIOD << 10
_PROCESS = Path("/proc/self")

Step = Callable[[nd.NDArray, nd.NDArray], nd.NDArray]


@dataclass(frozen=True)
class Held:
    """What the process holds, once everything recorded has run."""

    buffers: int
    bytes: int
    threads: int
    programs: int
    compilations: int
    replays: int


def held() -> Held:
    settle()
    gc.collect()
    live = jax.live_arrays()
    cached = launch.cache.statistics()
    threads = _PROCESS / "task"
    return Held(
        len(live),
        sum(one.nbytes for one in live),
        len(list(threads.iterdir())) if threads.exists() else threading.active_count(),
        cached.size,
        cached.compilations,
        len(replay._known),
    )


def resident() -> int:
    """The memory of this process, in bytes; 0 on systems that do not say."""
    status = _PROCESS / "status"
    if not status.exists():
        return 0
    (line,) = [one for one in status.read_text().splitlines() if one.startswith("VmRSS:")]
    return int(line.split()[1]) << 10


def network() -> gluon.nn.HybridSequential:
    net = gluon.nn.HybridSequential()
    net.add(
        gluon.nn.Dense(24, activation="relu", in_units=_INPUTS),
        gluon.nn.Dropout(0.2),
        gluon.nn.Dense(24, activation="tanh", in_units=24),
        gluon.nn.Dense(_CLASSES, in_units=24),
    )
    net.initialize(hn.init.Xavier())
    return net


def settings() -> dict[str, object]:
    """Another learning rate in each step, so one that became a constant would show."""
    schedule = hn.lr_scheduler.PolyScheduler(2 * _STEPS, base_lr=0.05)
    return {"momentum": 0.9, "wd": 1e-4, "lr_scheduler": schedule}


def eager() -> Step:
    net = network()
    trainer = gluon.Trainer(net.collect_params(), "sgd", settings())
    criterion = gluon.loss.SoftmaxCrossEntropyLoss()

    def step(data: nd.NDArray, label: nd.NDArray) -> nd.NDArray:
        with autograd.record():
            loss = criterion(net(data), label)
        loss.backward()
        trainer.step(_BATCH)
        return loss

    step.net = net
    return step


def hybridized() -> Step:
    step = eager()
    step.net.hybridize()
    return step


def traced() -> Step:
    return hn.function(eager())


def bound() -> Step:
    scores = network()(sym.var("data"))
    losses = gluon.loss.SoftmaxCrossEntropyLoss()(scores, sym.var("label"))
    names = [name for name in losses.list_arguments() if name not in ("data", "label")]
    executor = sym.make_loss(losses).simple_bind(
        hn.cpu(),
        grad_req=dict.fromkeys(names, "write"),
        data=(_BATCH, _INPUTS),
        label=(_BATCH,),
    )
    store = kv.create("local")
    store.set_optimizer(optimizer.SGD(rescale_grad=1 / _BATCH, **settings()))
    for name in names:
        hn.init.Xavier()(hn.init.InitDesc(name), executor.arg_dict[name])
        store.init(name, executor.arg_dict[name])

    def step(data: nd.NDArray, label: nd.NDArray) -> nd.NDArray:
        (loss,) = executor.forward(is_train=True, data=data, label=label)
        executor.backward()
        for number, name in enumerate(names):
            store.push(name, executor.grad_dict[name], priority=-number)
            store.pull(name, executor.arg_dict[name], priority=-number)
        return loss

    return step


@pytest.mark.slow
@pytest.mark.parametrize("way", thorough([eager, hybridized, traced, bound], [eager, traced]))
def test_training_holds_no_more_at_its_end(way: Callable[[], Step]) -> None:
    hn.random.seed(5)
    rng = np.random.default_rng(5)
    data = rng.normal(size=(8, _BATCH, _INPUTS)).astype("float32")
    labels = data[..., :_CLASSES].argmax(axis=2)
    step = way()
    losses: list[float] = []
    looks: list[Held] = []
    memory: list[int] = []
    for number in range(_STEPS):
        loss = step(nd.array(data[number % 8]), nd.array(labels[number % 8]))
        if number % _READ_EVERY == 0:
            losses.append(float(loss.mean().asscalar()))
        if (number + 1) % _PERIOD == 0:
            del loss
            looks.append(held())
            memory.append(resident())
    # On a quick processor a loop over small arrays has taken long enough to be compiled only after
    # the first look.
    del looks[0], memory[0]
    for later in looks[1:]:  # less is fine: what earlier tests left behind may end meanwhile
        more = [one for one in asdict(later) if asdict(later)[one] > asdict(looks[0])[one]]
        assert not more, (more, looks)
    assert min(later - earlier for earlier, later in pairwise(memory)) < _SLACK, memory
    assert np.mean(losses[-20:]) < 0.5 * losses[0]  # it did train
