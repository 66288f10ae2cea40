"""Works for one device, a GPU if there is one: each is a step that waits for nothing.

Of each contestant a function makes the step, and what waits for all that steps have begun. The
networks are those of `works.training`, which `jax.jit` and PyTorch have as well.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np

from works import bert
from works.lenet import LeNet
from works.lstm import LSTM
from works.mlp import MLP
from works.resnet import ResNet18
from works.training import LEARNING_RATE, MOMENTUM, WEIGHT_DECAY, Network, jax_step


class Work(NamedTuple):
    """A work of one contestant.

    Attributes:
        step: begins a step; returns its loss, or another result, which may not be there yet.
        wait: waits for all.
        read: reads a result, as a number.
    """

    step: Callable[[], Any]
    wait: Callable[[], object]
    read: Callable[[Any], float]


NETWORKS: dict[str, Callable[[], Network]] = {
    "mlp": lambda: MLP(64, 128, 32),
    "lenet": LeNet,
    "lstm": LSTM,
    "resnet18": ResNet18,
}
#: Works by name; "resnet50" is the model zoo's, of 64 images of 224 x 224.
NAMES = ("call", "chain", "cold", *NETWORKS, "resnet50", "bert")


def gluon(name: str, mx: Any, *, hybridized: bool) -> Work:
    """Returns hybridnet's work on the current context."""
    nd = mx.nd
    if name == "call":
        a, b = nd.ones((32, 32)), nd.ones((32, 32))
        return Work(lambda: a + b, nd.waitall, _first)
    if name == "chain":
        a, b = nd.ones((32, 32)), nd.ones((32, 32))
        chained = mx.function(_chain) if hybridized else _chain
        return Work(lambda: chained(a, b), nd.waitall, _first)
    if name == "cold":
        sizes = iter(range(30, 1 << 30))
        return Work(lambda: _cold(nd, next(sizes)), nd.waitall, float)
    net, given, loss_of, algorithm = _network(name, mx)
    net.initialize(mx.init.Xavier())
    if hybridized:
        net.hybridize(static_alloc=True, static_shape=True)
        loss_of.hybridize(static_alloc=True, static_shape=True)
    trainer = mx.gluon.Trainer(net.collect_params(), *algorithm)
    batches = cycle([tuple(map(nd.array, batch)) for batch in given])
    size = len(given[0][-1])

    def step() -> Any:
        data, label = next(batches)
        with mx.autograd.record():
            loss = loss_of(net(data), label)
        loss.backward()
        trainer.step(size)
        return loss

    return Work(step, nd.waitall, lambda loss: float(loss.mean().asscalar()))


def _network(name: str, mx: Any) -> tuple[Any, list[tuple[Any, ...]], Any, tuple[Any, ...]]:
    """Returns a network, its batches, its loss, and the optimizer with its settings."""
    cross_entropy = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    descent = "sgd", {"learning_rate": LEARNING_RATE, "momentum": MOMENTUM, "wd": WEIGHT_DECAY}
    if name in NETWORKS:
        network = NETWORKS[name]()
        return network.block(mx), list(network.batches()), cross_entropy, descent
    if name == "resnet50":
        images = np.random.default_rng(0).standard_normal((64, 3, 224, 224), dtype=np.float32)
        net = mx.gluon.model_zoo.vision.resnet50_v1()
        return net, [(images, np.arange(64) % 1000)], cross_entropy, descent
    words = bert.batch()
    adam = "adam", {"learning_rate": 1e-4}
    return bert.network(mx), [(words, np.zeros_like(words))], mx.gluon.loss.L2Loss(), adam


def jit(name: str) -> Work | None:
    """Returns the work of `jax.jit`; None where nobody has written it."""
    import jax
    import jax.numpy as jnp

    if name in ("call", "chain"):
        a, b = jnp.ones((32, 32)), jnp.ones((32, 32))
        run = jax.jit(jnp.add if name == "call" else _chain)
        last: list[Any] = []
        return Work(
            lambda: (last.clear(), last.append(run(a, b)), last[0])[2],
            lambda: jax.block_until_ready(last),
            lambda x: float(x[0, 0]),
        )
    if name not in NETWORKS:
        return None
    network = NETWORKS[name]()
    state, one = jax_step(network)
    train = jax.jit(one, donate_argnums=0)
    batches = cycle([tuple(map(jnp.asarray, batch)) for batch in network.batches()])

    def step() -> Any:
        nonlocal state
        state, losses = train(state, *next(batches))
        return losses

    return Work(step, lambda: jax.block_until_ready(state), lambda losses: float(losses.mean()))


def torch_eager(name: str) -> Work | None:
    """Returns PyTorch's work on the GPU, or the CPU; None where nobody has written it."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"

    def wait() -> None:
        if device == "cuda":
            torch.cuda.synchronize()

    if name in ("call", "chain"):
        a, b = (torch.ones((32, 32), device=device) for _ in range(2))
        run = torch.add if name == "call" else _chain
        return Work(lambda: run(a, b), wait, lambda x: float(x[0, 0]))
    if name not in NETWORKS:
        return None
    network = NETWORKS[name]()
    params = {
        key: torch.from_numpy(array.copy()).to(device).requires_grad_()
        for key, array in network.initial().items()
    }
    moving = [
        (torch.zeros(n, device=device), torch.ones(n, device=device)) for n in network.statistics
    ]
    batches = cycle([[torch.from_numpy(x).to(device) for x in one] for one in network.batches()])
    descent = torch.optim.SGD(params.values(), LEARNING_RATE, MOMENTUM, weight_decay=WEIGHT_DECAY)

    def step() -> Any:
        data, label = next(batches)
        descent.zero_grad()
        loss = torch.nn.functional.cross_entropy(network.torch(params, moving, data), label)
        loss.backward()
        descent.step()
        return loss

    return Work(step, wait, lambda loss: float(loss.item()))


def _first(x: Any) -> float:
    return float(x[0, 0].asscalar())


def _chain(x: Any, b: Any) -> Any:
    for _ in range(100):
        x = x * 1.001 + b
    return x


def _cold(nd: Any, n: int) -> float:
    """Ten operators on shapes that never come again."""
    a = nd.ones((n, 17))
    b = a * 2 + 1
    c = nd.relu(b - a)
    d = nd.softmax(c)
    e = nd.sum(d * c, axis=1)
    f = nd.exp(-e)
    g = nd.concat(a, b, dim=1)
    return float(nd.dot(g, g.T)[0, 0].asscalar() + f.mean().asscalar())
