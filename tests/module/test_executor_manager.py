"""Data-parallel executors by hand: the sums are those of one executor on the whole batch."""

from types import SimpleNamespace

import numpy as np
import pytest

import hybridnet as mx
from hybridnet.base.errors import ParameterError
from hybridnet.executor_manager import DataParallelExecutorManager, _split_input_slice

DATA = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
LABEL = np.array([0, 1, 1, 0, 1, 0], np.float32)


def network(units=2):
    h = mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=units, name="fc")
    return mx.sym.SoftmaxOutput(h, name="softmax")


def manager(symbol, shapes, **kwargs):
    names = symbol.list_arguments()
    params = [name for name in names if name.startswith("fc")]
    return DataParallelExecutorManager(
        symbol, [mx.cpu(0), mx.cpu(1)], shapes, names, params, [], **kwargs
    )


def test_gradients_outputs_and_metric_are_those_of_the_whole_batch():
    batches = mx.io.NDArrayIter(DATA, LABEL, 6)
    made = manager(network(), batches, work_load_list=[1, 2])
    assert made.slices == [slice(0, 2), slice(2, 6)]
    weight = mx.nd.array(np.linspace(-1, 1, 6).reshape(2, 3))
    made.set_params({"fc_weight": weight, "fc_bias": mx.nd.zeros(2)}, {})
    made.load_data_batch(next(batches))
    made.forward(is_train=True)
    made.backward()
    whole = network().simple_bind(mx.cpu(), data=(6, 3), softmax_label=(6,))
    whole.copy_params_from({"fc_weight": weight})
    outputs = whole.forward(is_train=True, data=DATA, softmax_label=LABEL)[0].asnumpy()
    whole.backward()
    for grads, name in zip(made.grad_arrays, made.execgrp.param_names, strict=True):
        total = sum(grad.asnumpy() for grad in grads)
        np.testing.assert_allclose(total, whole.grad_dict[name].asnumpy(), rtol=1e-5, atol=1e-6)
    metric = mx.metric.Accuracy()
    made.update_metric(metric, [mx.nd.array(LABEL)])
    assert metric.get()[1] == (outputs.argmax(1) == LABEL).mean()

    made.param_arrays[0][1][:] += 1
    found = {"fc_weight": mx.nd.zeros((2, 3)), "fc_bias": mx.nd.zeros(2)}
    made.copy_to(found, {})
    np.testing.assert_allclose(found["fc_weight"].asnumpy(), weight.asnumpy() + 0.5, rtol=1e-6)


def test_buckets_share_their_parameters():
    def of(key):
        return SimpleNamespace(
            provide_data=[("data", (4, key))],
            provide_label=[("softmax_label", (4,))],
            data=[mx.nd.ones((4, key))],
            label=[mx.nd.zeros(4)],
            bucket_key=key,
            default_bucket_key=key,
            batch_size=4,
        )

    def symbol(key):
        pooled = mx.sym.sum(mx.sym.var("data"), axis=1, keepdims=True)
        h = mx.sym.FullyConnected(pooled, num_hidden=2, name="fc")
        return mx.sym.SoftmaxOutput(h, name="softmax")

    made = manager(symbol(5), of(5), sym_gen=symbol)
    made.set_params({"fc_weight": mx.nd.array([[1], [0]]), "fc_bias": mx.nd.zeros(2)}, {})
    for key in (5, 3):
        made.load_data_batch(of(key))
        made.forward()
        (executor, _) = made.curr_execgrp.train_execs
        wanted = 1 / (1 + np.exp(-key))
        np.testing.assert_allclose(executor.outputs[0].asnumpy()[:, 0], wanted, rtol=1e-5)
    assert sorted(made.execgrp_bucket) == [3, 5]
    with pytest.raises(NotImplementedError, match="BucketingModule.install_monitor"):
        made.install_monitor(None)


def test_shares_and_names_are_checked():
    batches = mx.io.NDArrayIter(DATA, LABEL, 6)
    with pytest.raises(AssertionError, match=r"share for each of the 2 devices, got \[1\]"):
        manager(network(), batches, work_load_list=[1])
    with pytest.raises(ValueError, match="must have rows for each of the 3 devices, got 2"):
        _split_input_slice(2, [1, 1, 1])
    twice = mx.sym.var("data") + mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=3, name="fc")
    with pytest.raises(ParameterError, match="got data more than once among data, data"):
        manager(twice, batches)
