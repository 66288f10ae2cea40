"""What runs an operator without its lowering gives the same bits, whatever it was noted of."""

from __future__ import annotations

import weakref

import numpy as np
import pytest
from drawn_ops import known
from op_samples import SAMPLES
from oracle.case import make_inputs
from oracle.drawn import DRAWN, load, special_inputs

from hybridnet import nd
from hybridnet.base.tensor_type import tensor_type
from hybridnet.ops.core.registry import REGISTRY, get
from hybridnet.ops.host import by_numpy, jnp, lax, straight_line
from hybridnet.ops.host.namespace import at, jax, plus
from hybridnet.ops.host.straight_line import NotStraight
from hybridnet.ops.math import reduce
from hybridnet.runtime.programs import host_program
from hybridnet.runtime.tiers.prices import Prices

_CASES, _ = load(DRAWN)
_SHARDS = 6


def _others(values, seed=3):
    """Values of the same types, in another order."""
    draw = np.random.default_rng(seed)
    return [draw.permutation(x.ravel()).reshape(x.shape).astype(x.dtype) for x in values]


def _results(made):
    return [np.asarray(x) for x in (made if isinstance(made, (tuple, list)) else [made])]


def _difference(compute, values, noted_of):
    """Says where what was noted differs on some values; None: nothing was noted."""
    try:
        line = by_numpy(straight_line, compute, noted_of)
    except Exception:
        return None
    expected = _results(by_numpy(compute, values))
    found = _results(by_numpy(line, values))
    assert len(expected) == len(found)
    for mine, his in zip(found, expected, strict=True):
        if mine.dtype != his.dtype or mine.shape != his.shape or mine.tobytes() != his.tobytes():
            return f"{mine.dtype}{mine.shape} {mine.ravel()[:4]} instead of {his.ravel()[:4]}"
    return ""


def _calls(names):
    """Calls of operators, each with what it computes from and its name."""
    for case in _CASES.values():
        if case.op in REGISTRY and get(case.op).name in names:
            yield case.op, special_inputs(case, make_inputs(case)), case.attrs, case.train
    for name in names:
        for one in SAMPLES.get(name, ()):
            yield name, list(one.inputs), one.attrs, one.train


def _forms(names):
    for name, inputs, attrs, train in _calls(names):
        operator = get(name)
        try:
            given = operator.measured(attrs, known(inputs)) if operator.sizes else attrs
            call, scalars = operator.bind(given, train)
            if call.takes_state:
                inputs = [*inputs, np.array([1, 2, 3], np.uint32)]
            form = call.host_form(tuple(tensor_type(x.shape, x.dtype) for x in inputs))
            numbers = [make(x) for make, x in zip(form.numbers, scalars, strict=True)]
            by_numpy(form.compute, [*inputs, *numbers])
        except Exception:  # it has no host form
            continue
        yield name, form.compute, inputs, numbers


@pytest.mark.slow
@pytest.mark.parametrize("shard", range(_SHARDS))
def test_the_bits_are_those_of_the_lowering(shard):
    names = sorted({op.name for op in REGISTRY.values()})[shard::_SHARDS]
    wrong, noted, all_of_them = [], 0, 0
    for name, compute, inputs, numbers in _forms(set(names)):
        others = [*_others(inputs), *[type(x)(x + 1) for x in numbers]]
        found = _difference(compute, [*inputs, *numbers], others)
        all_of_them += 1
        noted += found is not None
        if found:
            wrong.append(f"{name}: {found}")
    assert not wrong, "\n".join(wrong)
    assert noted > all_of_them / 2


def _line(compute, *values):
    return by_numpy(straight_line, compute, values)


def test_the_lowering_is_not_run_again():
    runs = []

    def compute(values):
        runs.append(1)
        (x,) = values
        return jnp.sum(x, axis=1, keepdims=True) * 2 + x.shape[0]

    line = _line(compute, np.ones((2, 3)))
    for scale in (1.0, 5.0):
        made = by_numpy(line, [np.full((2, 3), scale)])
        np.testing.assert_array_equal(made, np.full((2, 1), 6 * scale + 2))
    assert len(runs) == 1


@pytest.mark.parametrize(
    "compute",
    [
        lambda values: values[0] if values[0].sum() > 0 else -values[0],
        lambda values: values[0] * int(values[0][0]),
        lambda values: values[0] + np.asarray(values[0]),
        lambda values: lax.cond(values[0].sum() > 0, lambda x: x, lambda x: -x, values[0]),
        lambda values: lax.while_loop(lambda x: x.sum() < 9, lambda x: x * 2, values[0]),
    ],
    ids=["if", "int", "asarray", "cond", "while"],
)
def test_what_depends_on_values_is_not_noted(compute):
    with pytest.raises(NotStraight):
        _line(compute, np.ones(3))


def test_rules_of_differentiation_make_no_difference():
    def compute(values):
        @jax.custom_jvp
        def twice(x):
            return x * 2

        twice.defjvp(lambda primals, tangents: None)
        return twice(values[0])

    assert by_numpy(_line(compute, np.ones(2)), [np.array([3.0, 4.0])]).tolist() == [6, 8]


def test_no_input_and_no_constant_is_written_to():
    constant = np.zeros(3)

    def compute(values):
        first = plus(values[0], values[1])  # writes into its first argument, by itself
        second = plus(constant, values[1])
        return first, second, at(values[0])[1].set(9)

    x, y = np.ones(3), np.full(3, 2.0)
    line = _line(compute, np.ones(3), np.ones(3))
    for _ in range(2):
        first, second, third = by_numpy(line, [x, y])
        assert first.tolist() == [3, 3, 3]
        assert second.tolist() == [2, 2, 2]
        assert third.tolist() == [1, 9, 1]
    assert x.tolist() == [1, 1, 1]
    assert constant.tolist() == [0, 0, 0]


def test_a_result_that_is_always_the_same_is_a_new_array_each_time():
    line = _line(lambda values: (jnp.zeros(2), np.ones(2)), np.ones(3))
    for number in range(2):
        zeros, ones = by_numpy(line, [np.ones(3)])
        assert (zeros.tolist(), ones.tolist()) == ([0, 0], [1, 1])
        zeros += number + 1
        ones += number + 1


def test_nothing_of_the_run_is_kept():
    class Array(np.ndarray):
        """NumPy's own cannot be referred to weakly."""

    held = np.ones(4).view(Array)
    gone = weakref.ref(held)
    line = _line(lambda values: jnp.concatenate([values[0], values[0] * 2]), held)
    del held
    assert gone() is None  # at once, not when garbage is collected
    assert by_numpy(line, [np.ones(1)]).tolist() == [1, 2]


def test_an_operator_that_runs_often_does_without_its_lowering(monkeypatch):
    monkeypatch.setenv("HYBRIDNET_HOST", "only")
    axes = reduce.reduced_axes
    asked = []
    x = nd.array(np.arange(6.0).reshape(3, 2))
    monkeypatch.setattr(Prices, "passes", 0.0)  # so that a few runs are enough,
    # whatever they take on a machine that does something else.
    monkeypatch.setattr(host_program, "is_small", lambda rent, prices: True)
    for number in range(10):
        if number == 5:
            monkeypatch.setattr(reduce, "reduced_axes", lambda *a: asked.append(1) or axes(*a))
        assert (x + number).sum(axis=1).asnumpy().tolist() == [
            1 + 2 * number + 4 * i for i in range(3)
        ]
    assert len(asked) <= 1
