"""The network that ``hybridnet train`` trains on a record file, and its spellings."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from hybridnet import autograd, gluon, initializer, nd, random, sym
from hybridnet.base.array_types import NumpyArray
from hybridnet.gluon.model_zoo.vision import get_model
from hybridnet.io import DataBatch
from hybridnet.lenet import AbstractWay, Eager, Settings
from hybridnet.module import Module
from hybridnet.ndarray import NDArray
from hybridnet.tracing import function

#: The largest images, pixels, for which ResNets begin as those for thumbnails do.
_THUMBNAIL: Final = 64

_Weights = Mapping[str, NumpyArray]


@dataclass(frozen=True, slots=True)
class Network:
    """A network of `gluon.model_zoo.vision` for images of one size.

    Attributes:
        name: its name there.
        classes: how many.
        size: rows and columns of the images, pixels.
    """

    name: str
    classes: int
    size: int

    @property
    def prefix(self) -> str:
        """The prefix of its parameters' names."""
        return f"{self.name.replace('.', '_')}_"

    def block(self) -> gluon.HybridBlock:
        """Makes the network: images (batch, 3, size, size) to scores (batch, classes).

        Raises:
            ParameterError: there is none of that name.
        """
        options: dict[str, Any] = {"classes": self.classes, "prefix": self.prefix}
        if self.name.lower().startswith("resnet"):
            options["thumbnail"] = self.size <= _THUMBNAIL
        made: gluon.HybridBlock = get_model(self.name, **options)
        return made

    def symbol(self) -> Any:
        """Returns it as a graph, of data to scores."""
        return self.block()(sym.var("data"))

    def initial_weights(self, seed: int) -> dict[str, NumpyArray]:
        """Returns first parameters, by name without the prefix: He et al.'s (2015) weights."""
        random.seed(seed)
        net = self.block()
        net.initialize(initializer.Xavier("gaussian", "in", 2))
        with autograd.predict_mode():
            net(nd.zeros((1, 3, self.size, self.size)))  # the first image decides the shapes
        return {
            name.removeprefix(self.prefix): parameter.data().asnumpy()
            for name, parameter in net.collect_params().items()
        }

    def parted(self, weights: Mapping[str, Any]) -> tuple[dict[str, NDArray], dict[str, NDArray]]:
        """Returns parameters as checkpoints have them: weights, and running means and variances.

        Args:
            weights: arrays by name without the prefix.
        """
        running = set(self.symbol().list_auxiliary_states())
        arrays = {f"{self.prefix}{name}": nd.array(value) for name, value in weights.items()}
        return (
            {name: value for name, value in arrays.items() if name not in running},
            {name: value for name, value in arrays.items() if name in running},
        )


class AbstractSpelling(AbstractWay):
    """A way to train a network, which can be left and taken up again."""

    @abstractmethod
    def set_rate(self, rate: float) -> None:
        """Sets the learning rate."""

    @abstractmethod
    def save_states(self, path: Path) -> None:
        """Writes what the optimizer remembers."""

    @abstractmethod
    def load_states(self, path: Path) -> None:
        """Reads what `save_states` of the same spelling has written."""


def spelled(way: str, network: Network, weights: _Weights, settings: Settings) -> AbstractSpelling:
    """Returns a network in one of its spellings.

    Args:
        way: 'eager', 'hybridized', 'function' or 'module'.
        network: the network.
        weights: parameters to begin with, by name without the prefix.
        settings: of training.
    """
    if way == "module":
        return _Moduled(network, weights, settings)
    return _Looped(way, network, weights, settings)


@final
class _Looped(AbstractSpelling):
    """The loop over arrays: as it is, with the network hybridized, or with the step traced."""

    def __init__(self, way: str, network: Network, weights: _Weights, settings: Settings) -> None:
        self.title = way
        self._eager = Eager(weights, settings, network.block)
        if way == "hybridized":
            self._eager.net.hybridize()
        traced = way == "function"
        self._step = function(self._eager.step) if traced else self._eager.step
        self._predict = function(self._eager.predict) if traced else self._eager.predict

    def step(self, data: NDArray, label: NDArray) -> NDArray:
        """Takes a step."""
        loss: NDArray = self._step(data, label)
        return loss

    def predict(self, data: NDArray) -> NDArray:
        """Runs the network."""
        scores: NDArray = self._predict(data)
        return scores

    def weights(self) -> Mapping[str, NDArray]:
        """Returns the parameters."""
        return self._eager.weights()

    def set_rate(self, rate: float) -> None:
        """Sets the trainer's rate."""
        self._eager.trainer.set_learning_rate(rate)

    def save_states(self, path: Path) -> None:
        """Writes the trainer's states."""
        self._eager.trainer.save_states(path)

    def load_states(self, path: Path) -> None:
        """Reads the trainer's states."""
        self._eager.trainer.load_states(path)


@final
class _Moduled(AbstractSpelling):
    """The network as a symbol, with the loss that the loop has, and `Module` that trains it."""

    title = "module"

    def __init__(self, network: Network, weights: _Weights, settings: Settings) -> None:
        net = network.block()
        scores = net(sym.var("data"))
        losses = gluon.loss.SoftmaxCrossEntropyLoss()(scores, sym.var("softmax_label"))
        symbol = sym.Group([sym.BlockGrad(scores), sym.make_loss(losses)])
        weights_of, running = network.parted(weights)
        learned = {one.name for one in net.collect_params().values() if one.grad_req != "null"}
        self._network = network
        self._optimizer = settings.optimizer(rescale_grad=1 / settings.batch_size)
        self._module = Module(
            symbol,
            context=settings.ctx,
            fixed_param_names=[name for name in weights_of if name not in learned],
        )
        shape = (settings.batch_size, 3, network.size, network.size)
        self._module.bind([("data", shape)], [("softmax_label", shape[:1])])
        self._module.init_params(arg_params=weights_of, aux_params=running)
        self._module.init_optimizer(optimizer=self._optimizer)

    def step(self, data: NDArray, label: NDArray) -> NDArray:
        """Takes a step."""
        self._module.forward_backward(DataBatch([data], [label]))
        # The outputs are the module's, which overwrites them in the next step.
        loss: NDArray = self._module.get_outputs()[1].copy()
        self._module.update()
        return loss

    def predict(self, data: NDArray) -> NDArray:
        """Runs the network."""
        self._module.forward(DataBatch([data], [nd.zeros(data.shape[:1])]), is_train=False)
        scores: NDArray = self._module.get_outputs()[0]
        return scores

    def weights(self) -> Mapping[str, NDArray]:
        """Returns the parameters."""
        weights, running = self._module.get_params()
        both = {**weights, **running}
        return {name.removeprefix(self._network.prefix): value for name, value in both.items()}

    def set_rate(self, rate: float) -> None:
        """Sets the optimizer's rate."""
        self._optimizer.set_learning_rate(rate)

    def save_states(self, path: Path) -> None:
        """Writes the module's states."""
        self._module.save_optimizer_states(str(path))

    def load_states(self, path: Path) -> None:
        """Reads the module's states."""
        self._module.load_optimizer_states(str(path))
