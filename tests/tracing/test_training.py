"""Whole training steps as traced functions: the same numbers as eager ones, and one program."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
from helpers import settle

import hybridnet as hn
from hybridnet import autograd, gluon, lr_scheduler, nd, optimizer
from hybridnet.runtime.programs.cache import cache


def network(norm=True, dropout=True):
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Dense(8, activation="tanh", in_units=5))
    if norm:
        net.add(gluon.nn.BatchNorm(in_channels=8))
    if dropout:
        net.add(gluon.nn.Dropout(0.3))
    net.add(gluon.nn.Dense(3, in_units=8))
    return net


def batches(count, size=4):
    rng = np.random.default_rng(0)
    for _ in range(count):
        yield nd.array(rng.normal(size=(size, 5))), nd.array(rng.integers(0, 3, size))


class Training:
    """A network, and one step of its training."""

    def __init__(self, kind, **net):
        hn.random.seed(3)
        self.net = network(**net)
        self.net.initialize(hn.init.Xavier())
        self.trainer = gluon.Trainer(self.net.collect_params(), kind)
        self.loss = gluon.loss.SoftmaxCrossEntropyLoss()

    def step(self, data, label):
        with autograd.record():
            loss = self.loss(self.net(data), label)
        loss.backward()
        self.trainer.step(data.shape[0])
        return loss.mean()

    def weights(self):
        return [one.data().asnumpy() for one in self.net.collect_params().values()]


def address(array):
    return array.storage.value.array.unsafe_buffer_pointer()


def sgd():
    return optimizer.SGD(learning_rate=0.1)


def momentum():
    schedule = lr_scheduler.FactorScheduler(step=2, factor=0.5, base_lr=0.2)
    return optimizer.SGD(momentum=0.9, wd=0.01, lr_scheduler=schedule)


def nag():
    return optimizer.NAG(momentum=0.9, learning_rate=0.1)


def adam():
    schedule = lr_scheduler.CosineScheduler(6, base_lr=0.1, final_lr=0.01)
    return optimizer.Adam(learning_rate=0.1, lr_scheduler=schedule)


@pytest.mark.parametrize("make", [sgd, momentum, nag, adam])
def test_steps_are_those_of_an_eager_loop(make):
    """Rates and step counts go on in replays: they are asked for at each call."""

    def run(decorate):
        training = Training(make())
        step = decorate(training.step)
        losses = [float(step(*batch).asscalar()) for batch in batches(8)]
        optimizer_ = training.trainer.optimizer
        counted = optimizer_.num_update, optimizer_.learning_rate
        return losses, training.weights(), counted

    got, wanted = run(hn.function), run(lambda f: f)
    assert got[2] == wanted[2]
    assert got[2][0] == 8
    np.testing.assert_allclose(got[0], wanted[0], rtol=1e-5)
    for a, b in zip(got[1], wanted[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_a_rate_that_is_set_by_hand_counts_at_the_next_call():
    training = Training(optimizer.SGD(learning_rate=1.0), norm=False, dropout=False)
    step = hn.function(training.step)
    ((data, label),) = batches(1)
    step(data, label)
    before = training.weights()
    training.trainer.set_learning_rate(0.0)
    step(data, label)
    for a, b in zip(before, training.weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    assert step.cache_info().traces == 1


def test_batches_of_several_sizes():
    """The last batch is smaller; each size has a trace, and its own rescaling."""

    def run(decorate):
        training = Training(optimizer.Adam(), dropout=False)
        step = decorate(training.step)
        for size in (4, 4, 2, 4, 2):
            for batch in batches(1, size):
                step(*batch)
        return training.weights()

    for a, b in zip(run(hn.function), run(lambda f: f), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_a_step_is_one_program_when_hot():
    training = Training(optimizer.Adam())
    step = hn.function(training.step)
    data = list(batches(8))
    for batch in data[:6]:
        step(*batch)
        settle()
    before = cache.statistics()
    for batch in data[6:]:
        step(*batch)
    settle()
    after = cache.statistics()
    assert after.hot - before.hot == 2
    assert after.cold == before.cold
    assert after.compilations == before.compilations


def test_a_step_gives_the_memory_of_old_weights_and_states_to_new_ones():
    """Nobody else holds the old values. Data, which the caller holds, stays whole."""
    training = Training(optimizer.Adam(), dropout=False)
    step = hn.function(training.step, name="giving_step")
    ((data, label),) = batches(1)
    before = data.asnumpy()
    for _ in range(4):
        step(data, label)
        settle()
    # Four weights and biases, two parameters and two statistics of the norm; two states each.
    overwritten = 4 + 2 + 2 + 2 * (4 + 2)
    codes = [one.code for one in cache.programs()]
    found = [one for one in codes if one.instructions[0][0].name == "giving_step"]
    assert [len(one.donated) for one in found] == [overwritten]
    np.testing.assert_array_equal(data.asnumpy(), before)


@pytest.mark.compiled
def test_large_gradients_take_the_memory_of_those_before():
    weight = nd.array(np.ones((600, 600), np.float32))
    weight.attach_grad()
    data = [nd.array(np.full((4, 600), number, np.float32)) for number in range(5)]

    @hn.function
    def step(data):
        with autograd.record():
            loss = (nd.dot(data, weight) ** 2).sum()
        loss.backward()
        weight[:] = weight - 1e-6 * weight.grad
        return loss

    def gradient(weight, data):
        return 2 * data.T @ (data @ weight)

    expected, places = weight.asnumpy(), []
    for batch in data:
        step(batch)
        given = gradient(expected, batch.asnumpy())
        np.testing.assert_allclose(weight.grad.asnumpy(), given, 1e-4)
        expected = expected - 1e-6 * given
        places.append([address(weight), address(weight.grad)])
    np.testing.assert_allclose(weight.asnumpy(), expected, 1e-4)
    assert len({*map(tuple, places[1:])}) == 1
    # Who holds an old gradient keeps it.
    held = weight.grad.to_jax()
    before = np.array(held)
    step(data[1])
    assert (weight.grad.asnumpy() != before).any()
    np.testing.assert_array_equal(held, before)


def test_a_thousand_steps_keep_nothing():
    training = Training(optimizer.Adam(), dropout=False)
    step = hn.function(training.step)
    ((data, label),) = batches(1)

    def objects():
        settle()
        gc.collect()
        return len(gc.get_objects())

    for _ in range(20):
        step(data, label)
    before = objects()
    for _ in range(1000):
        step(data, label)
    assert objects() - before < 500


def test_a_dropped_training_lets_go_of_its_weights():
    """Programs stay in their cache; what they hold are no arrays, optimizers or functions."""
    training = Training(optimizer.Adam())
    step = hn.function(training.step)
    for batch in batches(3):
        step(*batch)
    settle()
    held = [weakref.ref(one.data().storage) for one in training.net.collect_params().values()]
    held.append(weakref.ref(training.trainer.optimizer))
    del training, step
    gc.collect()
    assert [one() for one in held] == [None] * len(held)


def test_a_hybridized_network_in_an_eager_loop():
    def run(hybrid):
        training = Training(optimizer.SGD(learning_rate=0.1, momentum=0.9))
        if hybrid:
            training.net.hybridize()
        losses = [float(training.step(*batch).asscalar()) for batch in batches(5)]
        ((data, _),) = batches(1)
        return losses, training.weights(), training.net(data).asnumpy()

    got, wanted = run(True), run(False)
    np.testing.assert_allclose(got[0], wanted[0], rtol=1e-5)
    np.testing.assert_allclose(got[2], wanted[2], rtol=1e-4, atol=1e-6)
    for a, b in zip(got[1], wanted[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_a_hybridized_network_in_a_traced_step():
    def run(decorate, hybrid):
        training = Training(optimizer.SGD(learning_rate=0.1))
        if hybrid:
            training.net.hybridize()
        step = decorate(training.step)
        return [float(step(*batch).asscalar()) for batch in batches(4)]

    np.testing.assert_allclose(run(hn.function, True), run(lambda f: f, False), rtol=1e-5)


def test_networks_of_one_structure_share_programs():
    """A second network, and so a second trace, compiles nothing."""
    ((data, label),) = batches(1)

    def train(name):
        training = Training(optimizer.Adam(), dropout=False)
        step = hn.function(training.step, name=name)
        for _ in range(8):  # until it is compiled, see `deciding.loops_soon`
            step(data, label)
            settle()

    cache.clear()
    for _ in range(6):  # until what makes zeros is compiled, too
        train("shared_step")
    before = cache.statistics().compilations
    train("shared_step")
    assert cache.statistics().compilations == before


def test_updates_by_hand():
    def run(decorate):
        w = nd.array([[1.0, -2.0], [0.5, 3.0]])
        w.attach_grad()

        @decorate
        def step(x, rate):
            with autograd.record():
                loss = nd.square(nd.dot(x, w) - 1).mean()
            loss.backward()
            w[:] = w - rate * w.grad
            return loss

        losses = [float(step(nd.ones((3, 2)) * i, 0.05).asscalar()) for i in range(5)]
        return losses, w.asnumpy(), w.grad.asnumpy()

    for got, wanted in zip(run(hn.function), run(lambda f: f), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


def test_a_metric_inside_the_step():
    accuracy = hn.metric.Accuracy()
    training = Training(optimizer.SGD(learning_rate=0.0), norm=False, dropout=False)

    @hn.function
    def scored(data, label):
        accuracy.update(label, training.net(data))

    right = total = 0
    for data, label in batches(5):
        scored(data, label)
        right += (training.net(data).asnumpy().argmax(1) == label.asnumpy()).sum()
        total += len(label)
    assert accuracy.get()[1] == right / total
    assert scored.cache_info().traces == 1
