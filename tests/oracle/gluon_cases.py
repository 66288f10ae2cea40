"""What gluon is tried with: run by MXNet in `make_gluon.py`, and by hybridnet in the tests.

Nothing here imports either; functions are given ``mx``, which is one or the other. Numbers come
from NumPy's legacy generator, which no version of it changes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: Layers as Python sees them after ``from mx.gluon.nn import *``, with the shape of an input.
LAYERS: dict[str, tuple[int, ...]] = {
    "Dense(3)": (2, 4),
    "Dense(3, 'tanh', False)": (2, 4),
    "Dense(3, activation='relu', in_units=8)": (2, 4, 2),
    "Dense(3, flatten=False)": (2, 5, 4),
    "Conv1D(4, 3)": (2, 3, 8),
    "Conv1D(4, 3, 2, 1, 2, activation='sigmoid')": (2, 3, 9),
    "Conv2D(4, (3, 2), (2, 1), (1, 0), (1, 2), 2, 'NCHW', 'tanh', False)": (2, 4, 7, 6),
    "Conv2D(3, 3, padding=1, in_channels=2)": (2, 2, 5, 5),
    "Conv3D(2, 2, strides=2, padding=(0, 1, 0))": (1, 2, 4, 4, 5),
    "Conv1DTranspose(3, 4, 2, 1)": (2, 2, 5),
    "Conv2DTranspose(4, 3, (2, 2), 1, (1, 0), groups=2, in_channels=2)": (2, 2, 4, 4),
    "Conv2DTranspose(2, (2, 3), in_channels=3, use_bias=False, dilation=2)": (1, 3, 3, 4),
    "Conv3DTranspose(2, 2, 2, in_channels=1)": (1, 1, 2, 3, 2),
    "MaxPool1D()": (2, 3, 7),
    "MaxPool1D(3, 2, 1, ceil_mode=True)": (2, 3, 8),
    "MaxPool2D()": (2, 2, 5, 4),
    "MaxPool2D((3, 2), 2, (1, 0), 'NCHW', True)": (2, 2, 6, 5),
    "MaxPool3D(2, 1, 0, True)": (1, 2, 3, 4, 3),
    "AvgPool1D(3, 2, 1)": (2, 3, 8),
    "AvgPool2D(3, 2, 1, True, 'NCHW', False)": (2, 2, 6, 5),
    "AvgPool2D(3, 2, 1)": (2, 2, 6, 5),
    "AvgPool3D()": (1, 2, 4, 5, 4),
    "GlobalMaxPool1D()": (2, 3, 4),
    "GlobalMaxPool2D()": (2, 3, 4, 2),
    "GlobalMaxPool3D()": (2, 3, 4, 2, 2),
    "GlobalAvgPool1D()": (2, 3, 4),
    "GlobalAvgPool2D()": (2, 3, 4, 2),
    "GlobalAvgPool3D()": (2, 3, 4, 2, 2),
    "BatchNorm()": (4, 3, 2),
    "BatchNorm(axis=-1, momentum=0.7, epsilon=0.01, in_channels=3)": (4, 2, 3),
    "BatchNorm(center=False, scale=False)": (4, 3),
    "BatchNorm(use_global_stats=True)": (4, 3),
    "LayerNorm()": (3, 5),
    "LayerNorm(axis=1, epsilon=0.1, center=False)": (2, 4, 3),
    "LayerNorm(scale=False, in_channels=5)": (3, 5),
    "InstanceNorm()": (2, 3, 6),
    "InstanceNorm(axis=2, epsilon=0.01, center=False, scale=True)": (2, 5, 3),
    "GroupNorm()": (2, 4, 3),
    "GroupNorm(2, 0.01, center=False)": (2, 4, 3),
    "Dropout(0)": (2, 3),
    "Flatten()": (2, 3, 2),
    "Activation('relu')": (2, 3),
    "Activation('sigmoid')": (2, 3),
    "Activation('tanh')": (2, 3),
    "Activation('softrelu')": (2, 3),
    "Activation('softsign')": (2, 3),
    "LeakyReLU(0.2)": (2, 3),
    "PReLU()": (2, 3),
    "PReLU(in_channels=3)": (2, 3, 2),
    "ELU()": (2, 3),
    "ELU(0.5)": (2, 3),
    "GELU()": (2, 3),
    "Swish()": (2, 3),
    "Swish(2.0)": (2, 3),
    "HybridLambda('tanh')": (2, 3),
}
#: Layers whose numbers are compared with something else, for their `repr` alone.
MORE_REPRS = ("Dropout(0.3, axes=(1,))", "Embedding(5, 3)", "SELU()", "Lambda('relu')")

#: Losses, with the shapes of predictions, labels (an int: classes up to there) and weights.
LOSSES: list[tuple[str, tuple[int, ...], tuple[int, ...], int | None, tuple[int, ...] | None]] = [
    ("L2Loss()", (3, 4), (3, 4), None, None),
    ("L2Loss(weight=3.0)", (3, 4), (12,), None, (3, 1)),
    ("L2Loss(batch_axis=1)", (3, 4), (3, 4), None, (3, 4)),
    ("L1Loss()", (3, 4, 2), (3, 4, 2), None, None),
    ("L1Loss(0.5)", (3, 4), (3, 4), None, (3, 1)),
    ("L1Loss(None, 1)", (3, 4), (3, 4), None, (1, 4)),
    ("SigmoidBCELoss()", (3, 4), (3, 4), 2, None),
    ("SigmoidBinaryCrossEntropyLoss(weight=2.0, batch_axis=1)", (3, 4), (3, 4), 2, (3, 1)),
    ("SigmoidBinaryCrossEntropyLoss(True)", (3, 4), (3, 4), 2, None),
    ("SoftmaxCELoss()", (3, 4), (3,), 4, None),
    ("SoftmaxCrossEntropyLoss()", (3, 4), (3, 1), 4, (3, 1)),
    ("SoftmaxCrossEntropyLoss(weight=0.5)", (3, 2, 4), (3, 2), 4, (3, 1, 1)),
    ("SoftmaxCrossEntropyLoss(axis=1)", (3, 4, 2), (3, 2), 4, None),
    ("SoftmaxCrossEntropyLoss(1, batch_axis=2)", (3, 4, 2), (3, 2), 4, None),
    ("SoftmaxCrossEntropyLoss(sparse_label=False)", (3, 4), (3, 4), None, (3, 1)),
    ("SoftmaxCrossEntropyLoss(from_logits=True)", (3, 4), (3,), 4, None),
    ("SoftmaxCrossEntropyLoss(-1, False, True)", (3, 4), (3, 4), None, None),
]

#: Optimizers, with their settings and the name and settings of a scheduler.
TRAINERS: list[tuple[str, dict[str, Any], tuple[str, dict[str, Any]] | None]] = [
    ("sgd", {"learning_rate": 0.1}, None),
    ("sgd", {"learning_rate": 0.1, "momentum": 0.9, "wd": 0.01, "clip_gradient": 0.2}, None),
    ("sgd", {"momentum": 0.5}, ("FactorScheduler", {"step": 2, "factor": 0.5, "base_lr": 0.01})),
    ("nag", {"learning_rate": 0.1, "momentum": 0.9, "rescale_grad": 0.5}, None),
    ("adam", {"learning_rate": 0.05, "wd": 0.1}, None),
    ("adam", {"learning_rate": 0.1}, ("PolyScheduler", {"max_update": 5, "base_lr": 0.1})),
    ("adagrad", {"learning_rate": 0.1}, None),
    ("adadelta", {"rho": 0.5}, None),
    ("rmsprop", {"learning_rate": 0.01, "centered": True}, None),
    ("ftrl", {"learning_rate": 0.1}, None),
    ("signum", {"learning_rate": 0.01}, None),
]
STEPS = 5


def numbers(seed: int, shape: tuple[int, ...], low: float = -1.5, high: float = 1.5) -> Any:
    """Returns float32 numbers, none of which lies within 0.01 of 0."""
    drawn = np.random.RandomState(seed).uniform(low, high, shape)
    return (drawn + 0.01 * np.sign(drawn)).astype(np.float32)


def make_layer(mx: Any, text: str) -> Any:
    """Returns the layer that a text of `LAYERS` means, with automatic names as in a fresh start."""
    with mx.name.NameManager():
        return eval(text, dict(vars(mx.gluon.nn)))


def set_params(mx: Any, block: Any) -> None:
    """Gives the parameters of a block, which have shapes, numbers that depend on their order."""
    for seed, param in enumerate(block.collect_params().values()):
        low = 0.3 if param.name.endswith("var") else -1.0
        param.set_data(mx.nd.array(numbers(100 + seed, param.shape, low, 1.0)))


def run_layer(mx: Any, text: str, hybridize: bool = False) -> dict[str, np.ndarray[Any, Any]]:
    """Runs a layer in prediction, then in training with a backward pass.

    Returns:
        The outputs ``predict`` and ``train``, the gradient ``x`` and those of the parameters, and
        the statistics after training, by the ends of their names.
    """
    layer = make_layer(mx, text)
    layer.initialize(mx.init.One())
    x = mx.nd.array(numbers(1, LAYERS[text]))
    layer(x)  # finds the shapes
    set_params(mx, layer)
    if hybridize:
        layer.hybridize()
    found = {"predict": layer(x).asnumpy()}
    x.attach_grad()
    with mx.autograd.record():
        out = layer(x)
    out.backward(mx.nd.array(numbers(2, out.shape)))
    found |= {"train": out.asnumpy(), "x": x.grad.asnumpy()}
    for name, param in layer.collect_params().items():
        end = name[len(layer.prefix) :]
        if param.grad_req != "null":
            found[end] = param.grad().asnumpy()
        elif "running" in end:
            found[end] = param.data().asnumpy()
    return found


def run_loss(mx: Any, index: int, hybridize: bool = False) -> dict[str, np.ndarray[Any, Any]]:
    """Runs a loss; returns it and the gradient of the prediction."""
    text, pred_shape, label_shape, classes, weight_shape = LOSSES[index]
    with mx.name.NameManager():
        loss = eval(text, dict(vars(mx.gluon.loss)))
    if hybridize:
        loss.hybridize()
    is_sigmoid = "Loss(True" in text
    pred = mx.nd.array(numbers(3, pred_shape, 0.05 if is_sigmoid else -1.5, 0.9))
    if classes is None:
        label = mx.nd.array(numbers(4, label_shape, 0.0, 1.0))
    else:
        label = mx.nd.array(np.random.RandomState(5).randint(0, classes, label_shape))
    inputs = [pred, label]
    if weight_shape is not None:
        inputs.append(mx.nd.array(numbers(6, weight_shape, 0.1, 1.0)))
    pred.attach_grad()
    with mx.autograd.record():
        out = loss(*inputs)
    out.backward(mx.nd.array(numbers(7, out.shape)))
    return {"loss": out.asnumpy(), "pred": pred.grad.asnumpy()}


def run_trainer(mx: Any, index: int, contexts: int = 1, **options: Any) -> list[Any]:
    """Trains two dense layers for `STEPS` steps on one or more CPUs; returns the parameters."""
    kind, settings, schedule = TRAINERS[index]
    settings = dict(settings)
    if schedule is not None:
        settings["lr_scheduler"] = getattr(mx.lr_scheduler, schedule[0])(**schedule[1])
    ctx = [mx.cpu(i) for i in range(contexts)]
    with mx.name.NameManager():
        net = mx.gluon.nn.HybridSequential()
        with net.name_scope():
            net.add(mx.gluon.nn.Dense(3, "tanh", in_units=2), mx.gluon.nn.Dense(1, in_units=3))
    net.initialize(ctx=ctx)
    set_params(mx, net)
    net[0].weight.lr_mult = 0.5
    net[1].bias.wd_mult = 2.0
    trainer = mx.gluon.Trainer(net.collect_params(), kind, settings, **options)
    data, label = numbers(8, (4, 2)), numbers(9, (4, 1))
    for _ in range(STEPS):
        inputs = mx.gluon.utils.split_and_load(data, ctx)
        labels = mx.gluon.utils.split_and_load(label, ctx)
        with mx.autograd.record():
            losses = [
                mx.gluon.loss.L2Loss()(net(x), y)
                for x, y in zip(inputs, labels)  # noqa: B905
            ]
        mx.autograd.backward(losses)
        trainer.step(4)
    return [one.data(ctx[-1]).asnumpy() for one in net.collect_params().values()]


# -- names ---------------------------------------------------------------------------------------


def _shown(net: Any) -> list[str]:
    return [net.name, net.prefix, *net.collect_params()]


def _plain_names(mx: Any) -> Any:
    nn = mx.gluon.nn
    layers = [nn.Dense(2), nn.Dense(2), nn.Conv2D(1, 1), nn.Conv1DTranspose(1, 1), nn.MaxPool2D()]
    layers += [nn.AvgPool1D(), nn.GlobalAvgPool2D(), nn.BatchNorm(), nn.LayerNorm(), nn.Dropout(0)]
    layers += [nn.Activation("tanh"), nn.Activation("relu"), nn.Flatten(), nn.Embedding(2, 2)]
    layers += [nn.PReLU(), nn.LeakyReLU(0.1), nn.Swish(), nn.Lambda("relu")]
    layers += [nn.HybridLambda("relu")]
    layers += [nn.Sequential(), nn.HybridSequential(), nn.InstanceNorm(), nn.GroupNorm()]
    layers += [mx.gluon.loss.L2Loss(), mx.gluon.loss.SoftmaxCELoss(), nn.Dense(1)]
    return [_shown(one) for one in layers]


def _scoped_names(mx: Any) -> Any:
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Dense(2, activation="relu"), nn.Dense(2))
        inner = nn.HybridSequential()
        with inner.name_scope():
            inner.add(nn.Dense(1), nn.BatchNorm())
        net.add(inner, nn.Dense(3, prefix="last_"))
    outside = nn.Dense(1)
    with net.name_scope():
        net.add(nn.Dense(1))
    return [_shown(net), _shown(inner), _shown(outside), _shown(nn.HybridSequential())]


def _prefix_names(mx: Any) -> Any:
    nn = mx.gluon.nn
    net = nn.Sequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Dense(1), nn.Dense(1, prefix=""))
    empty = nn.Sequential(prefix="")
    with empty.name_scope():
        empty.add(nn.Dense(1), nn.Dense(1))
    odd = nn.Dense(1, prefix="odd")
    return [_shown(net), _shown(empty), _shown(odd), _shown(nn.Dense(1))]


def _shared_names(mx: Any) -> Any:
    nn = mx.gluon.nn
    first = nn.Dense(2, in_units=2, prefix="first_")
    second = nn.Dense(2, in_units=2, params=first.params)
    third = nn.Dense(2, in_units=2, prefix="third_", params=first.collect_params())
    net = nn.HybridSequential(params=None)
    with net.name_scope():
        net.add(nn.Dense(2, in_units=2, params=first.params), nn.Dense(2))
    return [_shown(first), _shown(second), _shown(third), _shown(net)]


def _selected_names(mx: Any) -> Any:
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix="net_")
    with net.name_scope():
        net.add(nn.Conv2D(2, 3), nn.BatchNorm(), nn.Dense(2))
    selections = (".*weight", "net_dense", ".*_(gamma|beta)$", "dense", "weight|net_conv0_bias")
    return [list(net.collect_params(one)) for one in selections]


def _symbol_names(mx: Any) -> Any:
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    with net.name_scope():
        net.add(nn.Conv2D(2, 3, activation="relu"), nn.BatchNorm(), nn.MaxPool2D(), nn.Flatten())
        net.add(nn.Dense(2, activation="tanh"), nn.Dropout(0.5), nn.LayerNorm(), nn.PReLU())
        net.add(nn.ELU(), nn.Swish(), nn.GroupNorm(), nn.Dense(1, use_bias=False))
    out = net(mx.sym.var("data"))
    again = net(mx.sym.var("data"))
    return [
        out.get_internals().list_outputs(),
        out.list_arguments(),
        out.list_auxiliary_states(),
        again.list_outputs(),
    ]


NAMES: dict[str, Callable[[Any], Any]] = {
    "plain": _plain_names,
    "scoped": _scoped_names,
    "prefix": _prefix_names,
    "shared": _shared_names,
    "selected": _selected_names,
    "symbol": _symbol_names,
}


def names(mx: Any, kind: str) -> Any:
    """Returns the names that blocks get, as in a fresh start."""
    with mx.name.NameManager():
        return NAMES[kind](mx)


# -- files ---------------------------------------------------------------------------------------


def make_saved(mx: Any) -> Any:
    """Returns a network with two inputs, two outputs, statistics, a constant, a shared layer."""
    nn = mx.gluon.nn

    class Saved(mx.gluon.HybridBlock):
        """Two branches that share a layer."""

        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            with self.name_scope():
                self.body = nn.HybridSequential()
                with self.body.name_scope():
                    self.body.add(nn.Dense(4, "tanh"), nn.BatchNorm(), nn.Dense(3))
                self.shared = self.body[2]
                self.scale = self.params.get("scale", shape=(1, 3), init="ones")
                self.offset = self.params.get_constant("offset", [[1.0, 2.0, 3.0]])

        def hybrid_forward(self, F: Any, x: Any, y: Any, scale: Any, offset: Any) -> Any:
            first = F.broadcast_mul(self.body(x), scale)
            return first, F.broadcast_add(self.shared(y), offset)

    with mx.name.NameManager():
        return Saved(prefix="saved_")


SAVED_INPUTS = ((2, 5), (2, 4))


def saved_inputs(mx: Any) -> list[Any]:
    """Returns what `make_saved`'s network is run on."""
    return [mx.nd.array(numbers(20 + i, shape)) for i, shape in enumerate(SAVED_INPUTS)]
