"""Arrays before JAX is there: what answers in its place, and how it becomes one of JAX's."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from eager_runs import before_jax

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.base.host_array import HostArray


def held(x):
    return x.storage.value.array


def test_a_value_is_never_written_to():
    with before_jax():
        x = nd.array([1.0, 2, 3])
        y = x * 1
        y.wait_to_read()
        assert type(held(x)) is type(held(y)) is HostArray
        host = x.asnumpy()
        host[:] = 7
        x[0] = 5
    assert x.asnumpy().tolist() == [5, 2, 3]
    assert y.asnumpy().tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="read-only"):
        held(y).numpy[0] = 1


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bool", "float16"])
def test_it_becomes_jaxs_with_its_type(dtype, monkeypatch):
    source = np.arange(6).reshape(2, 3).astype(dtype)
    with before_jax():
        x = nd.array(source, dtype=dtype)
    array = x.to_jax()
    assert array.dtype == dtype
    np.testing.assert_array_equal(np.asarray(array), source)
    monkeypatch.setenv("HYBRIDNET_HOST", "off")
    np.testing.assert_array_equal(nd.transpose(x).asnumpy(), source.T)
    np.testing.assert_array_equal(np.from_dlpack(x) if dtype != "bool" else source, source)


def test_memory_counts_it():
    gc.collect()  # arrays of other tests must not be freed meanwhile
    before = hn.runtime.memory().arrays.get("cpu(0)", 0)
    with before_jax():
        x = nd.ones((1 << 18,))
        x.wait_to_read()
        assert hn.runtime.memory().arrays["cpu(0)"] - before >= 1 << 20


@pytest.mark.parametrize("hybrid", [False, True])
def test_a_training_goes_on_with_programs(hybrid, monkeypatch):
    """Weights, gradients and states that were made before JAX was there are donated after it."""

    def train(steps, change):
        hn.random.seed(3)
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Dense(7, activation="tanh"), gluon.nn.BatchNorm(), gluon.nn.Dense(2))
        net.initialize(hn.init.Xavier())
        if hybrid:
            net.hybridize()
        trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1})
        x = nd.array(np.linspace(-1, 1, 20).reshape(4, 5))
        # (With targets of 0 the gradient of the last bias is 0 but for rounding, whose sign Adam
        # takes for a direction.)
        targets = nd.array([[0.3, -1], [0.5, 2], [-0.7, 1], [1.1, 0.2]])
        losses = []
        for step in range(steps):
            if step == change:
                monkeypatch.setenv("HYBRIDNET_HOST", "off")
            with autograd.record():
                loss = ((net(x) - targets) ** 2).mean()
            loss.backward()
            trainer.step(1)
            losses.append(loss.asscalar())
        monkeypatch.delenv("HYBRIDNET_HOST", raising=False)
        return losses

    wanted = train(10, 0)
    with before_jax():
        found = train(10, 4)
    np.testing.assert_allclose(found, wanted, rtol=2e-4)
