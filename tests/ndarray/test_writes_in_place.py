"""Writes to parts of arrays by NumPy: in the array's own memory, where nobody else needs it.

What is held (views, copies, results that share memory, values on the tape) keeps its meaning:
each program is run on hybridnet's arrays and on NumPy's, whose copies are made at once.
"""

from __future__ import annotations

import numpy as np
import pytest

import hybridnet as hn
from hybridnet import autograd, nd
from hybridnet.ops.host import functions
from hybridnet.runtime.tiers.prices import Prices


@pytest.fixture(autouse=True)
def by_numpy(monkeypatch):
    """All of it runs on the host."""
    monkeypatch.setenv("HYBRIDNET_HOST", "only")


@pytest.fixture
def copies(monkeypatch):
    """Of each write by NumPy, whether it copied the array."""
    # (To make it a straight line takes one run more, at a time that the clock tells.)
    monkeypatch.setattr(Prices, "passes", np.inf)
    found = []
    changeable = functions.changeable

    def noted(array):
        made = changeable(array)
        found.append(made is not array)
        return made

    monkeypatch.setattr(functions, "changeable", noted)
    return found


def test_a_loop_that_fills_rows_copies_once(copies):
    x = nd.zeros((20, 3))
    x.wait_to_read()
    for row in range(20):
        x[row] = row
    np.testing.assert_array_equal(x.asnumpy(), np.arange(20.0)[:, None] * np.ones(3))
    assert len(copies) == 20
    assert sum(copies) == 1


@pytest.mark.parametrize(
    "key",
    [
        (slice(1, 9, 2), slice(0, 2)),
        (slice(None, None, -3),),
        (slice(2, 5), 1),
        ([0, 5, 2], [1, 1, 0]),
    ],
)
def test_other_parts_are_written_in_place_too(key, copies):
    expected = np.arange(30.0, dtype=np.float32).reshape(10, 3)
    x = nd.array(expected)
    at = tuple(nd.array(part, dtype="int32") if isinstance(part, list) else part for part in key)
    x.wait_to_read()
    for value in range(5):
        x[at] = x[at] + value
        expected[key] += value
    np.testing.assert_array_equal(x.asnumpy(), expected)
    assert sum(copies) < len(copies)


HOLDS = {
    "copy": (lambda x: x.copy(), lambda x: x.copy()),
    "detach": (lambda x: x * 1, lambda x: x.copy()),
    "transpose": (nd.transpose, lambda x: x.T.copy()),
    "reshape": (lambda x: nd.reshape(x, (-1,)), lambda x: x.reshape(-1).copy()),
    "slice": (
        lambda x: nd.slice_axis(x, axis=0, begin=1, end=3),
        lambda x: x[1:3].copy(),
    ),
    "flip": (lambda x: nd.flip(x, axis=1), lambda x: x[:, ::-1].copy()),
    "broadcast": (
        lambda x: nd.broadcast_to(x.expand_dims(0), (2, 4, 3)),
        lambda x: np.stack([x, x]),
    ),
    "split": (lambda x: nd.split(x, num_outputs=2, axis=0)[1], lambda x: x[2:].copy()),
    "identity": (nd.identity, lambda x: x.copy()),
    "view": (lambda x: x[2], lambda x: x[2]),
    "part": (lambda x: x[1:3], lambda x: x[1:3]),
}
WRITES = {
    "row": (lambda x, v: x.__setitem__(1, v), lambda x, v: x.__setitem__(1, v)),
    "element": (lambda x, v: x.__setitem__((2, 1), v), lambda x, v: x.__setitem__((2, 1), v)),
    "columns": (
        lambda x, v: x.__setitem__((slice(None), slice(0, 3, 2)), v),
        lambda x, v: x.__setitem__((slice(None), slice(0, 3, 2)), v),
    ),
    "shifted": (
        lambda x, v: x.__setitem__(slice(1, 4), x[0:3] + v),
        lambda x, v: x.__setitem__(slice(1, 4), x[0:3] + v),
    ),
    "overlapping": (
        lambda x, v: x.__setitem__(slice(1, 4), x[0:3]),
        lambda x, v: x.__setitem__(slice(1, 4), x[0:3].copy()),
    ),
    "added": (lambda x, v: x[3].__iadd__(v), lambda x, v: x[3].__iadd__(v)),
    "whole": (
        lambda x, v: x.__setitem__(slice(None), v),
        lambda x, v: x.__setitem__(slice(None), v),
    ),
}


@pytest.mark.parametrize("seed", range(40))
def test_what_is_held_keeps_its_meaning(seed, copies):
    """Random programs of writes, and of what holds on to the array."""
    rng = np.random.default_rng(seed)
    expected = rng.integers(0, 9, (4, 3)).astype(np.float32)
    x = nd.array(expected)
    held = []
    for step in range(60):
        if rng.random() < 0.3:
            ours, numpys = HOLDS[rng.choice(list(HOLDS))]
            held.append((ours(x), numpys(expected)))
        if rng.random() < 0.2 and held:
            del held[rng.integers(len(held))]
        if rng.random() < 0.05:
            np.testing.assert_array_equal(x.asnumpy(), expected)
        ours, numpys = WRITES[rng.choice(list(WRITES))]
        ours(x, float(step))
        numpys(expected, float(step))
    np.testing.assert_array_equal(x.asnumpy(), expected)
    for ours, numpys in held:
        np.testing.assert_array_equal(ours.asnumpy(), numpys)
    assert any(copies)
    assert not all(copies)


def test_values_on_the_tape_are_those_of_their_time():
    """The gradient of a product needs what its factors were."""
    weight = nd.array([1.0, 2.0, 3.0])
    weight.attach_grad()
    buffer = nd.zeros((3,))
    with autograd.record():
        total = 0
        for turn in range(4):
            buffer = nd.zeros((3,)) + turn
            product = buffer * weight
            with autograd.pause():
                buffer[1] = 100.0  # not seen by what was computed before
            total = total + (product * product).sum()
    total.backward()
    expected = sum(2 * turn**2 * np.array([1.0, 2.0, 3.0]) for turn in range(4))
    np.testing.assert_allclose(weight.grad.asnumpy(), expected)


def test_a_traced_loop_of_writes(copies):
    """The nodes of a graph are steps like those of a loop."""

    @hn.function
    def filled(x):
        y = nd.zeros_like(x)
        before = []
        for row in range(4):
            y[row] = x[row] * row
            if row == 1:
                before.append(y + 0)
                before.append(nd.transpose(y))
        return y, *before

    given = np.arange(12, dtype=np.float32).reshape(4, 3)
    whole = given * np.arange(4, dtype=np.float32)[:, None]
    half = np.where(np.arange(4)[:, None] < 2, whole, 0)
    for _ in range(2):
        made = filled(nd.array(given))
        for ours, numpys in zip(made, (whole, half, half.T), strict=True):
            np.testing.assert_array_equal(ours.asnumpy(), numpys)
