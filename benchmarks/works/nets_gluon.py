"""The networks in gluon, which serves hybridnet and MXNet alike: blocks, hybridized.

hybridnet trains by a step that is one traced function, MXNet by recording hybridized blocks. For
inference MXNet can also be asked to replace parts of the graph by oneDNN's fused operators.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

import numpy as np

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
from works.runner import Array, Runner, each, hybrid, losses, plain, waited
from works.training import EPSILON, KEEP

#: Of a program, after which hybridnet has noticed which of its inputs stay the same.
_LAUNCHES = 24


def _sequence(mx: Any, layers: Sequence[Layer]) -> Any:
    net = mx.gluon.nn.HybridSequential()
    net.add(*(_block(mx, layer) for layer in layers))
    return net


def _block(mx: Any, layer: Layer) -> Any:
    nn = mx.gluon.nn
    match layer:
        case Conv():
            return nn.Conv2D(
                *(layer.filters, layer.kernel, layer.stride, layer.pad),
                groups=layer.groups,
                use_bias=layer.bias,
            )
        case BatchNorm():
            return nn.BatchNorm(momentum=KEEP, epsilon=EPSILON)
        case Activation():
            return nn.Activation(layer.kind)
        case MaxPool():
            return nn.MaxPool2D(layer.size, layer.stride, layer.pad)
        case GlobalAverage():
            net = nn.HybridSequential()
            net.add(nn.GlobalAvgPool2D(), nn.Flatten())
            return net
        case Flatten():
            return nn.Flatten()
        case Dense():
            return nn.Dense(layer.units)
        case Residual():
            return _residual(mx, layer)
        case LSTM():
            return _lstm(mx, layer)


def _residual(mx: Any, layer: Residual) -> Any:
    class Block(mx.gluon.HybridBlock):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.body = _sequence(mx, layer.body)
            self.skip = _sequence(mx, layer.skip)

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return F.relu(self.body(x) + (self.skip(x) if layer.skip else x))

    return Block()


def _lstm(mx: Any, layer: LSTM) -> Any:
    """The operator for all layers and steps, on parameters by layer, as MXNet's own block does."""
    names = [
        f"l{number}_{name}"
        for number in range(layer.layers)
        for name in ("i2h_weight", "h2h_weight", "i2h_bias", "h2h_bias")
    ]
    # The operator takes all weights first, then all biases.
    flat_order = sorted(names, key=lambda name: name.endswith("bias"))
    gates = 4 * layer.hidden

    class Recurrent(mx.gluon.HybridBlock):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            for name in names:
                shape = (gates,) if name.endswith("bias") else (gates, layer.hidden)
                setattr(self, name, self.params.get(name, shape=shape, init="zeros"))

        def hybrid_forward(self, F: Any, x: Any, **given: Any) -> Any:
            flat = F.concat(*(F.reshape(given[name], (-1,)) for name in flat_order), dim=0)
            # Two zero states (layers, batch, hidden), of the shape that the data gives.
            first = F.slice_axis(F.zeros_like(x), axis=0, begin=0, end=layer.layers)
            outputs = F.RNN(
                *(x, flat, first, first),
                state_size=layer.hidden,
                num_layers=layer.layers,
                mode="lstm",
            )
            return F.reshape(F.slice_axis(outputs, axis=0, begin=-1, end=None), (-3, 0))

    return Recurrent()


def _with_first_values(mx: Any, net: Net, trained: bool) -> tuple[Any, Any]:
    """Returns the hybridized block with its first weights, and batches of data and labels."""
    block = _sequence(mx, net.layers)
    block.initialize()
    batches = [(mx.nd.array(data), mx.nd.array(label)) for data, label in net.batches()]
    block(batches[0][0])  # so that deferred shapes are known
    found = block.collect_params().values()
    learned = [param for param in found if param.grad_req != "null"]
    for param, value in zip(learned, first_values(net.parameters).values(), strict=True):
        if param.shape != value.shape:
            raise ValueError(f"{param.name} has shape {param.shape}, its weights {value.shape}")
        param.set_data(mx.nd.array(value))
    moving = [param for param in found if param.grad_req == "null"]
    for number, (mean, var) in enumerate(first_statistics(net.statistics)):
        if trained:
            mean, var = np.zeros_like(mean), np.ones_like(var)
        moving[2 * number].set_data(mx.nd.array(mean))
        moving[2 * number + 1].set_data(mx.nd.array(var))
    block.hybridize(static_alloc=True, static_shape=True)
    return block, batches


def inference(
    mx: Any, net: Net, backend: str | None = None
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    """Returns functions that run the network and wait for the scores, and that read them.

    Args:
        mx: the package.
        net: the network.
        backend: what the graph is optimized for; None: as it is.
    """
    block, batches = _with_first_values(mx, net, trained=False)
    first = batches[0][0]
    if backend is not None:
        block.optimize_for(first, backend=backend, static_alloc=True, static_shape=True)
    given = cycle(batches)
    return lambda: block(next(given)[0]).wait_to_read(), lambda: block(first).asnumpy()


def training(mx: Any, net: Net) -> tuple[Callable[[Any, Any], Any], Callable[[], None], Any]:
    """Returns ``step(data, label) -> losses``, what waits for the weights, and batches."""
    block, batches = _with_first_values(mx, net, trained=True)
    loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    loss_of.hybridize(static_alloc=True, static_shape=True)
    settings = {
        "learning_rate": net.learning_rate,
        "momentum": net.momentum,
        "wd": net.weight_decay,
    }
    trainer = mx.gluon.Trainer(block.collect_params(), "sgd", settings)

    def step(data: Any, label: Any) -> Any:
        with mx.autograd.record():
            loss = loss_of(block(data), label)
        loss.backward()
        trainer.step(net.batch_size)
        return loss

    def wait() -> None:
        for param in block.collect_params().values():
            param.data().wait_to_read()

    return step, wait, cycle(batches)


def our_inference(net: Net) -> Runner:
    import hybridnet as hn

    run, read = inference(hn, net)
    return hybrid(each(run), read, least=_LAUNCHES)


def our_training(net: Net) -> Runner:
    import hybridnet as hn

    step, wait, batches = training(hn, net)
    traced = hn.function(step)

    def once() -> Array:
        return traced(*next(batches)).asnumpy()

    return hybrid(waited(once, wait), lambda: losses(once), least=_LAUNCHES)


def mxnet_package() -> Any:
    """MXNet with all processors, of which it takes half if nobody says so."""
    os.environ.setdefault("OMP_NUM_THREADS", str(os.cpu_count()))
    import mxnet as mx

    return mx


def mxnet_inference(net: Net) -> Runner:
    run, read = inference(mxnet_package(), net)
    return plain(each(run), read)


def mxnet_optimized_inference(net: Net) -> Runner:
    run, read = inference(mxnet_package(), net, "MKLDNN")
    return plain(each(run), read)


def mxnet_training(net: Net) -> Runner:
    step, wait, batches = training(mxnet_package(), net)

    def once() -> Array:
        return step(*next(batches)).asnumpy()

    return plain(waited(once, wait), lambda: losses(once))
