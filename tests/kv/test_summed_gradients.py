"""Gradients that are summed over devices start as soon as they are complete, layer by layer."""

import numpy as np
from helpers import settle

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.runtime.programs.cache import cache

CONTEXTS = [hn.cpu(0), hn.cpu(1)]
LAYERS = 4


def make_net(contexts):
    hn.random.seed(3)
    net = gluon.nn.HybridSequential()
    for _ in range(LAYERS - 1):
        net.add(gluon.nn.Dense(8, in_units=8, activation="tanh"))
    net.add(gluon.nn.Dense(1, in_units=8))
    net.initialize(ctx=contexts)
    return net


def train(contexts, steps=3):
    """The weights after some steps on one batch split over the contexts."""
    net = make_net(contexts)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    random = np.random.default_rng(0)
    x = random.normal(size=(16, 8)).astype(np.float32)
    y = random.normal(size=(16, 1)).astype(np.float32)
    for _ in range(steps):
        data = gluon.utils.split_and_load(x, contexts)
        label = gluon.utils.split_and_load(y, contexts)
        with autograd.record():
            losses = [gluon.loss.L2Loss()(net(a), b) for a, b in zip(data, label, strict=True)]
        autograd.backward(losses)
        trainer.step(16)
    nd.waitall()
    return [one.data(contexts[0]).asnumpy() for one in net.collect_params().values()]


def test_two_devices_train_like_one():
    for two, one in zip(train(CONTEXTS), train(CONTEXTS[:1]), strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-5, atol=1e-6)


def launches_of_backward(contexts):
    """Programs started by one backward pass, after it and its like have been compiled."""
    net = make_net(contexts)
    data = [nd.ones((4, 8), ctx) for ctx in contexts]
    for _ in range(4):
        with autograd.record():
            losses = [net(x).sum() for x in data]
        settle()
        before = cache.statistics()
        autograd.backward(losses)
        during = cache.statistics()
        nd.waitall()
    return during.hot + during.cold - before.hot - before.cold


def test_each_layer_starts_as_its_gradient_is_complete():
    assert launches_of_backward(CONTEXTS) >= LAYERS
    assert launches_of_backward(CONTEXTS[:1]) == 0
