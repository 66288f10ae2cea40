"""Works of code that runs once: the same lines for MXNet and hybridnet.

Each takes the library, and the time before its import, and returns the seconds of what it measured.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["WORKS", "Seconds"]

Seconds = dict[str, float]
#: That are trained on.
SENTENCES = 300


def first_operator(mx: Any, started: float) -> Seconds:
    """From before the import until the first result is printed."""
    print((mx.nd.ones((2, 3)) * 2 + 1).asnumpy(), file=sys.stderr)
    return {"import and first operator": time.perf_counter() - started}


def operators(mx: Any, _: float) -> Seconds:
    """Ten ordinary operators, on shapes that never come again."""
    nd, draw = mx.nd, np.random.RandomState(0)
    times = []
    for number in range(200):
        rows, columns = 3 + number % 97, 4 + number % 89 + number // 97
        data = draw.rand(rows, columns).astype("float32")
        started = time.perf_counter()
        x = nd.array(data)
        y = nd.tanh(nd.dot(x, x.T))
        z = nd.softmax(y)
        z.sum(axis=1).wait_to_read()
        both = nd.transpose(nd.concat(y, z, dim=1))
        nd.slice(both, begin=(0, 0), end=(2, 2)).mean().asscalar()
        times.append(time.perf_counter() - started)
    return {"ten operators, new shapes": statistics.median(times[5:])}


def gradients(mx: Any, _: float) -> Seconds:
    """The same with a gradient, also on shapes that never come again."""
    nd, draw = mx.nd, np.random.RandomState(0)
    times = []
    for number in range(100):
        rows, columns = 3 + number % 97, 4 + number % 89
        data = draw.rand(rows, columns).astype("float32")
        started = time.perf_counter()
        x = nd.array(data)
        x.attach_grad()
        with mx.autograd.record():
            y = nd.softmax(nd.dot(nd.relu(x - 0.5), x.T)).max(axis=1).sum()
        y.backward()
        x.grad.asnumpy()
        times.append(time.perf_counter() - started)
    return {"six operators and gradients": statistics.median(times[5:])}


def _lstm(mx: Any, hidden: int) -> Any:
    nn = mx.gluon.nn

    class Cell(mx.gluon.Block):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(100, 32)
            self.inner = nn.Dense(4 * hidden, in_units=32)
            self.outer = nn.Dense(4 * hidden, in_units=hidden)
            self.last = nn.Dense(100, in_units=hidden)

        def forward(self, sentence: Any) -> Any:
            nd, batch = mx.nd, sentence.shape[0]
            h = c = nd.zeros((batch, hidden))
            words = self.words(sentence)
            for t in range(sentence.shape[1]):
                gates = self.inner(words[:, t]) + self.outer(h)
                i, f, g, o = nd.split(gates, num_outputs=4, axis=1)
                c = nd.sigmoid(f) * c + nd.sigmoid(i) * nd.tanh(g)
                h = nd.sigmoid(o) * nd.tanh(c)
            return self.last(h)

    return Cell()


def sentences(mx: Any, _: float) -> Seconds:
    """An LSTM cell in a loop over the words of sentences of 5 to 60, trained."""
    draw = np.random.RandomState(0)
    net = _lstm(mx, 64)
    net.initialize()
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    started = time.perf_counter()
    for _number in range(SENTENCES):
        length = draw.randint(5, 61)
        x = mx.nd.array(draw.randint(0, 100, (16, length)))
        y = mx.nd.array(draw.randint(0, 100, 16))
        with mx.autograd.record():
            cost = loss(net(x), y)
        cost.backward()
        trainer.step(16)
        cost.mean().asscalar()
    return {"LSTM cells, a sentence": (time.perf_counter() - started) / SENTENCES}


def trees(mx: Any, _: float) -> Seconds:
    """A recursion over trees, each another one, with gradients."""
    nd, draw = mx.nd, np.random.RandomState(0)
    weight = nd.array(draw.rand(64, 32).astype("float32") - 0.5)
    weight.attach_grad()

    def value(depth: int) -> Any:
        if depth == 0 or (depth < 5 and draw.rand() < 0.2):
            return nd.array(draw.rand(1, 32))
        return nd.tanh(nd.dot(nd.concat(value(depth - 1), value(depth - 1), dim=1), weight))

    started = time.perf_counter()
    for _number in range(50):
        with mx.autograd.record():
            y = value(5).sum()
        y.backward()
        weight.grad.asnumpy()
    return {"trees, each": (time.perf_counter() - started) / 50}


def _steps(mx: Any, net: Any, batches: Any, name: str) -> Seconds:
    """Trains on batches in turn, with the loss read; the first step, and twenty of them."""
    started = time.perf_counter()
    net.initialize(mx.init.Xavier())
    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.05})
    loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    first = 0.0
    for number in range(20):
        x, y = batches[number % len(batches)]
        with mx.autograd.record():
            cost = loss(net(x), y)
        cost.backward()
        trainer.step(len(x))
        cost.mean().asscalar()
        first = first or time.perf_counter() - started
    return {f"{name}, first step": first, f"{name}, 20 steps": time.perf_counter() - started}


def resnet(mx: Any, _: float) -> Seconds:
    """ResNet-18 on 32x32 images, batches in turn, the loss read."""
    nn, draw = mx.gluon.nn, np.random.RandomState(0)

    class Residual(mx.gluon.HybridBlock):  # type: ignore[misc]
        def __init__(self, channels: int, stride: int, before: int) -> None:
            super().__init__()
            self.body = nn.HybridSequential()
            self.body.add(
                nn.Conv2D(channels, 3, stride, 1, use_bias=False, in_channels=before),
                nn.BatchNorm(in_channels=channels),
                nn.Activation("relu"),
                nn.Conv2D(channels, 3, 1, 1, use_bias=False, in_channels=channels),
                nn.BatchNorm(in_channels=channels),
            )
            self.down = None
            if stride != 1 or before != channels:
                self.down = nn.HybridSequential()
                self.down.add(
                    nn.Conv2D(channels, 1, stride, use_bias=False, in_channels=before),
                    nn.BatchNorm(in_channels=channels),
                )

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            return F.Activation(self.body(x) + (self.down(x) if self.down else x), act_type="relu")

    net, before = nn.HybridSequential(), 64
    net.add(nn.Conv2D(64, 3, 1, 1, use_bias=False, in_channels=3), nn.BatchNorm(in_channels=64))
    net.add(nn.Activation("relu"))
    for channels, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        net.add(Residual(channels, stride, before), Residual(channels, 1, channels))
        before = channels
    net.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(10, in_units=512))
    batches = [
        (mx.nd.array(draw.rand(32, 3, 32, 32)), mx.nd.array(draw.randint(0, 10, 32)))
        for _ in range(4)
    ]
    return _steps(mx, net, batches, "ResNet-18")


def notebook(mx: Any, _: float) -> Seconds:
    """A session: sixty operators, each once and on a shape of its own, half with gradients."""
    nd, draw = mx.nd, np.random.RandomState(0)

    def some(*shape: int) -> Any:
        return nd.array(draw.uniform(0.2, 0.9, shape))

    def of(*names: str) -> list[Callable[[int], tuple[Any, Any]]]:
        return [lambda n, name=name: (getattr(nd, name), [some(n, n + 1)]) for name in names]

    # Each takes a number, by which its shapes are new, and gives a function and its inputs.
    smooth = [
        *of("exp", "log", "sqrt", "tanh", "sigmoid", "square", "relu", "softmax", "log_softmax"),
        *of("sum", "mean", "max", "norm", "arctan", "cbrt", "erf", "softsign"),
        lambda n: (nd.dot, [some(n, 7), some(7, n)]),
        lambda n: (nd.batch_dot, [some(3, n, 4), some(3, 4, n)]),
        lambda n: (nd.broadcast_add, [some(n, 1), some(1, n)]),
        lambda n: (nd.broadcast_mul, [some(n, 5), some(1, 5)]),
        lambda n: (nd.elemwise_sub, [some(n, 3), some(n, 3)]),
        lambda n: (lambda *x: nd.concat(*x, dim=1), [some(n, 2), some(n, 3)]),
        lambda n: (lambda *x: nd.stack(*x, axis=1), [some(n, 2), some(n, 2)]),
        lambda n: (lambda x: nd.transpose(x, (1, 0, 2)), [some(n, 2, 3)]),
        lambda n: (lambda x: x.reshape((-1, 2)), [some(n, 4)]),
        lambda n: (lambda x: x[1:, ::2], [some(n, 6)]),
        lambda n: (lambda x: nd.take(x, nd.array([0, 2, 1])), [some(n, 4)]),
        lambda n: (lambda x, w, b: nd.FullyConnected(x, w, b, num_hidden=5),
                   [some(n, 8), some(5, 8), some(5)]),
        lambda n: (lambda x, w, b: nd.Convolution(x, w, b, kernel=(3, 3), num_filter=4),
                   [some(2, 3, n, n), some(4, 3, 3, 3), some(4)]),
        lambda n: (lambda x: nd.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max"),
                   [some(2, 3, n, n)]),
        lambda n: (lambda x, g, b: nd.LayerNorm(x, g, b), [some(4, n), some(n), some(n)]),
    ]  # fmt: skip
    plain = [
        *of("sign", "floor", "ceil", "round", "argmax", "argmin", "argsort", "sort", "degrees"),
        *of("zeros_like", "ones_like", "shape_array", "prod", "min", "log1p", "expm1", "rsqrt"),
        lambda n: (lambda x: nd.topk(x, k=2), [some(n, 5)]),
        lambda n: (lambda x: nd.one_hot(x, 6), [some(n)]),
        lambda n: (lambda x: nd.clip(x, 0.3, 0.6), [some(n, 3)]),
        lambda n: (lambda x: nd.tile(x, (2, 3)), [some(n, 2)]),
        lambda n: (lambda x: nd.repeat(x, 3, axis=1), [some(n, 2)]),
        lambda n: (lambda x: nd.flip(x, axis=1), [some(n, 3)]),
        lambda n: (lambda x: nd.expand_dims(x, 1), [some(n, 3)]),
        lambda n: (lambda x: nd.pad(x, mode="constant", pad_width=(0, 0, 0, 0, 1, 1, 2, 2)),
                   [some(1, 2, n, 3)]),
        lambda n: (lambda x, y: nd.where(x > y, x, y), [some(n, 3), some(n, 3)]),
        lambda n: (lambda x: nd.diag(x), [some(n, n)]),
        lambda n: (lambda x: nd.linalg.potrf(nd.dot(x, x.T) + nd.eye(n)), [some(n, n)]),
    ]  # fmt: skip
    started = time.perf_counter()
    for number, make in enumerate(smooth):
        function, inputs = make(8 + number)
        for x in inputs:
            x.attach_grad()
        with mx.autograd.record():
            y = function(*inputs)
        y.backward()
        inputs[0].grad.asnumpy()
    for number, make in enumerate(plain):
        function, inputs = make(11 + number)
        function(*inputs).asnumpy()
    assert len(smooth) + len(plain) >= 60
    return {"a notebook of 60 operators": time.perf_counter() - started}


def boxes(mx: Any, _: float) -> Seconds:
    """What follows a detector: scores, the best of them, and suppression; counts vary."""
    nd, draw = mx.nd, np.random.RandomState(0)
    times = []
    for _number in range(60):
        count = draw.randint(40, 300)
        corners = draw.rand(count, 2).astype("float32")
        given = np.concatenate([corners, corners + 0.1 + 0.1 * draw.rand(count, 2)], 1)
        logits = draw.normal(size=(count, 8)).astype("float32")
        started = time.perf_counter()
        scores = nd.softmax(nd.array(logits))
        best, label = scores.max(axis=1), scores.argmax(axis=1)
        order = nd.topk(best, k=min(100, count))
        rows = nd.concat(
            label.take(order).expand_dims(1), best.take(order).expand_dims(1),
            nd.array(given).take(order), dim=1,
        )  # fmt: skip
        kept = nd.contrib.box_nms(rows, overlap_thresh=0.5, valid_thresh=0.2, id_index=0)
        found = int((kept[:, 0] >= 0).sum().asscalar())
        kept[:found].asnumpy()
        times.append(time.perf_counter() - started)
    return {"boxes after a detector": sum(times[3:]) / len(times[3:])}


def transformer(mx: Any, _: float) -> Seconds:
    """An encoder of four layers (Vaswani et al., 2017) that predicts a word at each place."""
    nn, draw = mx.gluon.nn, np.random.RandomState(0)
    units, heads, words = 128, 4, 1000

    class Layer(mx.gluon.HybridBlock):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.query, self.key, self.value, self.out = (
                nn.Dense(units, flatten=False, in_units=units) for _ in range(4)
            )
            self.wide = nn.Dense(4 * units, activation="relu", flatten=False, in_units=units)
            self.narrow = nn.Dense(units, flatten=False, in_units=4 * units)
            self.first, self.second = (nn.LayerNorm(in_channels=units) for _ in range(2))

        def hybrid_forward(self, F: Any, x: Any) -> Any:
            def of_heads(y: Any) -> Any:
                split = F.transpose(F.reshape(y, (0, 0, heads, -1)), (0, 2, 1, 3))
                return F.reshape(split, (-3, 0, 0))

            query, key, value = map(of_heads, (self.query(x), self.key(x), self.value(x)))
            scores = F.batch_dot(query, key, transpose_b=True) / (units // heads) ** 0.5
            seen = F.reshape(F.batch_dot(F.softmax(scores), value), (-4, -1, heads, 0, 0))
            x = self.first(x + self.out(F.reshape(F.transpose(seen, (0, 2, 1, 3)), (0, 0, -3))))
            return self.second(x + self.narrow(self.wide(x)))

    net = nn.HybridSequential()
    net.add(nn.Embedding(words, units), *(Layer() for _ in range(4)))
    net.add(nn.Dense(words, flatten=False, in_units=units))
    batches = [
        tuple(mx.nd.array(draw.randint(0, words, (16, 32))) for _ in range(2)) for _ in range(4)
    ]
    return _steps(mx, net, batches, "transformer")


def language_model(mx: Any, _: float) -> Seconds:
    """Two LSTM layers over 35 words at a time (Zaremba et al., 2014, small)."""
    nn, draw = mx.gluon.nn, np.random.RandomState(0)
    units, words, length, batch = 200, 2000, 35, 20

    class Model(mx.gluon.Block):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(words, units)
            self.weights = self.params.get("weights", shape=(2 * 4 * units * (2 * units + 2),))
            self.last = nn.Dense(words, flatten=False, in_units=units)

        def forward(self, sentences: Any) -> Any:
            begin = mx.nd.zeros((2, batch, units))
            x = mx.nd.transpose(self.words(sentences), (1, 0, 2))
            h = mx.nd.RNN(
                x, self.weights.data(), begin, begin, mode="lstm", state_size=units, num_layers=2
            )
            return mx.nd.transpose(self.last(h), (1, 0, 2))

    net = Model()
    net.weights.init = mx.init.Uniform(0.1)
    batches = [
        tuple(mx.nd.array(draw.randint(0, words, (batch, length))) for _ in range(2))
        for _ in range(4)
    ]
    return _steps(mx, net, batches, "language model")


WORKS: dict[str, Callable[[Any, float], Seconds]] = {
    "import": first_operator,
    "operators": operators,
    "gradients": gradients,
    "sentences": sentences,
    "trees": trees,
    "notebook": notebook,
    "boxes": boxes,
    "resnet": resnet,
    "transformer": transformer,
    "language-model": language_model,
}
