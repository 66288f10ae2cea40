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
from hybridnet.gluon.types import Data, Operators


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


def arguments() -> None:
    """What may be given: checkers refuse none of it."""
    a = nd.zeros((3, 2), dtype=onp.float32)
    for dtype in ("float16", onp.dtype("int32"), float):
        a.astype(dtype)
    for index in (nd.array([0, 1]), [0, 1], onp.array([True, False, True]), (..., None), slice(2)):
        assert_type(a[index], nd.NDArray)
    a[0, 1] = onp.float32(3)
    a[1:] = [[5, 6], [7, 8]]
    assert_type(a.reshape(2, -1).reshape((3, 2)), nd.NDArray)
    p = np.array([[1, 2], [3, 4]], dtype=np.float32)
    made = [
        *(nd.maximum(a, 2), nd.power(2, a), nd.ones(3, dtype="float16"), nd.array(onp.arange(3))),
        nd.sparse.csr_matrix(([1.0], [1], [0, 1, 1, 1]), shape=(3, 2)),
        *(np.sum(p, axis=(0, 1), dtype="float64"), np.sum([1, 2]), np.add(p, 1, out=p)),
        *(np.concatenate((p, onp.ones((2, 2)))), np.where(p > 0, p, 0), np.clip(p, 0, None)),
        *(np.tensordot(p, p, axes=([0], [1])), np.einsum("ij,jk->ik", p, p)),
        *(np.insert(p, 1, 3, axis=0), np.delete(p, slice(1), axis=0), np.tile(p, (2, 1))),
        *(np.random.uniform(low=p, high=p + 1), np.linalg.norm(p, axis=1, ord=2)),
    ]
    assert all(isinstance(one, nd.NDArray) for one in made)
    x = sym.var("x", shape=(3, 2), dtype="float32")
    x.bind(mx.cpu(), {"x": a}, args_grad=[a.copy()], grad_req="add").forward()
    x.simple_bind(mx.cpu(), type_dict={"x": onp.float32}, grad_req={"x": "null"}, x=(3, 2))


def operators() -> None:
    """Operators as programs call them: by position, by name, with options, as text."""
    x = nd.arange(24).reshape((2, 3, 4))
    out = nd.zeros((2, 3, 4))
    assert_type(nd.clip(x, 0, 5), nd.NDArray)
    assert_type(nd.clip(data=x, a_min=0, a_max=5, out=out, name="clipped"), nd.NDArray)
    nd.relu(x, out=out)
    nd.sum(x, 1)
    nd.sum(x, axis=(0, 1), keepdims=True)
    nd.mean(x, axis="(0, 1)", exclude="true")
    nd.transpose(x, (2, 0, 1))
    nd.transpose(x, axes=[2, 0, 1])
    nd.reshape(x, (-1, 4))
    nd.reshape(x, shape=(0, -1), reverse=True)
    nd.one_hot(nd.array([1, 0]), 3)
    nd.take(x, nd.array([0]), 1, "wrap")
    nd.pick(nd.ones((2, 3)), nd.array([0, 1]), axis=1)
    nd.cast(x, onp.float64)
    nd.cast(x, dtype="float16")
    nd.stack(x, x, axis=-1)
    nd.stack([x, x])
    nd.concat(*[x, x], dim=0)
    nd.concat([x, x], dim=0)
    nd.add_n(x, x, x)
    nd.where(x > 3, x, x * 2)
    nd.dot(nd.ones((3, 2)), nd.ones((3, 2)), True)
    nd.batch_dot(x, x, transpose_b=True)
    nd.linalg.gemm2(x, x, transpose_b=True, alpha=onp.float32(2))
    nd.broadcast_add(*[x, x], out=out)
    nd.slice_axis(x, axis=2, begin=0, end=None)
    nd.slice(x, begin=(0, None, 1), end=(None, None, 3))
    nd.SliceChannel(x, num_outputs=3, axis=1)
    nd.topk(x, k=2, ret_typ="both", axis=1)
    nd.sparse.dot(nd.sparse.csr_matrix(([1.0], [1], [0, 1]), shape=(1, 3)), nd.ones((3, 2)))
    nd.contrib.arange_like(x, axis=0)
    nd.image.to_tensor(nd.ones((4, 4, 3)))
    nd.random.uniform(-1, 1, (2, 3), "float32", mx.cpu())
    nd.random.normal(loc=0, scale=nd.ones((2,)), shape=3)
    nd.random_uniform(low=0, high=1, shape=(2,), ctx="cpu(0)", dtype="float32")
    nd.maximum(lhs=x, rhs=onp.float32(3))
    layer = {"kernel": (3, 3), "num_filter": 4, "pad": [1, 1], "no_bias": True}
    images, filters = nd.ones((1, 2, 5, 5)), nd.ones((4, 2, 3, 3))
    assert_type(nd.Convolution(images, filters, **layer), nd.NDArray)
    nd.Convolution(images, filters, nd.zeros((4,)), (3, 3), num_filter=4)
    nd.Convolution(images, filters, no_bias=True, kernel="(3, 3)", num_filter="4", layout="NCHW")
    nd.FullyConnected(x, nd.ones((3, 12)), None, 3, True)
    nd.Pooling(images, kernel=(2, 2), stride=(2, 2), pool_type="max")
    window = {"kernel": (2, 2), "stride": (2, 2)}
    assert_type(nd.Pooling(images, pool_type="max", **window), nd.NDArray)
    nd.Convolution(images, filters, no_bias=onp.bool_(True), kernel=onp.array([3, 3]), num_filter=4)
    nd.sum(x, axis="(0, 1)", keepdims=1)
    nd.sum(x, axis=onp.int64(1)).sum(axis=[0], keepdims="True")
    nd.norm(x, ord=int(x.shape[0]) // 2, axis=x.ndim - 1)
    nd.Dropout(x, p=onp.float32(0.5), mode="always")
    nd.clip(x, a_min=onp.array(0.5), a_max=nd.array([3]).asscalar())
    nd.cast(nd.cast(x, dtype=onp.float16), dtype=x.dtype).astype(onp.dtype("int8"))
    nd.reshape(x, shape=(-1, *x.shape[1:])).reshape(shape=[-1, 1], reverse=False)
    kind: str = "tanh"
    nd.Activation(x, kind)
    nd.LeakyReLU(x, act_type="leaky", slope=0.1)
    nd.softmax(x, axis=-1, temperature=2)
    nd.Embedding(nd.array([1, 2]), nd.ones((4, 3)), input_dim=4, output_dim=3)
    weight, moment = nd.ones((3,)), nd.zeros((3,))
    rates = {"lr": 0.1, "wd": 0, "rescale_grad": 1.0}
    nd.sgd_update(weight, nd.ones((3,)), out=weight, **rates)
    states = [moment, nd.zeros((3,))]
    nd.adam_update(weight, nd.ones((3,)), *states, lr=0.1, out=weight)
    nd._internal._square_sum(x, axis=1)
    x.sum(1).mean(axis=0, keepdims=True).clip(0, 5).softmax()
    x.transpose(2, 0, 1).expand_dims(0).squeeze().flatten().slice_axis(0, 0, 2).tile((2, 2))
    x.take(nd.array([1]), axis=1).abs().sqrt().astype("int32")
    x.reshape_like(out).broadcast_like(out).repeat(2, axis=1).flip(axis=0)
    nd.ones((1, 3)).broadcast_to((2, 3)).one_hot(4).norm(ord=1).asscalar()


def graphs() -> None:
    """Operators on symbols, which make variables of what is not given."""
    x = sym.Variable("data", shape=(1, 2, 5, 5))
    layer = {"kernel": (3, 3), "num_filter": 4, "pad": (1, 1)}
    c = sym.Convolution(data=x, name="conv", **layer)
    c = sym.Convolution(c, sym.var("w"), None, (3, 3), num_filter=4, no_bias=True)
    c = sym.BatchNorm(c, fix_gamma=False, name="bn", attr={"__mark__": "1"})
    c = sym.Pooling(sym.Activation(c, "relu"), global_pool=True, kernel=(1, 1), pool_type="avg")
    h = sym.FullyConnected(sym.Flatten(c), num_hidden=3, name="fc")
    parts = sym.split(h, num_outputs=3, axis=1)
    assert_type(sym.concat(parts[0], parts[1], dim=1), sym.Symbol)
    sym.concat(*[parts[0], parts[1]], dim=1)
    sym.clip(h, 0, 1)
    sym.clip(h, a_min=0, a_max=1)
    sym.broadcast_add(h, sym.random.uniform(0, 1, shape=(1, 3)))
    sym.linalg.gemm2(h, h, transpose_b=True)
    sym.contrib.arange_like(h, axis=0)
    sym.relu()
    sym.np.concatenate([x.as_np_ndarray(), x.as_np_ndarray()])
    h.softmax(axis=1).sum(axis=1, name="total").mean(0).expand_dims(axis=0).reshape((1, -1))
    sym.SoftmaxOutput(h, sym.var("label"), normalization="batch", use_ignore=True, ignore_label=0)


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
    np.exp(p, where=p > 1, out=np.zeros(2))
    np.add(p, 1, p)
    np.maximum(p, onp.float32(2))
    np.mean(a=[[1, 2], [3, 4]], axis=0, keepdims=True)
    np.allclose(p, onp.ones(2), rtol=1e-3)
    np.random.uniform(0, 1, size=3, ctx=mx.cpu())
    np.linalg.svd(np.eye(2))
    npx.batch_dot(np.ones((1, 2, 3)), np.ones((1, 3, 2)))
    npx.fully_connected(np.ones((2, 3)), np.ones((4, 3)), num_hidden=4, no_bias=True)
    npx.one_hot(np.array([0, 1]), 3)
    npx.topk(p, k=1)
    npx.pick(np.ones((2, 3)), np.array([0, 1]))
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


class Scaled(gluon.HybridBlock):  # with the types that layers have
    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.scale = self.params.get("scale", shape=(units,), init="ones", dtype="float32")

    def hybrid_forward(self, F: Operators[Data], x: Data, scale: Data) -> Data:
        first, second = F.split(F.broadcast_mul(x, scale), num_outputs=2)
        return F.relu(first) + second * F.linalg.sumlogdiag(F.random.normal(shape=(1, 1)) ** 2)


class Loud(mx.image.Augmenter):
    def __call__(self, src: nd.NDArray) -> nd.NDArray:
        return src * 2


class Two(gluon.Block):
    def forward(self, x: nd.NDArray, y: nd.NDArray) -> tuple[nd.NDArray, nd.NDArray]:
        return x * y, x / y


def blocks() -> None:
    x = nd.ones((2, 5))
    net = Untyped()
    assert_type(net(x), nd.NDArray)
    assert_type(net(np.ones((2, 5))), np.ndarray)
    assert_type(net(sym.var("x")), sym.Symbol)
    scaled = Scaled(4, prefix="scaled_")
    scaled.initialize(mx.init.One())
    assert_type(scaled(nd.ones((3, 4))), nd.NDArray)
    assert_type(scaled(sym.var("x")), sym.Symbol)
    assert_type(scaled.scale.var(), sym.Symbol)
    product, ratio = Two()(x, x + 1)
    assert_type(product + ratio, nd.NDArray)
    cell = gluon.rnn.GRUCell(3)
    cell.initialize()
    out, states = cell(x, [nd.zeros((2, 3))])
    assert out.shape == states[0].shape
    assert_type(cell.state_info(4)[0]["shape"], tuple[int, ...])
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
    batches = mx.io.NDArrayIter({"data": x}, y, batch_size=2)
    assert_type(batches.next().data[0], nd.NDArray)
    batches.reset()
    assert_type(trainer.optimizer, mx.optimizer.Optimizer)
    slower = mx.lr_scheduler.FactorScheduler(10, base_lr=0.001)
    adam = mx.optimizer.Adam(beta1=0.8, wd=1e-4, lr_scheduler=slower)
    adam.set_lr_mult({"dense0_weight": 2.0})
    assert_type(adam.learning_rate, float)
    samples = gluon.data.ArrayDataset(x, y).transform_first(Loud())
    assert len(list(gluon.data.DataLoader(samples, batch_size=2))) == 2
    scores = sym.FullyConnected(sym.var("data"), num_hidden=3)
    module = mx.mod.Module(sym.SoftmaxOutput(scores, name="softmax"))
    module.bind([("data", (2, 5))], [("softmax_label", (2,))])
    module.init_params(mx.init.Xavier())
    assert_type(module.get_params(), tuple[dict[str, nd.NDArray], dict[str, nd.NDArray]])
    assert_type(module.score(batches, "acc"), list[tuple[str, float]])


def what_is_there() -> None:
    """What may be None elsewhere, and is not here, as the program knows."""
    w = nd.ones((3,))
    w.attach_grad()
    with autograd.record():
        loss = (w * w).sum()
    loss.backward()
    w -= 0.1 * w.grad
    assert w.grad.asnumpy().shape == (3,)
    batches = mx.io.NDArrayIter({"data": nd.ones((4, 3))}, nd.zeros((4,)), batch_size=3)
    for batch in batches:
        rows = batch.data[0].shape[0] - batch.pad
        assert rows >= len(batch.label) - 1
    dense = nn.Dense(2, in_units=3)
    dense.initialize()
    assert dense.bias.data().asnumpy().shape == (2,)
    net = gluon.model_zoo.vision.get_model("squeezenet1.0", classes=3)
    net.features[0].weight.lr_mult = 0.1
    data = {"x": w}
    assert sym.relu(sym.var("x")).eval(**data)[0].shape == (3,)


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
    arguments()
    operators()
    graphs()
    numpys()
    symbols()
    layers()
    blocks()
    training()
    what_is_there()
    functions()


if __name__ == "__main__":
    main()
