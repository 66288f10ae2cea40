"""The works by name; a worker process looks up here what it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from works import chain, loop, memory, novel, write
from works.lenet import LeNet
from works.lstm import LSTM
from works.mlp import MLP
from works.resnet import ResNet18
from works.runner import Runner
from works.training import Network, contestants

Contestants = Mapping[str, Callable[[], Runner]]

#: The networks whose training step is timed.
NETWORKS: dict[str, Callable[[], Network]] = {
    "mlp": partial(MLP, inputs=64, hidden=128, batch=32),
    "mlp-wide": partial(MLP, inputs=784, hidden=512, batch=128),
    "lenet": LeNet,
    "resnet": ResNet18,
    "lstm": LSTM,
}


def contestants_of(work: str) -> Contestants:
    """Returns what makes each contestant's runner.

    Raises:
        KeyError: there is no such work.
    """
    if work in NETWORKS:
        return contestants(NETWORKS[work]())
    sized = {
        "chain": (chain.CONTESTANTS, 32),
        "chain-large": (chain.CONTESTANTS, 1000),
        "recording": (chain.RECORDING, 32),
        "taped": (chain.TAPED, 32),
        "taping": (chain.TAPING, 32),
    }
    if work in sized:
        made, size = sized[work]
        return {name: partial(make, size) for name, make in made.items()}
    return {
        "loop": loop.CONTESTANTS,
        "memory": memory.CONTESTANTS,
        "write": write.CONTESTANTS,
        "novel": novel.CONTESTANTS,
    }[work]
