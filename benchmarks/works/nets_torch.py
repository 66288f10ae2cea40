"""The networks in PyTorch: modules, eager or by ``torch.compile``, in the better memory format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

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
    Residual,
    first_statistics,
    first_values,
)
from works.nets import Net
from works.runner import Runner, each, fastest, losses, pytorch
from works.training import EPSILON, KEEP


def _module(layers: Sequence[Layer], channels: int) -> tuple[Any, int]:
    """Returns the module and the channels, or units, that it gives."""
    from torch import nn

    made: list[Any] = []
    for layer in layers:
        match layer:
            case Conv():
                made.append(
                    nn.Conv2d(
                        *(channels, layer.filters, layer.kernel, layer.stride, layer.pad),
                        groups=layer.groups,
                        bias=layer.bias,
                    )
                )
                channels = layer.filters
            case BatchNorm():
                made.append(nn.BatchNorm2d(channels, eps=EPSILON, momentum=1 - KEEP))
            case Activation():
                made.append(nn.ReLU(inplace=True) if layer.kind == "relu" else nn.Tanh())
            case MaxPool():
                made.append(nn.MaxPool2d(layer.size, layer.stride, layer.pad))
            case GlobalAverage():
                made += [nn.AdaptiveAvgPool2d(1), nn.Flatten()]
            case Flatten():
                made.append(nn.Flatten())
            case Dense():
                made.append(nn.LazyLinear(layer.units))
                channels = layer.units
            case Residual():
                made.append(_residual(layer, channels))
                channels = _module(layer.body, channels)[1]
            case LSTM():
                made.append(_lstm(layer, channels))
                channels = layer.hidden
    return nn.Sequential(*made), channels


def _residual(layer: Residual, channels: int) -> Any:
    from torch import nn

    class Block(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.body, _ = _module(layer.body, channels)
            self.skip, _ = _module(layer.skip, channels)
            self.relu = nn.ReLU(inplace=True)

        def forward(self, x: Any) -> Any:
            return self.relu(self.body(x) + self.skip(x))

    return Block()


def _lstm(layer: LSTM, inputs: int) -> Any:
    from torch import nn

    class Recurrent(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.LSTM(inputs, layer.hidden, layer.layers)

        def forward(self, x: Any) -> Any:
            return self.layers(x)[0][-1]

    return Recurrent()


def _with_first_values(net: Net, last: bool, trained: bool) -> tuple[Any, Any]:
    """Returns the module with its first weights, and batches of data and labels.

    Args:
        net: the network.
        last: whether images have channels last in memory.
        trained: whether it is about to be trained.
    """
    import torch

    batches = [tuple(torch.from_numpy(array) for array in batch) for batch in net.batches()]
    module, _ = _module(net.layers, net.data_shape[2 if len(net.data_shape) == 3 else 1])
    with torch.no_grad():
        module.eval()(batches[0][0])  # so that deferred shapes are known
        values = first_values(net.parameters).values()
        for param, value in zip(module.parameters(), values, strict=True):
            param.copy_(torch.from_numpy(value))
        normalizations = [m for m in module.modules() if isinstance(m, torch.nn.BatchNorm2d)]
        moving = first_statistics(net.statistics)
        for normalization, (mean, var) in zip(normalizations, moving, strict=True):
            if not trained:
                normalization.get_buffer("running_mean").copy_(torch.from_numpy(mean))
                normalization.get_buffer("running_var").copy_(torch.from_numpy(var))
    if last:
        module = module.to(memory_format=torch.channels_last)
        batches = [(data.to(memory_format=torch.channels_last), label) for data, label in batches]
    return module.train(trained), batches


def _inference(net: Net, last: bool, compiled: bool) -> Runner:
    import torch

    module, batches = _with_first_values(net, last, trained=False)
    module = torch.compile(module) if compiled else module
    given = cycle(batches)

    def once(batch: Any) -> Any:
        with torch.inference_mode():
            return module(batch[0])

    return pytorch(each(lambda: once(next(given))), lambda: once(batches[0]).numpy())


def _training(net: Net, last: bool, compiled: bool) -> Runner:
    import torch

    module, batches = _with_first_values(net, last, trained=True)
    given = cycle(batches)
    optimizer = torch.optim.SGD(
        module.parameters(), net.learning_rate, net.momentum, weight_decay=net.weight_decay
    )
    module = torch.compile(module) if compiled else module
    loss_of = torch.nn.CrossEntropyLoss()

    def step() -> float:
        data, label = next(given)
        optimizer.zero_grad()
        loss = loss_of(module(data), label)
        loss.backward()
        optimizer.step()
        return loss.item()

    return pytorch(each(step), lambda: losses(step))


def _either(make: Callable[[Net, bool, bool], Runner], net: Net, compiled: bool) -> Runner:
    """The faster memory format, where there are images.

    Compiling takes long, and chooses formats itself: it is given one.
    """
    images = len(net.data_shape) == 4
    if compiled or not images:
        return make(net, images, compiled)
    formats = {"channels last": True, "channels first": False}
    return fastest({name: make(net, last, compiled) for name, last in formats.items()})


def inference(net: Net) -> Runner:
    return _either(_inference, net, compiled=False)


def training(net: Net) -> Runner:
    return _either(_training, net, compiled=False)


def compiled_inference(net: Net) -> Runner:
    return _either(_inference, net, compiled=True)


def compiled_training(net: Net) -> Runner:
    return _either(_training, net, compiled=True)
