"""Lab 3: the networks whose plans are compared with ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from hybridnet import sym
from hybridnet.gluon.model_zoo import vision
from hybridnet.lenet import lenet_symbol
from hybridnet.passes import MemoryStep, memory_steps
from hybridnet.symbol import plan_memory


class TrainingStep(NamedTuple):
    """The memory of a training step.

    Attributes:
        steps: forward, and then backward.
        ours: the bytes of our plan.
    """

    steps: list[MemoryStep]
    ours: int


def _mlp() -> Any:
    x = sym.var("data")
    for _ in range(3):
        x = sym.relu(sym.FullyConnected(x, num_hidden=512))
    return sym.SoftmaxOutput(sym.FullyConnected(x, num_hidden=10), name="softmax")


def _resnet18() -> Any:
    net = vision.resnet18_v1(classes=10)
    return sym.SoftmaxOutput(net(sym.var("data")), name="softmax")


#: Name -> the network, and the shape of a batch.
_NETWORKS: Final[dict[str, tuple[Callable[[], Any], tuple[int, ...]]]] = {
    "LeNet": (lenet_symbol, (64, 1, 28, 28)),
    "MLP": (_mlp, (128, 784)),
    "ResNet-18": (_resnet18, (32, 3, 224, 224)),
}
NAMES: Final = tuple(_NETWORKS)


def training_step(name: str) -> TrainingStep:
    """Returns what a training step of a network does to memory."""
    make, shape = _NETWORKS[name]
    graph, types, plan = plan_memory(make(), is_train=True, data=shape)
    return TrainingStep(memory_steps(graph, types), plan.num_bytes)
