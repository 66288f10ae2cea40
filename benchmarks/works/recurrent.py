"""gluon's recurrent layers, trained: two layers of 200 units over 35 steps, batch 20.

hybridnet and MXNet run the same lines but for the step, which hybridnet traces; PyTorch has its
own layers, of the same formulas and order of gates. The last state is classified.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np

from works.nets_gluon import mxnet_package
from works.runner import Array, Runner, each, hybrid, losses, plain, pytorch, waited
from works.zoo import set_values, value_of

#: Layers by work.
LAYERS = {"lstm-layer-step": "LSTM", "gru-layer-step": "GRU", "rnn-layer-step": "RNN"}
_UNITS, _LAYERS, _STEPS, _BATCH, _CLASSES = 200, 2, 35, 20, 10
_RATE = 0.1


def _batches() -> list[tuple[Array, Array]]:
    random = np.random.default_rng(0)
    shape = (_STEPS, _BATCH, _UNITS)
    return [
        (random.standard_normal(shape, dtype=np.float32), random.integers(0, _CLASSES, _BATCH))
        for _ in range(4)
    ]


def _training(mx: Any, kind: str) -> tuple[Callable[[Any, Any], Any], Callable[[], None], Any]:
    """Returns ``step(data, label) -> losses``, what waits for the weights, and batches."""
    options = {"activation": "tanh"} if kind == "RNN" else {}

    class Net(mx.gluon.HybridBlock):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            layer = getattr(mx.gluon.rnn, kind)
            with self.name_scope():
                self.rnn = layer(_UNITS, _LAYERS, input_size=_UNITS, prefix="rnn_", **options)
                self.classify = mx.gluon.nn.Dense(_CLASSES, in_units=_UNITS, prefix="dense_")

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            # Not SequenceLast, of whose gradient MXNet 1.9.1 dies where no lengths are given.
            last = F.slice_axis(self.rnn(x), axis=0, begin=-1, end=None)
            return self.classify(F.reshape(last, (-3, 0)))

    net = Net()
    net.initialize()
    set_values(mx, net)
    net.hybridize(static_alloc=True, static_shape=True)
    loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    loss_of.hybridize(static_alloc=True, static_shape=True)
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": _RATE})

    def step(data: Any, label: Any) -> Any:
        with mx.autograd.record():
            loss = loss_of(net(data), label)
        loss.backward()
        trainer.step(_BATCH)
        return loss

    def wait() -> None:
        for param in net.collect_params().values():
            param.data().wait_to_read()

    batches = [(mx.nd.array(data), mx.nd.array(label)) for data, label in _batches()]
    return step, wait, cycle(batches)


def ours(kind: str) -> Runner:
    import hybridnet as hn

    step, wait, batches = _training(hn, kind)
    traced = hn.function(step)

    def once() -> Array:
        return traced(*next(batches)).asnumpy()

    return hybrid(waited(once, wait), lambda: losses(once))


def mxnet(kind: str) -> Runner:
    step, wait, batches = _training(mxnet_package(), kind)

    def once() -> Array:
        return step(*next(batches)).asnumpy()

    return plain(waited(once, wait), lambda: losses(once))


def torch(kind: str) -> Runner:
    import torch
    from torch import nn

    options = {"nonlinearity": "tanh"} if kind == "RNN" else {}
    layer = getattr(nn, kind)(_UNITS, _UNITS, _LAYERS, **options)
    classify = nn.Linear(_UNITS, _CLASSES)
    named = [("dense_" + name, param) for name, param in classify.named_parameters()]
    for name, param in layer.named_parameters():  # weight_ih_l0 is rnn_l0_i2h_weight
        what, end, number = name.split("_")
        named.append((f"rnn_{number}_{end[0]}2{end[1]}_{what}", param))
    with torch.no_grad():
        for name, param in named:
            param.copy_(torch.from_numpy(value_of(name, tuple(param.shape))))
    optimizer = torch.optim.SGD([param for _, param in named], _RATE)
    loss_of = nn.CrossEntropyLoss()
    given = cycle([(torch.from_numpy(data), torch.from_numpy(label)) for data, label in _batches()])

    def step() -> float:
        data, label = next(given)
        optimizer.zero_grad()
        loss = loss_of(classify(layer(data)[0][-1]), label)
        loss.backward()
        optimizer.step()
        return loss.item()

    return pytorch(each(step), lambda: losses(step))


def contestants(work: str) -> dict[str, Callable[[], Runner]]:
    """Returns who trains a layer."""
    ways = {"hybridnet": ours, "torch": torch, "mxnet hybridized": mxnet}
    return {name: partial(way, LAYERS[work]) for name, way in ways.items()}
