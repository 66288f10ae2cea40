"""The works by name; a worker process looks up here what it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from works import (
    chain,
    loop,
    memory,
    nets,
    nets_gluon,
    nets_jax,
    nets_keras,
    nets_torch,
    novel,
    recurrent,
    write,
    zoo,
)
from works.lenet import LeNet
from works.lstm import LSTM
from works.mlp import MLP
from works.resnet import ResNet18
from works.runner import Runner
from works.training import Network, contestants, hybridized

Contestants = Mapping[str, Callable[[], Runner]]

#: The networks whose training step is timed.
NETWORKS: dict[str, Callable[[], Network]] = {
    "mlp": partial(MLP, inputs=64, hidden=128, batch=32),
    "mlp-wide": partial(MLP, inputs=784, hidden=512, batch=128),
    "lenet": LeNet,
    "resnet": ResNet18,
    "lstm": LSTM,
}

#: Networks that are run and not trained, by work.
INFERENCE: dict[str, Callable[[], nets.Net]] = {
    f"{name}-{batch}": partial(make, batch)
    for name, make in (
        ("vgg11", nets.vgg11),
        ("resnet50", nets.resnet50),
        ("mobilenet", nets.mobilenet),
    )
    for batch in (1, 4)
}
#: Networks of which a training step is run, by work.
TRAINING: dict[str, Callable[[], nets.Net]] = {
    "lenet-step": nets.lenet,
    "alexnet-step": nets.alexnet,
    "resnet18-step": nets.resnet18,
    "lstm-step": nets.lstm,
    "mlp-small-step": partial(nets.mlp, inputs=64, hidden=128, batch=32),
    "mlp-large-step": partial(nets.mlp, inputs=784, hidden=512, batch=128),
}
_INFER: dict[str, Callable[[nets.Net], Runner]] = {
    "hybridnet": nets_gluon.our_inference,
    "jit": nets_jax.inference,
    "torch": nets_torch.inference,
    "torch.compile": nets_torch.compiled_inference,
    "mxnet hybridized": nets_gluon.mxnet_inference,
    "mxnet optimized": nets_gluon.mxnet_optimized_inference,
    "tensorflow": nets_keras.inference,
}
_TRAIN: dict[str, Callable[[nets.Net], Runner]] = {
    "hybridnet": nets_gluon.our_training,
    "jit": nets_jax.training,
    "torch": nets_torch.training,
    "torch.compile": nets_torch.compiled_training,
    "mxnet hybridized": nets_gluon.mxnet_training,
    "tensorflow": nets_keras.training,
}


def _run(make: Callable[[nets.Net], Runner], net: Callable[[], nets.Net]) -> Runner:
    return make(net())


def contestants_of(work: str) -> Contestants:
    """Returns functions that make each contestant's runner.

    Raises:
        KeyError: there is no such work.
    """
    if work in NETWORKS:
        return contestants(NETWORKS[work]())
    name, _, way = work.rpartition("-")
    if way == "hybridized":
        return hybridized(NETWORKS[name]())
    for table, made in ((INFERENCE, _INFER), (TRAINING, _TRAIN)):
        if work in table:
            return {name: partial(_run, make, table[work]) for name, make in made.items()}
    if work in zoo.NETWORKS:
        return zoo.contestants(work)
    if work in recurrent.LAYERS:
        return recurrent.contestants(work)
    sized = {
        "chain": (chain.CONTESTANTS, 32),
        "chain-large": (chain.CONTESTANTS, 1000),
        "recording": (chain.RECORDING, 32),
        "taped": (chain.TAPED, 32),
        "taping": (chain.TAPING, 32),
    }
    if work in sized:
        ways, size = sized[work]
        return {name: partial(make, size) for name, make in ways.items()}
    return {
        "loop": loop.CONTESTANTS,
        "memory": memory.CONTESTANTS,
        "write": write.CONTESTANTS,
        "novel": novel.CONTESTANTS,
    }[work]
