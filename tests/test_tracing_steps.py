"""Traced functions that overwrite arrays outside: the short way of a training step.

The reference is the same Python, not traced, on arrays of its own. Between the calls things happen
that the short way must notice: somebody else holds the old weights, or overwrites them, or reads
them in another thread.
"""

import itertools
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hybridnet as hn
from hybridnet import engine, nd
from hybridnet.runtime.programs.cache import cache
from hybridnet.runtime.record.trace import host_scalars
from hybridnet.tracing.hot import HotStep

SIZE = 6


class World:
    """Two weights, a counter of Python's, and a step that overwrites the weights."""

    def __init__(self, decorate):
        self.w = nd.array(np.linspace(-1, 1, SIZE))
        self.v = nd.zeros((SIZE,))
        self.numbers = itertools.count(1)
        self.kept = []
        self.step = decorate(self._step)

    def _rate(self):
        return [0.5 / next(self.numbers)]

    def _step(self, x):
        (rate,) = host_scalars(self._rate, 1)
        grad = nd.tanh(self.w * x)
        self.v[:] = self.v * 0.5 + grad
        self.w[:] = nd.sgd_update(self.w, self.v, lr=rate)
        return (grad * grad).sum()


def hold_a_copy(world):
    world.kept.append(world.w.copy())


def hold_the_same_value(world):
    world.kept.append(world.w.detach())


def hold_what_is_recorded(world):
    world.kept.append(world.w * 2)


def hold_a_view(world):
    world.kept.append(world.v[1:3])


def overwrite(world):
    world.w[:] = world.w * 0.5


def overwrite_a_part(world):
    world.v[2:4] = 3.0


def read(world):
    world.kept.append(world.w.asnumpy())


def wait(world):
    nd.waitall()


def naively(world):
    with engine.naive():
        world.kept.append(world.step(nd.ones((SIZE,))))


def in_another_thread(world):
    thread = threading.Thread(target=lambda: world.kept.append(world.w + 1))
    thread.start()
    thread.join()


def of_another_size(world):
    world.kept.append(world.step(nd.ones((1,))))


EVENTS = [
    hold_a_copy,
    hold_the_same_value,
    hold_what_is_recorded,
    hold_a_view,
    overwrite,
    overwrite_a_part,
    read,
    wait,
    naively,
    in_another_thread,
    of_another_size,
]


def arrays(found):
    return [one.asnumpy() if hasattr(one, "asnumpy") else np.asarray(one) for one in found]


def run(decorate, events):
    world = World(decorate)
    losses = []
    for number, event in enumerate([wait, wait, wait, wait, *events]):
        x = nd.array(np.cos(np.arange(SIZE) + number))
        losses.append(world.step(x))
        event(world)
    return arrays([*losses, *world.kept, world.w, world.v]), next(world.numbers)


@settings(max_examples=25)
@given(st.lists(st.sampled_from(EVENTS), max_size=6))
def test_steps_are_those_of_plain_python(events):
    got, counted = run(hn.function, events)
    wanted, counts = run(lambda f: f, events)
    assert counted == counts
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def hot(world):
    """Makes a world whose step takes the short way."""
    for _ in range(6):
        world.step(nd.ones((SIZE,)))
        nd.waitall()
    assert isinstance(world.step._hot, HotStep)
    return world


def bound(world):
    """The function, not the method."""
    traced = hn.function(lambda x: world._step(x))
    world.step = traced
    return world


def test_a_hot_step_is_one_dispatch_and_asks_for_its_numbers_once():
    world = hot(bound(World(lambda f: f)))
    before, count = cache.statistics(), next(world.numbers)
    for _ in range(5):
        world.step(nd.ones((SIZE,)))
    after = cache.statistics()
    assert next(world.numbers) == count + 6
    assert (after.cold, after.compilations) == (before.cold, before.compilations)
    assert isinstance(world.step._hot, HotStep)


def test_the_old_memory_becomes_the_new():
    """What nobody else holds is given to the program; what somebody holds stays as it is."""
    world = hot(bound(World(lambda f: f)))
    x = nd.ones((SIZE,))
    old = world.w.storage.value.array
    world.step(x)
    nd.waitall()
    assert not old.is_deleted()  # this test held it
    np.testing.assert_allclose(np.asarray(old).shape, (SIZE,))
    place = world.w.storage.value.array.unsafe_buffer_pointer()
    world.step(x)
    nd.waitall()
    assert world.w.storage.value.array.unsafe_buffer_pointer() == place


def test_an_argument_that_is_a_weight_is_refused_in_every_call():
    world = hot(bound(World(lambda f: f)))
    for _ in range(2):
        with pytest.raises(hn.MXNetError, match="was given in two ways"):
            world.step(world.w)


def test_a_step_that_fails_leaves_arrays_that_say_so(monkeypatch):
    world = hot(bound(World(lambda f: f)))
    program = world.step._hot._direct._program

    def fails(*arguments):
        raise RuntimeError("no memory")

    compiled = program.compiled
    program.compiled = fails
    try:
        made = world.step(nd.ones((SIZE,)))
    finally:
        program.compiled = compiled
    with pytest.raises(hn.MXNetError, match=r"on cpu\(0\) failed: no memory"):
        made.asnumpy()
    with pytest.raises(hn.MXNetError, match="no memory"):
        world.w.asnumpy()
    world.w[:] = 1.0
    world.v[:] = 0.0
    assert np.isfinite(world.step(nd.ones((SIZE,))).asscalar())
    nd.waitall()


def test_another_thread_reads_what_is_stepped():
    """It sees every count once at most, and never one that is gone."""
    count = nd.zeros((1,))

    @hn.function
    def step(x):
        count[:] = count + x
        return count * 1

    one = nd.ones((1,))
    for _ in range(6):
        step(one)
        nd.waitall()
    seen = []

    def read():
        while not seen or seen[-1] < 206:
            seen.append(float(count.asscalar()))

    thread = threading.Thread(target=read)
    thread.start()
    for _ in range(200):
        step(one)
    thread.join()
    assert seen == sorted(seen)
    assert count.asscalar() == 206
