"""Trains LeNet under MXNet 1.9.1 and records its first losses in `lenet_losses.json`.

Run it with a Python (at most 3.11) that has ``mxnet==1.9.1 numpy==1.23.5``::

    python tests/oracle/make_lenet.py

The same steps are taken through a bound symbol and through gluon; the script fails if the two
disagree by more than 1e-5 relative.
"""

from __future__ import annotations

import json
from pathlib import Path

import lenet_setup as setup
import mxnet as mx
import numpy as np

HERE = Path(__file__).resolve().parent
DIGITS = HERE.parent.parent / "hybridnet" / "data" / "mnist-5k"
EPOCHS = 5


def lenet_symbol() -> mx.sym.Symbol:
    """Returns LeNet ending in a SoftmaxOutput named softmax."""
    net = mx.sym.Variable("data")
    for index, filters in ((1, 20), (2, 50)):
        net = mx.sym.Convolution(net, kernel=(5, 5), num_filter=filters, name=f"conv{index}")
        net = mx.sym.Activation(net, act_type="tanh", name=f"tanh{index}")
        net = mx.sym.Pooling(
            net, kernel=(2, 2), stride=(2, 2), pool_type="max", name=f"pool{index}"
        )
    net = mx.sym.Flatten(net, name="flatten")
    net = mx.sym.FullyConnected(net, num_hidden=500, name="fc1")
    net = mx.sym.Activation(net, act_type="tanh", name="tanh3")
    net = mx.sym.FullyConnected(net, num_hidden=10, name="fc2")
    return mx.sym.SoftmaxOutput(net, name="softmax")


def cross_entropy(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """Returns the mean of -log of the probability of the right class, computed in float64."""
    right = probabilities[np.arange(len(labels)), labels.astype(int)].astype(np.float64)
    return float(-np.log(right).mean())


def train_symbol(images: np.ndarray, labels: np.ndarray, steps: int) -> tuple[list, mx.Executor]:
    """Trains the bound symbol with sgd_mom_update; returns the losses and the executor."""
    executor = lenet_symbol().simple_bind(
        mx.cpu(),
        grad_req=dict.fromkeys(setup.SHAPES, "write"),
        data=(setup.BATCH_SIZE, 1, 28, 28),
        softmax_label=(setup.BATCH_SIZE,),
    )
    for name, value in setup.initial_weights().items():
        executor.arg_dict[name][:] = value
    momenta = {name: mx.nd.zeros(shape) for name, shape in setup.SHAPES.items()}
    losses = []
    for step in range(steps):
        x, y = setup.batch(images, labels, step)
        (out,) = executor.forward(is_train=True, data=x, softmax_label=y)
        losses.append(cross_entropy(out.asnumpy(), y))
        executor.backward()
        for name in setup.SHAPES:
            mx.nd.sgd_mom_update(
                executor.arg_dict[name],
                executor.grad_dict[name],
                momenta[name],
                lr=setup.LEARNING_RATE,
                momentum=setup.MOMENTUM,
                wd=setup.WEIGHT_DECAY,
                rescale_grad=1.0 / setup.BATCH_SIZE,
                out=executor.arg_dict[name],
            )
    return losses, executor


def train_gluon(images: np.ndarray, labels: np.ndarray, steps: int) -> list:
    """Takes the same steps with gluon.Trainer and autograd; returns the losses."""
    nn = mx.gluon.nn
    net = nn.HybridSequential(prefix="")
    net.add(
        nn.Conv2D(20, 5, activation="tanh", in_channels=1, prefix="conv1_"),
        nn.MaxPool2D(2, 2),
        nn.Conv2D(50, 5, activation="tanh", in_channels=20, prefix="conv2_"),
        nn.MaxPool2D(2, 2),
        nn.Dense(500, activation="tanh", in_units=800, prefix="fc1_"),
        nn.Dense(10, in_units=500, prefix="fc2_"),
    )
    net.initialize()
    for name, value in setup.initial_weights().items():
        net.collect_params()[name].set_data(mx.nd.array(value))
    trainer = mx.gluon.Trainer(
        net.collect_params(),
        "sgd",
        {
            "learning_rate": setup.LEARNING_RATE,
            "momentum": setup.MOMENTUM,
            "wd": setup.WEIGHT_DECAY,
        },
    )
    loss_of = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    losses = []
    for step in range(steps):
        x, y = setup.batch(images, labels, step)
        with mx.autograd.record():
            loss = loss_of(net(mx.nd.array(x)), mx.nd.array(y))
        loss.backward()
        trainer.step(setup.BATCH_SIZE)
        losses.append(float(loss.asnumpy().astype(np.float64).mean()))
    return losses


def accuracy(executor: mx.Executor, images: np.ndarray, labels: np.ndarray) -> float:
    """Returns the share of right answers; the last part of a batch is padded with the first."""
    right = 0
    for start in range(0, len(images), setup.BATCH_SIZE):
        rows = np.arange(start, start + setup.BATCH_SIZE) % len(images)
        (out,) = executor.forward(is_train=False, data=images[rows])
        count = min(setup.BATCH_SIZE, len(images) - start)
        right += int((out.asnumpy().argmax(1) == labels[rows])[:count].sum())
    return right / len(images)


def main() -> None:
    images, labels = setup.digits(DIGITS, "train")
    losses, executor = train_symbol(images, labels, setup.STEPS)
    norms = {
        name: float(np.linalg.norm(executor.arg_dict[name].asnumpy().astype(np.float64)))
        for name in setup.SHAPES
    }
    gluon_losses = train_gluon(images, labels, setup.STEPS)
    np.testing.assert_allclose(gluon_losses, losses, rtol=1e-5)
    long_losses, executor = train_symbol(images, labels, EPOCHS * (len(images) // 64))
    answer = {
        "mxnet": mx.__version__,
        "losses": [round(loss, 8) for loss in losses],
        "gluon_losses": [round(loss, 8) for loss in gluon_losses],
        "norms": {name: round(norm, 8) for name, norm in norms.items()},
        "last_loss_of_5_epochs": round(long_losses[-1], 8),
        "test_accuracy_after_5_epochs": accuracy(executor, *setup.digits(DIGITS, "t10k")),
    }
    (HERE / "lenet_losses.json").write_text(json.dumps(answer, indent=1) + "\n")
    print(json.dumps(answer, indent=1))


if __name__ == "__main__":
    main()
