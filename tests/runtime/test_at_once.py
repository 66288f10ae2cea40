"""Operators that are computed as they are called: when, in how many calls, and to the same bits."""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pytest
from eager_maker import make_program
from eager_runs import compare_exactly, run_ours
from helpers import computing_at_once, in_thread, thorough

from hybridnet import autograd, nd
from hybridnet.ops.core.registry import get
from hybridnet.runtime import explaining
from hybridnet.runtime.programs.cache import cache
from hybridnet.runtime.record import at_once
from hybridnet.runtime.record.at_once import thread
from hybridnet.runtime.tiers.choice import Decision, Purchase
from hybridnet.runtime.tiers.prices import SAMPLES, Prices


@pytest.fixture(autouse=True)
def by_numpy(monkeypatch):
    """Nothing is compiled, and no launch takes too long, however busy the machine is."""
    cache.clear()  # what tests before it compiled, which then is nothing for NumPy
    monkeypatch.delenv("HYBRIDNET_HOST", raising=False)
    monkeypatch.setattr(cache, "decide", lambda *_: Decision(Purchase.NONE, due=1 << 62))
    monkeypatch.setattr(Prices, "handover", 10.0)


def _is_recorded(x: nd.NDArray) -> bool:
    return x.read().segment is not None


def _read(make: Callable[[], nd.NDArray], times: int) -> nd.NDArray:
    for _ in range(times):
        x = make()
        x.asnumpy()
    return make()


def _calls(run: Callable[[], object]) -> int:
    """How many functions of Python are called, at least, after it has run often."""
    for _ in range(200):
        run()
    counts = []
    for _ in range(20):
        count = 0

        def note(frame: object, event: str, arg: object) -> None:
            nonlocal count
            count += event == "call"

        sys.setprofile(note)
        run()
        sys.setprofile(None)
        counts.append(count - 1)  # without `run` itself
    return min(counts)


def test_what_is_read_again_and_again_is_computed_as_it_is_called():
    x = nd.ones((3,))
    y = x + 1
    assert _is_recorded(y)
    y = _read(lambda: x + 1, SAMPLES + 1)
    assert not _is_recorded(y)
    assert y.asnumpy().tolist() == [2, 2, 2]


def test_what_is_not_read_is_recorded_again():
    x = nd.ones((3,))
    y = _read(lambda: x + 1, SAMPLES + 1)
    before = thread.seconds
    y = y + 1
    assert not _is_recorded(y)
    assert thread.seconds < before
    thread.seconds = 1e-9  # what is left for NumPy when so many were computed
    y = y + 1
    assert _is_recorded(y)
    assert _is_recorded(x + 1)
    assert y.asnumpy().tolist() == [4, 4, 4]


def test_no_clock_decides_where_the_same_bits_are_promised(monkeypatch):
    monkeypatch.setenv("HYBRIDNET_HOST", "only")
    x = nd.ones((3,))
    assert _is_recorded(_read(lambda: x + 1, 2 * SAMPLES))


def test_what_follows_something_recorded_is_recorded_with_it():
    large = nd.ones((200, 200))  # too large for it
    large.wait_to_read()
    with computing_at_once():
        assert not _is_recorded(nd.ones((3,)))
        y = large + 1
        assert _is_recorded(y)
        z = nd.ones((3,))
        assert _is_recorded(z) and _is_recorded(z + 1)
        y.wait_to_read()
        assert not _is_recorded(nd.ones((3,)))


def test_each_thread_goes_by_its_own_reads():
    x = nd.ones((3,))
    assert not _is_recorded(_read(lambda: x + 1, SAMPLES + 1))
    assert in_thread(lambda: _is_recorded(x + 1))


def test_structures_that_are_new_each_time_are_computed_too_until_a_while_has_passed(monkeypatch):
    monkeypatch.setattr(Prices, "handover", 0.0)  # none takes little enough
    sizes = iter(range(1000, 15_000))

    def chain() -> nd.NDArray:
        x = nd.array(np.ones(next(sizes)))
        for _ in range(30):
            x = x * 2 - x
        return x

    def until(wanted: bool) -> int:
        """How many more are made until one is recorded, or is not."""
        for number in range(5000):
            x = chain()
            found = _is_recorded(x)
            assert (x.asnumpy() == 1).all()
            if found == wanted:
                return number
        raise AssertionError(wanted)

    assert until(False) == SAMPLES
    assert until(True) > 1
    assert until(False) == 0  # they are still new, as one tells
    until(True)
    programs = cache.statistics().size
    assert until(False) == 0
    assert cache.statistics().size == programs + 2  # two operators, and no structure of sixty


def test_a_loop_of_one_structure_is_not_new():
    x = nd.array(np.ones(5000))

    def long() -> nd.NDArray:
        y = x
        for _ in range(60):
            y = y * 2 - y
        return y

    for _ in range(20):
        y = long()
        y.asnumpy()
    assert not thread.is_new


@pytest.mark.parametrize("anew", [False, True])
def test_errors_are_raised_where_they_were(anew):
    x = nd.array([1.0, 2.0])
    with computing_at_once(anew=anew):
        with pytest.raises(Exception, match="broadcast_add"):
            _ = x + nd.ones((3,))
        drawn = nd.random.uniform(3, 1, shape=(2,))
        with pytest.raises(Exception, match="low must be <= high"):
            drawn.asnumpy()


@pytest.mark.parametrize("anew", [False, True])
def test_gradients_flow(anew):
    w = nd.array([1.0, 2.0])
    w.attach_grad()
    with computing_at_once(anew=anew):
        with autograd.record():
            loss = (w * w * 3).sum()
        loss.backward()
        assert w.grad.asnumpy().tolist() == [6, 12]


def test_nothing_is_computed_where_somebody_wants_to_know_what_runs():
    x = nd.ones((3,))
    _read(lambda: x + 1, SAMPLES + 1)
    with explaining() as seen:
        y = x + 1
        assert _is_recorded(y)
        y.asnumpy()
    assert "_plus_scalar" in str(seen)


def test_results_have_memory_of_their_own():
    with computing_at_once():
        x = nd.array(np.arange(6.0))
        y = x.reshape((2, 3)).T
        part = x[2:4]
        x[2:4] = 7
        assert y.asnumpy().tolist() == [[0, 3], [1, 4], [2, 5]]
        assert part.asnumpy().tolist() == [7, 7]
        assert x.asnumpy().tolist() == [0, 1, 7, 7, 4, 5]


def test_few_calls_lead_to_a_result():
    """The issue's count was 121, of which most were of how a launch is found and begun."""
    x, y = nd.ones((4, 4)), nd.ones((4, 4))
    assert _calls(lambda: nd.relu(x + y).wait_to_read()) <= 40
    z = x + y
    z.wait_to_read()
    assert _calls(lambda: z.asnumpy()) <= 6
    one = nd.ones((1,))
    one.wait_to_read()
    assert _calls(lambda: float(one)) <= 8
    assert _calls(lambda: len(x)) <= 1
    several = nd.array([1, 2, 3])
    assert _calls(lambda: 3 in several) <= 30


def test_what_is_in_an_array_of_one_axis():
    x = nd.array([1, 2, 3])
    assert 3 in x
    assert 2.5 not in x
    assert nd.array([2]) in x
    assert "1" not in x
    assert 1 in nd.ones((2, 1))
    with pytest.raises(Exception, match="ambiguous"):
        _ = 1 in nd.ones((2, 2))


@pytest.mark.slow
@pytest.mark.parametrize("block", range(4))
def test_random_programs_give_the_same_bits(block):
    for seed in range(40_000 + block, 40_000 + block + 4 * thorough(2500, 25), 4):
        program = make_program(seed)
        wanted = run_ours(program)
        with computing_at_once():
            compare_exactly(run_ours(program), wanted, program)
        with computing_at_once(anew=True):
            compare_exactly(run_ours(program), wanted, program)


def test_what_xla_has_not_computed_yet_is_not_waited_for(monkeypatch):
    x = nd.ones((3,))
    x.wait_to_read()
    value = x.read()

    class Pending:
        """An array that XLA computes; or that is gone."""

        def __init__(self, gone: bool) -> None:
            self.gone = gone

        def is_ready(self) -> bool:
            if self.gone:
                raise RuntimeError("deleted")
            return False

    for gone in (False, True):
        with monkeypatch.context() as patch, computing_at_once():
            patch.setattr(value, "array", Pending(gone))
            assert (
                at_once.compute(x.context, get("relu").bind({})[0], [value], (), (x.type,)) is None
            )
