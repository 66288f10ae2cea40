"""Training steps of one network by every contestant: same weights, same batches, same optimizer.

A `Network` is written three times: as a gluon block, which serves hybridnet and MXNet alike, as
functions of JAX arrays that use the lowerings of hybridnet's operators, and as functions of
PyTorch's. All are trained by gradient descent with momentum and weight decay on the mean cross
entropy, on batches in turn, and the losses are read at each step, as users do; the answer that is
compared are those of the first steps.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import cycle
from typing import Any, ClassVar

import numpy as np

from works.runner import Array, Runner, each, hybrid, losses, plain, pytorch, waited

LEARNING_RATE, MOMENTUM, WEIGHT_DECAY = 0.02, 0.9, 1e-4
#: Of batch normalization: added to the variance, and the share of the old moving statistics.
EPSILON, KEEP = 1e-5, 0.9
#: So few that caches are no better with one; no divisor of a power of two, after which hybridnet
#: looks whether inputs stay the same.
BATCHES = 3


class Network(ABC):
    """A network, its batches, and its forward pass in every framework.

    Attributes:
        shapes: of the parameters by name, in the order in which the gluon block collects them.
            Those named ``*_gamma`` start at 1, other vectors at 0.
        statistics: channels of each batch normalization, in order.
        data_shape: of a batch, which is on `batch_axis`.
        batch_axis: see `data_shape`.
    """

    shapes: ClassVar[dict[str, tuple[int, ...]]]
    statistics: ClassVar[tuple[int, ...]] = ()
    data_shape: ClassVar[tuple[int, ...]]
    batch_axis: ClassVar[int] = 0

    @abstractmethod
    def block(self, mx: Any) -> Any:
        """Returns the network as a hybrid block of this package: data to scores (batch, 10)."""

    @abstractmethod
    def jax(self, params: dict[str, Any], moving: list[Any], data: Any) -> tuple[Any, list[Any]]:
        """Returns the scores, and the new moving (mean, variance) of each normalization."""

    @abstractmethod
    def torch(self, params: dict[str, Any], moving: list[Any], data: Any) -> Any:
        """Returns the scores; overwrites the moving statistics."""

    def initial(self) -> dict[str, Array]:
        """He et al.'s initial weights."""
        random = np.random.default_rng(0)

        def first(name: str, shape: tuple[int, ...]) -> Array:
            if len(shape) == 1:
                return np.full(shape, name.endswith("_gamma"), np.float32)
            deviation = math.sqrt(2 / math.prod(shape[1:]))
            return (random.standard_normal(shape) * deviation).astype(np.float32)

        return {name: first(name, shape) for name, shape in self.shapes.items()}

    def batches(self) -> list[tuple[Array, Array]]:
        """Random data and labels, which are taken in turn."""
        return random_batches(self.data_shape, self.batch_size, 10)

    @property
    def batch_size(self) -> int:
        return self.data_shape[self.batch_axis]


def random_batches(shape: Sequence[int], size: int, classes: int) -> list[tuple[Array, Array]]:
    """Returns `BATCHES` batches of data of this shape and of so many labels."""
    random = np.random.default_rng(1)
    return [
        (random.standard_normal(shape, dtype=np.float32), random.integers(0, classes, size))
        for _ in range(BATCHES)
    ]


def contestants(network: Network) -> dict[str, Callable[[], Runner]]:
    return {
        "hybridnet": partial(_ours, network),
        "jit": partial(_jax, network, compiled=True),
        "jax": partial(_jax, network, compiled=False),
        "torch": partial(_torch, network),
        "mxnet": partial(_mxnet, network, hybridized=False),
        "mxnet hybridized": partial(_mxnet, network, hybridized=True),
    }


def hybridized(network: Network) -> dict[str, Callable[[], Runner]]:
    """The same step of a hybridized block, against the eager loop."""
    return {
        "hybridnet": partial(_ours, network, hybridized=True),
        "eager": partial(_ours, network),
    }


# gluon --------------------------------------------------------------------------------------------


def gluon_step(
    network: Network, mx: Any, hybridized: bool = False
) -> tuple[Callable[[], Array], Callable[[], None]]:
    """Returns the step of an eager loop in this package, and what waits for its results."""
    batches = [tuple(map(mx.nd.array, batch)) for batch in network.batches()]
    net, loss_of = network.block(mx), mx.gluon.loss.SoftmaxCrossEntropyLoss()
    net.initialize()
    net(batches[0][0])  # so that deferred shapes are known
    learned = [param for param in net.collect_params().values() if param.grad_req != "null"]
    for param, value in zip(learned, network.initial().values(), strict=True):
        if param.shape != value.shape:
            raise ValueError(f"{param.name} has shape {param.shape}, its weights {value.shape}")
        param.set_data(mx.nd.array(value))
    for name, param in net.collect_params().items():
        if param.grad_req == "null":  # the call above may have moved them
            param.set_data((mx.nd.ones if name.endswith("var") else mx.nd.zeros)(param.shape))
    if hybridized:
        net.hybridize(static_alloc=True, static_shape=True)
        loss_of.hybridize(static_alloc=True, static_shape=True)
    settings = {"learning_rate": LEARNING_RATE, "momentum": MOMENTUM, "wd": WEIGHT_DECAY}
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", settings)
    batch_size, given = network.batch_size, cycle(batches)

    def step() -> Array:
        data, label = next(given)
        with mx.autograd.record():
            loss = loss_of(net(data), label)
        loss.backward()
        trainer.step(batch_size)
        return loss.asnumpy()

    def wait() -> None:
        for param in net.collect_params().values():
            param.data().wait_to_read()

    return step, wait


def _ours(network: Network, hybridized: bool = False) -> Runner:
    import hybridnet as hn

    step, wait = gluon_step(network, hn, hybridized)
    return hybrid(waited(step, wait), lambda: losses(step))


def _mxnet(network: Network, hybridized: bool) -> Runner:
    import mxnet as mx

    step, wait = gluon_step(network, mx, hybridized)
    return plain(waited(step, wait), lambda: losses(step))


# JAX ----------------------------------------------------------------------------------------------


def jax_step(network: Network) -> tuple[Any, Callable[..., Any]]:
    """Returns the state, and ``step(state, data, label) -> (state, losses)`` as one may write it.

    The state is (parameters, momenta, moving statistics).
    """
    import jax
    import jax.numpy as jnp

    scale = 1 / network.batch_size

    def loss(params: Any, moving: Any, data: Any, label: Any) -> Any:
        scores, moving = network.jax(params, moving, data)
        losses = -jnp.take_along_axis(jax.nn.log_softmax(scores), label[:, None], 1)[:, 0]
        return losses.sum(), (losses, moving)

    def step(state: Any, data: Any, label: Any) -> Any:
        params, momenta, moving = state
        gradients, (losses, moving) = jax.grad(loss, has_aux=True)(params, moving, data, label)
        momenta = jax.tree.map(
            lambda m, g, p: MOMENTUM * m - LEARNING_RATE * (scale * g + WEIGHT_DECAY * p),
            momenta,
            gradients,
            params,
        )
        return (jax.tree.map(jnp.add, params, momenta), momenta, moving), losses

    params = {name: jnp.asarray(array) for name, array in network.initial().items()}
    moving = [(jnp.zeros(n), jnp.ones(n)) for n in network.statistics]
    return (params, jax.tree.map(jnp.zeros_like, params), moving), step


def _jax(network: Network, compiled: bool) -> Runner:
    import jax
    import jax.numpy as jnp

    state, run = jax_step(network)
    if compiled:
        run = jax.jit(run, donate_argnums=0)
    given = cycle([tuple(map(jnp.asarray, batch)) for batch in network.batches()])

    def step() -> Array:
        nonlocal state
        state, losses = run(state, *next(given))
        return np.asarray(losses)

    turn = waited(step, lambda: jax.block_until_ready(state))
    return plain(turn, lambda: losses(step))


def jax_normalize(
    data: Any, gamma: Any, beta: Any, moving: tuple[Any, Any]
) -> tuple[Any, tuple[Any, Any]]:
    """hybridnet's batch normalization: the output, and the new moving statistics."""
    from hybridnet.ops.nn.batch_norm import batch_norm

    output, _, _, mean, var = batch_norm(
        data, gamma, beta, *moving, eps=EPSILON, momentum=KEEP, fix_gamma=False, train=True
    )
    return output, (mean, var)


# PyTorch ------------------------------------------------------------------------------------------


def _torch(network: Network) -> Runner:
    import torch

    params = {
        name: torch.from_numpy(array.copy()).requires_grad_()
        for name, array in network.initial().items()
    }
    moving = [(torch.zeros(n), torch.ones(n)) for n in network.statistics]
    given = cycle([tuple(map(torch.from_numpy, batch)) for batch in network.batches()])
    optimizer = torch.optim.SGD(params.values(), LEARNING_RATE, MOMENTUM, weight_decay=WEIGHT_DECAY)

    def step() -> float:
        data, label = next(given)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(network.torch(params, moving, data), label)
        loss.backward()
        optimizer.step()
        return loss.item()

    return pytorch(each(step), lambda: losses(step))


def torch_normalize(data: Any, gamma: Any, beta: Any, moving: tuple[Any, Any]) -> Any:
    """PyTorch's batch normalization."""
    import torch

    return torch.nn.functional.batch_norm(
        data, *moving, gamma, beta, training=True, momentum=1 - KEEP, eps=EPSILON
    )


def sizes(names: Iterable[tuple[str, tuple[int, ...]]]) -> dict[str, tuple[int, ...]]:
    """Returns a table of shapes, of which no name may come twice."""
    listed = list(names)
    table = dict(listed)
    if len(table) != len(listed):
        raise ValueError("a parameter's name comes twice")
    return table
