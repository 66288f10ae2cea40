"""What users write, with the types that their editors and checkers are told.

`test_user_script.py` runs it, and `.ci/types` has it checked: ``assert_type`` does nothing else.
"""

from __future__ import annotations

from typing import Any, assert_type

import numpy as onp

import hybridnet as hn
import hybridnet as mx
from hybridnet import autograd, gluon, nd, np, npx, sym
from hybridnet.gluon import nn


def arrays() -> None:
    a = nd.array([[1.0, 2.0], [3.0, 4.0]])
    assert_type(a, nd.NDArray)
    assert_type(a + 1, nd.NDArray)
    assert_type(2 / a, nd.NDArray)
    assert_type(-a * a, nd.NDArray)
    assert_type(a**2 > 1, nd.NDArray)
    assert_type(a == a, nd.NDArray)
    assert_type(a[0], nd.NDArray)
    assert_type(a[:, 1].sum(), nd.NDArray)
    assert_type(a.mean(axis=1).reshape((2, 1)), nd.NDArray)
    assert_type(a.T.expand_dims(0), nd.NDArray)
    assert_type(a.as_in_context(mx.cpu()).astype("float16"), nd.NDArray)
    assert_type(a.asnumpy(), onp.ndarray[Any, Any])
    assert_type(a.shape, tuple[int, ...])
    assert_type(float(a.sum()), float)
    assert_type(nd.dot(a, a), nd.NDArray)
    assert_type(nd.concat(a, nd.relu(a), dim=1), nd.NDArray)
    assert_type(nd.zeros((2, 3)), nd.NDArray)
    assert_type(nd.random.normal(0, 1, shape=(2, 3)), nd.NDArray)
    assert_type(nd.random.randint(0, 9, (2,)), nd.NDArray)
    a += 1
    a[0] = 3
    assert_type(a, nd.NDArray)
    for row in a:
        assert_type(row, nd.NDArray)
    first, _ = nd.split(a, 2)
    first.wait_to_read()


def numpys() -> None:
    p = mx.np.array([1.0, 2.0])
    assert_type(p, mx.np.ndarray)
    assert_type(p + 1, mx.np.ndarray)
    assert_type(-p > 0, mx.np.ndarray)
    assert_type(p[0], mx.np.ndarray)
    assert_type(p.as_nd_ndarray(), nd.NDArray)
    assert_type(p.sum(axis=0).reshape(1, -1).astype("float64"), mx.np.ndarray)
    assert_type(np.zeros((2, 3)), np.ndarray)
    assert_type(np.dot(p, p) + np.exp(p).mean(), np.ndarray)
    assert_type(np.concatenate([p, np.arange(3)]), np.ndarray)
    assert_type(np.split(p, 2), list[np.ndarray])
    assert_type(np.random.normal(0, 1, size=(2, 3)), np.ndarray)
    assert_type(np.linalg.norm(p), np.ndarray)
    assert_type(npx.relu(p), np.ndarray)
    assert_type(npx.softmax(np.ones((2, 3)), axis=1), np.ndarray)
    half: float = np.pi / 2
    assert half < 2 and np.zeros(2, dtype=np.int32).dtype == np.int32


def symbols() -> None:
    x = sym.var("x")
    assert_type(x, sym.Symbol)
    assert_type(x * 2, sym.Symbol)
    assert_type(1 - x, sym.Symbol)
    assert_type(-x == x, sym.Symbol)
    assert_type(x.sum(), sym.Symbol)
    h = sym.Activation(sym.FullyConnected(x, num_hidden=3), act_type="relu")
    assert_type(h, sym.Symbol)
    out = sym.SoftmaxOutput(h, name="softmax")
    assert_type(out.list_arguments(), list[str])
    assert_type(out.tojson(), str)
    executor = out.simple_bind(hn.cpu(), x=(2, 5), softmax_label=(2,))
    assert_type(executor, mx.executor.Executor)
    assert_type(executor.forward(is_train=True)[0], nd.NDArray)
    assert_type(executor.arg_dict["x"], nd.NDArray)
    assert_type(sym.Group([x, out])[0], sym.Symbol)


def layers() -> None:
    net = nn.HybridSequential()
    net.add(nn.Conv2D(4, kernel_size=3), nn.BatchNorm(), nn.MaxPool2D(), nn.Dense(3))
    net.initialize()
    x = nd.ones((2, 1, 8, 8))
    assert_type(net(x), nd.NDArray)
    assert_type(nn.Flatten()(np.ones((2, 3, 4))), np.ndarray)
    assert_type(nn.Activation("relu")(sym.var("x")), sym.Symbol)
    assert_type(gluon.loss.L2Loss()(net(x), nd.zeros((2, 3))), nd.NDArray)
    assert_type(gluon.nn.Dense(2), nn.Dense)


class Net(gluon.HybridBlock):
    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.dense = nn.Dense(3)

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        return self.dense(x)


class Untyped(gluon.HybridBlock):  # as most scripts write it
    def hybrid_forward(self, F, x):  # type: ignore[no-untyped-def]
        return F.relu(x)


class Two(gluon.Block):
    def forward(self, x: nd.NDArray, y: nd.NDArray) -> tuple[nd.NDArray, nd.NDArray]:
        return x * y, x / y


def blocks() -> None:
    x = nd.ones((2, 5))
    net = Untyped()
    assert_type(net(x), nd.NDArray)
    assert_type(net(np.ones((2, 5))), np.ndarray)
    assert_type(net(sym.var("x")), sym.Symbol)
    product, ratio = Two()(x, x + 1)
    assert_type(product + ratio, nd.NDArray)
    cell = gluon.rnn.GRUCell(3)
    cell.initialize()
    out, states = cell(x, [nd.zeros((2, 3))])
    assert out.shape == states[0].shape
    layer = gluon.rnn.LSTM(3)
    layer.initialize()
    words = nd.ones((4, 2, 5))
    assert_type(layer(words), nd.NDArray)
    begin = [nd.zeros((1, 2, 3)), nd.zeros((1, 2, 3))]
    assert_type(layer(words, begin), tuple[nd.NDArray, list[nd.NDArray]])


def training() -> None:
    net = Net()
    assert_type(mx.init.Xavier(), mx.initializer.Xavier)
    net.initialize(mx.init.Xavier(), ctx=mx.cpu())
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    x, y = nd.ones((4, 5)), nd.zeros((4,))
    with autograd.record():
        loss = gluon.loss.SoftmaxCrossEntropyLoss()(net(x), y)
    loss.backward()
    assert_type(net(x), nd.NDArray)
    assert_type(loss, nd.NDArray)
    trainer.step(4)
    assert_type(trainer.learning_rate, float)
    assert_type(net.collect_params(), gluon.ParameterDict)
    assert_type(net.dense.weight.data(), nd.NDArray)
    assert_type(net.dense.weight.grad(), nd.NDArray)
    assert_type(autograd.is_recording(), bool)
    accuracy = mx.metric.Accuracy()
    accuracy.update([y], [net(x)])
    assert_type(accuracy, mx.metric.Accuracy)
    assert_type(accuracy.get(), tuple[Any, Any])
    assert_type(mx.metric.create("acc"), mx.metric.EvalMetric)
    batch = mx.io.NDArrayIter(x, y, batch_size=2).next()
    assert_type(batch.data[0], nd.NDArray)


@hn.function
def product(x: nd.NDArray, y: nd.NDArray) -> nd.NDArray:
    return nd.dot(x, y)


@hn.function(name="counted")
def with_size(x: nd.NDArray, *, factor: int = 2) -> tuple[nd.NDArray, int]:
    return x * factor, x.size


class Model:
    @hn.function
    def step(self, x: nd.NDArray) -> nd.NDArray:
        return x + 1


def functions() -> None:
    x = nd.ones((2, 2))
    assert_type(product(x, x), nd.NDArray)
    assert_type(with_size(x, factor=3), tuple[nd.NDArray, int])
    assert_type(Model().step(x), nd.NDArray)
    with hn.GradientTape() as tape:
        tape.watch(x)
        loss = product(x, x).sum()
    gradient: nd.NDArray = tape.gradient(loss, x)
    assert_type(gradient.asnumpy(), onp.ndarray[Any, Any])


def main() -> None:
    arrays()
    numpys()
    symbols()
    layers()
    blocks()
    training()
    functions()


if __name__ == "__main__":
    main()
