"""How much is gathered before it is launched: `engine.bulk`, `set_bulk_size` and `naive`."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
import pytest
from helpers import in_thread, settle

import hybridnet as hn
from hybridnet import autograd, engine, nd
from hybridnet.engine import EngineError, NaiveEngine, TaskError
from hybridnet.runtime.programs.cache import cache
from hybridnet.runtime.record import recorder


def launches(function: Callable[[], object]) -> int:
    """How many programs, of one operator or of many, a function and the border after it launch."""
    recorder.flush()
    before = cache.statistics()
    function()
    recorder.flush()
    after = cache.statistics()
    # A launch that runs step by step counts as cold, and each of its steps as hot.
    assert after.cold == before.cold
    return after.hot - before.hot


def add(x: nd.NDArray, times: int) -> None:
    for _ in range(times):
        x += 1


def train(steps: int) -> list[np.ndarray]:
    """A loop with gradients, views, writes and values read in the middle; always the same."""
    hn.random.seed(3)
    x, w = nd.random.uniform(shape=(4, 3)), nd.ones((3, 2))
    w.attach_grad()
    seen = []
    for step in range(steps):
        with autograd.record():
            loss = (nd.tanh(nd.dot(x, w)) ** 2).sum()
        loss.backward()
        w[:] = w - 0.1 * w.grad
        x[step % 4] = nd.random.uniform(shape=(3,))
        if step % 2:
            seen.append(loss.asnumpy())
    return [*seen, w.asnumpy(), w.grad.asnumpy(), x.asnumpy()]


@pytest.mark.parametrize("size", [0, 1, 2, 7, 100])
def test_results_do_not_depend_on_the_bulk_size(size):
    want = train(5)
    with engine.bulk(size):
        got = train(5)
    with engine.naive():
        naive = train(5)
    for one, two, three in zip(want, got, naive, strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(three, one, rtol=1e-5, atol=1e-6)


@pytest.mark.compiled
@pytest.mark.parametrize(("size", "want"), [(0, 24), (1, 24), (2, 12), (6, 4), (24, 1), (100, 1)])
def test_no_launch_holds_more_than_the_bulk_size(size, want):
    x = nd.zeros((3, 5))
    with engine.bulk(size):
        for _ in range(8):  # until all programs are compiled
            add(x, 24)
            settle()
        assert launches(lambda: add(x, 24)) == want
    assert (x.asnumpy() == 9 * 24).all()


def test_an_operator_is_launched_at_once():
    x = nd.ones((2,))
    with engine.bulk(1):
        y = x + 1
        assert y.read().array is not None
    y = x + 1
    assert y.read().array is None


def test_blocks_end_what_was_recorded_before_and_in_them():
    x = nd.ones((2,))
    before = x + 1
    with engine.bulk(10):
        assert before.read().array is not None
        within = x + 2
        assert within.read().array is None
    assert within.read().array is not None


def test_the_size_before_is_returned_and_comes_back():
    normal = engine.bulk_size()
    assert engine.set_bulk_size(15) == normal
    assert engine.set_bulk_size(normal) == 15
    with pytest.raises(ZeroDivisionError), engine.bulk(4), engine.bulk(8):
        assert engine.bulk_size() == 8
        raise ZeroDivisionError
    assert engine.bulk_size() == normal


def test_each_thread_has_a_size_of_its_own():
    normal = engine.bulk_size()
    with engine.bulk(1):
        x = nd.ones((2,))

        def elsewhere() -> tuple[int, bool]:
            y = x + 1
            return engine.bulk_size(), y.read().array is None

        assert in_thread(elsewhere) == (normal, True)


@pytest.mark.parametrize("size", [-1, 2.5, "3", None])
def test_a_size_must_be_a_number_of_operators(size):
    with pytest.raises(EngineError, match="set_bulk_size requires an integer >= 0, got"):
        engine.set_bulk_size(size)


def test_naive_runs_operators_and_tasks_at_once():
    ran = []
    x = nd.ones((2,))
    with engine.naive():
        assert recorder.is_naive() and isinstance(engine.get(), NaiveEngine)
        y = x + 1
        assert y.read().array.is_ready()
        engine.push(lambda: ran.append(threading.current_thread()))
        assert ran == [threading.current_thread()]
        with engine.naive():
            pass
        assert recorder.is_naive()
    assert not recorder.is_naive() and not isinstance(engine.get(), NaiveEngine)
    assert (x + 1).read().array is None


def test_naive_ends_after_an_error():
    was = engine.get()
    with pytest.raises(ZeroDivisionError), engine.naive():
        engine.push(lambda: [][1])
        raise ZeroDivisionError  # the block's own error wins
    assert engine.get() is was and not recorder.is_naive()
    with pytest.raises(TaskError, match="IndexError"), engine.naive():
        engine.push(lambda: [][1])
    assert engine.get() is was and not recorder.is_naive()
    nd.waitall()


def test_naive_waits_for_what_was_begun():
    go = threading.Event()
    done = []
    engine.push(lambda: done.append(go.wait(60)), lane="io")
    threading.Timer(0.01, go.set).start()
    with engine.naive():
        assert done == [True]


def test_the_observer_moves_along():
    events = []
    engine.set_observer(lambda *event: events.append(event[1]))
    try:
        with engine.naive():
            engine.push(lambda: None, name="inside")
        engine.push(lambda: None, name="after")
        engine.wait_for_all()
    finally:
        engine.set_observer(None)
    assert events == ["inside", "after"]
