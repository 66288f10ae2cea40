"""Updates from many threads: each happens once, in some order."""

from __future__ import annotations

import random
import threading

import numpy as np
import pytest
from helpers import thorough

import hybridnet as hn
from hybridnet import autograd, nd

THREADS = 8
UPDATES = thorough(12_500, 1000)


def of_a_function(count):
    one = nd.ones((4,))

    @hn.function
    def step(x):
        count[:] = count + x

    return lambda: step(one)


def of_a_function_with_two_traces(count):
    ones = nd.ones((4,)), nd.ones((7,))

    @hn.function
    def step(x):
        count[:] = count + x.sum() / x.sum()

    return lambda: step(random.choice(ones))


def of_a_whole_array(count):
    one = nd.ones((4,))
    return lambda: count.__iadd__(one)


def of_a_part(count):
    def update():
        count[1:3] += 1

    return update


def of_a_view(count):
    view = count.reshape((2, 2))
    return lambda: view.__iadd__(1)


def of_an_operator(count):
    gradient = -nd.ones((4,))
    return lambda: nd.sgd_update(count, gradient, lr=1.0, out=count)


def of_an_optimizer(count):
    gradient = -nd.ones((4,))
    update = hn.optimizer.get_updater(hn.optimizer.SGD(learning_rate=1.0))
    return lambda: update(0, gradient, count)


def of_a_kvstore(count):
    store, one = hn.kv.create("local"), nd.ones((4,))
    store.init("count", nd.zeros((4,)))
    store._set_updater(lambda key, pushed, stored: stored.__iadd__(pushed))

    def push():
        store.push("count", one)

    push.end = lambda: store.pull("count", count)
    return push


def of_gradients_that_add_up(count):
    x = nd.ones((4,))
    x.attach_grad(grad_req="add")

    def backward():
        with autograd.record():
            y = (x * 1).sum()
        y.backward()

    backward.end = lambda: x.grad.copyto(count)
    return backward


def of_a_recorded_function(count):
    """A hybridized block's way: the call is on the tape, too."""
    one, weight = nd.ones((4,)), nd.ones((4,))
    weight.attach_grad()

    @hn.function
    def step(x):
        count[:] = count + x
        return (weight * x).sum()

    def update():
        with autograd.record():
            step(one)

    return update


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        of_a_function,
        of_a_function_with_two_traces,
        of_a_whole_array,
        of_a_part,
        of_a_view,
        of_an_operator,
        of_an_optimizer,
        of_a_kvstore,
        of_gradients_that_add_up,
        of_a_recorded_function,
    ],
    ids=lambda make: make.__name__,
)
def test_every_update_happens_once(make):
    count = nd.zeros((4,))
    update, failed = make(count), []
    start = threading.Barrier(THREADS)

    def run():
        start.wait()
        try:
            for _ in range(UPDATES):
                update()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    getattr(update, "end", lambda: None)()
    assert count.asnumpy()[1] == THREADS * UPDATES
    assert np.isfinite(count.asnumpy()).all()
