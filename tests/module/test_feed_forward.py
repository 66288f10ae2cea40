"""`FeedForward`, the estimator of old programs."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import hybridnet as mx
from hybridnet import sym
from hybridnet.base.errors import MXNetError, ParameterError

pytestmark = pytest.mark.filterwarnings("ignore:FeedForward is kept:DeprecationWarning")

X = np.random.default_rng(0).normal(size=(40, 3)).astype("float32")
Y = (X[:, 0] > 0).astype("float32")


def network(length=None):
    out = sym.FullyConnected(sym.var("data"), num_hidden=2, name="fc")
    return sym.SoftmaxOutput(out, name="softmax")


def test_arrays_are_fitted_scored_saved_and_loaded(tmp_path):
    np.random.seed(1)
    seen = []
    model = mx.model.FeedForward.create(
        network(), X, Y, num_epoch=30, numpy_batch_size=8, learning_rate=0.5,
        eval_data=(X, Y), batch_end_callback=lambda p: seen.append(p.nbatch),
    )  # fmt: skip
    assert seen[:5] == [1, 2, 3, 4, 5] and len(seen) == 150
    assert model.score(mx.io.NDArrayIter(X, Y, 8)) > 0.95
    predicted = model.predict(X)
    np.testing.assert_allclose(predicted.sum(axis=1), 1, rtol=1e-5)
    outputs, data, _ = model.predict(mx.io.NDArrayIter(X, Y, 8), num_batch=1, return_data=True)
    np.testing.assert_array_equal(data, X[:8])
    np.testing.assert_array_equal(outputs, predicted[:8])
    model.save(str(tmp_path / "old"))
    loaded = mx.model.FeedForward.load(str(tmp_path / "old"), 30)
    # Some ulps apart, where one was computed by NumPy and the other by a program.
    np.testing.assert_allclose(loaded.predict(X), predicted, rtol=1e-5)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(again.predict(X[:5]), predicted[:5], rtol=1e-5)


def test_an_epoch_may_be_some_batches():
    seen = []
    model = mx.model.FeedForward(network, num_epoch=2, epoch_size=3)
    data = mx.io.NDArrayIter(X, Y, 10)
    data.default_bucket_key = 1
    buckets = mx.io.DataBatch

    class Keyed(mx.io.ResizeIter):
        default_bucket_key = 1

        def next(self):
            batch = super().next()
            return buckets(batch.data, batch.label, batch.pad, None, 1,
                           self.provide_data, self.provide_label)  # fmt: skip

    model.fit(Keyed(data, 2), batch_end_callback=lambda p: seen.append((p.epoch, p.nbatch)))
    assert seen == [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X,), "needs y="),
        ((X, [1, 2]), "y must be an array, got list"),
        ((X, Y[:3]), "a label for each of 40 rows"),
        ((3,), "X must be a DataIter or an array, got int"),
        ((X, Y, 3), "eval_data must be a DataIter or a pair"),
    ],
)
def test_data_are_arrays_or_iterators(arguments, message):
    with pytest.raises(ParameterError, match=message):
        mx.model.FeedForward(network(), num_epoch=1).fit(*arguments)


def test_what_was_not_fitted_says_so():
    with pytest.raises(ParameterError, match="num_epoch"):
        mx.model.FeedForward(network()).fit(X, Y)
    with pytest.raises(MXNetError, match="predict: .* fit it first"):
        mx.model.FeedForward(network()).predict(X)
    with pytest.warns(DeprecationWarning, match="use mx.mod.Module"):
        mx.model.FeedForward(network())
