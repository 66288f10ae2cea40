"""`np.ndarray`: indexing, arithmetic, protocols, memory shared with `nd`, gradients, traces."""

from __future__ import annotations

import pickle

import numpy as onp
import pytest
from op_sample import words as _words

import hybridnet as mx
from hybridnet import autograd, gluon, nd, np, npx
from hybridnet.gluon import nn


@pytest.fixture
def numpy_mode():
    npx.set_np()
    yield
    npx.reset_np()


def _x():
    return np.array([[1, 2, 3], [4, 5, 6]])


def test_default_dtypes_are_mxnets():
    for made in (
        np.array([1, 2]), np.array(3), np.arange(3), np.zeros(2), np.full((2,), 3),
        np.linspace(0, 1),
        np.array(True), np.random.normal(size=2), np.eye(2), np.arange(3) / 2,
    ):  # fmt: skip
        assert made.dtype == onp.float32
    assert np.array(onp.array([1, 2])).dtype == onp.int64
    assert np.array(onp.array([1.5])).dtype == onp.float64
    assert np.array(onp.float64(1.5)).dtype == onp.float64
    assert np.add(np.ones(2), onp.float64(1.5)).dtype == onp.float32
    assert np.ones(2).as_in_ctx(ctx=mx.cpu(1)).context == mx.cpu(1)
    assert np.zeros(2, dtype=int).dtype == onp.int64
    assert np.ones(2, dtype=float).dtype == onp.float64
    assert np.full((2,), True).dtype == onp.bool_
    assert np.random.randint(5, size=3).dtype == onp.int64
    ints = np.array([1, 2], dtype="int32")
    assert (ints / 2).dtype == onp.float32
    assert (ints * 2.5).tolist() == [2, 4]  # the number takes the dtype of integers
    assert (ints + np.ones(2)).dtype == onp.float32
    assert np.mean(ints).dtype == onp.float32


def test_arrays_without_dimensions_are_not_iterable():
    assert not onp.iterable(np.array(1))  # as matplotlib asks
    assert [int(row[0]) for row in np.array([[1], [2]])] == [1, 2]


def test_arrays_print_as_in_mxnet():
    assert repr(np.array([1, 2.5])) == "array([1. , 2.5])"
    long = "array([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11.])"
    assert repr(np.arange(12)) == long  # NumPy has the dtype in a line of its own
    pinned = np.array([1, 2], ctx=mx.cpu_pinned(0))
    assert str(pinned) == "[1. 2.] @cpu_pinned(0)"
    assert repr(pinned) == "array([1., 2.], ctx=cpu_pinned(0))"
    assert repr(np.array([1], dtype="int64")) == "array([1], dtype=int64)"
    assert repr(np.array([True]) > 0) == "array([ True])"
    assert str(np.zeros((0, 2))) == "[]"
    assert f"{np.array(1.25):.1f}" == "1.2"


@pytest.mark.parametrize(
    "key",
    [0, -1, (0, 1), (1, slice(None)), slice(0, 0), (Ellipsis, 0), None, (slice(None), [0, 2]),
     (slice(None, None, -1), 1), [1, 0], (Ellipsis, 1, 2), (0, Ellipsis, 1), Ellipsis],
)  # fmt: skip
def test_parts_have_numpys_shapes(key):
    x = _x()
    host = x.asnumpy()
    part = x[key]
    assert type(part) is np.ndarray
    assert part.shape == host[key].shape
    onp.testing.assert_array_equal(part.asnumpy(), host[key])


def test_masks_and_assignment():
    x = _x()
    assert x[x > 4].tolist() == [5, 6]
    x[x > 4] = 0
    x[0, 1] = 9
    x[:, 0] = np.array([7.0, 8.0])
    assert x.tolist() == [[7, 9, 3], [8, 0, 0]]
    row = x[1]
    row += 1
    assert x[1].tolist() == [9, 1, 1]  # a row is a view
    assert x[0, 0].item() == 7
    assert [one.shape for one in x] == [(3,), (3,)]
    with pytest.raises(IndexError, match="out of bounds"):
        x[2]
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x > 1)


def test_arithmetic_on_numpys_terms():
    x, flags = _x(), np.array([True, False, True], dtype="bool")
    assert (x > 2).dtype == onp.bool_
    assert (~flags).tolist() == [False, True, False]
    assert (flags & np.array([True, True, False], dtype="bool")).tolist() == [True, False, False]
    assert (flags | False).tolist() == [True, False, True]
    assert (x @ x.T).tolist() == [[14, 32], [32, 77]]
    assert (2 - x)[0].tolist() == [1, 0, -1]
    assert (2**x)[0].tolist() == [2, 4, 8]
    assert (7 % x)[0].tolist() == [0, 1, 1]
    assert (1 / np.array([2, 4], dtype="int32")).tolist() == [0.5, 0.25]
    assert (x + onp.ones((2, 3))).shape == (2, 3)
    assert (onp.ones(3, "float32") + x)[0].tolist() == [2, 3, 4]
    assert type(x + nd.ones((2, 3))) is np.ndarray
    x /= 2
    x **= 2
    assert x[0].tolist() == [0.25, 1, 2.25]
    assert round(np.array([1.26]), 1).item() == pytest.approx(1.3)


def test_numpys_protocols():
    x = _x()
    for made, wanted in (
        (onp.concatenate([x, x]), [[1, 2, 3], [4, 5, 6]] * 2),
        (onp.mean(x, axis=0), [2.5, 3.5, 4.5]),
        (onp.add(x, 1), [[2, 3, 4], [5, 6, 7]]),
        (onp.linalg.norm(x), onp.sqrt(91)),
        (onp.median(x), 3.5),  # np has none: on the host
    ):
        onp.testing.assert_allclose(onp.asarray(made), wanted, rtol=1e-6)
    assert type(onp.stack([x, x])) is np.ndarray
    out = np.zeros((2, 3))
    assert onp.add(x, x, out=out) is out
    assert out[1].tolist() == [8, 10, 12]
    with pytest.raises(TypeError):
        onp.add.reduce(x)
    x.attach_grad()
    with autograd.record():
        loss = onp.sum(onp.square(x))
    loss.backward()
    assert x.grad.tolist() == [[2, 4, 6], [8, 10, 12]]


def test_both_kinds_of_arrays_share_memory_and_tape():
    a = nd.ones((2, 2))
    b = a.as_np_ndarray()
    assert type(b) is np.ndarray
    assert b.as_nd_ndarray().as_np_ndarray() is not b
    assert np.shares_memory(a, b)
    b[0] = 5
    assert a.asnumpy()[0].tolist() == [5, 5]
    b.attach_grad()
    with autograd.record():
        loss = (b.as_nd_ndarray() * 2).as_np_ndarray().sum()
    loss.backward()
    assert type(b.grad) is np.ndarray
    assert b.grad.asnumpy().tolist() == [[2, 2], [2, 2]]
    assert type(nd.relu(b)) is np.ndarray  # what operators make of np arrays are np arrays
    assert type(pickle.loads(pickle.dumps(b))) is np.ndarray


def test_gradients_reach_arrays_without_dimensions():
    x = np.array(2.0)
    x.attach_grad()
    with autograd.record():
        y = x**3 + x[...]
    y.backward()
    assert x.grad.shape == ()
    assert x.grad.item() == 13
    with autograd.record():
        (first,) = autograd.grad(x**3, [x], create_graph=True)
    first.backward()
    assert type(first) is np.ndarray
    assert x.grad.item() == 12


@pytest.mark.parametrize("name", _words("shape dtype size ndim T context"))
def test_attributes_of_arrays_without_elements(name):
    empty = np.zeros((0, 3), dtype="int32")
    facts = {"shape": (0, 3), "dtype": onp.int32, "size": 0, "ndim": 2, "context": mx.cpu()}
    assert (empty.T.shape == (3, 0)) if name == "T" else getattr(empty, name) == facts[name]


def test_methods_are_numpys():
    x = _x()
    host = x.asnumpy()
    for name, args in (
        ("sum", (0,)), ("mean", (1,)), ("max", ()), ("min", (0,)), ("prod", ()), ("std", ()),
        ("var", (1,)), ("argmax", (1,)), ("argmin", ()), ("cumsum", (0,)), ("any", ()),
        ("all", (0,)),
        ("reshape", (3, -1)), ("flatten", ()), ("transpose", (1, 0)), ("swapaxes", (0, 1)),
        ("squeeze", ()), ("repeat", (2, 0)), ("clip", (2, 4)), ("round", (0,)), ("argsort", (0,)),
        ("take", (onp.array([0, 5]),)), ("dot", (host.T,)), ("astype", ("int32",)), ("copy", ()),
        ("nonzero", ()),
    ):  # fmt: skip
        got, wanted = getattr(x, name)(*args), getattr(host, name)(*args)
        onp.testing.assert_allclose(onp.asarray(got), wanted, rtol=1e-6, err_msg=name)
    y = np.array([3.0, 1.0, 2.0])
    y.sort()
    assert y.tolist() == [1, 2, 3]
    assert x.item(4) == 5
    assert x.tolist() == host.tolist()
    assert y.broadcast_to((2, 3)).shape == (2, 3)
    with pytest.raises(ValueError, match="one element"):
        x.item()


def test_random_numbers_follow_the_seed_and_broadcast():
    npx.random.seed(seed=7)
    first = np.random.normal(np.zeros((2, 1)), np.array([1.0, 2.0, 3.0])).asnumpy()
    npx.random.seed(7)
    assert (np.random.normal(np.zeros((2, 1)), np.array([1.0, 2.0, 3.0])).asnumpy() == first).all()
    assert first.shape == (2, 3)
    assert np.random.uniform().shape == ()
    assert np.random.rand(2, 0).shape == (2, 0)
    assert npx.random.normal_n(np.zeros(2), 1.0, batch_shape=(3,)).shape == (3, 2)
    scale = np.array(2.0)
    scale.attach_grad()
    with autograd.record():
        x = np.random.normal(1.0, scale, size=(4,))
    x.backward()
    assert scale.grad.item() == pytest.approx(float((x.asnumpy() - 1).sum() / 2), rel=1e-4)
    with pytest.raises(mx.MXNetError, match="must broadcast to size"):
        np.random.uniform(np.zeros(3), 1.0, size=(2,))


_MOMENTS = {
    "uniform": ((-1.0, 3.0), 1.0, 4 / 3),
    "normal": ((0.5, 2.0), 0.5, 4.0),
    "lognormal": ((0.0, 0.25), onp.exp(1 / 32), (onp.exp(1 / 16) - 1) * onp.exp(1 / 16)),
    "logistic": ((1.0, 0.5), 1.0, onp.pi**2 / 12),
    "gumbel": ((0.0, 1.0), 0.5772157, onp.pi**2 / 6),
    "exponential": ((2.0,), 2.0, 4.0),
    "rayleigh": ((1.0,), onp.sqrt(onp.pi / 2), 2 - onp.pi / 2),
    "weibull": ((1.0,), 1.0, 1.0),
    "pareto": ((5.0,), 0.25, 5 / 48),
    "power": ((2.0,), 2 / 3, 1 / 18),
    "gamma": ((3.0, 0.5), 1.5, 0.75),
    "beta": ((2.0, 3.0), 0.4, 0.04),
    "chisquare": ((3.0,), 3.0, 6.0),
}


def test_distributions_have_their_moments():
    npx.random.seed(1)
    drawn = {n: getattr(np.random, n)(*args, size=10000) for n, (args, *_) in _MOMENTS.items()}
    for name, (_, mean, variance) in _MOMENTS.items():
        x = drawn[name].asnumpy().astype("float64")
        assert abs(x.mean() - mean) < 5 * onp.sqrt(variance / x.size), name
        assert x.var() == pytest.approx(variance, rel=0.2), name
    chosen = np.random.choice(3, 9000, p=np.array([0.5, 0.2, 0.3])).asnumpy()
    onp.testing.assert_allclose(onp.bincount(chosen) / 9000, [0.5, 0.2, 0.3], atol=0.03)
    counts = np.random.multinomial(100, [0.2, 0.8], size=50).asnumpy()
    assert (counts.sum(1) == 100).all()
    assert counts[:, 0].mean() == pytest.approx(20, abs=3)
    assert sorted(np.random.choice(5, 5, replace=False).tolist()) == [0, 1, 2, 3, 4]
    rows = np.arange(6)
    np.random.shuffle(rows)
    assert sorted(rows.tolist()) == [0, 1, 2, 3, 4, 5]
    cov = np.array([[2.0, 0.5], [0.5, 1.0]])
    pairs = np.random.multivariate_normal(np.zeros(2), cov, size=20000).asnumpy()
    onp.testing.assert_allclose(onp.cov(pairs.T), cov.asnumpy(), atol=0.08)


def test_npx_functions_take_np_arrays():
    x = _x()
    assert npx.one_hot(np.array([0, 2]), 3).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert npx.pick(x, np.array([0, 2])).tolist() == [1, 6]
    assert [one.tolist() for one in npx.topk(x, k=1, ret_typ="both")] == [[[3], [6]], [[2], [2]]]
    assert npx.relu(x - 3).tolist() == [[0, 0, 0], [1, 2, 3]]
    assert npx.reshape(x, (-5,)).shape == (6,)
    assert npx.fully_connected(x, np.ones((2, 3)), np.zeros(2), num_hidden=2).tolist()[0] == [6, 6]
    onp.testing.assert_allclose(npx.softmax(x).sum(axis=-1).asnumpy(), 1, rtol=1e-6)
    assert npx.nonzero(x > 5).tolist() == [[1, 2]]
    assert npx.constraint_check(x > 0, "positive").item() is True
    with pytest.raises(ValueError, match="positive"):
        npx.constraint_check(x > 1, "positive")
    with pytest.raises(AttributeError, match="has no function 'relo'; did you mean one of relu"):
        _ = npx.relo


def test_npx_saves_and_loads(tmp_path):
    file = str(tmp_path / "arrays")
    npx.save(file, {"a": _x(), "b": np.zeros((0, 2))})
    found = npx.load(file)
    assert type(found["a"]) is np.ndarray
    assert found["a"].tolist() == _x().tolist()
    assert found["b"].shape == (0, 2)


def test_modes_and_scopes():
    assert not npx.is_np_array()
    with mx.util.np_array(), mx.util.np_shape():
        assert npx.is_np_array() and npx.is_np_shape()
        with mx.util.np_array(False):
            assert not npx.is_np_array()
    assert not npx.is_np_array()
    assert mx.util.use_np(npx.is_np_array)()

    @mx.util.use_np
    class Asks:
        def ask(self):
            return npx.is_np_array(), npx.is_np_shape()

    assert Asks().ask() == (True, True)
    assert mx.util.set_np_shape(True) is False
    assert mx.util.set_np_shape(False) is True
    with pytest.raises(mx.MXNetError, match="needs shape=True"):
        npx.set_np(shape=False)


def test_gluon_learns_in_numpy_mode(numpy_mode):
    npx.random.seed(3)
    net = nn.HybridSequential()
    net.add(nn.Dense(16, activation="relu"), nn.BatchNorm(), nn.Dense(2))
    net.initialize(mx.init.Xavier())
    x = np.random.normal(size=(32, 4))
    y = (x[:, 0] > 0).astype("int32")
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    losses = []
    for step in range(8):
        if step == 4:
            net.hybridize()
        with autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        trainer.step(32)
        assert type(loss) is np.ndarray
        losses.append(float(loss.mean()))
    assert losses[-1] < losses[0] / 2
    assert type(net[0].weight.data()) is type(net[0].weight.grad()) is np.ndarray


class _Scaled(gluon.HybridBlock):
    def __init__(self):
        super().__init__()
        with self.name_scope():
            self.weight = self.params.get("weight", shape=(3, 2), init="ones")

    def hybrid_forward(self, F, x, weight):
        y = F.np.dot(x, weight)
        return F.npx.relu(y - y.mean()) / (1 + F.np.zeros((1,))) + F.np.sum(
            y, axis=-1, keepdims=True
        )


def test_blocks_run_on_arrays_traces_and_symbols(numpy_mode):
    block = _Scaled()
    block.initialize()
    plain = block(_x())
    block.hybridize()
    onp.testing.assert_allclose(block(_x()).asnumpy(), plain.asnumpy(), rtol=1e-6)
    assert plain.asnumpy()[1].tolist() == [34.5, 34.5]
    symbol = block(mx.sym.var("data").as_np_ndarray())
    assert symbol.infer_shape(data=(2, 3))[1] == [(2, 2)]
    args = {"data": _x().as_nd_ndarray(), block.weight.name: nd.ones((3, 2))}
    (made,) = symbol.bind(mx.cpu(), args).forward()
    onp.testing.assert_allclose(made.asnumpy(), plain.asnumpy(), rtol=1e-6)
    again = mx.sym.load_json(symbol.tojson()).bind(mx.cpu(), args).forward()[0]
    onp.testing.assert_allclose(again.asnumpy(), plain.asnumpy(), rtol=1e-6)


def test_symbols_have_numpys_semantics():
    a, b = (mx.sym.var(name).as_np_ndarray() for name in "ab")
    made = mx.sym.np.where(a > b, a * b, mx.sym.np.ones((2, 1))).sum(axis=0)
    assert made.infer_shape(a=(2, 3), b=(3,))[1] == [(3,)]
    total = (a.reshape(-1) / 2).sum()
    x = nd.array([[1, 2, 3], [4, 5, 6]])
    assert total.bind(mx.cpu(), {"a": x}).forward()[0].shape == ()
    part = a[1, :2].bind(mx.cpu(), {"a": x}).forward()[0]
    assert part.asnumpy().tolist() == [4, 5]
    assert mx.sym.np.random.normal(size=(2,)).bind(mx.cpu(), {}).forward()[0].shape == (2,)


def test_functions_trace_both_kinds():
    @mx.function
    def twice(x):
        return x * 2, x.sum()

    np_made, nd_made = twice(_x()), twice(nd.ones((2, 3)))
    assert [type(one) for one in (*np_made, *nd_made)] == [np.ndarray] * 2 + [mx.NDArray] * 2
    assert [one.shape for one in (*np_made, *nd_made)] == [(2, 3), (), (2, 3), (1,)]
    with pytest.raises(mx.MXNetError, match="_npx_nonzero: the shape of the result depends"):
        mx.function(lambda x: np.nonzero(x))(_x())
