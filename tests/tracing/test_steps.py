"""Traced functions that overwrite arrays outside: training steps, which are prepared calls.

The reference is the same Python, not traced, on arrays of its own. Between the calls things happen
that a prepared call must notice: somebody else holds the old weights, or overwrites them, or reads
them in another thread.
"""

import itertools
import threading

import numpy as np
import pytest
from helpers import settle
from hypothesis import given, settings
from hypothesis import strategies as st

import hybridnet as hn
from hybridnet import engine, nd
from hybridnet.runtime.programs.cache import cache
from hybridnet.runtime.record import prepared as prepared_module
from hybridnet.runtime.record.trace import host_scalars
from hybridnet.runtime.tiers.choice import Decision, Purchase, Whose

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


def prepared(function):
    """The prepared call of the last trace of a function."""
    found = [*function.admissions._last.values()][-1]()._prepared
    assert found is not None
    return found


def hot(world):
    """Makes a world whose step is prepared."""
    for _ in range(6):
        world.step(nd.ones((SIZE,)))
        settle()
    assert prepared(world.step).dispatched
    return world


def bound(world):
    """The function, not the method."""
    traced = hn.function(lambda x: world._step(x))
    world.step = traced
    return world


@pytest.mark.compiled
def test_a_hot_step_is_one_dispatch_and_asks_for_its_numbers_once():
    world = hot(bound(World(lambda f: f)))
    before, count = cache.statistics(), next(world.numbers)
    dispatched = prepared(world.step).dispatched
    for _ in range(5):
        world.step(nd.ones((SIZE,)))
    after = cache.statistics()
    assert next(world.numbers) == count + 6
    assert (after.cold, after.compilations) == (before.cold, before.compilations)
    assert prepared(world.step).dispatched == dispatched + 5


@pytest.mark.compiled
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


@pytest.mark.compiled
def test_an_argument_that_is_a_weight_is_refused_in_every_call():
    world = hot(bound(World(lambda f: f)))
    for _ in range(2):
        with pytest.raises(hn.MXNetError, match="was given in two ways"):
            world.step(world.w)


def test_a_call_whose_program_comes_late_is_prepared(monkeypatch):
    late = 5000

    def decide(whose, account, prices, load):
        is_due = whose is not Whose.PART and account.launches > late
        if account.is_bought or not is_due:
            return Decision(Purchase.NONE)
        return Decision(Purchase.COMPILE)

    monkeypatch.delenv("HYBRIDNET_HOST", raising=False)
    monkeypatch.setattr(cache, "decide", decide)
    step = hn.function(lambda x: nd.tanh(x) * 3)
    x = nd.ones((SIZE,))
    for _ in range(late):
        step(x)
    assert [*step.admissions._last.values()][-1]()._prepared is None
    for _ in range(6):
        step(x)
        settle()
    before = prepared(step).dispatched
    step(x)
    assert prepared(step).dispatched == before + 1


@pytest.mark.compiled
@pytest.mark.parametrize("kind", [RuntimeError, MemoryError, KeyboardInterrupt])
def test_a_step_that_is_not_dispatched_leaves_all_as_it_was(kind):
    """Out of memory, or Ctrl-C: nothing has been consumed, and the next call goes on."""
    world, same = hot(bound(World(lambda f: f))), bound(World(lambda f: f))
    for _ in range(6):
        same.step(nd.ones((SIZE,)))
    call = prepared(world.step)
    compiled = call._compiled

    def fails(*arguments):
        raise kind("no memory")

    call._compiled = fails
    expected = kind if kind is KeyboardInterrupt else hn.MXNetError
    with pytest.raises(expected, match="no memory"):
        world.step(nd.ones((SIZE,)))
    next(same.numbers)  # it had been asked for
    call._compiled = compiled
    np.testing.assert_array_equal(world.w.asnumpy(), same.w.asnumpy())
    got, wanted = world.step(nd.ones((SIZE,))), same.step(nd.ones((SIZE,)))
    np.testing.assert_array_equal(got.asnumpy(), wanted.asnumpy())
    np.testing.assert_array_equal(world.v.asnumpy(), same.v.asnumpy())
    nd.waitall()


def test_a_step_that_fails_with_the_memory_says_what_is_lost():
    world = hot(bound(World(lambda f: f)))
    call = prepared(world.step)
    compiled = call._compiled

    def fails(*arguments):
        compiled(*arguments)
        raise RuntimeError("the device is gone")

    call._compiled = fails
    lost = r" on cpu\(0\) failed: the device is gone.*no value any more.*float32\[6\]"
    with pytest.raises(hn.MXNetError, match=lost):
        world.step(nd.ones((SIZE,)))
    call._compiled = compiled
    for one in (world.w, world.v):
        with pytest.raises(hn.MXNetError, match="no value any more until they are assigned one"):
            one.asnumpy()
    world.w[:] = 1.0
    world.v[:] = 0.0
    assert np.isfinite(world.step(nd.ones((SIZE,))).asscalar())
    nd.waitall()


def test_a_ctrl_c_after_the_dispatch_loses_nothing():
    """The signal arrives when XLA has the arrays already: what it made is put in their place."""
    world, same = hot(bound(World(lambda f: f))), hot(bound(World(lambda f: f)))
    call = prepared(world.step)
    note = prepared_module.note_dispatched

    def interrupted(*arguments):
        raise KeyboardInterrupt

    prepared_module.note_dispatched = interrupted
    try:
        with pytest.raises(KeyboardInterrupt):
            world.step(nd.ones((SIZE,)))
    finally:
        prepared_module.note_dispatched = note
    same.step(nd.ones((SIZE,)))
    assert prepared(world.step) is call
    np.testing.assert_array_equal(world.w.asnumpy(), same.w.asnumpy())
    np.testing.assert_array_equal(world.v.asnumpy(), same.v.asnumpy())


@pytest.mark.compiled
@pytest.mark.parametrize("change", ["cpu(1)", "view"])
def test_data_that_is_elsewhere_changes_no_weight_wrongly(change):
    """A batch on another context is refused as at first; a view with an offset is computed with."""
    w = nd.ones((2, 3))

    @hn.function
    def step(x):
        w[:] = w - 0.5 * x
        return (w * x).sum()

    plain = np.ones((2, 3), "float32")
    x = nd.array(np.arange(6.0).reshape(2, 3))
    for _ in range(5):
        step(x)
        plain -= 0.5 * x.asnumpy()
    assert prepared(step).dispatched
    if change == "view":
        batches = nd.array(np.arange(18.0).reshape(3, 2, 3))
        for number in (2, 1, 0):
            made = step(batches[number])
            plain -= 0.5 * batches.asnumpy()[number]
            np.testing.assert_allclose(made.asscalar(), (plain * batches.asnumpy()[number]).sum())
    else:
        with pytest.raises(hn.MXNetError, match="one context"):
            step(x.as_in_context(hn.cpu(1)))
        np.testing.assert_array_equal(w.asnumpy(), plain)
        step(x)
        plain -= 0.5 * x.asnumpy()
    np.testing.assert_array_equal(w.asnumpy(), plain)


def test_a_pure_function_is_traced_for_each_context_and_computes_with_views():
    scaled = hn.function(lambda x, y: x * 2 + y)
    x, y = nd.array(np.arange(12.0).reshape(4, 3)), nd.ones((2, 3))
    for _ in range(4):
        scaled(x[:2], y)
    for start in (0, 1, 2):
        got = scaled(x[start : start + 2], y).asnumpy()
        np.testing.assert_array_equal(got, x.asnumpy()[start : start + 2] * 2 + 1)
    there = hn.cpu(1)
    made = scaled(x[:2].as_in_context(there), y.as_in_context(there))
    assert made.context == there
    np.testing.assert_array_equal(scaled(y, y).asnumpy(), np.full((2, 3), 3.0))


@pytest.mark.compiled
def test_a_schedule_that_raises_changes_nothing():
    world = hot(bound(World(lambda f: f)))
    before = world.w.asnumpy(), world.v.asnumpy()
    numbers = world.numbers

    def broken():
        raise ValueError("no rate for this step")

    world.numbers = type("Broken", (), {"__next__": lambda self: broken()})()
    with pytest.raises(ValueError, match="no rate for this step"):
        world.step(nd.ones((SIZE,)))
    np.testing.assert_array_equal(world.w.asnumpy(), before[0])
    np.testing.assert_array_equal(world.v.asnumpy(), before[1])
    world.numbers = numbers
    assert np.isfinite(world.step(nd.ones((SIZE,))).asscalar())


@pytest.mark.parametrize("how", ["reads", "copies", "writes", "calls"])
def test_a_schedule_may_compute_with_the_arrays(how):
    """What it does to them counts for the step that asks it, as in plain Python."""

    def made(decorate):
        world = World(decorate)

        def rate():
            if how == "reads":
                return [0.1 * abs(float(world.w.sum().asscalar()))]
            if how == "copies":
                world.kept[:] = [world.w.copy()]
                return [0.1]
            if how == "writes":
                world.w[:] = world.w * 0.5
                return [0.1]
            return [0.1 * float(inner(world.w).asscalar())]

        inner = decorate(lambda w: (w * w).mean())
        world._rate = rate
        for _ in range(8):
            world.step(nd.ones((SIZE,)))
        return arrays([world.w, world.v])

    # (A trace reads its arrays when the numbers are known; eager code computes the gradient first.)
    got, wanted = made(lambda f: hn.function(lambda *x: f(*x))), made(lambda f: f)
    if how == "writes":
        assert all(np.isfinite(one).all() for one in got)
        return
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("start", ["cold", "hot"])
def test_two_threads_that_make_one_step_both_take_effect(start):
    count = nd.zeros((3,))
    total = nd.zeros((3,))

    @hn.function
    def step(x):
        count[:] = count + x
        total[:] = total + count * 0 + 2

    one = nd.ones((3,))
    done = 6 if start == "hot" else 0
    for _ in range(done):
        step(one)
    failed = []

    def run():
        try:
            for _ in range(10_000):
                step(one)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert count.asnumpy().tolist() == [20_000 + done] * 3
    assert total.asnumpy().tolist() == [2 * (20_000 + done)] * 3


def test_an_idle_thread_of_the_users_changes_nothing():
    world = hot(bound(World(lambda f: f)))
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        before = prepared(world.step).dispatched
        for _ in range(20):
            world.step(nd.ones((SIZE,)))
        assert prepared(world.step).dispatched == before + 20
    finally:
        over.set()
        thread.join()


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
        settle()
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


@pytest.mark.compiled
def test_one_output_in_several_places_of_what_is_returned():
    step = hn.function(lambda x: (x * 2, [x * 2, x + 1]))
    twice = hn.function(lambda x: (lambda y: (y, [y]))(x * 2))
    x = nd.ones((SIZE,))
    for _ in range(8):
        one, (other, more) = step(x)
        first, (second,) = twice(x)
        settle()
        for found, value in ((one, 2), (other, 2), (more, 2), (first, 2), (second, 2)):
            np.testing.assert_array_equal(found.asnumpy(), np.full(SIZE, value))
    assert prepared(twice).dispatched
