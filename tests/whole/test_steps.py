"""A training step, with everything that belongs to one, is one program.

Forward, dropout, moving statistics, a traced function, loss, backward, the optimizer under a
schedule, and metrics: nothing in between reads a value.
"""

from __future__ import annotations

import pytest
from helpers import heat

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.runtime.programs.cache import cache


def scheduled():
    return {"momentum": 0.9, "lr_scheduler": hn.lr_scheduler.FactorScheduler(2, 0.9)}


OPTIMIZERS = {"sgd": scheduled, "nag": lambda: {"momentum": 0.9}, "adam": dict, "rmsprop": dict}


@hn.function
def prepared(x):
    return nd.tanh(x) * 1.5


def make_step(hybridize, optimizer):
    net = gluon.nn.HybridSequential()
    net.add(
        gluon.nn.Dense(8, activation="relu"),
        gluon.nn.Dropout(0.5),
        gluon.nn.BatchNorm(),
        gluon.nn.Dense(3),
    )
    net.initialize()
    if hybridize:
        net.hybridize()
    settings = {"learning_rate": 0.01, **OPTIMIZERS[optimizer]()}
    trainer = gluon.Trainer(net.collect_params(), optimizer, settings)
    criterion = gluon.loss.SoftmaxCrossEntropyLoss()
    metrics = hn.metric.Accuracy(), hn.metric.Loss()
    x, y = nd.random.uniform(shape=(4, 5)), nd.array([0, 1, 2, 0])

    def step():
        with autograd.record():
            scores = net(prepared(x))
            loss = criterion(scores, y)
        loss.backward()
        metrics[0].update([y], [scores])
        metrics[1].update(None, [loss])
        trainer.step(4)
        return loss

    return step, metrics


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("hybridize", [False, True])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_step_is_one_program(hybridize, optimizer):
    step, metrics = make_step(hybridize, optimizer)
    heat(step)
    before = cache.statistics()
    for _ in range(5):
        step()
    nd.waitall()
    after = cache.statistics()
    assert (after.hot - before.hot, after.cold - before.cold) == (5, 0)
    assert after.compilations == before.compilations
    assert 0 <= metrics[0].get()[1] <= 1 and metrics[1].get()[1] > 0
