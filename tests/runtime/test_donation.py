"""Memory is taken over where nobody else holds it, and only there: in each place that asks.

However a running program holds an array, in variables, arguments, generators or other threads, what
it reads afterwards is what it had.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from helpers import heat, settle
from holding import WAYS

import hybridnet as hn
from hybridnet import nd
from hybridnet.base.host_array import HostArray
from hybridnet.runtime.programs.steps import _spare
from hybridnet.runtime.record import recorder

pytestmark = pytest.mark.optimized

SIZE = 5000
# Of a mebibyte: what is smaller is not worth being taken over by what does not read it.
LARGE = 5 << 16


def current(x, get_array):
    """What an array is in: its Value, or the array of XLA's in that."""
    value = x.read()
    recorder.wait(value)
    return value.array if get_array else value


def content(held):
    return np.asarray(held if hasattr(held, "shape") else held.array).copy()


def place(x):
    return recorder.wait(x.read()).unsafe_buffer_pointer()


def take_turns(x, step, expected):
    """Runs a step with an array held in each way, and once more with nobody holding it.

    Args:
        x: the array, which the step overwrites.
        step: it is compiled.
        expected: a function from the contents of the array before a step to those after it.
    """
    for way in WAYS:
        for get_array in (False, True):
            said = f"{way.__name__}, {'the array' if get_array else 'its Value'}"
            before = x.asnumpy().copy()
            found = way(partial(current, x, get_array), step)
            np.testing.assert_array_equal(content(found), before, said)
            del found
            np.testing.assert_array_equal(x.asnumpy(), expected(before), said)
            there = place(x)
            step()
            assert place(x) == there, said


# Segments


@pytest.mark.compiled
def test_a_segment_overwrites_no_input_that_is_held():
    w = nd.zeros((SIZE,))

    def step():
        w.__iadd__(1)
        w.__imul__(2)
        w.__imod__(1000)
        recorder.mark()

    heat(step)
    take_turns(w, step, lambda before: (before + 1) * 2 % 1000)


@pytest.mark.compiled
def test_a_segment_takes_no_memory_unread_that_is_held():
    count, written = nd.zeros((LARGE,)), nd.zeros((LARGE,))

    def step():
        count.__iadd__(1)
        written[:] = count * 2
        recorder.mark()

    heat(step)
    take_turns(written, step, lambda before: before + 2)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_result_that_is_held_is_computed(way):
    x = nd.array([1.0, 2.0])
    found = way(lambda: (x * 3).read(), nd.waitall)
    assert found.error is None
    assert content(found).tolist() == [3, 6]
    found = way(lambda: x * 5, nd.waitall)  # the array holds it
    assert found.asnumpy().tolist() == [5, 10]


# Prepared calls


@pytest.mark.compiled
def test_a_prepared_call_overwrites_nothing_that_is_held():
    w, x = nd.zeros((SIZE,)), nd.ones((SIZE,))

    @hn.function
    def step(x):
        w[:] = (w * 2 + x) % 1000
        return w.sum()

    for _ in range(6):
        step(x)
        settle()
    prepared = [*step.admissions._last.values()][-1]()._prepared
    dispatched = prepared.dispatched
    take_turns(w, lambda: step(x), lambda before: (before * 2 + 1) % 1000)
    # What was held was recorded, and the others were not.
    assert prepared.dispatched == dispatched + 2 * len(WAYS)


# Arrays in host memory, and steps on them


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_what_stands_for_an_array_knows_who_holds_that(way):
    array = HostArray(np.zeros(3))
    assert array.is_ours()
    array.placed = nd.ones((3,)).to_jax() + 1
    seen = []
    found = way(lambda: array.placed, lambda: seen.append(array.is_ours()))
    assert seen == [False]
    del found
    assert array.is_ours()


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_step_overwrites_no_operand_that_is_held(way):
    results = [np.arange(4.0)]
    operands = results.copy()
    seen = []
    found = way(lambda: operands[0], lambda: seen.append(_spare(operands)))
    assert seen == [None]
    del found
    assert _spare(operands) is results[0]


@pytest.mark.parametrize(
    "view",
    [
        lambda array: array[1:],
        lambda array: array.reshape(2, 2),
        lambda array: array.T,
        memoryview,
        np.asarray,
        np.broadcast_to,
    ],
    ids=["part", "shape", "turned", "buffer", "same", "broadcast"],
)
def test_a_step_overwrites_no_operand_of_which_there_are_views(view):
    results = [np.arange(4.0)]
    operands = results.copy()
    seen = view(results[0], (2, 4)) if view is np.broadcast_to else view(results[0])
    assert _spare(operands) is None
    del seen
    assert _spare(operands) is results[0]


def test_steps_change_their_own_arrays_only():
    """Parts are written one after the other, while views and copies of the array are read."""
    rng = np.random.default_rng(0)
    source = rng.standard_normal((6, 4)).astype(np.float32)

    def run(x, ones):
        y = x + 1
        seen = y.reshape((4, 6))
        y[1:3] = 5 * ones
        other = y * 1
        y[2] = 7
        kept = y.reshape((24,))
        y[:, 1] = kept[0]
        return [seen * 1, other, kept * 2, y]

    expected = run(source.copy(), np.ones((2, 4), np.float32))
    found = run(nd.array(source), nd.ones((2, 4)))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.asnumpy(), other, rtol=1e-6)
