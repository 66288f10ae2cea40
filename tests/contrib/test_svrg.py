"""Training by gradients of reduced variance; loaders as iterators."""

from __future__ import annotations

import numpy as np
import pytest

import hybridnet as mx
from hybridnet import gluon, nd, sym
from hybridnet.base.errors import ParameterError
from hybridnet.contrib.io import DataLoaderIter
from hybridnet.contrib.svrg_optimization import SVRGModule
from hybridnet.io import NDArrayIter

X = np.random.default_rng(0).normal(size=(10, 3)).astype("float32")
Y = X @ np.array([[1.0], [-2.0], [0.5]], "float32") + 0.1


def module(context, **options):
    out = sym.FullyConnected(sym.var("data"), num_hidden=1, name="fc")
    out = sym.LinearRegressionOutput(out, name="out")
    return SVRGModule(out, label_names=["out_label"], context=context, **options)


def iterator(rows=4):
    return NDArrayIter(X[:8], Y[:8], rows, label_name="out_label")


@pytest.mark.parametrize("context", [mx.cpu(), [mx.cpu(0), mx.cpu(1)]])
def test_numbers_are_those_of_the_definition(context):
    made = module(context, update_freq=2)
    rate = 0.1
    made.fit(
        iterator(),
        eval_metric="mse",
        num_epoch=3,
        optimizer_params={"learning_rate": rate},
        initializer=mx.init.One(),
    )
    w, b = np.ones((1, 3)), np.zeros(1)

    def gradient(x, y, w, b):
        error = x @ w.T + b - y
        return (error.T @ x) / len(x), error.mean(axis=0)

    for epoch in range(3):
        if epoch % 2 == 0:
            kept, full = (w, b), gradient(X[:8], Y[:8], w, b)
        for rows in (slice(0, 4), slice(4, 8)):
            now, then = gradient(X[rows], Y[rows], w, b), gradient(X[rows], Y[rows], *kept)
            w = w - rate * (now[0] - then[0] + full[0])
            b = b - rate * (now[1] - then[1] + full[1])
    args, _ = made.get_params()
    np.testing.assert_allclose(args["fc_weight"].asnumpy(), w, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(args["fc_bias"].asnumpy(), b, rtol=1e-4, atol=1e-5)


def test_it_learns_with_what_fills_up_left_out():
    made = module(mx.cpu(), update_freq=1)
    data = NDArrayIter(X, Y, 4, label_name="out_label")
    made.fit(data, eval_metric="mse", num_epoch=60, optimizer_params={"learning_rate": 0.3})
    assert dict(made.score(data, "mse"))["mse"] < 1e-4
    assert made.predict(nd.array(X[:4])).shape == (4, 1)
    for frequency in (0, None, 1.5):
        with pytest.raises(ParameterError, match="update_freq must be a whole number from 1 on"):
            module(mx.cpu(), update_freq=frequency)


def test_a_loader_is_an_iterator():
    loader = gluon.data.DataLoader(gluon.data.ArrayDataset(X, Y), 4)
    data = DataLoaderIter(loader, label_name="out_label")
    assert data.provide_data[0].shape == (4, 3) and data.provide_label[0].name == "out_label"
    for _ in range(2):
        batches = list(data)
        data.reset()
        assert [batch.pad for batch in batches] == [0, 0, 2]
        last = batches[-1].data[0].asnumpy()
        np.testing.assert_array_equal(last, [*X[8:], *np.zeros((2, 3))])
        assert batches[-1].label[0].shape == (4, 1)
