"""The networks that ``benchmarks/nets.py`` runs, as lists of layers.

VGG-11 (Simonyan and Zisserman 2014), ResNet-18 and ResNet-50 (He et al. 2015), MobileNet (Howard
et al. 2017), AlexNet (Krizhevsky 2014, one column), LeNet (LeCun et al. 1998), an LSTM (Zaremba et
al. 2014, its small size) and two multilayer perceptrons. Dropout, which nobody computes alike, is
left out.
"""

from __future__ import annotations

from dataclasses import dataclass

from works.layers import (
    LSTM,
    Activation,
    BatchNorm,
    Conv,
    Dense,
    Flatten,
    GlobalAverage,
    Layer,
    MaxPool,
    Parameter,
    Residual,
    Shape,
    parameters,
    statistics,
)
from works.runner import Array
from works.training import random_batches

_RELU = Activation("relu")
_TANH = Activation("tanh")
_IMAGENET = 1000


@dataclass(frozen=True)
class Net:
    """A network, and what it is run on.

    Attributes:
        layers: the network.
        data_shape: of the data, see `works.layers`.
        classes: how many scores it gives.
        learning_rate: of gradient descent on the mean cross entropy.
        momentum: of the same.
        weight_decay: of the same.
        batch_axis: of the data.
    """

    layers: tuple[Layer, ...]
    data_shape: Shape
    classes: int = 10
    learning_rate: float = 0.01
    momentum: float = 0.9
    weight_decay: float = 0.0
    batch_axis: int = 0

    @property
    def batch_size(self) -> int:
        return self.data_shape[self.batch_axis]

    @property
    def parameters(self) -> dict[str, Parameter]:
        return parameters(self.layers, self.data_shape)

    @property
    def statistics(self) -> tuple[int, ...]:
        return statistics(self.layers, self.data_shape)

    def batches(self) -> list[tuple[Array, Array]]:
        """Random data and labels, which are taken in turn: nobody runs on one batch all the time.

        (hybridnet would notice, and compute once what follows from it.)
        """
        return random_batches(self.data_shape, self.batch_size, self.classes)


def mlp(inputs: int, hidden: int, batch: int) -> Net:
    layers = (Dense(hidden), _RELU, Dense(hidden), _RELU, Dense(10))
    return Net(layers, (batch, inputs), learning_rate=0.02, momentum=0.0)


def lenet(batch: int = 64) -> Net:
    layers = (
        *(Conv(20, 5), _TANH, MaxPool(2, 2)),
        *(Conv(50, 5), _TANH, MaxPool(2, 2)),
        *(Flatten(), Dense(500), _TANH, Dense(10)),
    )
    return Net(layers, (batch, 1, 28, 28))


def alexnet(batch: int = 16) -> Net:
    layers = (
        *(Conv(64, 11, 4, 2), _RELU, MaxPool(3, 2)),
        *(Conv(192, 5, 1, 2), _RELU, MaxPool(3, 2)),
        *(Conv(384, 3, 1, 1), _RELU, Conv(256, 3, 1, 1), _RELU),
        *(Conv(256, 3, 1, 1), _RELU, MaxPool(3, 2)),
        *(Flatten(), Dense(4096), _RELU, Dense(4096), _RELU, Dense(_IMAGENET)),
    )
    return Net(layers, (batch, 3, 224, 224), _IMAGENET, learning_rate=1e-4)


def vgg11(batch: int) -> Net:
    layers: list[Layer] = []
    for filters, count in ((64, 1), (128, 1), (256, 2), (512, 2), (512, 2)):
        layers += [Conv(filters, 3, 1, 1), _RELU] * count
        layers.append(MaxPool(2, 2))
    layers += [Flatten(), Dense(4096), _RELU, Dense(4096), _RELU, Dense(_IMAGENET)]
    return Net(tuple(layers), (batch, 3, 224, 224), _IMAGENET)


def _normalized(filters: int, kernel: int, stride: int = 1, groups: int = 1) -> tuple[Layer, ...]:
    return Conv(filters, kernel, stride, kernel // 2, groups, bias=False), BatchNorm()


def resnet18(batch: int = 32) -> Net:
    """As it is used on 32x32 images: a 3x3 stem without pooling."""
    layers: list[Layer] = [*_normalized(64, 3), _RELU]
    before = 64
    for filters in (64, 128, 256, 512):
        for block in range(2):
            stride = 2 if filters != 64 and not block else 1
            body = (*_normalized(filters, 3, stride), _RELU, *_normalized(filters, 3))
            skip = () if before == filters else _normalized(filters, 1, stride)
            layers.append(Residual(body, skip))
            before = filters
    layers += [GlobalAverage(), Dense(10)]
    return Net(tuple(layers), (batch, 3, 32, 32))


def resnet50(batch: int) -> Net:
    """Its first form: strides are in the first convolution of a block."""
    layers: list[Layer] = [*_normalized(64, 7, 2), _RELU, MaxPool(3, 2, 1)]
    for filters, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for block in range(blocks):
            stride = 2 if filters != 64 and not block else 1
            body = (
                *(*_normalized(filters, 1, stride), _RELU),
                *(*_normalized(filters, 3), _RELU),
                *_normalized(4 * filters, 1),
            )
            skip = () if block else _normalized(4 * filters, 1, stride)
            layers.append(Residual(body, skip))
    layers += [GlobalAverage(), Dense(_IMAGENET)]
    return Net(tuple(layers), (batch, 3, 224, 224), _IMAGENET)


def mobilenet(batch: int) -> Net:
    layers: list[Layer] = [*_normalized(32, 3, 2), _RELU]
    before = 32
    for filters, stride in (
        *((64, 1), (128, 2), (128, 1), (256, 2), (256, 1)),
        *((512, 2), (512, 1), (512, 1), (512, 1), (512, 1), (512, 1)),
        *((1024, 2), (1024, 1)),
    ):
        layers += [*_normalized(before, 3, stride, before), _RELU]
        layers += [*_normalized(filters, 1), _RELU]
        before = filters
    layers += [GlobalAverage(), Dense(_IMAGENET)]
    return Net(tuple(layers), (batch, 3, 224, 224), _IMAGENET)


def lstm(hidden: int = 200, steps: int = 35, batch: int = 20) -> Net:
    layers = (LSTM(hidden, 2), Dense(10))
    return Net(layers, (steps, batch, hidden), learning_rate=0.1, momentum=0.0, batch_axis=1)
