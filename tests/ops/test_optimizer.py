"""Optimizer updates, beyond MXNet's recorded answers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from helpers import run_op
from same_graph import same_graph

import hybridnet as hn
from hybridnet.base.attrs import HostScalar
from hybridnet.base.errors import DTypeError, ParameterError, ShapeError
from hybridnet.graph.parse import parse
from hybridnet.ops.core.registry import get

_SHAPE = (4, 5)


def _arrays(count, dtype="float64"):
    generator = np.random.default_rng(0)
    return [generator.normal(size=_SHAPE).astype(dtype) for _ in range(count)]


def _steps(name, weight, grads, states, attrs):
    """Applies an update for each gradient; returns the last weight."""
    for grad in grads:
        weight, *states = run_op(name, weight, grad, *states, **attrs)
    return weight


@pytest.mark.parametrize("nesterov", [False, True])
def test_momentum_is_the_textbooks_with_weight_decay_too(nesterov):
    # MXNet 1.9.1 differs for Nesterov's: in place, its momentum sees the updated weight.
    weight, *grads = _arrays(4)
    attrs = {"lr": 0.1, "momentum": 0.9, "wd": 0.01}
    name = "nag_mom_update" if nesterov else "sgd_mom_update"
    got = _steps(name, weight, grads, [np.zeros(_SHAPE)], attrs)
    velocity = np.zeros(_SHAPE)
    for grad in grads:
        step = grad + 0.01 * weight
        velocity = 0.9 * velocity + step
        weight = weight - 0.1 * (step + 0.9 * velocity if nesterov else velocity)
    np.testing.assert_allclose(got, weight)


@pytest.mark.parametrize("decoupled", [False, True])
def test_adam_is_the_textbooks_once_its_rate_is_corrected(decoupled):
    weight, *grads = _arrays(4)
    got, mean, var = weight, np.zeros(_SHAPE), np.zeros(_SHAPE)
    first, second = np.zeros(_SHAPE), np.zeros(_SHAPE)
    for t, grad in enumerate(grads, 1):
        attrs = {"lr": 0.1 * np.sqrt(1 - 0.999**t) / (1 - 0.9**t), "epsilon": 0.0}
        if decoupled:
            attrs |= {"wd": 0.1 * 0.01, "eta": 1.0}
            got, mean, var = run_op("_adamw_update", got, grad, mean, var, [1.0], **attrs)
        else:
            got, mean, var = run_op("adam_update", got, grad, mean, var, wd=0.01, **attrs)
            grad = grad + 0.01 * weight
        first = 0.9 * first + 0.1 * grad
        second = 0.999 * second + 0.001 * grad**2
        step = first / (1 - 0.9**t) / np.sqrt(second / (1 - 0.999**t))
        weight = weight - 0.1 * (step + 0.01 * weight * decoupled)
    np.testing.assert_allclose(got, weight, rtol=1e-10)


def test_adagrad_by_element_and_by_row():
    weight, grad, history = _arrays(3, "float32")
    history = np.abs(history)
    attrs = {"lr": 0.1, "epsilon": 1e-3}
    new, total = run_op("_sparse_adagrad_update", weight, grad, history, wd=0.2, **attrs)
    wanted = history + grad**2
    np.testing.assert_allclose(total, wanted, rtol=1e-6)
    step = grad / np.sqrt(wanted + 1e-3) + 0.2 * weight
    np.testing.assert_allclose(new, weight - 0.1 * step, rtol=1e-5)

    rows = history[:, :1]
    new, total = run_op("_contrib_group_adagrad_update", weight, grad, rows, **attrs)
    wanted = rows + (grad**2).mean(1, keepdims=True)
    np.testing.assert_allclose(total, wanted, rtol=1e-6)
    np.testing.assert_allclose(new, weight - 0.1 * grad / np.sqrt(wanted + 1e-3), rtol=1e-5)


@pytest.mark.parametrize("scale", [0.0, np.inf, np.nan])
def test_adamw_skips_a_step_whose_scale_overflowed(scale):
    arrays = [np.abs(one) for one in _arrays(4, "float32")]
    outputs = run_op("_adamw_update", *arrays, np.array([scale], "float32"), lr=0.1, eta=1.0)
    for got, kept in zip(outputs, (arrays[0], *arrays[2:]), strict=True):
        np.testing.assert_array_equal(got, kept)


def test_lamb_scales_by_the_ratio_of_norms_within_bounds():
    weight, direction = _arrays(2, "float32")
    for norm, bounds, ratio in [
        (2.0, {}, 2 / 4),
        (2.0, {"lower_bound": 3.0}, 3 / 4),
        (2.0, {"upper_bound": 1.0}, 1 / 4),
        (0.0, {}, 1),
    ]:
        norms = np.array([norm], "float32"), np.array([4], "float32")
        (new,) = run_op("lamb_update_phase2", weight, direction, *norms, lr=0.1, **bounds)
        np.testing.assert_allclose(new, weight - 0.1 * ratio * direction, rtol=1e-5)


@pytest.mark.parametrize("momentum", [False, True])
def test_mixed_precision_keeps_what_the_narrow_weight_cannot(momentum):
    narrow = np.ones(_SHAPE, "float16")
    weight32 = np.ones(_SHAPE, "float32")
    grad = np.full(_SHAPE, 0.5, "float16")
    states = [np.zeros(_SHAPE, "float32")] if momentum else []
    name = "mp_sgd_mom_update" if momentum else "mp_sgd_update"
    for _ in range(3):
        narrow, *states, weight32 = run_op(name, narrow, grad, *states, weight32, lr=1e-4)
    # A float16 has no number between 1 and 0.9995.
    np.testing.assert_allclose(weight32, 1 - 3 * 0.5e-4, rtol=1e-7)
    assert (narrow.dtype, weight32.dtype) == (np.float16, np.float32)
    np.testing.assert_array_equal(narrow, weight32.astype("float16"))


_SEVERAL = list(itertools.product((False, True), repeat=3))


@pytest.mark.parametrize(("momentum", "mixed", "preloaded"), _SEVERAL)
def test_several_weights_are_updated_as_one_by_one(momentum, mixed, preloaded):
    kind = ("mp_" if mixed else "") + ("sgd_mom_update" if momentum else "sgd_update")
    common = {"rescale_grad": 0.5, "clip_gradient": 0.3, **({"momentum": 0.9} if momentum else {})}
    rates, decays = [0.1, 0.2], [0.0, 0.3]
    arrays = iter(_arrays(12, "float32"))
    groups = []
    for _ in range(2):
        weight, grad = next(arrays), next(arrays)
        narrow = [one.astype("float16") for one in (weight, grad)] if mixed else [weight, grad]
        groups.append(
            [*narrow, *([next(arrays)] if momentum else []), *([weight] if mixed else [])]
        )
    alone = [
        run_op(kind, *group, lr=lr, wd=wd, **common)
        for group, lr, wd in zip(groups, rates, decays, strict=True)
    ]
    inputs = [one for group in groups for one in group]
    if preloaded:
        inputs += [np.array(rates, "float32"), np.array(decays, "float32")]
    else:
        common |= {"lrs": rates, "wds": decays}
    name = f"{'preloaded_' if preloaded else ''}multi_{kind}"
    outputs = run_op(name, *inputs, num_weights=2, **common)
    mutates = get(name).bind({"num_weights": 2, **common})[0].mutates
    for index, wanted in enumerate(alone):
        np.testing.assert_allclose(outputs[index], wanted[0], rtol=1e-3 if mixed else 1e-6)
        first = index * len(groups[0])
        for state, expected in enumerate(wanted[1:]):
            got = outputs[mutates[first + 2 + state]]
            np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-7)


def test_changing_a_rate_makes_no_new_program():
    calls = {get("adam_update").bind({"lr": lr, "wd": lr / 10})[0] for lr in (0.1, 0.2, 0.3)}
    assert len(calls) == 1
    several = [
        get("multi_sgd_update").bind({"lrs": (lr, 1), "wds": [0, lr], "num_weights": 2})
        for lr in (0.1, 0.2)
    ]
    assert several[0][0] is several[1][0]
    assert several[1][1][:4] == (0.2, 1.0, 0.0, 0.2)


def test_rates_of_several_weights_may_be_asked_of_python():
    rates = [HostScalar(lambda: [0.1, 0.2], index) for index in range(2)]
    given = {"lrs": rates, "wds": (0, 0), "num_weights": 2}
    call, scalars = get("multi_sgd_update").bind(given)
    assert scalars[:2] == tuple(rates)
    assert call.by_parameter(scalars)["lrs"] == tuple(rates)


def test_several_weights_of_different_dtypes():
    wide, narrow = (one for one in _arrays(2, "float64")), (one for one in _arrays(2, "float16"))
    inputs = [*wide, *narrow]
    outputs = run_op("multi_sgd_update", *inputs, lrs=(0.1, 0.2), wds=(0, 0.5), num_weights=2)
    assert [one.dtype for one in outputs] == ["float64", "float16"]
    np.testing.assert_allclose(outputs[0], inputs[0] - 0.1 * inputs[1], rtol=1e-14)
    weight, grad = (one.astype("float64") for one in inputs[2:])
    np.testing.assert_allclose(
        outputs[1], weight - 0.2 * (grad + 0.5 * weight), rtol=4e-3, atol=1e-3
    )


def test_several_weights_as_a_symbol_read_back():
    names = ("w0", "g0", "w1", "g1")
    update = hn.sym.multi_sgd_update(
        *map(hn.sym.var, names), lrs=(0.1, 0.25), wds=(0, 0.5), num_weights=2, name="u"
    )
    assert same_graph(parse(str(update.graph)), update.graph)
    again = hn.sym.load_json(update.tojson())
    values = {name: hn.nd.array([1.0 + i]) for i, name in enumerate(names)}
    for one in (update, again):
        found = one.eval(**values)
        np.testing.assert_allclose(found[0].asnumpy(), [1 - 0.1 * 2], rtol=1e-6)
        np.testing.assert_allclose(found[1].asnumpy(), [3 - 0.25 * (4 + 0.5 * 3)], rtol=1e-6)


def test_updates_write_where_they_are_told():
    weight, grad, mom = (hn.nd.array(one) for one in _arrays(3, "float32"))
    before, moved = weight.asnumpy(), mom.asnumpy()
    new = hn.nd.sgd_mom_update(weight, grad, mom, lr=0.1, momentum=0.5)
    np.testing.assert_array_equal(weight.asnumpy(), before)
    np.testing.assert_allclose(mom.asnumpy(), 0.5 * moved - 0.1 * grad.asnumpy(), rtol=1e-6)
    np.testing.assert_allclose(new.asnumpy(), before + mom.asnumpy(), rtol=1e-6)
    hn.nd.sgd_update(weight, grad, out=weight, lr=0.1)
    np.testing.assert_allclose(weight.asnumpy(), before - 0.1 * grad.asnumpy(), rtol=1e-6)


def test_updates_refuse():
    weight, grad = _arrays(2, "float32")
    with pytest.raises(ShapeError, match=r"weight and grad must have equal shapes, got weight"):
        run_op("sgd_update", weight, grad[:2], lr=0.1)
    with pytest.raises(DTypeError, match="sgd_update: weight must be floating point"):
        run_op("sgd_update", weight.astype("int32"), grad, lr=0.1)
    with pytest.raises(DTypeError, match=r"weight, grad must have one dtype"):
        run_op("sgd_update", weight, grad.astype("float64"), lr=0.1)
    with pytest.raises(ParameterError, match=r"sgd_update: parameter lr .* is required"):
        run_op("sgd_update", weight, grad)
    with pytest.raises(ParameterError, match=r"lrs must have 1 numbers, as num_weights says"):
        run_op("multi_sgd_update", weight, grad, lrs=(0.1, 0.2), wds=(0,))
    with pytest.raises(ParameterError, match="requires 4 inputs for num_weights=2, got 2"):
        run_op("multi_sgd_update", weight, grad, lrs=(1, 1), wds=(0, 0), num_weights=2)
