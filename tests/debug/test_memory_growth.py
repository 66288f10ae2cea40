"""What grew between two snapshots: a list that keeps all losses is found by its line."""

from __future__ import annotations

import gc
import inspect

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import autograd, gluon, nd
from hybridnet.debug.memory.growth import growth_of
from hybridnet.runtime.watching import LiveArray


def made(line, nbytes):
    place = ("train.py", line) if line else None
    return LiveArray(nbytes, (nbytes // 4,), "float32", "cpu(0)", place, ())


def test_growth_is_the_difference_of_each_line():
    older = [made(1, 400), made(2, 40), made(3, 8), made(0, 12)]
    newer = [made(1, 400), made(2, 40), made(2, 40), made(4, 4), made(0, 12), made(0, 12)]
    growth = growth_of(older, newer)
    assert [tuple(one) for one in growth.lines] == [
        ("train.py:2", 40, 1),
        ("float32[3] (line not noted)", 12, 1),
        ("train.py:4", 4, 1),
        ("train.py:3", -8, -1),
    ]
    assert growth.nbytes == sum(x.nbytes for x in newer) - sum(x.nbytes for x in older)
    assert str(growth).splitlines()[1].split() == ["+40", "B", "train.py:2,", "+1", "array"]


@pytest.mark.parametrize("hybridized", [False, True])
def test_a_list_that_keeps_all_losses_is_what_grows(hybridized):
    net = gluon.nn.HybridSequential()
    net.add(gluon.nn.Conv2D(4, 5, activation="tanh"), gluon.nn.MaxPool2D(2, 2))
    net.add(gluon.nn.Dense(20, activation="tanh"), gluon.nn.Dense(10))
    net.initialize()
    if hybridized:
        net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), "adam")
    loss_of = gluon.loss.SoftmaxCrossEntropyLoss()
    losses = []

    def step():
        x, y = nd.array(np.random.rand(8, 1, 28, 28)), nd.array(np.arange(8))
        with autograd.record():
            loss = loss_of(net(x), y)
        loss.backward()
        trainer.step(8)
        losses.append(loss)

    with hn.debug.tracking_memory():
        for _ in range(3):
            step()
        nd.waitall()
        gc.collect()
        before = hn.debug.memory()
        for _ in range(7):
            step()
        nd.waitall()
        gc.collect()
        growth = hn.debug.memory() - before
    (most, *others) = growth.lines
    line = inspect.getsourcelines(step)[1] + 3
    assert most.title.endswith(f"test_memory_growth.py:{line}")
    assert (most.nbytes, most.number) == (7 * 8 * 4, 7)
    assert all(abs(one.nbytes) < most.nbytes for one in others), str(growth)
