"""Python's garbage collector stands still while graphs are made and run step by step."""

from __future__ import annotations

import gc

import pytest

import hybridnet as hn
from hybridnet import autograd, nd
from hybridnet.gluon import nn


@pytest.fixture
def collections():
    """The generations that were collected; something is, all the time, where it may be."""
    seen = []

    def note(phase, info):
        if phase == "start":
            seen.append(info["generation"])

    before = gc.get_threshold()
    gc.callbacks.append(note)
    gc.set_threshold(1, 1, 1)
    yield seen
    gc.set_threshold(*before)
    gc.callbacks.remove(note)


def test_none_while_a_function_is_traced(collections):
    counts = []

    def chain(x):
        before = len(collections)
        for _ in range(50):
            x = x + 1
        counts.append(len(collections) - before)
        return x

    traced = hn.function(chain, autograph=False)
    assert traced(nd.zeros((2,))).asnumpy().tolist() == [50, 50]
    assert counts == [0]
    chain(nd.zeros((2,)))
    assert counts[1] > 0  # which a loop that is not traced has


def test_it_goes_on_after_a_step_of_training(collections):
    net = nn.HybridSequential()
    net.add(nn.Dense(3, in_units=2), nn.Dense(1, in_units=3))
    net.initialize()
    net.hybridize()
    with autograd.record():
        loss = net(nd.ones((4, 2))).sum()
    loss.backward()
    loss.asscalar()
    assert gc.isenabled()


def test_it_goes_on_after_an_error(collections):
    def wrong(x):
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        hn.function(wrong)(nd.zeros((2,)))
    assert gc.isenabled()
