"""VGG-19 in four spellings: built, trained for some steps, saved, loaded, and asked for digits.

    python examples/vgg19.py                        # an eighth of its width, on 32 x 32 digits
    python examples/vgg19.py --width 1 --steps 20   # as in the paper: 39 million parameters here

The network is the one of Simonyan and Zisserman (2014, configuration E): sixteen convolutions of
3 x 3 with a ReLU each, five poolings, three dense layers. All four begin with the same weights and
see the same batches, so their losses are the same up to rounding, and the table shows that.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import hybridnet as mx
import hybridnet.compat.tf1 as tf
from hybridnet import autograd, gluon, nd, sym
from hybridnet.io.mnist import load_mnist

#: Channels and how many convolutions have them; a pooling that halves the image follows each.
STAGES = ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4))
HIDDEN = 4096
CLASSES = 10
SIZE = 32  # of the images, which the five poolings leave at 1 x 1

Weights = dict[str, np.ndarray]
Batch = tuple[np.ndarray, np.ndarray]
#: Trains, writes a file into the folder, reads it again: (losses, classes of the images asked for).
Spelling = Callable[["Run"], tuple[list[float], np.ndarray]]


@dataclass(frozen=True)
class Run:
    """What every spelling is given.

    Attributes:
        convolutions: (name, channels, whether a pooling follows), in order.
        denses: (name, outputs, whether a ReLU follows), in order.
        weights: by name, (out, in, 3, 3) or (out, in); biases are ``name_bias``.
        batches: images (n, 3, 32, 32) and labels (n,), as many as there are steps.
        asked: images to be classified after training.
        rate: of gradient descent on the mean cross entropy.
        folder: for files.
    """

    convolutions: list[tuple[str, int, bool]]
    denses: list[tuple[str, int, bool]]
    weights: Weights
    batches: list[Batch]
    asked: np.ndarray
    rate: float
    folder: Path


def eager(run: Run) -> tuple[list[float], np.ndarray]:
    """Arrays and a loop: the step is written out, and changes the weights in place."""
    weights = {name: nd.array(value) for name, value in run.weights.items()}
    for weight in weights.values():
        weight.attach_grad()

    def scores(held: dict[str, nd.NDArray], x: nd.NDArray) -> nd.NDArray:
        for name, channels, pools in run.convolutions:
            arrays = held[f"{name}_weight"], held[f"{name}_bias"]
            x = nd.relu(nd.Convolution(x, *arrays, kernel=(3, 3), pad=(1, 1), num_filter=channels))
            if pools:
                x = nd.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max")
        for name, outputs, has_relu in run.denses:
            arrays = held[f"{name}_weight"], held[f"{name}_bias"]
            x = nd.FullyConnected(x, *arrays, num_hidden=outputs)
            x = nd.relu(x) if has_relu else x
        return x

    losses = []
    for images, labels in run.batches:
        with autograd.record():
            chosen = nd.pick(nd.log_softmax(scores(weights, nd.array(images))), nd.array(labels))
            loss = -chosen.mean()
        loss.backward()
        for weight in weights.values():
            weight -= run.rate * weight.grad
        losses.append(float(loss.asscalar()))
    file = str(run.folder / "eager.params")
    nd.save(file, weights)
    return losses, scores(nd.load(file), nd.array(run.asked)).argmax(axis=1).asnumpy()


def blocks(run: Run) -> tuple[list[float], np.ndarray]:
    """Gluon: a block of blocks, compiled as one, and a trainer."""
    net = gluon.nn.HybridSequential(prefix="")
    with net.name_scope():
        for name, channels, pools in run.convolutions:
            net.add(gluon.nn.Conv2D(channels, 3, padding=1, activation="relu", prefix=f"{name}_"))
            if pools:
                net.add(gluon.nn.MaxPool2D(2, 2))
        for name, outputs, has_relu in run.denses:
            activation = "relu" if has_relu else None
            net.add(gluon.nn.Dense(outputs, activation=activation, prefix=f"{name}_"))
    net.initialize()
    net(nd.array(run.asked[:1]))  # the first images decide the shapes
    for name, parameter in net.collect_params().items():
        parameter.set_data(nd.array(run.weights[name]))
    net.hybridize()
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": run.rate})
    losses = []
    for images, labels in run.batches:
        with autograd.record():
            loss = loss_of(net(nd.array(images)), nd.array(labels))
        loss.backward()
        trainer.step(len(images))
        losses.append(float(loss.mean().asscalar()))
    prefix = str(run.folder / "gluon")
    net.export(prefix)  # the graph and the parameters, as MXNet writes them
    loaded = gluon.SymbolBlock.imports(f"{prefix}-symbol.json", ["data"], f"{prefix}-0000.params")
    return losses, loaded(nd.array(run.asked)).argmax(axis=1).asnumpy()


def symbols(run: Run) -> tuple[list[float], np.ndarray]:
    """The network as a graph, and `Module`, which binds it and trains it with an iterator."""
    x = sym.var("data")
    for name, channels, pools in run.convolutions:
        x = sym.Convolution(x, kernel=(3, 3), pad=(1, 1), num_filter=channels, name=name)
        x = sym.Activation(x, act_type="relu")
        if pools:
            x = sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max")
    for name, outputs, has_relu in run.denses:
        x = sym.FullyConnected(x, num_hidden=outputs, name=name)
        x = sym.Activation(x, act_type="relu") if has_relu else x
    images, labels = (np.concatenate(parts) for parts in zip(*run.batches, strict=True))
    size = len(run.batches[0][0])
    given = mx.io.NDArrayIter(images, labels, size)
    module = mx.mod.Module(sym.SoftmaxOutput(x, name="softmax"))
    losses = []
    module.fit(
        given,
        eval_metric=mx.metric.CrossEntropy(eps=1e-30),
        optimizer_params={"learning_rate": run.rate},
        arg_params={name: nd.array(value) for name, value in run.weights.items()},
        batch_end_callback=lambda state: losses.append(state.eval_metric.get()[1]),
        num_epoch=1,
    )
    # The metric is the mean over all batches until then: what each adds is its own loss.
    totals = np.arange(1, len(losses) + 1) * losses
    prefix = str(run.folder / "symbol")
    module.save_checkpoint(prefix, 1)
    loaded = mx.mod.Module.load(prefix, 1)
    loaded.bind([("data", run.asked.shape)], [("softmax_label", run.asked.shape[:1])], False)
    found = loaded.predict(mx.io.NDArrayIter(run.asked, None, len(run.asked)))
    return np.diff(totals, prepend=0).tolist(), found.argmax(axis=1).asnumpy()


def sessions(run: Run) -> tuple[list[float], np.ndarray]:
    """TensorFlow 1's names: placeholders, variables, an optimizer's node, and a session."""
    with tf.Graph().as_default():
        images = tf.placeholder(tf.float32, [None, SIZE, SIZE, 3])
        labels = tf.placeholder(tf.int32, [None])
        x = images
        for name, _, pools in run.convolutions:
            # TensorFlow's order: rows, columns, channels that come, channels that go.
            kernel = tf.Variable(run.weights[f"{name}_weight"].transpose(2, 3, 1, 0), name=name)
            bias = tf.Variable(run.weights[f"{name}_bias"], name=f"{name}_bias")
            x = tf.nn.relu(tf.nn.conv2d(x, kernel, strides=[1, 1, 1, 1], padding="SAME") + bias)
            if pools:
                x = tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
        x = tf.reshape(x, [-1, run.weights["fc6_weight"].shape[1]])
        for name, _, has_relu in run.denses:
            matrix = tf.Variable(run.weights[f"{name}_weight"].T, name=name)
            x = tf.matmul(x, matrix) + tf.Variable(run.weights[f"{name}_bias"], name=f"{name}_bias")
            x = tf.nn.relu(x) if has_relu else x
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)
        )
        step = tf.train.GradientDescentOptimizer(run.rate).minimize(loss)
        answer, saver, losses = tf.argmax(x, 1), tf.train.Saver(), []
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for shown, right in run.batches:
                fed = {images: shown.transpose(0, 2, 3, 1), labels: right}
                losses.append(float(session.run([loss, step], fed)[0]))
            file = saver.save(session, str(run.folder / "tf1"))
        with tf.Session() as session:
            saver.restore(session, file)
            found = session.run(answer, {images: run.asked.transpose(0, 2, 3, 1)})
    return losses, found


SPELLINGS: dict[str, Spelling] = {
    "eager": eager,
    "gluon": blocks,
    "symbol": symbols,
    "tf1": sessions,
}


def prepare(width: float, steps: int, batch: int, rate: float, folder: Path) -> Run:
    """Draws first weights (He et al. 2015) and takes batches of the digits that come with us."""
    convolutions = [
        (f"conv{stage}_{number}", max(1, int(channels * width)), number == count)
        for stage, (channels, count) in enumerate(STAGES, 1)
        for number in range(1, count + 1)
    ]
    hidden = max(1, int(HIDDEN * width))
    denses = [("fc6", hidden, True), ("fc7", hidden, True), ("fc8", CLASSES, False)]
    draw = np.random.default_rng(0)
    weights: Weights = {}
    inputs = 3
    for name, outputs, _ in [*convolutions, *denses]:
        shape = (outputs, inputs, 3, 3) if name.startswith("conv") else (outputs, inputs)
        scale = np.sqrt(2 / np.prod(shape[1:]))
        weights[f"{name}_weight"] = draw.normal(0, scale, shape).astype("float32")
        weights[f"{name}_bias"] = np.zeros(outputs, "float32")
        inputs = outputs
    images, labels, asked, _ = load_mnist()

    def pictures(digits: np.ndarray) -> np.ndarray:
        grey = np.pad(digits, ((0, 0), (2, 2), (2, 2))).astype("float32") / 255 - 0.13
        return np.repeat(grey[:, None], 3, axis=1)

    def drawn() -> Iterator[Batch]:
        for _ in range(steps):
            chosen = draw.choice(len(images), batch, replace=False)
            yield pictures(images[chosen]), labels[chosen].astype("int32")

    return Run(convolutions, denses, weights, [*drawn()], pictures(asked[:8]), rate, folder)


def main() -> None:
    """Runs the spellings that are asked for, and prints their losses side by side."""
    parser = argparse.ArgumentParser(description="VGG-19 in four spellings.")
    parser.add_argument("--spellings", nargs="+", choices=SPELLINGS, default=list(SPELLINGS))
    parser.add_argument("--width", type=float, default=0.125, help="of all layers (default 1/8)")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rate", type=float, default=0.03, help="of learning")
    options = parser.parse_args()
    print(f"{'':8}{'loss at each step':{9 * options.steps}} {'seconds':>8}  digits")
    with tempfile.TemporaryDirectory() as folder:
        run = prepare(options.width, options.steps, options.batch, options.rate, Path(folder))
        for name in options.spellings:
            started = time.perf_counter()
            losses, found = SPELLINGS[name](run)
            seconds = time.perf_counter() - started
            shown = "".join(f"{loss:9.5f}" for loss in losses)
            digits = " ".join(str(int(digit)) for digit in found)
            print(f"{name:8}{shown} {seconds:8.1f}  {digits}", flush=True)


if __name__ == "__main__":
    main()
