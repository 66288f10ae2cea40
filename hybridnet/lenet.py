"""LeNet (LeCun et al. 1998, in MXNet's usual form) written three ways, with one training step each.

Each way starts from the same weights and takes the same batches, so their losses must agree. It is
the example that the house drives itself by: `hybridnet train`, the labs and the benchmarks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np

from hybridnet import autograd, gluon, initializer, kv, nd, optimizer, random, sym
from hybridnet.base.array_types import NumpyArray
from hybridnet.base.context import Context
from hybridnet.base.errors import MXNetError
from hybridnet.io.mnist import load_mnist
from hybridnet.ndarray import NDArray
from hybridnet.tracing import function

_MOMENTUM: Final = 0.9
_IMAGE: Final = (1, 28, 28)


@dataclass(frozen=True, eq=False)
class Digits:
    """Images as float32 (n, 1, 28, 28) in [0, 1], labels as float32 (n,)."""

    train_images: NumpyArray
    train_labels: NumpyArray
    test_images: NumpyArray
    test_labels: NumpyArray

    @staticmethod
    def load(folder: Path | None) -> Digits:
        """Reads a folder of IDX files, or the bundled digits.

        Raises:
            MXNetError: they are no digits of 28 by 28.
            OSError: a file cannot be read.
        """
        found = load_mnist(folder)
        arrays: list[NumpyArray] = []
        for what, pixels, classes in zip(
            ("training", "test"), found[::2], found[1::2], strict=True
        ):
            if len(pixels) == 0 or pixels.shape[1:] != (28, 28) or classes.max() > 9:
                raise MXNetError(
                    f"{folder}: the {what} set must hold images of 28 by 28 with labels "
                    f"from 0 to 9, got {pixels.shape[0]} of {pixels.shape[1]} by "
                    f"{pixels.shape[2]} with labels up to {classes.max(initial=0)}"
                )
            scaled = pixels.reshape(-1, 1, 28, 28).astype(np.float32) / 255
            arrays += (scaled, classes.astype(np.float32))
        return Digits(*arrays)


def predicted(
    predict: Callable[[NDArray], NDArray], images: NumpyArray, batch_size: int, ctx: Context
) -> NumpyArray:
    """Returns what a way predicts for images, in batches: (n, 10)."""
    outputs = [
        predict(nd.array(images[start : start + batch_size], ctx)).copy()
        for start in range(0, len(images), batch_size)
    ]
    return np.concatenate([output.asnumpy() for output in outputs])


def batches(count: int, batch_size: int, seed: int) -> Iterator[list[NumpyArray]]:
    """Yields, for each epoch, the numbers of the digits in each batch; a short rest is left out."""
    generator = np.random.default_rng(seed)
    while True:
        order = generator.permutation(count)
        whole = count - count % batch_size
        yield np.split(order[:whole], whole // batch_size)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings that the three ways share."""

    #: Digits in a step, over all workers.
    batch_size: int
    #: The learning rate.
    lr: float
    ctx: Context
    #: The weight decay, of every parameter.
    wd: float = 5e-4
    #: The type of the key-value store; None for what each way does by itself.
    store: str | None = None
    #: The number of this worker, and how many there are.
    rank: int = 0
    workers: int = 1

    @property
    def share(self) -> int:
        """The number of digits of a step that are this worker's."""
        return self.batch_size // self.workers

    def optimizer(self, **kwargs: Any) -> Any:
        """Makes a way's own optimizer."""
        return optimizer.SGD(learning_rate=self.lr, momentum=_MOMENTUM, wd=self.wd, **kwargs)


def lenet_symbol(dense: AbstractContextManager[Any] | None = None) -> Any:
    """Returns LeNet as a symbol with a softmax loss.

    Inputs data (batch, 1, 28, 28) and softmax_label (batch,); output probabilities (batch, 10).

    Args:
        dense: see `lenet_scores`.
    """
    return sym.SoftmaxOutput(lenet_scores(sym.Variable("data"), dense), name="softmax")


def lenet_scores(images: Any, dense: AbstractContextManager[Any] | None = None) -> Any:
    """Returns LeNet's scores (batch, 10) as a symbol, of one of images (batch, 1, 28, 28).

    Args:
        images: the symbol.
        dense: a block in which its dense layers are made, such as ``hn.device("/device:cpu:1")``.
    """
    x = images
    for number, filters in ((1, 20), (2, 50)):
        x = sym.Convolution(x, kernel=(5, 5), num_filter=filters, name=f"conv{number}")
        x = sym.Activation(x, act_type="tanh", name=f"tanh{number}")
        x = sym.Pooling(x, pool_type="max", kernel=(2, 2), stride=(2, 2), name=f"pool{number}")
    with dense or nullcontext():
        x = sym.Flatten(x, name="flatten")
        x = sym.FullyConnected(x, num_hidden=500, name="fc1")
        x = sym.Activation(x, act_type="tanh", name="tanh3")
        return sym.FullyConnected(x, num_hidden=10, name="fc2")


def training_symbol(dense: AbstractContextManager[Any] | None = None) -> Any:
    """Returns LeNet with two outputs: the probabilities (batch, 10), and the losses (batch,).

    `dense` is that of `lenet_symbol`.

    Only the losses have a gradient. They are those of the eager way: a gluon block composes
    symbols as well as arrays. So both ways are the same operators, and compute the same bits.
    SoftmaxOutput rounds otherwise, and where two elements under max pooling are nearly equal, a
    bit decides which of them learns.
    """
    scores = lenet_symbol(dense).get_internals()["fc2_output"]
    losses = gluon.loss.SoftmaxCrossEntropyLoss()(scores, sym.Variable("softmax_label"))
    return sym.Group([sym.BlockGrad(sym.softmax(scores)), sym.make_loss(losses)])


def lenet_block() -> gluon.HybridBlock:
    """Returns LeNet as a block: images (batch, 1, 28, 28) to scores (batch, 10)."""
    net = gluon.nn.HybridSequential()
    with net.name_scope():
        net.add(
            gluon.nn.Conv2D(20, 5, activation="tanh", prefix="conv1_"),
            gluon.nn.MaxPool2D(2, 2),
            gluon.nn.Conv2D(50, 5, activation="tanh", prefix="conv2_"),
            gluon.nn.MaxPool2D(2, 2),
            gluon.nn.Flatten(),
            gluon.nn.Dense(500, activation="tanh", prefix="fc1_"),
            gluon.nn.Dense(10, prefix="fc2_"),
        )
    return net


def initial_weights(seed: int) -> dict[str, NumpyArray]:
    """Returns LeNet's first weights by name: Xavier's for weights, 0 for biases."""
    random.seed(seed)
    symbol = lenet_symbol()
    shapes, _, _ = symbol.infer_shape(data=(1, *_IMAGE))
    fill = initializer.Xavier()
    weights = {}
    for name, shape in zip(symbol.list_arguments(), shapes, strict=True):
        if name not in ("data", "softmax_label"):
            array = nd.zeros(shape)
            fill(initializer.InitDesc(name), array)
            weights[name] = array.asnumpy()
    return weights


class AbstractWay(ABC):
    """One way to write and train the network."""

    title: str

    @abstractmethod
    def step(self, data: NDArray, label: NDArray) -> NDArray:
        """Takes one training step; returns the loss of each digit before it, (batch,)."""

    @abstractmethod
    def predict(self, data: NDArray) -> NDArray:
        """Returns scores or probabilities (batch, 10)."""

    @abstractmethod
    def weights(self) -> Mapping[str, NDArray]:
        """Returns the weights by name."""


def _fill(net: gluon.HybridBlock, weights: Mapping[str, Any], ctx: Context) -> None:
    """Gives a block weights: by its own names, without its prefix."""
    net.initialize(ctx=ctx)
    for name, parameter in net.collect_params().items():
        parameter.set_data(nd.array(weights[name.removeprefix(net.prefix)], ctx))


@final
class Eager(AbstractWay):
    """Arrays and a loop: `nd`, `autograd.record`, `gluon.Trainer`.

    Args:
        weights: the first ones, by name without the network's prefix.
        settings: of training.
        block: makes the network.
    """

    title = "eager loop"

    def __init__(
        self,
        weights: Mapping[str, Any],
        settings: Settings,
        block: Callable[[], gluon.HybridBlock] = lenet_block,
    ) -> None:
        self.net = block()
        _fill(self.net, weights, settings.ctx)
        self.loss = gluon.loss.SoftmaxCrossEntropyLoss()
        store = {} if settings.store is None else {"kvstore": kv.create(settings.store)}
        params = self.net.collect_params()
        self.trainer = gluon.Trainer(params, settings.optimizer(), **store)
        self._batch_size = settings.batch_size

    def step(self, data: NDArray, label: NDArray) -> NDArray:
        """Records forward and backward, and steps."""
        loss = self.learn(data, label)
        self.update()
        return loss

    def learn(self, data: NDArray, label: NDArray) -> NDArray:
        """Computes the losses and the gradients of their sum."""
        with autograd.record():
            loss: NDArray = self.loss(self.net(data), label)
        loss.backward()
        return loss

    def update(self) -> None:
        """Updates the parameters, with the mean over all workers' digits."""
        self.trainer.step(self._batch_size)

    def predict(self, data: NDArray) -> NDArray:
        """Runs the network."""
        scores: NDArray = self.net(data)
        return scores

    def weights(self) -> Mapping[str, NDArray]:
        """Returns the parameters."""
        params = self.net.collect_params()
        return {name.removeprefix(self.net.prefix): param.data() for name, param in params.items()}


@final
class Traced(AbstractWay):
    """The eager step with one line more: `@hn.function`."""

    title = "traced function"

    def __init__(self, weights: Mapping[str, Any], settings: Settings) -> None:
        self._eager = Eager(weights, settings)
        # What is sent to other processes is part of no program: the step is traced up to that.
        self._updates = settings.store is not None
        step = self._eager.learn if self._updates else self._eager.step
        self._step = function(step, name="lenet_step")
        self._predict = function(self._eager.predict, name="lenet_predict")

    def step(self, data: NDArray, label: NDArray) -> NDArray:
        """Replays the traced step."""
        loss: NDArray = self._step(data, label)
        if self._updates:
            self._eager.update()
        return loss

    def predict(self, data: NDArray) -> NDArray:
        """Replays the traced network."""
        scores: NDArray = self._predict(data)
        return scores

    def weights(self) -> Mapping[str, NDArray]:
        """Returns the parameters."""
        return self._eager.weights()


@final
class Bound(AbstractWay):
    """A symbol bound to arrays, and a key-value store that applies the optimizer.

    Args:
        weights: the first ones, by name.
        settings: of training.
        training: makes the symbol that is bound: what `training_symbol` makes, or the same on
            several devices.
    """

    title = "bound symbol"

    def __init__(
        self,
        weights: Mapping[str, Any],
        settings: Settings,
        training: Callable[[], Any] = training_symbol,
    ) -> None:
        #: What is saved: the same network, ending as MXNet's do.
        self.symbol = lenet_symbol()
        shape = (settings.share, *_IMAGE)
        requests = dict.fromkeys(weights, "write")
        self.executor = training().simple_bind(
            settings.ctx, data=shape, softmax_label=shape[:1], grad_req=requests
        )
        self.executor.copy_params_from({name: nd.array(weight) for name, weight in weights.items()})
        self.store = kv.create(settings.store or "local")
        self.store.set_optimizer(settings.optimizer(rescale_grad=1 / settings.batch_size))
        self._names = list(weights)
        for number, name in enumerate(self._names):
            self.store.init(number, self.executor.arg_dict[name])

    def step(self, data: NDArray, label: NDArray) -> NDArray:
        """Runs the executor both ways, pushes the gradients and pulls the weights."""
        executor = self.executor
        _, losses = executor.forward(is_train=True, data=data, softmax_label=label)
        # The outputs belong to the executor, which overwrites them in the next step.
        loss: NDArray = losses.copy()
        executor.backward()
        for number, name in enumerate(self._names):
            self.store.push(number, executor.grad_dict[name], priority=-number)
            self.store.pull(number, executor.arg_dict[name], priority=-number)
        return loss

    def predict(self, data: NDArray) -> NDArray:
        """Runs the executor, bound again for another batch size."""
        executor = self.executor
        if executor.arg_dict["data"].shape != data.shape:
            executor = executor.reshape(data=data.shape, softmax_label=data.shape[:1])
        probabilities: NDArray = executor.forward(is_train=False, data=data)[0]
        return probabilities

    def weights(self) -> Mapping[str, NDArray]:
        """Returns the bound weights."""
        return {name: self.executor.arg_dict[name] for name in self._names}
